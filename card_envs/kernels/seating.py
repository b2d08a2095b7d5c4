"""Who sits where at many tables."""

from __future__ import annotations

from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, uniform


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
