"""Spaces and masks: what is declared, what is legal, and what `step` accepts."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium
import numpy as np

from card_envs.conformance.comparing import demand, difference
from card_envs.conformance.playing import (
    Bookmark,
    Env,
    actions_of,
    card_env,
    go_to,
    leave_all,
    observe,
    some,
    spread,
    view,
    walk,
)
from card_envs.envs.aec import ILLEGAL_ACTION


def check_spaces(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """Spaces are declared once, and everything that comes out lies within them, in their dtype.

    Prevents: spaces that are new objects at each call (their seeds are lost), values out of bounds that no checker
    meets, masks of a type that `Discrete.sample` refuses, names and metadata that tools look for in vain.
    """
    name = "check_spaces"
    missing = {"name", "render_modes", "is_parallelizable"} - set(env.metadata)
    demand(not missing, name, f"metadata lacks {', '.join(sorted(missing))}")
    for agent in env.possible_agents:
        space, actions = env.observation_space(agent), env.action_space(agent)
        demand(
            space is env.observation_space(agent) and actions is env.action_space(agent),
            name,
            f"the spaces of {agent} are new objects at each call",
        )
        demand(isinstance(actions, gymnasium.spaces.Discrete), name, f"{agent}'s actions are {actions}, not Discrete")
        demand(
            isinstance(space, gymnasium.spaces.Dict) and set(space) == {"observation", "action_mask"},
            name,
            f"{agent}'s observation space is {space}, not a Dict of observation and action_mask",
        )
        mask = space["action_mask"]
        demand(
            mask.dtype == np.int8 and mask.shape == (actions.n,),
            name,
            f"{agent}'s mask space is {mask}, not int8 of shape ({actions.n},)",
        )
    for k in range(num_games):
        for step in walk(env, seed + k):
            for agent in env.possible_agents:
                _check_within(env, agent, f"at step {step}")
    for agent in env.possible_agents:
        _check_within(env, agent, "after the end")


def check_masks(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """A mask is int8, (A,), 1 = legal for the seat that is to act; zeros for all others and after the end.

    Prevents: rows without a legal action (a masked policy then draws among all), one seat acting on another's mask,
    masks computed before the last chance event.
    """
    name = "check_masks"
    for k in range(num_games):
        for step in walk(env, seed + k):
            for agent in env.possible_agents:
                mask = observe(env, agent)["action_mask"]
                shape = (env.action_space(agent).n,)
                good = isinstance(mask, np.ndarray) and mask.dtype == np.int8 and mask.shape == shape
                demand(good, name, f"step {step}: the mask of {agent} is not an int8 array of shape {shape}")
                demand(
                    bool(((mask == 0) | (mask == 1)).all()), name, f"step {step}: {agent}'s mask holds not only 0 and 1"
                )
                if agent != env.agent_selection:
                    demand(not mask.any(), name, f"step {step}: {agent} is not to act, but its mask has ones")
                else:
                    demand(bool(mask.any()), name, f"step {step}: {agent} is to act, but its mask is empty")
                    env.action_space(agent).sample(mask)
        leave_all(
            env,
            lambda: demand(
                not any(observe(env, agent)["action_mask"].any() for agent in env.possible_agents),
                name,
                "the game has ended, but a mask has ones",
            ),
        )


def check_legality(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """`step` accepts exactly what the mask offers.

    A refused action either raises and leaves the game as it was, or ends it for everybody. Environments of this package
    are checked in both modes, the second one to the reward: -1 for the offender, 0 for the others.

    Prevents: rare illegal actions in spite of masks, and actions that are replaced without a word.
    """
    name, raw = "check_legality", card_env(env)
    modes: Sequence[str | None] = ILLEGAL_ACTION if raw is env else (None,)  # a wrapper has its own mind
    mode_before = raw.illegal_action if raw is not None else None
    rng = np.random.default_rng(seed)
    try:
        for k in range(num_games):
            actions = actions_of(env, seed + k)
            for position in spread(len(actions), 3):
                go_to(env, seed + k, actions, position)
                here = Bookmark(env, seed + k, actions, position)
                mask = observe(env, env.agent_selection)["action_mask"]
                if raw is not None:
                    legal = np.zeros_like(mask)
                    raw._kernels.legal(raw._states, 0, legal)
                    demand(np.array_equal(mask, legal), name, f"after {position} actions the mask is not the rules'")
                for action in some(np.flatnonzero(mask), 4, rng):
                    here.restore()
                    _check_accepted(env, action, position)
                for action in [*some(np.flatnonzero(mask == 0), 2, rng), -1, len(mask)]:
                    for mode in modes:
                        here.restore()
                        if raw is not None and mode is not None:
                            raw.illegal_action = mode
                        _check_refused(env, action, mode, position)
    finally:
        if raw is not None and mode_before is not None:
            raw.illegal_action = mode_before


def _check_within(env: Env, agent: str, when: str) -> None:
    name, space, seen = "check_spaces", env.observation_space(agent), observe(env, agent)
    demand(isinstance(seen, dict) and set(seen) == set(space), name, f"{when} {agent} is not shown a dict as declared")
    for key, part in space.items():
        value = seen[key]
        good = isinstance(value, np.ndarray) and value.dtype == part.dtype and value.shape == part.shape
        demand(good, name, f"{when} the {key} of {agent} is not {part.dtype} of shape {part.shape}")
        demand(part.contains(value), name, f"{when} the {key} of {agent} is out of the bounds of its space")


def _check_accepted(env: Env, action: int, position: int) -> None:
    agent = env.agent_selection
    try:
        env.step(action)
    except Exception as error:
        message = f"after {position} actions the mask offers {agent} action {action}, but step raises {error!r}"
        raise AssertionError(f"check_legality: {message}") from error
    raw = card_env(env)
    if raw is not None:
        message = f"after {position} actions the mask offers {agent} action {action}, but step takes it for illegal"
        demand(raw._offender < 0, "check_legality", message)


def _check_refused(env: Env, action: int, mode: str | None, position: int) -> None:
    name, offender, before = "check_legality", env.agent_selection, view(env)
    what = f"after {position} actions: illegal action {action} of {offender}"
    try:
        env.step(action)
    except Exception as error:
        demand(mode != "terminate", name, f"{what} raises {error!r} in the mode 'terminate'")
        where = difference(before, view(env))
        demand(not where, name, f"{what} raises, but changes the game in {where}")
        return
    demand(mode != "raise", name, f"{what} is accepted")
    over = all(env.terminations.get(agent, True) for agent in env.possible_agents)
    demand(over, name, f"{what} is accepted: it neither raises nor ends the game for all")
    if mode == "terminate":
        price = env.unwrapped.game.illegal_return
        expected = {agent: price if agent == offender else 0.0 for agent in env.possible_agents}
        demand(env.rewards == expected, name, f"{what} pays {env.rewards}, not {expected}")
