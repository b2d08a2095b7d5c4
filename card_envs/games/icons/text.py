"""The table of Icons as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from card_envs.games.game import to_act
from card_envs.games.icons import state
from card_envs.kernels.state import RUNNING, TRUNCATED

#: The 40 women of the Icons by category, for displays; the rules need only the category. YOU is the one at the table.
WOMEN: dict[str, list[str]] = json.loads(Path(__file__).with_name("icons.json").read_text(encoding="utf-8"))


def icon_name(card: int, number: int) -> str:
    """The woman on the Icon card of this type that is the `number`-th (from 0) to be played."""
    if card == state.ICON_YOU:
        return "YOU"
    return WOMEN[state.CATEGORIES[card - state.ICON]][number]


def _counted(counts: Any, names: tuple[str, ...]) -> str:
    """`icon-arts ×2 · share-the-love`."""
    shown = [name + (f" ×{count}" if count > 1 else "") for name, count in zip(names, counts, strict=True) if count]
    return " · ".join(shown)


def _slot(table: Any, k: int, seat: int | None) -> str:
    card = int(table.slot[k])
    if card < 0:
        return "(empty)"
    if k == table.flipped:
        return f"[{state.CARD_NAMES[card]}]"
    if seat is None or (table.slot_known[seat, k] and table.memory == state.PERFECT):
        return state.CARD_NAMES[card]
    return "?"


def _bank(table: Any, seat: int | None) -> list[str]:
    cells = [f"{k + 1} {_slot(table, k, seat)}" for k in range(state.NUM_SLOTS)]
    width = max(len(cell) for cell in cells) + 3
    return ["".join(cell.ljust(width) for cell in cells[row : row + 3]).rstrip() for row in (0, 3, 6)]


def _pile(table: Any, seat: int | None) -> str:
    """The pile's size, and those of its cards that may be shown."""
    cards = []
    for i in range(int(table.pile_size)):
        place = (int(table.pile_top) + i) % state.NUM_CARDS
        if table.pile_by[place] == seat and table.memory == state.PERFECT:
            cards.append(f"{i + 1} {state.CARD_NAMES[table.pile[place]]}")
    known = f" (from the top: {', '.join(cards)})" if cards else ""
    if seat is None and table.pile_size:
        known = f" (on top: {state.CARD_NAMES[table.pile[table.pile_top]]})"
    return f"{table.pile_size} cards{known}"


def _hand(table: Any, p: int, seat: int | None) -> str:
    size = int(table.hand_size[p])
    if seat is None or seat == p:
        return _counted(table.hand[p], state.CARD_NAMES) or "no cards"
    shown = f"{size} card{'s' if size != 1 else ''}"
    if table.memory == state.PERFECT:
        sure = _counted(table.at_least[seat, p], state.CARD_NAMES)
        none = [name for card, name in enumerate(state.CARD_NAMES) if table.at_most[seat, p, card] == 0]
        if sure:
            shown += f", among them {sure}"
        if none and size:
            shown += f", no {', no '.join(none)}"
    return shown


def _play(table: Any, seat: int | None) -> str:
    """The play that is being asked in parts."""
    parts = [state.CARD_NAMES[table.played]]
    if table.torch_with >= 0:
        parts.append(f"with {state.CARD_NAMES[table.torch_with]}")
    if table.offered >= 0:
        parts.append(f"offering a token of {state.CATEGORIES[table.offered]}")
    if table.target >= 0:
        parts.append(f"with player_{table.target}")
    if table.given >= 0 and (seat is None or seat in (table.turn, table.target)):
        parts.append(f"giving {state.CARD_NAMES[table.given]}")
    for p in range(int(table.num_players)):
        if table.chosen[p] >= 0:
            card = state.CARD_NAMES[table.chosen[p]] if seat is None or seat == p else "a card"
            parts.append(f"· player_{p} passes {card}")
    return " ".join(parts)


def _seat_marks(table: Any, p: int) -> list[str]:
    marks = []
    if table.skips[p]:
        marks.append("loses a turn" if table.skips[p] == 1 else f"loses {table.skips[p]} turns")
    steps = (p - int(table.turn)) % int(table.num_players) or int(table.num_players)
    if 0 <= table.turns_left < steps and p != table.turn:
        marks.append("had its last turn")
    return marks


def _head(table: Any, over: bool) -> str:
    head = f"Icons · {table.num_players} players"
    if table.goal != state.NO_GOAL:
        head += f" · {table.goal} points to win"
    if table.end == TRUNCATED:
        return f"{head} · stopped after {table.turns} turns"
    if over:
        return f"{head} · the game has ended after {table.turns + 1 if table.turns_left else table.turns} turns"
    if table.turns_left >= 0:
        head += " · last round"
    return f"{head} · turn {table.turns + 1} · {to_act(table, state.PHASES[table.phase])}"


def render(table: Any, seat: int | None) -> str:
    n = int(table.num_players)
    if table.chance:
        return f"Icons · {n} players · the cards are being dealt"
    over = bool(table.end != RUNNING)
    lines = [_head(table, over), ""]
    for title, row in zip(("Memory Bank", "", ""), _bank(table, seat), strict=True):
        lines.append(f"  {title:<13}{row}")
    if table.flipped >= 0 and table.slot[table.flipped] <= state.ICON_YOU:
        card = int(table.slot[table.flipped])
        lines.append(f"  {'':<13}[{state.CARD_NAMES[card]}] is {icon_name(card, int(table.discards[card]))}")
    lines.append(f"  {'Draw Pile':<13}{_pile(table, seat)}")
    lines.append(f"  {'discarded':<13}{_counted(table.discards, state.CARD_NAMES) or 'nothing'}")
    honoured = [icon_name(card, i) for card in range(state.ICON_YOU + 1) for i in range(int(table.discards[card]))]
    if honoured:
        lines.append(f"  {'honoured':<13}{', '.join(honoured)}")
    if table.played >= 0:
        lines.append(f"  {'being played':<13}{_play(table, seat)}")
    lines.append("")
    short = [category.split("-")[0] for category in state.CATEGORIES]
    lines.append(f"  {'seat':<10} points  {'  '.join(short)}   hand")
    for p in range(n):
        marks = ("▶" if p == table.player and not over else " ") + ("•" if p == table.turn and not over else " ")
        tokens = "  ".join(str(k or "·").center(len(word)) for k, word in zip(table.tokens[p], short, strict=True))
        hand = "   ".join([_hand(table, p, seat), *(f"({mark})" for mark in _seat_marks(table, p) if not over)])
        if table.end != RUNNING and table.end != TRUNCATED:
            hand = f"rank {table.rank[p]}" + (" · wins" if table.winner[p] else "")
        lines.append(f"{marks}player_{p:<3} {table.score[p]:>6}  {tokens}   {hand}")
    if not over:
        lines.append("\n  ▶ to act · • in turn · [ ] open in the bank · columns count tokens")
    return "\n".join(lines)
