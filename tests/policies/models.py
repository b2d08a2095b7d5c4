"""Small model files, untrained, as training writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from sb3_contrib import MaskablePPO

from card_envs.envs.sb3 import CardVecEnv
from card_envs.games.game import Game
from card_envs.policies.trained import model_identity
from card_envs.training.checkpoint import save_model

torch.set_num_threads(1)  # nothing here is large enough for more


def small_model(game: Game, seed: int = 0, **kwargs: Any) -> MaskablePPO:
    """An untrained model that knows which game it plays, with weights far from an even choice."""
    env = CardVecEnv(game, 2, seed=seed)
    settings: dict[str, Any] = {"n_steps": 8, "batch_size": 16, "policy_kwargs": {"net_arch": [16]}, **kwargs}
    model = MaskablePPO("MlpPolicy", env, seed=seed, device="cpu", **settings)
    model.policy.action_net.weight.data *= 200  # SB3 begins with nearly even probabilities
    vars(model)["card_envs_game"] = model_identity(game)
    return model


def model_file(folder: Path, game: Game, seed: int = 0, **kwargs: Any) -> Path:
    """The path of a small model, saved."""
    folder.mkdir(exist_ok=True)
    save_model(folder / "model.zip", small_model(game, seed, **kwargs))
    return folder / "model.zip"
