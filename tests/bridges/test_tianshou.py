"""What the Tianshou page promises beyond its program. Run in an environment with the extra `tianshou`."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import PettingZooEnv
from tianshou.utils.net.common import Net

import card_envs
from card_envs.bridges.tianshou import LearnerVectorEnv
from card_envs.envs.learner import LearnerBatch
from card_envs.errors import CardEnvsError, IllegalActionError
from card_envs.games import make_game, player_counts

EVERY_COUNT = [(game, players) for game in card_envs.list_games() for players in player_counts(game)]
each_count = pytest.mark.parametrize(("game", "players"), EVERY_COUNT)


def random_legal(mask, rng):
    return np.array([rng.choice(np.flatnonzero(row)) for row in mask])


@each_count
def test_games_are_those_of_the_learner_tables_decision_by_decision(game, players):
    """A transition's next observation is the learner's own next decision, or its last view of a game that has ended."""
    rng = np.random.default_rng(0)
    envs, tables = LearnerVectorEnv(game, 8, players), LearnerBatch(make_game(game, players), 8)
    envs.seed(3)
    tables.seed(3)
    observations, infos = envs.reset()
    tables.reset()
    ends = 0
    for _ in range(200):
        np.testing.assert_array_equal(observations.obs, tables.observation)
        np.testing.assert_array_equal(observations.mask, tables.action_mask.astype(bool))
        assert [info["seat"] for info in infos] == tables.seats.tolist()
        actions = random_legal(observations.mask, rng)
        seen, rewards, terminated, truncated, told = envs.step(actions)
        paid, ended = tables.step_without_deal(actions)
        np.testing.assert_array_equal(rewards, paid)
        np.testing.assert_array_equal(np.flatnonzero(terminated | truncated), ended.rows)
        np.testing.assert_array_equal(seen.obs[ended.rows], ended.observation)
        assert seen.mask[ended.rows].all()
        assert [told[row]["rank"] for row in ended.rows] == ended.rank.tolist()
        assert [told[row]["score"] for row in ended.rows] == ended.score.tolist()
        running = ~(terminated | truncated)
        np.testing.assert_array_equal(seen.obs[running], tables.observation[running])
        if len(ended.rows):
            ends += len(ended.rows)
            again, fresh_infos = envs.reset(ended.rows)
            tables.reset(ended.rows)
            seen.obs[ended.rows], seen.mask[ended.rows] = again.obs, again.mask
            told[ended.rows] = fresh_infos
        observations, infos = seen, told
    assert ends


@each_count
def test_step_of_some_games_leaves_the_others_as_they_are(game, players):
    rng = np.random.default_rng(1)
    envs = LearnerVectorEnv(game, 6, players)
    envs.seed(0)
    observations, _ = envs.reset()
    some = np.array([4, 1])
    seen, rewards, terminated, truncated, infos = envs.step(random_legal(observations.mask[some], rng), some)
    assert seen.obs.shape[0] == len(rewards) == len(terminated) == len(truncated) == len(infos) == 2
    others = np.array([0, 2, 3, 5])
    np.testing.assert_array_equal(envs._learner.observation[others], observations.obs[others])
    np.testing.assert_array_equal(envs._learner.action_mask[others].astype(bool), observations.mask[others])
    assert envs._learner.running[others].all()


def test_same_seed_gives_the_same_games_and_another_seed_others():
    def first_views(seed):
        envs = LearnerVectorEnv("icons_v0", 4, 3)
        return envs.reset(seed=seed)[0].obs

    np.testing.assert_array_equal(first_views(5), first_views(5))
    assert (first_views(5) != first_views(6)).any()


def test_collector_stores_only_legal_actions_and_the_returns_of_whole_games():
    envs = LearnerVectorEnv("micons_v0", 8, 2, opponents="heuristic")
    envs.seed(0)
    torch.manual_seed(0)
    space, actions = envs.observation_space[0], envs.action_space[0]
    network = Net(state_shape=space.shape, action_shape=actions.n, hidden_sizes=[16])
    policy = DiscreteQLearningPolicy(model=network, action_space=actions, eps_training=1.0, eps_inference=1.0)
    dqn = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3))
    collector = Collector(dqn, envs, VectorReplayBuffer(8000, 8), exploration_noise=True, raise_on_nan_in_buffer=False)
    collector.reset()
    returns = collector.collect(n_episode=200).returns
    played = collector.buffer[:]
    assert played.obs.mask[np.arange(len(played)), played.act].all()
    assert np.isin(returns, [1.0, 0.0, -1.0]).all()
    assert returns.mean() < -0.2, "a random learner loses to the heuristic"


def test_illegal_action_ends_its_game_with_minus_one():
    envs = LearnerVectorEnv("ice_points_v0", 4, 5, skip_forced=False)
    envs.seed(0)
    observations, _ = envs.reset()
    actions = observations.mask.argmax(axis=1)
    actions[2] = np.flatnonzero(~observations.mask[2])[0]
    _, rewards, terminated, _, infos = envs.step(actions)
    assert rewards.tolist() == [0, 0, -1, 0]
    assert terminated.tolist() == [False, False, True, False]
    assert infos[2]["rank"] == 0
    with pytest.raises(IllegalActionError, match=r"games \[2\]: reset them first"):
        envs.step(actions)


@pytest.mark.parametrize("actions", [np.zeros(3, np.int64), np.zeros((4, 1), np.int64), np.zeros(4)])
def test_actions_of_the_wrong_shape_or_kind_are_refused(actions):
    envs = LearnerVectorEnv("ice_points_v0", 4, 5)
    envs.reset()
    with pytest.raises(IllegalActionError, match="whole numbers of shape"):
        envs.step(actions)


def test_step_and_partial_reset_come_after_reset():
    envs = LearnerVectorEnv("ice_points_v0", 4, 5)
    with pytest.raises(CardEnvsError, match=r"a step comes before reset\(\)"):
        envs.step(np.zeros(4, np.int64))
    with pytest.raises(CardEnvsError, match=r"a reset of some games comes before reset\(\)"):
        envs.reset(np.array([1]))


def test_attributes_that_there_are_not_are_named():
    envs = LearnerVectorEnv("ice_points_v0", 4, 5)
    assert [space.n for space in envs.get_env_attr("action_space", [0, 3])] == [envs.game.num_actions] * 2
    with pytest.raises(AttributeError, match="observation_space, action_space"):
        envs.get_env_attr("unwrapped")
    with pytest.raises(AttributeError, match="can't be set"):
        envs.set_env_attr("opponents", "random")


@each_count
def test_pettingzoo_env_gives_masks_and_the_rewards_of_all_seats(game, players):
    rng = np.random.default_rng(2)
    env = PettingZooEnv(card_envs.make(game, players))
    observation, _ = env.reset(seed=1)
    paid, over = np.zeros(players), False
    while not over:
        action = rng.choice(np.flatnonzero(observation["mask"]))
        observation, rewards, terminated, truncated, _ = env.step(action)
        paid += rewards
        over = terminated or truncated
    assert paid.sum() == pytest.approx(0)
    assert np.abs(paid).max() > 0
