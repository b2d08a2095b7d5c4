"""A hand-written player of Ice Points.

The cards decide how many points move; a player decides only which pieces. What that is worth shows in the centre alone:
everybody else draws before this player does again, so the centre should suit the taking cards badly. Large pieces go
in, and small change comes out of it or goes to the neighbours.

Skill hardly matters in this game. Mean returns over two million games each, with 95 % intervals:

| players | one such player among random ones | one random player among such |
|---|---|---|
| 5 | +0.0017 ± 0.0007 | -0.0020 ± 0.0007 |
| 6 | +0.0009 ± 0.0006 | -0.0017 ± 0.0006 |
| 7 | +0.0008 ± 0.0006 | -0.0008 ± 0.0006 |
| 8 | +0.0004 ± 0.0005 | -0.0005 ± 0.0005 |
"""

from __future__ import annotations

import numpy as np

from card_envs.games.ice_points.rules import can_make, rank_of
from card_envs.games.ice_points.state import (
    CENTRE,
    EXCHANGE,
    EXCHANGE_1,
    EXCHANGE_GETS,
    EXCHANGE_GIVES,
    JACK,
    NUM_CARDS,
    NUM_EXCHANGES,
    NUM_RANKS,
    NUM_SIZES,
    PAY,
    PIECE_SETS,
    QUEEN,
    TAKES,
)
from card_envs.kernels.jit import jit

TIE_BREAK = 0.001  # an offer in points, times 52 cards at most, outweighs every number of pieces


@jit
def heuristic(s, mask, rng):
    """The action that leaves the next player the least to take; among equals, the one that keeps pieces large."""
    ranks_left = np.zeros(NUM_RANKS, np.int64)
    for i in range(s.drawn, NUM_CARDS):
        ranks_left[rank_of(s.deck[i])] += 1
    if s.drawn == NUM_CARDS:
        ranks_left[:] = 1  # the next card comes from a fresh deck
    centre = np.empty(NUM_SIZES, np.int8)
    choice, least = -1, np.inf
    for action in range(mask.shape[0]):
        if mask[action]:
            lay_out_centre(s, action, centre)
            cost = offered(centre, ranks_left) + TIE_BREAK * change_kept(s, action)
            if cost < least:
                choice, least = action, cost
    return choice


@jit
def lay_out_centre(s, action, centre):
    """Fills in the pieces in the centre as they would be after the action."""
    centre[:] = s.pieces[CENTRE]
    if s.phase == EXCHANGE:
        partner, kind = divmod(action - EXCHANGE_1, NUM_EXCHANGES)
        if partner == 0:
            centre[EXCHANGE_GIVES[kind]] += 1
            centre -= EXCHANGE_GETS[kind]
    elif s.phase != PAY:
        centre -= PIECE_SETS[action]
    elif pays_centre(s):
        centre += PIECE_SETS[action]


@jit
def pays_centre(s):
    return rank_of(s.card) != QUEEN and rank_of(s.card) != JACK


@jit
def offered(centre, ranks_left):
    """The points that the centre gives to the cards left, one of each: what the next draw takes, but for a factor."""
    points = 0
    for rank in range(NUM_RANKS):
        if TAKES[rank] > 0 and can_make(centre, TAKES[rank]):
            points += ranks_left[rank] * TAKES[rank]
    return points


@jit
def change_kept(s, action):
    """The wish behind ties: few pieces into the centre, many out of it, many to a neighbour, few in an exchange."""
    if s.phase == EXCHANGE:
        return EXCHANGE_GETS[(action - EXCHANGE_1) % NUM_EXCHANGES].sum()
    pieces = PIECE_SETS[action].sum()
    return pieces if s.phase == PAY and pays_centre(s) else -pieces
