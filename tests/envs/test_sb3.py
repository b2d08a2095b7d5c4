"""The batched environment and the single-agent one as Stable-Baselines3 and sb3-contrib use them."""

import gymnasium
import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason="needs the extra 'train'")

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecMonitor

from card_envs.envs.learner import LearnerBatch
from card_envs.envs.sb3 import CardVecEnv
from card_envs.envs.single_agent import SingleAgentEnv
from card_envs.errors import CardEnvsError
from card_envs.games import make_game
from tests.variants import each_game, each_variant

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def game():
    return make_game("icarus_club", 3)


def legal(env):
    """The last legal action of every game."""
    masks = np.stack(env.env_method("action_masks"))
    return masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)


# --- one game at a time ---------------------------------------------------------------------------------------------


@each_variant
def test_sb3_check_env_passes(game):
    check_env(SingleAgentEnv(game.name, game.num_players, **game.options), skip_render_check=True)


def test_masks_are_found_where_contrib_looks_for_them(game):
    single, batched = SingleAgentEnv(game.name, 3), CardVecEnv(game, 4)
    assert is_masking_supported(single)
    assert is_masking_supported(batched)
    assert is_masking_supported(DummyVecEnv([lambda: Monitor(SingleAgentEnv(game.name, 3))]))
    batched.reset()
    masks = get_action_masks(batched)
    assert masks.shape == (4, game.num_actions)
    assert masks.dtype == np.int8


def test_make_vec_env_makes_games_though_it_asks_for_pictures_first(game):
    with pytest.warns(UserWarning, match="render_mode='rgb_array' that is not in the possible render_modes"):
        env = make_vec_env("card_envs/IcarusClub-v0", n_envs=2, env_kwargs={"num_players": 3})
    assert env.reset().shape == (2, game.layout.size)
    with pytest.raises(CardEnvsError, match="render_mode is 'rgb_array'; allowed: None, 'human', 'ansi'"):
        SingleAgentEnv("icarus_club", render_mode="rgb_array")


# --- the contract of VecEnv -----------------------------------------------------------------------------------------


@each_variant
def test_shapes_and_types_are_those_of_the_contract(game):
    env = CardVecEnv(game, 5, "heuristic", seed=0)
    assert isinstance(env, VecEnv)
    observations = env.reset()
    assert len(env.reset_infos) == 5
    for _ in range(20):
        assert observations.dtype == np.float32
        assert observations.shape == (5, *env.observation_space.shape)
        assert all(env.observation_space.contains(row) for row in observations)
        observations, rewards, dones, infos = env.step(legal(env))
        assert rewards.dtype == np.float32
        assert rewards.shape == dones.shape == (5,)
        assert dones.dtype == bool
        assert len(infos) == 5
        assert len({id(info) for info in infos}) == 5
    env.close()


def test_every_step_gives_fresh_arrays(game):
    env = CardVecEnv(game, 4, seed=0)
    held = [(env.reset(), get_action_masks(env))]
    copies = [tuple(array.copy() for array in held[0])]
    for _ in range(60):
        observations, rewards, dones, infos = env.step(legal(env))
        finals = [info["terminal_observation"] for info in infos if info]
        held.append((observations, rewards, dones, get_action_masks(env), *finals))
        copies.append(tuple(array.copy() for array in held[-1]))
    for given, kept in zip(held, copies, strict=True):
        for a, b in zip(given, kept, strict=True):
            np.testing.assert_array_equal(a, b)


def test_writing_on_what_was_given_changes_nothing(game):
    clean, scribbled = CardVecEnv(game, 4, seed=0), CardVecEnv(game, 4, seed=0)
    clean.reset()
    scribbled.reset()[:] = 7
    for _ in range(60):
        actions = legal(clean)
        a, b = clean.step(actions.copy()), scribbled.step(actions)
        for x, y in zip(a[:3], b[:3], strict=True):
            np.testing.assert_array_equal(x, y)
            y[:] = 1
        actions[:] = 0
        for row in scribbled.env_method("action_masks"):
            row[:] = 0


