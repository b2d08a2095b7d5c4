"""`OptionsPolicy`: options share one scorer, illegal ones stay masked, and a saved model plays the same."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="networks need the extra 'train'")

import torch
from sb3_contrib import MaskablePPO

from card_envs.envs.sb3 import CardVecEnv
from card_envs.games import make_game
from card_envs.kernels.rng import seed_words
from card_envs.policies.game_batch import CALLER, GameBatch
from card_envs.policies.networks import OptionsPolicy
from card_envs.policies.trained import NetworkPolicy, load_policy, model_identity

GAME = make_game("icarus_club", 4)


@pytest.fixture(scope="module")
def model():
    kwargs = {"layout": GAME.layout, "net_arch": [16]}
    env = CardVecEnv(GAME, 4, seed=0)
    return MaskablePPO(OptionsPolicy, env, policy_kwargs=kwargs, n_steps=8, batch_size=32, seed=0, device="cpu")


def decisions(count=64):
    tables = GameBatch(GAME, count)
    tables.states["rng"], tables.rngs[:] = seed_words(1, count), seed_words(2, count)
    rows = np.arange(count)
    tables.start(rows)
    tables.fast_forward(rows, np.arange(count) % 60, 0)
    tables.drivers[:] = CALLER
    tables.advance(rows)
    return tables.decisions(rows)


def test_alike_options_get_alike_scores_whatever_their_place(model):
    """Two rows with the same description score the same: what is learnt of one card holds for another."""
    asked = decisions()
    segment = next(s for s in GAME.layout.segments if s.name == "card_options")
    observation = asked.observation[:1].copy()
    table = observation[:, segment.start : segment.start + segment.size].reshape(segment.shape)
    table[:] = 0.0
    table[3], table[40] = 0.5, 0.5
    with torch.no_grad():
        logits = model.policy.mlp_extractor.forward_actor(torch.as_tensor(observation))[0]
    assert logits[3] == pytest.approx(logits[40].item())


def test_every_legal_action_is_scored_as_an_option(model):
    """In The Icarus Club no legal action is left to the part of the network that shares nothing."""
    asked = decisions()
    with torch.no_grad():
        before = model.policy.mlp_extractor.forward_actor(torch.as_tensor(asked.observation))
        model.policy.mlp_extractor.unscored.bias += 1.0
        after = model.policy.mlp_extractor.forward_actor(torch.as_tensor(asked.observation))
        model.policy.mlp_extractor.unscored.bias -= 1.0
    legal = torch.as_tensor(asked.action_mask) == 1
    torch.testing.assert_close(before[legal], after[legal])
    assert not torch.allclose(before[~legal], after[~legal])


def test_learns_and_plays_the_same_after_saving(model, tmp_path):
    before = {key: value.clone() for key, value in model.policy.state_dict().items()}
    model.learn(32)
    assert any(not torch.equal(before[key], value) for key, value in model.policy.state_dict().items())
    vars(model)["card_envs_game"] = model_identity(GAME)
    path = str(tmp_path / "model.zip")
    model.save(path)
    asked = decisions()
    actions = load_policy(path, GAME).act(asked)
    assert (actions == NetworkPolicy(model.policy, "x").act(asked)).all()
    assert (asked.action_mask[np.arange(len(actions)), actions] == 1).all()
