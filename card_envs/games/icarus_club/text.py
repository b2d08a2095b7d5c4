"""The table of The Icarus Club as text."""

from __future__ import annotations

from typing import Any

from card_envs.games.game import to_act
from card_envs.games.icarus_club import state
from card_envs.kernels.state import RUNNING


def _cards(table: Any, place: int) -> list[str]:
    return [name for card, name in enumerate(state.CARD_NAMES) if table.where[card] == place]


def _hand(cards: list[str]) -> str:
    """Cards grouped by suit: `craps 3 7 · slots 1`."""
    by_suit: dict[str, list[str]] = {}
    for name in cards:
        suit, rank = name.rsplit("-", 1)
        by_suit.setdefault(suit, []).append(rank)
    return " · ".join(f"{suit} {' '.join(ranks)}" for suit, ranks in by_suit.items()) or "no cards"


def render(table: Any, seat: int | None) -> str:
    n = int(table.num_players)
    if table.chance:
        return f"The Icarus Club · {n} players · the cards are being dealt"
    over = table.end != RUNNING
    lines = []
    if over:
        lines.append(f"The Icarus Club · {n} players · the game has ended")
    else:
        now = f"round {table.rounds + 1} of {table.num_rounds} · trick {table.pile_now + 1} of {table.num_piles}"
        asked = to_act(table, state.PHASES[table.phase])
        lines.append(f"The Icarus Club · {n} players · {now} · {asked}")
    if table.suit_out >= 0 and not over:
        lines.append(f"  left out   {state.SUITS[table.suit_out]}")
    left_over = [state.CARD_NAMES[card] for card in state.deck_cards(table) if table.where[card] == state.OUT]
    if left_over and not over:
        lines.append(f"  left over  {', '.join(left_over)}")
    if not over:
        piles = [
            f"{state.CARD_NAMES[table.pile_top[k]]}" + (f" (×{table.pile_size[k]})" if table.pile_size[k] > 1 else "")
            for k in range(table.pile_now, table.num_piles)
        ]
        lines.append("  lane       " + (" | ".join(piles)))
    lines.append("")
    lines.append(f"  {'seat':<10} {'sum':>4} {'round':>6}  {'played':<13} hand")
    for p in range(n):
        card = int(table.played[p])
        played = state.CARD_NAMES[card] if card >= 0 and not over else "-"
        if card >= 0 and card == table.chosen and not over:
            played += "*"
        hand = _cards(table, p)
        shown = _hand(hand) if seat is None or seat == p else f"{len(hand)} card{'s' * (len(hand) != 1)}"
        voids = [state.SUITS[suit] for suit in range(state.NUM_SUITS) if table.void[p, suit]]
        if voids and not over:
            shown += f"   (no {', no '.join(voids)})"
        marks = ("▶" if p == table.player and not over else " ") + ("•" if p == table.start and not over else " ")
        if over:
            shown = f"rank {table.rank[p]}" + (" · wins" if table.winner[p] else "")
        lines.append(f"{marks}player_{p:<3} {table.score[p]:>4} {table.earnings[p]:>6}  {played:<13} {shown}")
    if not over:
        lines.append("\n  ▶ to act · • leads · * chosen for the lane")
    return "\n".join(lines)
