"""The hand-written player of The Icarus Club is worth playing against."""

import numba
import numpy as np
import pytest

from card_envs.arena.match import play_games, rotated
from card_envs.arena.statistics import estimate
from card_envs.games.icarus_club import IcarusClub
from card_envs.policies import make_policy

COMPILED = not numba.config.DISABLE_JIT


@pytest.mark.skipif(not COMPILED, reason="takes too many games for the interpreter")
@pytest.mark.parametrize("n", [3, 4, 5])
def test_alone_among_random_players_it_wins_more_than_its_share(n):
    game = IcarusClub(n)
    games = rotated([1, *[0] * (n - 1)], 1000, seed=n, stream=0)
    results = play_games(game, [make_policy("random", game), make_policy("heuristic", game)], games)
    own = results.returns[games.seats == 1]  # one seat of every game, in their order
    found = estimate(own.reshape(-1, n).mean(axis=1))
    assert found.low > 0, found
    assert np.isclose(results.returns.sum(), 0)
