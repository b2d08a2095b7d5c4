"""Playing whole games in an environment, again and again the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from card_envs.conformance.comparing import Array, difference, frozen
from card_envs.envs.aec import CardGameEnv

Env = Any  #: a PettingZoo AECEnv, or a wrapper around one
MAX_STEPS = 100_000  # a game that takes longer does not end


def card_env(env: Env) -> CardGameEnv | None:
    """The environment of this package that `env` is or wraps, if any."""
    raw = env.unwrapped
    return raw if isinstance(raw, CardGameEnv) else None


def choices(seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, 1])


def observe(env: Env, agent: str) -> dict[str, Array]:
    """What `agent` sees; every seat may look at any time, so an error is a broken promise."""
    try:
        seen: dict[str, Array] = env.observe(agent)
    except Exception as error:
        raise AssertionError(f"check_observe: observe({agent!r}) raises {error!r}") from error
    return seen


def choose(observation: Any, rng: np.random.Generator) -> int:
    legal = np.flatnonzero(observation["action_mask"])
    if not len(legal):
        raise AssertionError("check_masks: the seat to act has an empty mask, so the game can't go on")
    return int(legal[rng.integers(len(legal))])


def ended(env: Env) -> bool:
    return not env.agents or env.terminations[env.agent_selection] or env.truncations[env.agent_selection]


def until_end(env: Env) -> Iterator[int]:
    """Counts steps until the seat selected has ended; the loop's body makes them."""
    for step in range(MAX_STEPS):
        if ended(env):
            return
        yield step
    raise AssertionError(f"check_end: a game has not ended within {MAX_STEPS} steps")


def walk(env: Env, seed: int) -> Iterator[int]:
    """Plays one game with random legal actions, stopping before each for the loop's body to look."""
    env.reset(seed=seed)
    rng = choices(seed)
    for step in until_end(env):
        yield step
        env.step(choose(observe(env, env.agent_selection), rng))


def leave_all(env: Env, look: Callable[[], None]) -> None:
    """`step(None)` for every seat after the end, with a look before each and after all."""
    for _ in range(len(env.possible_agents)):
        if env.agents:
            look()
            env.step(None)


def transcript(env: Env, rng: np.random.Generator, look: Callable[[], None] = lambda: None) -> list[Any]:
    """All that a game tells from here to its end, `None` steps included."""
    told: list[Any] = []
    for _ in range(MAX_STEPS):
        if not env.agents:
            return told
        look()
        observation, reward, termination, truncation, info = env.last()
        action = None if termination or truncation else choose(observation, rng)
        told.append(frozen((env.agent_selection, observation, reward, termination, truncation, info, action)))
        env.step(action)
    raise AssertionError(f"check_end: a game has not ended within {MAX_STEPS} steps")


def whole_game(env: Env, seed: int, choice_seed: int | None = None, write: bool = False) -> list[Any]:
    """The transcript of a seeded game; with `write`, observations are written on as it goes."""

    def scribble() -> None:
        for agent in env.possible_agents:
            for array in observe(env, agent).values():
                array[...] = 1

    env.reset(seed=seed)
    return transcript(env, choices(seed if choice_seed is None else choice_seed), scribble if write else lambda: None)


def rest(env: Env) -> list[Any]:
    """The rest of this game, and the deal of the next one without a seed."""
    rest = transcript(env, choices(0))
    env.reset()
    return [rest, view(env)]


def view(env: Env) -> dict[str, Any]:
    """All that an environment tells at this moment, as copies."""
    raw = card_env(env)
    told = {
        "agents": list(env.agents),
        "agent_selection": env.agent_selection,
        "rewards": dict(env.rewards),
        "terminations": dict(env.terminations),
        "truncations": dict(env.truncations),
        "infos": frozen(env.infos),
        "observations": {agent: frozen(observe(env, agent)) for agent in env.possible_agents},
        "last": frozen(env.last(observe=False)) if env.agents else None,
    }
    if raw is not None:
        told |= {"state": raw._states.tobytes(), "global state": raw.state()}
    return told


def difference_of_copy(here: dict[str, Any], twin: Env) -> str:
    """Where a copy differs from its original's view; one made anew from the constructor's arguments has no game."""
    try:
        return difference(here, view(twin))
    except Exception as error:
        return f"that it has lost its game: {error!r}"


def actions_of(env: Env, seed: int) -> list[int]:
    """The actions of a random legal game under this seed."""
    return [move[-1] for move in whole_game(env, seed) if move[-1] is not None]


def go_to(env: Env, seed: int, actions: Sequence[int], position: int) -> None:
    env.reset(seed=seed)
    for action in actions[:position]:
        env.step(action)


class Bookmark:
    """A place in a game to which an environment can be brought back, again and again."""

    def __init__(self, env: Env, seed: int, actions: Sequence[int], position: int) -> None:
        self._env, self._place = env, (seed, actions, position)
        raw = card_env(env)
        self._raw = raw if raw is env else None  # a wrapper may hold something itself
        self._snapshot = raw.save() if raw is env and raw is not None else None

    def restore(self) -> None:
        if self._raw is not None and self._snapshot is not None:
            self._raw.restore(self._snapshot)
        else:
            go_to(self._env, *self._place)


def spread(length: int, count: int) -> list[int]:
    """Up to `count` positions from the first to the last of `length`."""
    return sorted({int(position) for position in np.linspace(0, max(0, length - 1), count)})


def some(actions: Array, count: int, rng: np.random.Generator) -> list[int]:
    return [int(action) for action in rng.permutation(actions)[:count]]
