"""What a version module such as `icarus_club_v0` offers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

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


def version_module(
    name: str,
) -> tuple[functools.partial[CardGameEnv], functools.partial[CardGameEnv], Callable[[str], NoReturn]]:
    """The functions `env` and `raw_env` of the game `name`, and what its module answers for names that it has not.

    The two are the same: the checks of order, bounds and legality that PettingZoo's `env` adds by wrapping, at half the
    speed, are part of the environment itself.
    """

    def missing(attribute: str) -> NoReturn:
        reason = (
            ": players act in turn; use env(), or pettingzoo.utils.conversions.turn_based_aec_to_parallel(env())"
            if attribute == "parallel_env"
            else ""
        )
        raise AttributeError(f"module 'card_envs.{name}' has no attribute {attribute!r}{reason}")

    env = functools.partial(make_env, name)
    return env, env, missing
