"""Gymnasium's wrappers around batches, specs of all kinds, and tests/envs/test_gymnasium.py, with every version."""

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import FlattenObservation, RecordEpisodeStatistics
from gymnasium.wrappers.vector import FlattenObservation as FlattenVectorObservation
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics

from tests.envs.test_gymnasium import *  # noqa: F403 - the whole of it again, here with this version of Gymnasium
from tests.envs.test_gymnasium import gym_id, legal, make_vec, options_of, play
from tests.variants import each_game

both_modes = pytest.mark.parametrize("mode", ["SameStep", "NextStep"])


@each_game
def test_the_spec_of_a_wrapped_environment_goes_to_json_and_back(game):
    env = gymnasium.make(gym_id(game), **options_of(game), opponents={"random": 1.0, "heuristic": 1.0}, seat=0)
    env = RecordEpisodeStatistics(FlattenObservation(env))
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert str(again) == str(env)
    np.testing.assert_array_equal(env.reset(seed=5)[0], again.reset(seed=5)[0])
    first, second = play(env), play(again)
    assert first[1]["episode"]["r"] == second[1]["episode"]["r"] == first[0]


@each_game
@both_modes
def test_the_spec_of_a_batch_goes_to_json_and_back(game, mode):
    envs = make_vec(gym_id(game), num_envs=2, autoreset_mode=mode, **options_of(game))
    again = gymnasium.make_vec(EnvSpec.from_json(envs.spec.to_json()))
    assert again.unwrapped.game == game
    assert again.num_envs == 2
    assert again.metadata["autoreset_mode"] is AutoresetMode(mode)
    np.testing.assert_array_equal(envs.reset(seed=5)[0], again.reset(seed=5)[0])


@each_game
@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(
            "SameStep",
            marks=pytest.mark.skipif(
                tuple(map(int, gymnasium.__version__.split(".")[:2])) < (1, 4),
                reason="Gymnasium before 1.4 leaves out the first step of every game but the first",
            ),
        ),
        "NextStep",
    ],
)
def test_statistics_of_a_batch_are_those_of_its_games(game, mode):
    envs = RecordVectorStatistics(make_vec(gym_id(game), num_envs=4, autoreset_mode=mode, **options_of(game)))
    envs.reset(seed=0)
    played, paid, told, lengths = np.zeros(4, int), [], [], []
    before = np.zeros(4, bool)  # whose row only shows the new deal
    for _ in range(400):
        played += ~before
        _, rewards, terminations, truncations, infos = envs.step(legal(envs))
        ended = terminations | truncations
        if ended.any():
            np.testing.assert_array_equal(infos["_episode"], ended)
            told += list(zip(infos["episode"]["r"][ended].tolist(), infos["episode"]["l"][ended].tolist(), strict=True))
            paid += rewards[ended].tolist()
            lengths += played[ended].tolist()
            played[ended] = 0
        before = ended if mode == "NextStep" else before
    assert len(told) >= 4
    assert told == list(zip(paid, lengths, strict=True))


@each_game
def test_flatten_observation_leaves_a_batch_and_its_masks_as_they_are(game):
    plain = make_vec(gym_id(game), num_envs=2, autoreset_mode="NextStep", **options_of(game))
    flat = FlattenVectorObservation(make_vec(gym_id(game), num_envs=2, autoreset_mode="NextStep", **options_of(game)))
    assert flat.single_observation_space == plain.single_observation_space
    for (a, a_infos), (b, b_infos) in [(plain.reset(seed=2), flat.reset(seed=2))]:
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a_infos["action_mask"], b_infos["action_mask"])


def test_games_in_processes_of_their_own_work_too():
    envs = gymnasium.make_vec("card_envs/Micons-v0", num_envs=2, vectorization_mode="async", num_players=3)
    _, infos = envs.reset(seed=0)
    ended = 0
    for _ in range(30):
        _, _, terminations, truncations, infos = envs.step(infos["action_mask"].argmax(axis=1))
        ended += (terminations | truncations).sum()
    assert ended > 4
    envs.close()
