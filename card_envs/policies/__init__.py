"""Policies by name: `random`, `heuristic`, or the path of a trained model."""

from __future__ import annotations

import os
from pathlib import Path

from card_envs.errors import CardEnvsError, unknown_name
from card_envs.games.game import Game
from card_envs.policies.base import BuiltInPolicy, Decisions, Policy
from card_envs.policies.tables import Tables

__all__ = ["BUILT_IN", "BuiltInPolicy", "Decisions", "Policy", "Tables", "make_policy"]

BUILT_IN = ("random", "heuristic")


def make_policy(name: str | os.PathLike[str] | Policy, game: Game) -> Policy:
    """A policy by name for one game.

    Args:
        name: "random", "heuristic" (the game's hand-written player), the path of a model saved by `training.train`
            (`.zip`), or a policy, which is returned as it is. A model file is code that runs when it is loaded: load
            only files that you trust.
        game: what it will play.

    Raises:
        CardEnvsError: no such policy, or a model of another game, player count or observation size.
    """
    if isinstance(name, os.PathLike):
        name = os.fspath(name)
    if not isinstance(name, str):
        if isinstance(name, type) or not callable(getattr(name, "act", None)):
            raise CardEnvsError(f"a policy is a name or an object with the method 'act', not {name!r}")
        return name
    if name in BUILT_IN:
        return BuiltInPolicy(name, game)
    if name.endswith(".zip"):
        if not Path(name).is_file():
            raise CardEnvsError(f"there is no model file {name!r}")
        from card_envs.policies.trained import load_policy

        return load_policy(name, game)
    raise CardEnvsError(f"{unknown_name('policy', name, BUILT_IN)}; or the path of a trained model, ending in .zip")
