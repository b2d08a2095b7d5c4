"""What the hand-written player of The Icarus Club reckons for each sample: one way in which the round may go on.

It does so for many of them with every choice. So the cards that all seats take in one are one number, `SEAT_BITS`
bits for each seat, and nothing here has branches: in a loop over samples the compiler takes many at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from card_envs.games.icarus_club.state import MAX_PLAYERS
from card_envs.kernels.jit import jit

PER_CARD = 0.02  # before the last round: what being one card nearer to the rival for the second place is worth
FAR = 20  # cards, from where on it makes no difference
UNIT_BITS = 10
UNIT = 1 << UNIT_BITS  # chances and random numbers are counted in 1/1024
SEAT_BITS = 12
SEAT_MASK = (1 << SEAT_BITS) - 1
NOBODY = MAX_PLAYERS  # takes what no seat gets: the four bits above all seats, which nobody reads
ENTRY_BITS = 6  # holds each seat's first bit


def _first_bits() -> npt.NDArray[np.int64]:
    table = np.zeros(1 << MAX_PLAYERS, np.int64)
    for seats in range(len(table)):
        listed = [p for p in range(MAX_PLAYERS) if seats >> p & 1] or [NOBODY]
        table[seats] = sum(p * SEAT_BITS << ENTRY_BITS * k for k, p in enumerate(listed))
    return table


# FIRST_BITS[set of seats]: where the bits of each of them begin, `ENTRY_BITS` for each; those of nobody for no seat.
FIRST_BITS = _first_bits()


@jit
def taker(seat, chance, count, others, draw, draw_other):
    """Where the bits of who takes a pile begin: of `seat` with its chance, else of one of the `count` `others`."""
    other = (others >> (ENTRY_BITS * ((draw_other * count) >> UNIT_BITS))) & ((1 << ENTRY_BITS) - 1)
    return seat * SEAT_BITS if draw < chance else other


ALL_EQUAL = MAX_PLAYERS  # in place of how many share the second place, where there is none


def _worth() -> npt.NDArray[np.float64]:
    table = np.zeros((2, MAX_PLAYERS + 1, MAX_PLAYERS + 1, FAR + 1))
    for n in range(3, MAX_PLAYERS + 1):
        for sharing in range(n):
            value = (n / sharing - 1.0) / (n - 1.0) if sharing > 0 else -1.0 / (n - 1.0)
            table[0, n, sharing] = value - PER_CARD * np.arange(FAR + 1)
            table[1, n, sharing] = value
    return table.reshape(2, MAX_PLAYERS + 1, -1)


# WORTH[last round, players, standing]: the return if the game ended so. Before the last round less the distance in
# cards from the highest, or from the second if the seat itself is highest.
WORTH = _worth()


@jit
def standing(seat, earned, score):
    """How many share the second place, 0 if the seat does not, and its distance (see `WORTH`), in one number.

    `score` is packed like `earned`, but each is one more than the seat's sum, so that 0 is no seat.
    """
    most = 0
    for p in range(MAX_PLAYERS):
        most = max(most, (earned >> (SEAT_BITS * p)) & SEAT_MASK)
    own = total(seat, earned, score, most)
    highest = 0
    for p in range(MAX_PLAYERS):
        highest = max(highest, total(p, earned, score, most))
    second, same = 0, 0
    for p in range(MAX_PLAYERS):
        other = total(p, earned, score, most)
        second = max(second, other if other < highest else 0)
        same += other == own
    distance = min(abs(own - (second if own == highest else highest)), FAR)
    sharing = same if own == second else 0
    return (sharing if second > 0 else ALL_EQUAL) * (FAR + 1) + distance


@jit
def total(seat, earned, score, most):
    """R2: who has the most earns nothing."""
    cards = (earned >> (SEAT_BITS * seat)) & SEAT_MASK
    return ((score >> (SEAT_BITS * seat)) & SEAT_MASK) + (cards if cards < most else 0)
