"""Seats around a table: player_1 sits to the left of player_0, the last one to its right.

Branches instead of remainders: compilers turn these into conditional moves, a remainder is a division.
"""

from __future__ import annotations

from card_envs.kernels.jit import jit


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
