"""Other orders of the deck."""

from __future__ import annotations

from card_envs.games.ice_points.state import (
    NUM_CARDS,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import shuffle, split


@jit
def resample(s, seat, rng):
    """Shuffles the cards still to be drawn in this pass; the next pass is shuffled by the generator when it comes."""
    s.deck[s.drawn :].sort()  # their order, which nobody knows, must not tell on the draw
    shuffle(rng, s.deck[s.drawn :], NUM_CARDS - s.drawn)
    split(rng, s.rng)