def test_ends_are_told_as_sb3_expects(game):
    env = CardVecEnv(game, 6, seed=1)
    env.reset()
    ended = 0
    while ended < 8:
        observations, rewards, dones, infos = env.step(legal(env))
        assert not rewards[~dones].any()
        for row, info in enumerate(infos):
            if not dones[row]:
                assert info == {}
                continue
            ended += 1
            assert info.keys() == {"terminal_observation", "TimeLimit.truncated", "score", "rank", "seat"}
            assert env.observation_space.contains(info["terminal_observation"])
            assert info["TimeLimit.truncated"] is False
            assert not np.array_equal(info["terminal_observation"], observations[row])
            assert 1 <= info["rank"] <= 3


def test_a_truncated_game_is_told_as_such_and_pays_nothing(game, monkeypatch):
    env = CardVecEnv(game, 3, seed=1)
    env.reset()
    advance = env.learner.tables.advance

    def truncated(rows, **kwargs):
        asked = advance(rows, **kwargs)
        if 1 in rows:
            env.learner.tables.states[1]["end"] = 2
            asked[list(rows).index(1)] = False
        return asked

    monkeypatch.setattr(env.learner.tables, "advance", truncated)
    monkeypatch.setattr(env.learner, "reset", lambda rows: None)
    _, rewards, dones, infos = env.step(legal(env))
    assert dones.tolist() == [False, True, False]
    assert infos[1]["TimeLimit.truncated"] is True
    assert infos[1]["rank"] == 0
    assert not rewards.any()


def test_masks_never_have_an_empty_row_and_belong_to_the_observation(game):
    env = CardVecEnv(game, 4, seed=0, skip_forced=False)
    env.reset()
    hand, lanes = game.layout["hand"], slice(55, None)
    for _ in range(80):
        observations, *_ = env.step(legal(env))
        masks = get_action_masks(env)
        assert masks.any(axis=1).all()
        playing = ~masks[:, lanes].any(axis=1) & (observations[:, game.layout["phase"]][:, 0] == 1)
        assert (masks[playing, :55] <= observations[playing, hand]).all(), "cards offered are in hand"


def test_indices_choose_rows(game):
    env = CardVecEnv(game, 5, seed=0)
    env.reset()
    masks = env.action_masks()
    for indices, rows in ((None, range(5)), (2, [2]), ([3, 0], [3, 0]), (range(1, 3), [1, 2])):
        chosen = env.env_method("action_masks", indices=indices)
        assert [mask.tolist() for mask in chosen] == [masks[row].tolist() for row in rows]
        assert len(env.get_attr("render_mode", indices)) == len(list(rows))
        assert env.env_is_wrapped(Monitor, indices) == [False] * len(list(rows))
    with pytest.raises(AttributeError, match="'action_masks' only, not 'step'"):
        env.env_method("step")
    with pytest.raises(AttributeError, match="can't be set for some"):
        env.set_attr("render_mode", "human", 0)
    assert not env.has_attr("no_such_thing")


def test_seeds_repeat_all_games_and_neighbours_share_nothing(game):
    def story(seed, reseed=None):
        env = CardVecEnv(game, 4, seed=seed)
        if reseed is not None:
            assert env.seed(reseed) == [reseed] * 4
        seen = [env.reset()]
        for _ in range(40):
            seen.append(env.step(legal(env))[0])
        return np.stack(seen)

    np.testing.assert_array_equal(story(0), story(0))
    np.testing.assert_array_equal(story(0), story(99, reseed=0))
    rows = [row.tobytes() for seed in (0, 1, 2) for row in story(seed)[0]]
    assert len(set(rows)) == 12
    with pytest.raises(CardEnvsError, match="allowed: None or a whole number from 0"):
        CardVecEnv(game, 4, seed=-1)


def test_each_row_is_a_game_of_its_own(game):
    env = CardVecEnv(game, 32, seed=0)
    assert len(np.unique(env.reset(), axis=0)) == 32
    few = CardVecEnv(game, 1, seed=0)
    few.reset()


