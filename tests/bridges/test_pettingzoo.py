"""PettingZoo's wrappers, conversions and benchmark, and all of tests/envs/test_pettingzoo.py, with every version."""

import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test, performance_benchmark, seed_test
from pettingzoo.utils import wrappers
from pettingzoo.utils.conversions import aec_to_parallel, turn_based_aec_to_parallel
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

from card_envs.envs.aec import CardGameEnv
from tests.envs.test_pettingzoo import *  # noqa: F403 - the whole of it again, here with this version of PettingZoo
from tests.variants import each_game

WRAPPERS = {
    "order": OrderEnforcingWrapper,
    "bounds": AssertOutOfBoundsWrapper,
    "legality": lambda env: TerminateIllegalWrapper(env, illegal_reward=-1),
    "all three": lambda env: OrderEnforcingWrapper(
        AssertOutOfBoundsWrapper(TerminateIllegalWrapper(env, illegal_reward=-1))
    ),
}
each_wrapper = pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)


def whole_game(env, seed=3):
    """A game of first legal actions: who acted and what all were paid."""
    env.reset(seed=seed)
    movers, paid = [], dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        paid[agent] += reward
        movers.append(agent)
        env.step(None if termination or truncation else int(observation["action_mask"].argmax()))
    return movers, paid


@each_game
@each_wrapper
def test_a_wrapped_environment_passes_the_checkers_and_plays_the_same_game(game, wrap):
    api_test(wrap(CardGameEnv(game)), num_cycles=100)
    seed_test(lambda: wrap(CardGameEnv(game)), num_cycles=20)
    assert whole_game(wrap(CardGameEnv(game))) == whole_game(CardGameEnv(game))


@each_game
def test_terminate_illegal_ends_the_game_as_the_environment_itself_does(game):
    paid = []
    for env in (TerminateIllegalWrapper(CardGameEnv(game), illegal_reward=-1), CardGameEnv(game)):
        env.reset(seed=0)
        offender = env.agent_selection
        env.step(int(env.last()[0]["action_mask"].argmin()))
        paid.append({})
        for agent in env.agent_iter():
            paid[-1][agent] = env.last()[1]
            env.step(None)
        assert paid[-1] == {agent: -1.0 if agent == offender else 0.0 for agent in env.possible_agents}


def test_assert_out_of_bounds_stops_an_action_that_there_is_not():
    env = AssertOutOfBoundsWrapper(CardGameEnv(each_game.args[1][0]))
    env.reset(seed=0)
    with pytest.raises(AssertionError, match="action is not in action space"):
        env.step(10**6)


@pytest.mark.skipif(not hasattr(wrappers, "MultiEpisodeEnv"), reason="PettingZoo 1.24.0 has none")
@each_game
def test_multi_episode_pays_the_games_one_after_another(game):
    movers, paid = whole_game(wrappers.MultiEpisodeEnv(CardGameEnv(game), num_episodes=3), seed=5)
    single = [whole_game(CardGameEnv(game), seed=seed) for seed in (5, 6, 7)]
    assert movers == [mover for game_movers, _ in single for mover in game_movers]
    for agent, total in paid.items():
        assert total == pytest.approx(sum(game_paid[agent] for _, game_paid in single))


@each_game
def test_the_turn_based_conversion_plays_the_same_game(game):
    env = turn_based_aec_to_parallel(CardGameEnv(game))
    observations, _ = env.reset(seed=3)
    paid = dict.fromkeys(env.possible_agents, 0.0)
    while env.agents:
        assert sum(view["action_mask"].any() for view in observations.values()) == 1, "one seat acts, the others wait"
        actions = {agent: int(view["action_mask"].argmax()) for agent, view in observations.items()}
        observations, rewards, terminations, truncations, infos = env.step(actions)
        for agent, reward in rewards.items():
            paid[agent] += reward
        assert all(infos[agent]["active_agent"] == env.aec_env.agent_selection for agent in env.agents)
    assert all(terminations.values()) or all(truncations.values())
    assert paid == whole_game(CardGameEnv(game))[1]
    parallel_api_test(turn_based_aec_to_parallel(CardGameEnv(game)), num_cycles=100)


@each_game
def test_the_other_conversion_is_refused(game):
    with pytest.raises(AssertionError, match="is_parallelizable"):
        aec_to_parallel(CardGameEnv(game))


@each_game
def test_the_performance_benchmark_runs(game, capsys):
    performance_benchmark(CardGameEnv(game))
    told = capsys.readouterr().out
    turns = float(told.split("turns per second")[0].split()[-1])
    assert np.isfinite(turns)
    assert turns > 100
