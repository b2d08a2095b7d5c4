"""Registration with Gymnasium and PettingZoo; importing `card_envs` does both, and loads neither games nor Numba."""

from __future__ import annotations

import gymnasium

from card_envs.games import short_name


def gymnasium_id(name: str) -> str:
    """Gymnasium's id of a game: "card_envs/IcarusClub-v0" for "icarus_club_v0"."""
    words = "".join(word.capitalize() for word in short_name(name).split("_"))
    return f"card_envs/{words}-v{name.rpartition('_v')[2]}"


def pettingzoo_id(name: str) -> str:
    """PettingZoo's id of a game: "card_envs/icarus_club-v0" for "icarus_club_v0"."""
    return f"card_envs/{short_name(name)}-v{name.rpartition('_v')[2]}"


def register_environments(name: str) -> None:
    """A game by its id for `gymnasium.make`, `make_vec`, and `pettingzoo.make` where PettingZoo has that (1.27)."""
    if gymnasium_id(name) not in gymnasium.registry:
        gymnasium.register(
            gymnasium_id(name),
            entry_point="card_envs.envs.single_agent:SingleAgentEnv",
            vector_entry_point="card_envs.envs.vector:CardVectorEnv",
            kwargs={"game": name},
        )
    try:
        from pettingzoo.env_registry.registration import aec_registry, register
    except ImportError:
        return
    if pettingzoo_id(name) not in aec_registry:
        register("aec", pettingzoo_id(name), entry_point="card_envs.envs.versions:make_env", kwargs={"name": name})
