"""The hand-written players choose what they always chose: records and benchmarks rest on it, and it may not drift."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from card_envs.games import make_game
from card_envs.kernels import batch
from card_envs.kernels.rng import seed_words
from card_envs.kernels.state import RUNNING
from card_envs.policies.game_batch import GameBatch

# How many positions there are in 60 games, a third of them random, a third mixed, a third hand-written; and a hash over
# the hand-written player's choice in each and its generator afterwards.
CHOICES = {
    ("icarus_club_v0", 3): (9094, "4268230437a1f944"),
    ("icarus_club_v0", 4): (14762, "2f4a89e1e3a930d2"),
    ("icarus_club_v0", 5): (17716, "2d47ced69ab0caba"),
    ("icons_v0", 2): (7620, "5cc6cd6eebbed4ec"),
    ("icons_v0", 3): (10861, "13d25aeb99532f89"),
    ("icons_v0", 4): (10651, "e15e780372817fb3"),
    ("icons_v0", 5): (10588, "391c8cc1d25e257b"),
    ("icons_v0", 6): (11503, "0cf73e7f2f0c807e"),
    ("icons_v0", 7): (11185, "9e8812d75f5001cb"),
    ("icons_v0", 8): (10953, "6b2c090f6fe66711"),
    ("ice_points_v0", 5): (4305, "2d8b662bbde72b26"),
    ("ice_points_v0", 6): (4246, "8db60b3659bb7156"),
    ("ice_points_v0", 7): (4265, "d76c855add599db1"),
    ("ice_points_v0", 8): (4220, "9aa18e32c1dc7c19"),
    ("micons_v0", 2): (2994, "3cc32403a3eaa750"),
    ("micons_v0", 3): (2380, "98aced8f31c1aaa2"),
    ("micons_v0", 4): (2756, "ad51e742cafdf71d"),
}


@pytest.mark.parametrize(("name", "n"), CHOICES)
def test_choices_are_what_they_were(name, n):
    game, rows = make_game(name, n), np.arange(60)
    tables = GameBatch(game, len(rows))
    tables.states["rng"], tables.rngs[:] = seed_words(1, len(rows)), seed_words(2, len(rows))
    tables.start(rows)
    mask, positions, moves, seen = np.zeros(game.num_actions, np.int8), 0, 0, hashlib.sha256()
    while len(rows := np.flatnonzero(tables.states["end"] == RUNNING)):
        random, by_hand = np.zeros((2, len(rows)), np.int64)
        tables.kernels.decide(tables.states, rows, batch.RANDOM, tables.rngs, mask, random, None)
        tables.kernels.decide(tables.states, rows, batch.HEURISTIC, tables.rngs, mask, by_hand, None)
        seen.update(by_hand.tobytes() + tables.rngs[rows].tobytes())
        as_by_hand = (rows % 3 == 2) | ((rows % 3 == 1) & (moves % 3 > 0))
        tables.act(rows, np.where(as_by_hand, by_hand, random), "mixed")
        positions, moves = positions + len(rows), moves + 1
    assert (positions, seen.hexdigest()[:16]) == CHOICES[name, n]
