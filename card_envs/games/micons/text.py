"""The table of Micons as text."""

from __future__ import annotations

import textwrap
from typing import Any

from card_envs.games.game import to_act
from card_envs.games.micons import rules, state
from card_envs.kernels.state import RUNNING, TRUNCATED

ANSWERS = ("is asked", "accepts", "rejects")


def _plural(count: int) -> str:
    return f"{count} card" if count == 1 else f"{count} cards"


def _card(table: Any, names: list[str], card: int, *, over: bool) -> str:
    """An object, the trait on its back, and a mark for what it is good for now."""
    mark = ""
    if not over:
        if rules.matches(table, card):
            mark = "*"
        elif rules.can_be_argued(table, card):
            mark = "?"
        elif table.rejected[card]:
            mark = "×"
    drawn = " (drawn)" if card == table.drawn and not over else ""
    return f"{mark}{names[card]} → {state.TRAITS[table.back[card]]}{drawn}"


def _active(table: Any, names: list[str], seat: int | None) -> str:
    unseen = table.active == table.starter
    shown = "object not seen" if unseen and seat is not None else names[table.active]
    beneath = f", {_plural(table.num_beneath)} beneath it" if table.num_beneath else ""
    return f"{state.TRAITS[rules.trait_to_match(table)]}  (active card: {shown}{beneath})"


def _deck(table: Any, names: list[str], seat: int | None) -> str:
    if table.deck_size == 0:
        return "empty"
    top = int(table.deck[table.deck_size - 1])
    shown = f", which is {names[top]}" if seat is None else ""
    return f"{_plural(table.deck_size)}, {state.TRAITS[table.back[top]]} on top{shown}"


def _vote(table: Any, names: list[str]) -> str:
    answers = []
    for k in range(1, int(table.num_players)):
        p = (int(table.turn) + k) % int(table.num_players)
        if table.votes[p] or p == table.player:
            answers.append(f"player_{p} {ANSWERS[table.votes[p]]}")
    trait = state.TRAITS[rules.trait_to_match(table)]
    return f"player_{table.turn} argues that {names[table.argued]} is {trait} · {' · '.join(answers)}"


def _head(table: Any) -> str:
    head = f"Micons · {table.num_players} players · judging: {state.JUDGING[table.judging]}"
    if table.end == TRUNCATED:
        return f"{head} · stopped after {table.turns} turns"
    if table.end != RUNNING:
        return f"{head} · the game has ended after {table.turns} turns"
    asked = {state.PLAY: "play", state.DRAWN: "play or keep the drawn card", state.VOTE: "vote"}
    return f"{head} · turn {table.turns + 1} · {to_act(table, asked[int(table.phase)])}"


def render(table: Any, names: list[str], seat: int | None) -> str:
    n = int(table.num_players)
    if table.chance and not table.dealt:
        return f"Micons · {n} players · the cards are being dealt"
    over = bool(table.end != RUNNING)
    lines = [_head(table)]
    if not over:
        lines.append(f"  to match   {_active(table, names, seat)}")
        lines.append(f"  deck       {'being shuffled' if table.chance else _deck(table, names, seat)}")
        if table.phase == state.VOTE:
            lines.append(f"  vote       {_vote(table, names)}")
    lines += ["", f"  {'seat':<10} cards   object → trait on its back"]
    for p in range(n):
        cards = [_card(table, names, card, over=over) for card in range(len(names)) if table.where[card] == p]
        shown = " · ".join(cards) or "no cards"
        if over and table.end != TRUNCATED:
            shown = f"rank {table.rank[p]}" + (" · wins" if table.winner[p] else f" · {shown}")
        marks = ("▶" if p == table.player and not over else " ") + ("•" if p == table.turn and not over else " ")
        row = f"{marks}player_{p:<3} {table.hand_size[p]:>5}   "
        lines += textwrap.wrap(shown, 120, initial_indent=row, subsequent_indent=" " * len(row), break_on_hyphens=False)
    if not over:
        marks = "▶ to act · • whose turn it is · * matches"
        lines.append(f"\n  {marks}" + (" · ? can be argued for · × rejected" if table.judging == state.BY_VOTE else ""))
    return "\n".join(lines)
