"""Registration with Gymnasium and PettingZoo; importing `card_envs` does both, and loads neither games nor Numba."""

from __future__ import annotations

import gymnasium

from card_envs.games import GAMES


def register_gymnasium() -> None:
    """`gymnasium.make("card_envs/IcarusClub-v0")` and `make_vec` for every game."""
    for name, (_, title) in GAMES.items():
        env_id = f"card_envs/{title}"
        if env_id not in gymnasium.registry:
            gymnasium.register(
                env_id,
                entry_point="card_envs.envs.single_agent:SingleAgentEnv",
                vector_entry_point="card_envs.envs.vector:CardVectorEnv",
                kwargs={"game": name},
            )


def register_pettingzoo() -> None:
    """`pettingzoo.make("aec", "card_envs/icarus_club-v0")` for every game, where PettingZoo has a registry (1.27)."""
    try:
        from pettingzoo.env_registry.registration import aec_registry, register
    except ImportError:
        return
    for name in GAMES:
        game, _, version = name.rpartition("_v")
        env_id = f"card_envs/{game}-v{version}"
        if env_id not in aec_registry:
            register("aec", env_id, entry_point=f"card_envs.{name}:env")
