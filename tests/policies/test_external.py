"""Policies of a user's own: however they come, they play, and whatever they do wrong is told and never hangs."""

import os
import time

import numpy as np
import pytest

from card_envs.arena.match import play_games
from card_envs.arena.tournament import play_tournament
from card_envs.errors import CardEnvsError, PolicyError
from card_envs.games import make_game
from card_envs.policies import make_policy
from card_envs.policies.external import TimedPolicy
from tests.arena.helpers import games_of

HERE = "tests.policies.test_external"


def highest(observation, action_mask):
    """A user's policy in three lines."""
    assert observation.shape == (make_game("icarus_club", 3).layout.size,)
    return int(np.flatnonzero(action_mask)[-1])


class Highest:
    name = "highest"

    def act(self, decisions):
        return decisions.action_mask.shape[1] - 1 - decisions.action_mask[:, ::-1].argmax(axis=1)


class MadeForGame(Highest):
    def __init__(self, game):
        self.name = f"made for {game.name}"


def factory(game):
    return MadeForGame(game)


class Predicting:
    def predict(self, observation, deterministic=False, action_masks=None):
        assert deterministic
        return Highest().act(type("D", (), {"action_mask": action_masks})()), None


ready = Highest()
model = Predicting()
number = 7


def hangs(observation, action_mask):
    time.sleep(3600)


def hangs_now_and_then(observation, action_mask):
    if np.random.default_rng().random() < 0.01:
        time.sleep(3600)
    return highest(observation, action_mask)


def dies(observation, action_mask):
    os._exit(3)


def raises(observation, action_mask):
    raise RuntimeError("out of ideas")


@pytest.fixture(scope="module")
def game():
    return make_game("icarus_club", 3)


@pytest.fixture(scope="module")
def expected(game):
    return play_games(game, [Highest()], games_of(game, 3, seed=0)).returns


@pytest.mark.parametrize(
    "policy",
    [f"{HERE}:{name}" for name in ("highest", "Highest", "MadeForGame", "factory", "ready", "model")]
    + [highest, ready, model],
    ids=str,
)
def test_every_form_of_policy_plays(game, expected, policy):
    made = make_policy(policy, game)
    returns = play_games(game, [made], games_of(game, 3, seed=0)).returns
    np.testing.assert_array_equal(returns, expected)


@pytest.mark.parametrize("name", ["highest", "factory"])
def test_policy_in_a_process_of_its_own_plays_the_same(game, expected, name):
    policy = TimedPolicy(f"{HERE}:{name}", game, limit=60)
    returns = play_games(game, [policy], games_of(game, 3, seed=0)).returns
    policy.close()
    np.testing.assert_array_equal(returns, expected)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:policy", "No module named 'no_such_module'"),
        (f"{HERE}:missing", "has no attribute 'missing'"),
        (f"{HERE}:number", "an object with the method 'act' or 'predict', or a function"),
        (f"{HERE}:", "has no attribute ''"),
        ("greedy", "unknown policy 'greedy'"),
    ],
)
def test_what_is_no_policy_is_refused(game, name, message):
    with pytest.raises(CardEnvsError, match=message):
        make_policy(name, game)


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("hangs", "time-out", "took longer than 0.5 seconds for a decision"),
        ("dies", "exception", "its process has died"),
        ("raises", "exception", r"raised RuntimeError: out of ideas \(.*test_external.py, line"),
    ],
)
def test_policy_that_hangs_dies_or_raises_loses_its_games_or_is_an_error(game, name, kind, message):
    policies = ["random", f"{HERE}:{name}"]
    result = play_tournament(game, policies, games=1, time_limit=0.5, faults="loss")
    assert result.num_games == 3 * 2 * 3  # three line-ups of two deals from three seats
    counts = result.faults[f"{HERE}:{name}"]
    assert counts == {kind: result.num_games}
    assert (result.pairings[1, 0].by_deal(1, "returns") == -0.5).all()
    with pytest.raises(PolicyError, match=message):
        play_tournament(game, policies, games=1, time_limit=0.5)


def test_only_the_game_in_which_it_hangs_is_lost(game):
    policies = ["random", f"{HERE}:hangs_now_and_then"]
    result = play_tournament(game, policies, games=1, time_limit=1.0, faults="loss")
    lost = result.faults[policies[1]]["time-out"]
    assert 0 < lost < result.num_games


def test_policy_that_cant_be_loaded_in_its_process_is_an_error(game):
    with pytest.raises(CardEnvsError, match="No module named"):
        play_tournament(game, ["random", "no_such_module:policy"], games=1, time_limit=1.0)
