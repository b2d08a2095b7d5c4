"""A hand-written player of The Icarus Club."""

from __future__ import annotations

from card_envs.kernels.jit import jit
from card_envs.kernels.rng import random_legal


@jit
def heuristic(s, mask, rng):
    count = 0
    for action in range(mask.shape[0]):
        count += mask[action]
    return random_legal(rng, mask, count)
