"""Stable-Baselines3 around the games: wrappers, callbacks and files together, and algorithms that know no masks."""

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.evaluation import evaluate_policy as evaluate_masked
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import CheckpointCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

from card_envs.envs.sb3 import CardVecEnv
from card_envs.registration import gymnasium_id
from tests.variants import each_game


def make_env(game, seed, training):
    env = VecMonitor(CardVecEnv(game, 16, seed=seed))
    return VecNormalize(env, training=training, norm_obs=True, norm_reward=training, gamma=1.0)


@each_game
def test_normalised_training_is_evaluated_saved_and_goes_on_from_its_files(game, tmp_path):
    env, eval_env = make_env(game, 0, True), make_env(game, 1, False)
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=64, n_epochs=1, device="cpu", seed=0)
    callbacks = [
        MaskableEvalCallback(
            eval_env, n_eval_episodes=16, eval_freq=16, best_model_save_path=tmp_path, log_path=tmp_path, verbose=0
        ),
        CheckpointCallback(save_freq=32, save_path=tmp_path, name_prefix="run", save_vecnormalize=True),
    ]
    model.learn(3 * 256, callback=callbacks)
    told = np.load(tmp_path / "evaluations.npz")
    assert told["timesteps"].tolist() == [256, 512, 768]
    assert told["results"].shape == (3, 16)
    # a mean is of raw returns, which lie between -1 (an illegal action; a loss of two players) and 1
    assert (np.abs(told["results"]) <= 1).all()
    np.testing.assert_array_equal(eval_env.obs_rms.mean, env.obs_rms.mean)

    fresh = VecNormalize.load(tmp_path / "run_vecnormalize_512_steps.pkl", VecMonitor(CardVecEnv(game, 16, seed=2)))
    again = MaskablePPO.load(tmp_path / "run_512_steps", env=fresh, device="cpu")
    again.learn(256, reset_num_timesteps=False)
    assert again.num_timesteps == 768
    best = MaskablePPO.load(tmp_path / "best_model", device="cpu")
    mean, _ = evaluate_masked(best, eval_env, n_eval_episodes=16)
    assert -1 <= mean <= 1
    assert all(e.unwrapped.learner.illegal_actions == 0 for e in (env, eval_env, fresh))


def plain(algorithm, name, players):
    """An algorithm that knows no masks, among random players."""
    env = make_vec_env(
        gymnasium_id(name),
        n_envs=8 if algorithm is PPO else 1,
        seed=0,
        env_kwargs={"num_players": players, "illegal_action": "terminate"},
    )
    common = {"gamma": 0.9, "learning_rate": 1e-3, "policy_kwargs": {"net_arch": [64]}, "device": "cpu", "seed": 0}
    if algorithm is PPO:
        return PPO("MlpPolicy", env, n_steps=64, batch_size=128, n_epochs=4, ent_coef=0.01, **common)
    return DQN("MlpPolicy", env, learning_starts=500, target_update_interval=500, exploration_fraction=0.5, **common)


def mean_length(model):
    """Decisions until a game ends, mostly by an illegal action; as the algorithm explores, so that none is stuck."""
    _, lengths = evaluate_policy(model, model.get_env(), 100, deterministic=False, return_episode_rewards=True)
    return np.mean(lengths)


@pytest.mark.filterwarnings("ignore")
@each_game
@pytest.mark.parametrize("algorithm", [PPO, DQN])
def test_algorithms_without_masks_run_on_every_game(game, algorithm):
    model = plain(algorithm, game.name, game.num_players)
    model.learn(1024)
    assert model.num_timesteps == 1024
    mean, _ = evaluate_policy(model, model.get_env(), 20)
    assert -1 <= mean <= 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("algorithm", "name", "players"), [(PPO, "ice_points_v0", 5), (DQN, "ice_points_v0", 5), (DQN, "icons_v0", 4)]
)
def test_algorithms_without_masks_learn_to_stay_legal_for_longer(algorithm, name, players):
    model = plain(algorithm, name, players)
    before = mean_length(model)
    model.learn(8192)
    assert before < 1.5, "nearly all actions are illegal at first"
    assert mean_length(model) > 2 * before
