"""The warm start: late positions with every legal action valued, and a network that learns to prefer better ones."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="training needs the extra 'train'")

import torch
from sb3_contrib import MaskablePPO

from card_envs.envs.sb3 import CardVecEnv
from card_envs.games import make_game
from card_envs.training.pretrain import fit, value_positions
from card_envs.training.settings import Config, network_of

GAME = make_game("icarus_club", 3)
LATE = (115.0, 150.0)


def values(count, playouts, seed):
    return value_positions(GAME, count, playouts, LATE, np.random.SeedSequence(seed), lambda _: None)


def test_only_legal_actions_are_valued_and_values_are_possible_returns():
    positions = values(3000, 2, 0)
    assert (positions.action_mask.sum(axis=1) >= 2).all()  # a choice
    assert (positions.value[positions.action_mask == 0] == 0).all()
    assert positions.value.min() >= -0.5
    assert positions.value.max() <= 1.0


def test_same_seed_same_positions_whatever_thread_makes_them():
    a, b = values(5000, 1, 7), values(5000, 1, 7)
    np.testing.assert_array_equal(a.observation, b.observation)
    np.testing.assert_array_equal(a.value, b.value)
    assert not np.array_equal(a.value, values(5000, 1, 8).value)


def test_network_learns_to_prefer_better_actions():
    """Its favourite among the options of what it learnt is worth more than an even choice."""
    torch.set_num_threads(1)
    config = Config(policy="OptionsPolicy", policy_kwargs={"net_arch": [64], "activation_fn": "relu"})
    policy, kwargs = network_of(config, GAME)
    model = MaskablePPO(policy, CardVecEnv(GAME, 4, seed=0), policy_kwargs=kwargs, seed=0, device="cpu")
    learnt = values(8000, 8, 2)
    fit(model, learnt, 12, 2e-3, np.random.default_rng(0), lambda _: None)
    with torch.no_grad():
        logits = model.policy.mlp_extractor.forward_actor(torch.as_tensor(learnt.observation)).numpy()
    favourite = np.where(learnt.action_mask == 1, logits, -np.inf).argmax(axis=1)
    gain = learnt.value[np.arange(len(favourite)), favourite] - learnt.value.sum(axis=1) / learnt.action_mask.sum(
        axis=1
    )
    assert gain.mean() - 1.96 * gain.std() / np.sqrt(len(gain)) > 0.0
