"""Copies of environments: apart before the first reset, alike after it."""

import copy
import multiprocessing
import os
import pickle

import pytest

from card_envs.envs.aec import CardGameEnv
from card_envs.envs.learner import LearnerBatch
from card_envs.envs.single_agent import SingleAgentEnv
from card_envs.envs.vector import CardVectorEnv
from card_envs.games import make_game

GAME = make_game("icarus_club", 3)


def _sb3():
    pytest.importorskip("stable_baselines3", reason="needs the extra 'train'")
    from card_envs.envs.sb3 import CardVecEnv

    return CardVecEnv(GAME, 2)


def _tianshou():
    pytest.importorskip("tianshou", reason="needs Tianshou")
    from card_envs.bridges.tianshou import LearnerVectorEnv

    return LearnerVectorEnv(GAME.name, 2, 3)


def _rllib():
    pytest.importorskip("ray.rllib", reason="needs RLlib")
    from card_envs.bridges.rllib import CardMultiAgentEnv

    return CardMultiAgentEnv({"game": GAME.name, "num_players": 3})


#: how each view is made, and how the generators that the next game is dealt from are looked at
VIEWS = {
    "aec": (lambda: CardGameEnv(GAME), lambda env: env._states["rng"]),
    "learner": (lambda: LearnerBatch(GAME, 2), lambda env: env.tables.states["rng"]),
    "gymnasium": (lambda: SingleAgentEnv(GAME.name, 3), lambda env: env._learner.tables.states["rng"]),
    "vector": (lambda: CardVectorEnv(GAME.name, 2, 3), lambda env: env._learner.tables.states["rng"]),
    "sb3": (_sb3, lambda env: env.learner.tables.states["rng"]),
    "tianshou": (_tianshou, lambda env: env._learner.tables.states["rng"]),
    "rllib": (_rllib, lambda env: env._tables.states["rng"]),
}
each_view = pytest.mark.parametrize("view", list(VIEWS))


def dealt(env, view):
    """Resets without a seed and tells which game that was."""
    env.reset()
    return VIEWS[view][1](env).tobytes()


def _deal_in_a_child(env, view, pipe):
    pipe.send(dealt(env, view))
    pipe.close()


@each_view
def test_copies_made_before_the_first_reset_play_games_of_their_own(view):
    base = VIEWS[view][0]()
    copies = [base, copy.deepcopy(base), copy.deepcopy(base), *(pickle.loads(pickle.dumps(base)) for _ in range(2))]
    assert len({dealt(env, view) for env in copies}) == len(copies)


@each_view
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forks_made_before_the_first_reset_play_games_of_their_own(view):
    base, context = VIEWS[view][0](), multiprocessing.get_context("fork")
    games = []
    for _ in range(2):
        mine, theirs = context.Pipe()
        child = context.Process(target=_deal_in_a_child, args=(base, view, theirs))
        child.start()
        assert mine.poll(60)
        games.append(mine.recv())
        child.join()
    assert len({*games, dealt(base, view)}) == 3


@each_view
@pytest.mark.parametrize(
    "how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deepcopy", "pickle"]
)
def test_copies_made_after_a_reset_deal_the_same_games(view, how):
    base = VIEWS[view][0]()
    base.reset()
    twin = how(base)
    first = dealt(base, view)
    assert dealt(twin, view) == first
    assert dealt(base, view) == dealt(twin, view) != first


@each_view
def test_a_reset_without_a_seed_takes_entropy_once_and_goes_on_with_its_stream(view):
    games = [dealt(VIEWS[view][0](), view) for _ in range(3)]
    assert len(set(games)) == 3


def test_an_environment_that_a_snapshot_of_one_never_reset_was_put_into_plays_a_game_of_its_own():
    base = CardGameEnv(GAME)
    twins = [CardGameEnv(GAME) for _ in range(2)]
    for twin in twins:
        twin.restore(base.save())
    assert len({dealt(env, "aec") for env in (base, *twins)}) == 3


def test_a_seed_of_none_takes_fresh_entropy_for_what_comes_next():
    games = set()
    for _ in range(2):
        base = LearnerBatch(GAME, 2)
        base.seed(5)
        base.seed(None)  # takes the seed back
        games.add(dealt(base, "learner"))
        base.seed(5)
        base.reset()
        base.seed(None)
        assert base.tables.rngs.any(axis=1).all(), "the games that run go on with generators that work"
        games.add(dealt(base, "learner"))
    assert len(games) == 4