def test_the_order_of_calls_is_explained(game):
    env = CardVecEnv(game, 2, seed=0)
    with pytest.raises(CardEnvsError, match=r"before reset\(\)"):
        env.step(np.zeros(2, int))
    with pytest.raises(CardEnvsError, match=r"before step_async\(\)"):
        env.step_wait()
    with pytest.raises(CardEnvsError, match="the learner given has 3 games"):
        CardVecEnv(game, 2, learner=LearnerBatch(game, 3))


def test_vec_monitor_tells_the_returns_losses_included(game):
    env = VecMonitor(CardVecEnv(game, 16, seed=0))
    env.reset()
    told, paid = [], []
    for _ in range(120):
        _, rewards, dones, infos = env.step(legal(env))
        paid += rewards[dones].tolist()
        told += [info["episode"]["r"] for info in infos if "episode" in info]
    assert len(told) > 30
    np.testing.assert_allclose(told, paid, atol=1e-6)
    assert {-0.5, 1.0} <= set(paid)


@pytest.mark.parametrize("value", [None, "micons", "", 3, ["micons"], np.zeros(2)], ids=repr)
def test_a_name_is_no_game_and_the_message_says_what_makes_one(value):
    for make in (CardVecEnv, LearnerBatch):
        with pytest.raises(CardEnvsError, match=r"expected a Game: card_envs\.games\.make_game\(NAME\) makes one$"):
            make(value, 2)


@pytest.mark.parametrize("learner", ["x", "", 3, [], {}, np.zeros(2), LearnerBatch], ids=repr)
def test_what_is_no_learner_is_refused(game, learner):
    with pytest.raises(CardEnvsError, match=r"^learner is .*; allowed: None or a LearnerBatch$"):
        CardVecEnv(game, 2, learner=learner)


@pytest.mark.parametrize("value", [None, "x", 1, 0, []], ids=repr)
def test_skip_forced_is_true_or_false(game, value):
    with pytest.raises(CardEnvsError, match=r"^skip_forced is .*; allowed: True, False$"):
        CardVecEnv(game, 2, skip_forced=value)


# --- learning -------------------------------------------------------------------------------------------------------


@each_game
def test_maskable_ppo_learns_and_is_evaluated_without_an_illegal_action(game):
    env = CardVecEnv(game, 16, {"random": 1, "heuristic": 1}, seed=0)
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=8, batch_size=128, n_epochs=1, policy_kwargs={"net_arch": [16]}, device="cpu", seed=0
    )
    model.learn(128)
    assert model.num_timesteps == 128
    assert env.learner.illegal_actions == 0
    other = VecMonitor(CardVecEnv(game, 4, seed=1))
    mean, _ = evaluate_policy(model, other, n_eval_episodes=4)
    assert -1 <= mean <= game.num_players - 1
    assert other.unwrapped.learner.illegal_actions == 0


def test_illegal_actions_are_counted(game):
    env = CardVecEnv(game, 4, seed=0)
    env.reset()
    actions = legal(env)
    actions[[1, 3]] = [env.action_masks()[1].argmin(), -1]
    _, rewards, dones, infos = env.step(actions)
    assert rewards.tolist() == [0, -1, 0, -1]
    assert dones.tolist() == [False, True, False, True]
    assert [info.get("rank") for info in infos] == [None, 0, None, 0]
    assert env.learner.illegal_actions == 2


def test_a_gymnasium_environment_learns_through_dummy_vec_env_too():
    env = DummyVecEnv([lambda: Monitor(gymnasium.make("card_envs/IcarusClub-v0", num_players=3))] * 2)
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=8, batch_size=16, n_epochs=1, policy_kwargs={"net_arch": [16]}, device="cpu", seed=0
    )
    model.learn(16)
    assert all(illegal == 0 for illegal in (learner.illegal_actions for learner in env.get_attr("_learner")))
