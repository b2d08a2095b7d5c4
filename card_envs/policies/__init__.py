"""Policies by name: built in, looking ahead, trained models, or a user's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from card_envs.errors import CardEnvsError, unknown_name
from card_envs.games.game import Game
from card_envs.policies.base import BuiltInPolicy, Decisions, Policy
from card_envs.policies.external import as_policy, import_policy
from card_envs.policies.game_batch import GameBatch
from card_envs.policies.search import KINDS as LOOK_AHEAD
from card_envs.policies.search import LookAheadPolicy

__all__ = ["BUILT_IN", "BuiltInPolicy", "Decisions", "GameBatch", "Policy", "make_policy"]

BUILT_IN = ("random", "heuristic")


def make_policy(name: str | os.PathLike[str] | Policy | Callable[..., Any], game: Game) -> Policy:
    """A policy by name for one game.

    Args:
        name: one of

            - "random", "heuristic" (the game's hand-written player);
            - "mc:N", "search:N": look-ahead with N simulations a decision, see `policies.search`;
            - the path of a model saved by `card-envs train` (`.zip`). A model file is code that runs when it is loaded:
              load only files that you trust;
            - "module:attribute" of your own, see `policies.external.import_policy`;
            - a policy, an object with Stable-Baselines3's `predict`, or a function of one observation and its mask.
        game: what it will play.

    Raises:
        CardEnvsError: no such policy, or a model of another game, player count or observation size.
    """
    if isinstance(name, os.PathLike):
        name = os.fspath(name)
    if not isinstance(name, str):
        return as_policy(name)
    if name in BUILT_IN:
        return BuiltInPolicy(name, game)
    if name.endswith(".zip"):
        if not Path(name).is_file():
            raise CardEnvsError(f"there is no model file {name!r}")
        from card_envs.policies.trained import load_policy

        return load_policy(name, game)
    if name.partition(":")[0] in LOOK_AHEAD:
        return LookAheadPolicy(name, game)
    if ":" in name:
        return import_policy(name, game)
    known = [*BUILT_IN, *(f"{kind}:N" for kind in LOOK_AHEAD)]
    raise CardEnvsError(
        f"{unknown_name('policy', name, known)}; or the path of a trained model, ending in .zip, or module:attribute"
    )
