"""What a version module such as `icarus_club_v0` offers."""

from __future__ import annotations

import functools
from typing import Any

from card_envs.envs.aec import CardGameEnv
from card_envs.games import make_game


def make_env(
    name: str,
    num_players: int | None = None,
    render_mode: str | None = None,
    illegal_action: str = "terminate",
    **options: Any,
) -> CardGameEnv:
    """Makes a game as a PettingZoo AEC environment.

    Args:
        name: the game's id.
        num_players: seats at the table; None takes the game's default.
        render_mode: None, "ansi" or "human".
        illegal_action: "terminate" or "raise"; see `CardGameEnv`.
        options: the game's own options, see its rules page.
    """
    return CardGameEnv(make_game(name, num_players, **options), render_mode, illegal_action)


def version_module(name: str) -> tuple[functools.partial[CardGameEnv], functools.partial[CardGameEnv]]:
    """The functions `env` and `raw_env` of the game `name`.

    They are the same: the checks of order, bounds and legality that PettingZoo's `env` adds by wrapping, at half the
    speed, are part of the environment itself.
    """
    env = functools.partial(make_env, name)
    return env, env
