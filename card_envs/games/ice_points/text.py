"""The table of Ice Points as text, and what has happened at it."""

from __future__ import annotations

from typing import Any, NamedTuple

from card_envs.games.game import to_act
from card_envs.games.ice_points import state
from card_envs.kernels.state import RUNNING


class Event(NamedTuple):
    """A card that was drawn and what came of it.

    Attributes:
        pass_number: the pass of the deck, from 1.
        seat: who drew.
        card: the card's name.
        what: what the player did with it.
    """

    pass_number: int
    seat: int
    card: str
    what: str

    def __str__(self) -> str:
        return f"player_{self.seat} draws {self.card:>3}: {self.what}"


def events(table: Any) -> list[Event]:
    """Every card drawn so far, the oldest first; the last one may wait for its player's decision."""
    return [
        Event(
            1 + i // state.NUM_CARDS,
            int(table.log_seat[i]),
            state.CARD_NAMES[table.log_card[i]],
            _what_happened(table, i),
        )
        for i in range(table.logged)
    ]


def _what_happened(table: Any, i: int) -> str:
    rank = int(table.log_card[i]) // state.NUM_SUITS
    outcome = int(table.log_outcome[i])
    pays, takes = int(state.PAYS[rank]), int(state.TAKES[rank])
    pieces = _set(table.log_pieces[i])
    swap = ""
    if table.log_exchange[i] >= 0:
        partner = int(table.log_partner[i])
        other = "the centre" if partner == state.CENTRE else f"player_{partner}"
        swap = f"swaps {state.EXCHANGE_NAMES[table.log_exchange[i]]} with {other}, then "
    if outcome == state.OPEN and takes:
        return f"to take {takes} points from the centre"
    if outcome == state.OPEN:
        return f"{swap}{_payment(table, i, 'to put', 'to give', f'{pays} points')}"
    if outcome == state.FOR_THE_START:
        return "for the first turn"
    if outcome == state.SKIPPED:
        return "is skipped"
    if outcome == state.PAID:
        return f"{swap}{_payment(table, i, 'puts', 'gives', pieces)}"
    if outcome == state.TOOK:
        return f"takes {pieces} from the centre"
    if outcome == state.TOOK_ALL:
        return f"takes all that lies in the centre, {pieces}"
    if outcome == state.TOO_FEW_POINTS:
        return f"has fewer than {pays} points and pays nothing"
    if outcome == state.NO_PARTNER:
        return f"can't make {pays} points or exchange for them, and pays nothing"
    if rank == state.ACE:
        return "finds the centre empty"
    return f"finds no {takes} points in the centre"


def _payment(table: Any, i: int, puts: str, gives: str, what: str) -> str:
    rank = int(table.log_card[i]) // state.NUM_SUITS
    seat, n = int(table.log_seat[i]), int(table.num_players)
    if rank == state.QUEEN:
        return f"{gives} {what} to player_{(seat + 1) % n} on the left"
    if rank == state.JACK:
        return f"{gives} {what} to player_{(seat - 1) % n} on the right"
    return f"{puts} {what} in the centre"


def _set(pieces: Any) -> str:
    """`L+M+S` for a few pieces, `3L+2M` for many."""
    counts = [(int(pieces[size]), state.SIZES[size]) for size in (state.LARGE, state.MEDIUM, state.SMALL)]
    if sum(count for count, _ in counts) <= state.MAX_AMOUNT:
        return "+".join("+".join([name] * count) for count, name in counts if count)
    return "+".join(f"{count}{name}" for count, name in counts if count)


def _question(table: Any) -> str:
    rank = int(table.card) // state.NUM_SUITS
    amount = int(state.PAYS[rank] + state.TAKES[rank])
    return ("pay {}", "take {}", "exchange, then pay {}")[table.phase].format(amount)


def _since_last_decision(table: Any, seat: int) -> int:
    """The position in the log of the seat's last decision before the open one, -1 for none."""
    for i in range(int(table.logged) - 1, -1, -1):
        if table.log_seat[i] == seat and table.log_outcome[i] in (state.PAID, state.TOOK):
            return i
    return -1


def render(table: Any, seat: int | None) -> str:
    """Nobody's knowledge differs at this table; `seat` chooses whose last decision the report goes back to."""
    n = int(table.num_players)
    over = table.end != RUNNING
    left = state.NUM_CARDS - int(table.drawn)
    title = f"Ice Points · {n} players"
    if table.chance:
        return f"{title} · the cards are being shuffled for pass {table.passes + 1} of {state.NUM_PASSES}"
    if over:
        lines = [f"{title} · the game has ended"]
    else:
        lines = [
            f"{title} · pass {table.passes + 1} of {state.NUM_PASSES} · {left} cards left · "
            f"{to_act(table, _question(table))}"
        ]
        ranks = [int(card) // state.NUM_SUITS for card in table.deck[table.drawn :]]
        lines.append("  in the deck  " + " ".join(f"{name}×{ranks.count(r)}" for r, name in enumerate(state.RANKS)))
    lines += ["", f"  {'':<10} {'points':>6} {'large':>7} {'medium':>7} {'small':>7}"]
    for p in [*range(n), state.CENTRE]:
        small, medium, large = (int(count) for count in table.pieces[p])
        name = "centre" if p == state.CENTRE else f"player_{p}"
        mark = "▶" if p == table.player and not over else " "
        line = f"{mark} {name:<10} {small + 2 * medium + 3 * large:>6} {large:>7} {medium:>7} {small:>7}"
        if over and p != state.CENTRE:
            line += f"   rank {table.rank[p]}" + (" · wins" if table.winner[p] else "")
        lines.append(line)
    viewer = int(table.player) if seat is None else seat
    since = _since_last_decision(table, viewer)
    lines += ["", "  so far" if since < 0 else f"  since player_{viewer} last decided"]
    lines += [f"    {event}" for event in events(table)[max(since, 0) :]]
    return "\n".join(lines)
