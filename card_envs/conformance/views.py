"""What every seat is shown: at any time, for itself, as fresh arrays, without any effect."""

from __future__ import annotations

from typing import Any

import numpy as np

from card_envs.conformance.comparing import demand, difference, frozen
from card_envs.conformance.playing import Env, choices, choose, ended, observe, transcript, view, walk, whole_game


def check_seats(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """Any two seats see something different at some time of a game.

    Prevents: an observation that ignores whom it is for.
    """
    alike = {(a, b) for i, a in enumerate(env.possible_agents) for b in env.possible_agents[i + 1 :]}
    for k in range(num_games):
        for _ in walk(env, seed + k):
            seen = {agent: observe(env, agent)["observation"] for agent in env.possible_agents}
            alike = {(a, b) for a, b in alike if np.array_equal(seen[a], seen[b])}
            if not alike:
                return
    pairs = ", ".join(f"{a} and {b}" for a, b in sorted(alike))
    demand(False, "check_seats", f"{pairs} see the same all through {num_games} games")


def check_observe(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """`observe` answers for any seat at any time, after the end too, and changes nothing.

    Prevents: tools that look at all seats in each step and so change the game, or fail for the seats that are not to
    act.
    """
    name = "check_observe"
    for k in range(num_games):
        plain = whole_game(env, seed + k)
        env.reset(seed=seed + k)
        watched = transcript(env, choices(seed + k), look=lambda: _check_pure(env))
        _check_pure(env)
        where = difference(plain, watched)
        demand(not where, name, f"seed {seed + k}: a game takes another course when all seats are observed: {where}")


def check_fresh_arrays(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """What was given out never changes afterwards, and may be written on.

    Prevents: learning on observations of a later moment, because a buffer was handed out.
    """
    name = "check_fresh_arrays"
    for k in range(num_games):
        held: list[tuple[str, Any, Any]] = []
        env.reset(seed=seed + k)
        rng = choices(seed + k)
        while env.agents:
            for agent in env.possible_agents:
                observation, again = observe(env, agent), observe(env, agent)
                for key in observation:
                    if np.shares_memory(observation[key], again[key]):
                        demand(False, name, f"observe({agent!r}) gives the same {key} array twice")
                held.append((f"the observation of {agent}", observation, frozen(observation)))
            _, _, termination, truncation, info = env.last()
            held.append((f"the info of {env.agent_selection}", info, frozen(info)))
            observation = observe(env, env.agent_selection)
            action = None if termination or truncation else choose(observation, rng)
            for array in observation.values():
                array[...] = 1 - array
            env.step(action)
        for what, given, kept in held:
            where = difference(given, kept)
            demand(not where, name, f"{what} was changed by later steps in {where}")
        plain = difference(whole_game(env, seed + k), whole_game(env, seed + k, write=True))
        demand(not plain, name, f"writing on observations changes the game: {plain}")


def check_infos(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """Infos have the same keys for every seat at every time, and values that become arrays.

    Prevents: frameworks that stack infos and meet a key that was not there before.
    """
    name = "check_infos"
    keys: set[str] | None = None
    for k in range(num_games):
        env.reset(seed=seed + k)
        rng = choices(seed + k)
        while True:
            for agent in env.agents:
                info = env.infos.get(agent)
                demand(isinstance(info, dict), name, f"there is no info for {agent}")
                keys = set(info) if keys is None else keys
                demand(set(info) == keys, name, f"{agent}'s info has the keys {sorted(info)}, not {sorted(keys)}")
                for key, value in info.items():
                    kind = np.asarray(value).dtype.kind
                    demand(kind in "biuf", name, f"{agent}'s info {key!r} is {value!r}, which is no number or array")
            if ended(env):
                break
            env.step(choose(observe(env, env.agent_selection), rng))


def _check_pure(env: Env) -> None:
    before = view(env)
    for agent in env.possible_agents:
        where = difference(observe(env, agent), observe(env, agent))
        demand(not where, "check_observe", f"two looks of {agent} at the same moment differ in {where}")
    where = difference(before, view(env))
    demand(not where, "check_observe", f"observe changes {where}")
