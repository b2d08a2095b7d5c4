"""Policies by name: built in, looking ahead, trained models, or a user's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from card_envs.errors import CardEnvsError, unknown_name
from card_envs.games.game import Game
from card_envs.policies.agent import SUFFIX, load_agent, shipped_agent, split_name
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
            - "agent": the trained network that ships for this game and player count, see `policies.agent`;
            - the path of another one, FILE.safetensors;
            - "agent:N", "FILE.safetensors:N": `search:N` guided by that network;
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
    if name.endswith(SUFFIX) or f"{SUFFIX}:" in name or name.partition(":")[0] == "agent":
        return _agent(name, game)
    if ":" in name:
        return import_policy(name, game)
    known = [*BUILT_IN, "agent", *(f"{kind}:N" for kind in LOOK_AHEAD)]
    raise CardEnvsError(
        f"{unknown_name('policy', name, known)}; or the path of a trained model, ending in {SUFFIX} or .zip, or "
        "module:attribute"
    )


def _agent(name: str, game: Game) -> Policy:
    """An agent from a file, or the one that ships; alone, or with ":N" as the guide of a search."""
    path, simulations = split_name(name)
    agent = load_agent(shipped_agent(game), game, "agent") if path == "agent" else load_agent(path, game)
    if path == name:
        return agent
    return LookAheadPolicy(f"search:{simulations}", game, agent=agent, label=f"{agent.name}:{simulations}")
