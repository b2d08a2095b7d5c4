"""Seats around a table: player_1 sits to the left of player_0, the last one to its right; and who takes which.

Branches instead of remainders: compilers turn these into conditional moves, a remainder is a division.
"""

from __future__ import annotations

from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, uniform


@jit
def left_of(s, seat):
    """The next seat clockwise."""
    return seat + 1 if seat + 1 < s.num_players else 0


@jit
def right_of(s, seat):
    """The next seat counter-clockwise."""
    return seat - 1 if seat > 0 else s.num_players - 1


@jit
def seat_after(s, seat, steps):
    """The seat that many steps clockwise, fewer than there are seats."""
    other = seat + steps
    return other if other < s.num_players else other - s.num_players


@jit
def steps_to(s, seat, other):
    """How many steps clockwise `other` sits from `seat`."""
    return other - seat if other >= seat else other - seat + s.num_players


@jit
def seat_players(rows, num_players, fixed_seat, learner, pool, shares, drivers, seats, rngs):
    """Seats one learner and others drawn by share at each row.

    Args:
        rows: int64, tables to seat.
        num_players: seats at a table.
        fixed_seat: the learner's seat, or -1 to draw it.
        learner: the learner's driver number.
        pool: int8, (k,), driver numbers for the other seats.
        shares: float64, (k,), how often each of them is drawn; sums to 1.
        drivers: int8, (B, max players), filled in.
        seats: int64, (B,), the learner's seat, filled in.
        rngs: uint64, (B, 2), every table's generator for policies.
    """
    for i in range(rows.shape[0]):
        row = rows[i]
        rng = rngs[row]
        seats[row] = below(rng, num_players) if fixed_seat < 0 else fixed_seat
        for seat in range(num_players):
            drivers[row, seat] = pool[draw_share(shares, rng)]
        drivers[row, seats[row]] = learner


@jit
def draw_share(shares, rng):
    """A position of `shares`, drawn with these probabilities."""
    point = uniform(rng)
    last = 0
    for k in range(shares.shape[0]):
        if shares[k] > 0.0:
            last = k
            if point < shares[k]:
                return k
            point -= shares[k]
    return last
