"""What the RLlib bridge promises beyond the program on its page. Run in an environment with the extra `rllib`."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import ray
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.env_context import EnvContext
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.rllib.utils.pre_checks.env import check_multiagent_environments

from card_envs import icons_v0, list_games
from card_envs.arena.match import play_games, rotated
from card_envs.bridges.rllib import CardMultiAgentEnv, ModulePolicy, OptionsModule
from card_envs.errors import CardEnvsError, IllegalActionError
from card_envs.games import make_game, player_counts
from card_envs.games.recorded_game import RecordedGame

EVERY_COUNT = [(game, players) for game in list_games() for players in player_counts(game)]


def make_env(game: str = "icons", players: int | None = None, **config) -> CardMultiAgentEnv:
    return CardMultiAgentEnv({"game": game, "num_players": players, **config})


def random_actions(observations: dict, rng: np.random.Generator) -> dict[str, int]:
    return {agent: int(rng.choice(np.flatnonzero(seen["action_mask"]))) for agent, seen in observations.items()}


def play(env: CardMultiAgentEnv, rng: np.random.Generator, seed: int | None = None):
    """One random game; returns the last step and the number of steps."""
    observations, _ = env.reset(seed=seed)
    steps, last = 0, None
    while last is None:
        assert len(observations) == 1
        result = env.step(random_actions(observations, rng))
        observations, steps = result[0], steps + 1
        if result[2]["__all__"] or result[3]["__all__"]:
            last = result
    return last, steps


@pytest.mark.parametrize(("game", "players"), EVERY_COUNT)
def test_every_seat_is_paid_at_the_end_losers_included(game, players):
    env, rng = make_env(game, players), np.random.default_rng(0)
    for number in range(150):
        (observations, rewards, terminateds, truncateds, infos), _ = play(env, rng, seed=number)
        assert list(rewards) == list(observations) == list(infos) == env.possible_agents
        assert sum(rewards.values()) == pytest.approx(0.0, abs=1e-12)
        winners = [agent for agent, info in infos.items() if info["rank"] == 1]
        if 0 < len(winners) < players:
            loss = -1 / (players - 1)
            paid = {agent: (players / len(winners) - 1) / (players - 1) for agent in winners}
            assert rewards == pytest.approx({agent: paid.get(agent, loss) for agent in rewards})
        assert terminateds == dict.fromkeys([*env.possible_agents, "__all__"], True)
        assert truncateds == dict.fromkeys(terminateds, False)


@pytest.mark.parametrize(("game", "players"), EVERY_COUNT)
def test_observations_lie_in_their_spaces_and_masks_are_what_the_rules_allow(game, players):
    env, rng = make_env(game, players, skip_forced=False), np.random.default_rng(1)
    check_multiagent_environments(env)
    space = env.get_observation_space("player_0")
    observations, _ = env.reset(seed=3)
    done = False
    while not done:
        ((agent, seen),) = observations.items()
        assert space.contains(seen)
        legal = seen["action_mask"].astype(np.int8)
        table = RecordedGame(env.game)
        table.states[:] = env._tables.states
        assert agent == f"player_{table.player}"
        np.testing.assert_array_equal(legal, table.action_mask())
        observations, rewards, terminateds, _, _ = env.step(random_actions(observations, rng))
        done = terminateds["__all__"]
        if not done:
            assert rewards == {agent: 0.0}
    assert all(space.contains(seen) and seen["action_mask"].all() for seen in observations.values())


@pytest.mark.parametrize("game", list_games())
def test_forced_decisions_are_skipped_unless_asked_for(game):
    rng = np.random.default_rng(0)
    env = make_env(game)
    for _ in range(10):
        observations, _ = env.reset()
        done = False
        while not done:
            assert all(seen["action_mask"].sum() > 1 for seen in observations.values())
            observations, _, terminateds, _, _ = env.step(random_actions(observations, rng))
            done = terminateds["__all__"]
    _, all_decisions = play(make_env(game, skip_forced=False), np.random.default_rng(0), seed=1)
    _, free_decisions = play(make_env(game), np.random.default_rng(0), seed=1)
    assert free_decisions < all_decisions


def test_rllib_episodes_hold_the_final_reward_of_every_seat_that_acted():
    env, rng = make_env("icons", 4), np.random.default_rng(5)
    for _ in range(30):
        episode = MultiAgentEpisode(
            observation_space=env.observation_spaces,
            action_space=env.action_spaces,
            agent_to_module_mapping_fn=lambda agent, episode: "shared",
        )
        observations, infos = env.reset()
        episode.add_env_reset(observations=observations, infos=infos)
        acted = set()
        while not episode.is_done:
            actions = random_actions(observations, rng)
            acted |= set(actions)
            observations, rewards, terminateds, truncateds, infos = env.step(actions)
            episode.add_env_step(observations, actions, rewards, infos, terminateds=terminateds, truncateds=truncateds)
        assert set(episode.agent_episodes) == acted
        for agent in acted:
            assert episode.agent_episodes[agent].is_terminated
            assert episode.agent_episodes[agent].get_return() == pytest.approx(rewards[agent])


@pytest.mark.parametrize("game", ["icons", "micons"])
def test_max_turns_ends_the_episode_as_truncated_for_all_seats(game):
    env, rng = make_env(game, 3, max_turns=3), np.random.default_rng(0)
    (observations, rewards, terminateds, truncateds, infos), _ = play(env, rng, seed=0)
    assert truncateds == dict.fromkeys([*env.possible_agents, "__all__"], True)
    assert terminateds == dict.fromkeys(truncateds, False)
    assert set(rewards.values()) == {0.0}
    assert set(observations) == set(env.possible_agents)
    assert {info["rank"] for info in infos.values()} == {0}


def test_an_illegal_action_ends_the_game_at_the_offenders_cost_or_raises():
    env = make_env("icons", 3)
    observations, _ = env.reset(seed=0)
    ((agent, seen),) = observations.items()
    illegal = int(np.flatnonzero(seen["action_mask"] == 0)[0])
    _, rewards, terminateds, truncateds, infos = env.step({agent: illegal})
    assert rewards == {other: -1.0 if other == agent else 0.0 for other in env.possible_agents}
    assert terminateds["__all__"]
    assert not truncateds["__all__"]
    assert infos[agent]["illegal_action"]
    assert env.num_illegal_actions == 1

    env = make_env("icons", 3, illegal_action="raise")
    observations, _ = env.reset(seed=0)
    with pytest.raises(IllegalActionError, match=f"{agent} can't do"):
        env.step({agent: illegal})
    env.step(random_actions(observations, np.random.default_rng(0)))


def test_misuse_is_told_in_words():
    env = make_env("icons", 3)
    with pytest.raises(CardEnvsError, match="call reset"):
        env.step({"player_0": 0})
    ((agent, _),) = env.reset(seed=0)[0].items()
    other = next(name for name in env.possible_agents if name != agent)
    with pytest.raises(CardEnvsError, match=f"{agent} is to act, and step.. got actions of {other}"):
        env.step({other: 0})
    play(env, np.random.default_rng(0))
    with pytest.raises(CardEnvsError, match="call reset"):
        env.step({agent: 0})
    with pytest.raises(CardEnvsError, match="env_config has no 'game'"):
        CardMultiAgentEnv()
    with pytest.raises(CardEnvsError, match="did you mean 'max_turns'"):
        make_env("icons", 3, max_turn=3)


def game_of(env: CardMultiAgentEnv, seed: int | None) -> bytes:
    (observations, *_), _ = play(env, np.random.default_rng(0), seed)
    return b"".join(seen["observations"].tobytes() for seen in observations.values())


def test_seeds_repeat_games():
    assert game_of(make_env(), 7) == game_of(make_env(), 7) != game_of(make_env(), 8)
    one, other = make_env(), make_env()
    assert game_of(one, 7) == game_of(other, 7)
    assert game_of(one, None) == game_of(other, None)  # they go on alike


def test_environments_that_rllib_makes_share_no_games():
    """RLlib gives the same seeds to environments of several runners, and 42 to all when it checks them."""

    def made_by(runner: int) -> list[CardMultiAgentEnv]:
        context = EnvContext({"game": "icons"}, worker_index=runner)
        return [CardMultiAgentEnv(context) for _ in range(3)]  # as RLlib does it: one context for all

    games = [game_of(env, 42) for runner in (0, 1, 2) for env in made_by(runner)]
    assert len(set(games)) == 9
    assert games == [game_of(env, 42) for runner in (0, 1, 2) for env in made_by(runner)]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_mid_game_goes_on_identically(copied):
    env, rng = make_env("icons", 4), np.random.default_rng(0)
    observations, _ = env.reset(seed=2)
    for _ in range(20):
        observations = env.step(random_actions(observations, rng))[0]
    twin = copied(env)
    for _ in range(2000):
        actions = random_actions(observations, rng)
        ours, theirs = env.step(actions), twin.step(actions)
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_equal(mine, other)
        observations = ours[0]
        if ours[2]["__all__"]:
            observations, _ = env.reset()
            np.testing.assert_equal(observations, twin.reset()[0])


def test_arrays_handed_out_are_never_written_again():
    env, rng = make_env("icons", 3), np.random.default_rng(0)
    observations, _ = env.reset(seed=0)
    for _ in range(50):
        before = copy.deepcopy(observations)
        following = env.step(random_actions(observations, rng))[0]
        np.testing.assert_equal(observations, before)
        observations = following


def test_it_plays_the_same_game_as_the_pettingzoo_environment():
    """With the same chance and the same choices, both views tell the same story."""
    env, aec = make_env("icons", 3, skip_forced=False), icons_v0.env(num_players=3)
    observations, _ = env.reset(seed=11)
    aec.reset(seed=11)
    rng = np.random.default_rng(0)
    done = False
    while not done:
        ((agent, seen),) = observations.items()
        expected = aec.observe(agent)
        assert agent == aec.agent_selection
        np.testing.assert_array_equal(seen["observations"], expected["observation"])
        np.testing.assert_array_equal(seen["action_mask"], expected["action_mask"])
        actions = random_actions(observations, rng)
        observations, rewards, terminateds, _, _ = env.step(actions)
        aec.step(actions[agent])
        done = terminateds["__all__"]
    assert rewards == aec.rewards


# --- with Ray running ---


@pytest.fixture(scope="module")
def ray_here():
    ray.init("local", num_cpus=2, include_dashboard=False, object_store_memory=200_000_000, log_to_driver=False)
    yield
    ray.shutdown()


def small_config(module: RLModuleSpec, **env_config) -> PPOConfig:
    env_config = {"game": "micons", "num_players": 3, **env_config}
    return (
        PPOConfig()
        .environment(CardMultiAgentEnv, env_config=env_config, disable_env_checking=True)
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode, **kwargs: "shared")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=4)
        .rl_module(rl_module_spec=module)
        .training(train_batch_size_per_learner=400, minibatch_size=200, num_epochs=1)
        .fault_tolerance(restart_failed_env_runners=False)
        .debugging(seed=1)
    )


def options_module(game: str = "micons", players: int = 3) -> RLModuleSpec:
    layout = make_game(game, players).layout
    return RLModuleSpec(module_class=OptionsModule, model_config={"layout": layout, "net_arch": [32], "width": 16})


def rllibs_own_module() -> RLModuleSpec:
    return RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config=DefaultModelConfig(fcnet_hiddens=[32]))


@pytest.mark.parametrize("module", [options_module, rllibs_own_module])
def test_a_module_learns_from_whole_games_without_illegal_actions(ray_here, module):
    algorithm = small_config(module(), illegal_action="raise").build_algo()
    before = algorithm.get_module("shared").state_dict()
    before = {name: value.clone() for name, value in before.items()}
    for _ in range(2):
        result = algorithm.train()
    losses = result["learners"]["shared"]
    assert np.isfinite([losses["total_loss"], losses["policy_loss"], losses["vf_loss"], losses["entropy"]]).all()
    assert result["env_runners"]["num_episodes"] > 0
    after = algorithm.get_module("shared").state_dict()
    assert any(not np.array_equal(before[name], after[name]) for name in before)
    policy = ModulePolicy(algorithm.get_module("shared"))
    games = rotated([0, 1, 1], num_deals=10, seed=0, stream=0)
    play_games(make_game("micons", 3), [policy, ModulePolicy(policy.module, "drawn", False)], games)
    algorithm.stop()


def test_environments_of_one_runner_deal_different_games_after_rllibs_check(ray_here):
    config = small_config(options_module()).environment(disable_env_checking=False).debugging(seed=None)
    algorithm = config.build_algo()
    observations, _ = algorithm.env_runner.env.reset()
    dealt = {seen["observations"].tobytes() for one in observations for seen in one.values()}
    assert len(dealt) == 4
    algorithm.stop()


class Maskless(OptionsModule):
    def _forward(self, batch, **kwargs):
        seen = batch[Columns.OBS]
        return super()._forward({Columns.OBS: {**seen, "action_mask": np.ones_like(seen["action_mask"])}})


def test_an_illegal_action_in_another_process_stops_the_run(ray_here):
    module = options_module()
    module.module_class = Maskless
    algorithm = small_config(module, illegal_action="raise").env_runners(num_env_runners=1).build_algo()
    with pytest.raises(ray.exceptions.ActorDiedError):  # its log names the player and the action
        algorithm.train()
    algorithm.stop()


def test_truncated_games_are_learnt_from(ray_here):
    algorithm = small_config(options_module(), max_turns=4).build_algo()
    result = algorithm.train()
    assert result["env_runners"]["num_episodes"] > 0
    assert np.isfinite(result["learners"]["shared"]["total_loss"])
    algorithm.stop()


def test_a_restored_algorithm_plays_and_learns_on(ray_here, tmp_path):
    algorithm = small_config(options_module()).build_algo()
    algorithm.train()
    algorithm.save_to_path(tmp_path / "checkpoint")
    game = make_game("micons", 3)
    games = rotated([0, 1, 1], num_deals=20, seed=0, stream=0)

    def actions_of(one: Algorithm) -> list:
        policy = ModulePolicy(one.get_module("shared"))
        return play_games(game, [policy, policy], games, log_actions=True).actions

    played = actions_of(algorithm)
    algorithm.stop()
    restored = Algorithm.from_checkpoint(tmp_path / "checkpoint")
    np.testing.assert_equal(actions_of(restored), played)
    result = restored.train()
    assert result["training_iteration"] == 2
    restored.stop()
