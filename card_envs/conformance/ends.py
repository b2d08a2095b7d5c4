"""How games end, and what they pay."""

from __future__ import annotations

import functools

import numpy as np

from card_envs.conformance.comparing import TOLERANCE, demand
from card_envs.conformance.playing import Env, card_env, choices, choose, ended, leave_all, observe, until_end
from card_envs.conformance.rules import check_results
from card_envs.envs.aec import CardGameEnv


def check_end(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """All seats end in the same step and in the same way, and then leave one by one.

    Flags are Python's bools, the same for all seats, and never both. After the last action every agent is still there;
    each is selected once, in table order (in this package: clockwise from the last mover), takes `step(None)`, any
    other action is refused, and is gone from all dicts; at last `agents` is empty.

    Prevents: episodes that never end because one seat's flag differs, selection by accident after the end, `None` steps
    that confuse.
    """
    name = "check_end"
    for k in range(num_games):
        mover = ""
        env.reset(seed=seed + k)
        rng = choices(seed + k)
        demand(list(env.agents) == list(env.possible_agents), name, "after reset not all agents are there")
        for step in until_end(env):
            mover = env.agent_selection
            env.step(choose(observe(env, mover), rng))
            flags = set()
            for agent in env.possible_agents:
                demand(agent in env.agents, name, f"step {step}: {agent} has left before the end was told")
                pair = (env.terminations[agent], env.truncations[agent])
                demand(all(type(f) is bool for f in pair), name, f"step {step}: {agent}'s flags {pair} are not bools")
                flags.add(pair)
            demand(len(flags) == 1, name, f"step {step}: the seats end differently: {sorted(flags)}")
            demand((True, True) not in flags, name, f"step {step}: a game is both terminated and truncated")
        _check_departure(env, mover)


def check_rewards(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """Every seat is paid what is due to it, the losers too.

    `last` gives what a seat was paid since its last action. In this package rewards are 0 until the last step, which
    pays every seat the return that the rules state; they sum to 0.

    Prevents: the mover alone being paid, so that a learner never meets its losses; rewards told twice or not at all.
    """
    name = "check_rewards"
    raw = card_env(env)
    for k in range(num_games):
        env.reset(seed=seed + k)
        rng = choices(seed + k)
        owed = dict.fromkeys(env.possible_agents, 0.0)
        for step in until_end(env):
            mover = env.agent_selection
            _check_last(env, owed, f"step {step}")
            owed[mover] = 0.0
            env.step(choose(observe(env, mover), rng))
            for agent in env.possible_agents:
                reward = env.rewards.get(agent)
                demand(
                    isinstance(reward, (int, float)) and bool(np.isfinite(reward)),
                    name,
                    f"step {step}: the reward of {agent} is {reward!r}, not a number",
                )
                owed[agent] += reward
            if raw is not None and not ended(env):
                demand(not any(env.rewards.values()), name, f"step {step}: a reward before the end: {env.rewards}")
        if raw is not None:
            _check_returns(env, raw)
        leave_all(env, functools.partial(_check_last, env, owed, "after the end"))


def _check_departure(env: Env, mover: str) -> None:
    name, agents = "check_end", list(env.possible_agents)
    first = agents.index(env.agent_selection)
    if card_env(env) is not None:
        first = (agents.index(mover) + 1) % len(agents)
    for k in range(len(agents)):
        expected = agents[(first + k) % len(agents)]
        left = set(agents[(first + i) % len(agents)] for i in range(k, len(agents)))
        demand(
            env.agent_selection == expected,
            name,
            f"after the end, {env.agent_selection} is selected where table order from the last mover says {expected}",
        )
        for what in ("agents", "rewards", "terminations", "truncations", "infos"):
            keys = set(getattr(env, what))
            demand(keys == left, name, f"after the end, {what} are {sorted(keys)}, not {sorted(left)}")
        try:
            env.step(0)
        except Exception:
            pass
        else:
            demand(False, name, f"step(0) of {expected} after the end is accepted")
        env.step(None)
    demand(not env.agents, name, f"all have taken step(None), but agents are {env.agents}")


def _check_last(env: Env, owed: dict[str, float], when: str) -> None:
    agent, paid = env.agent_selection, env.last()[1]
    good = abs(paid - owed[agent]) < TOLERANCE
    demand(good, "check_rewards", f"{when}: last() pays {agent} {paid}, due since its last action are {owed[agent]}")


def _check_returns(env: Env, raw: CardGameEnv) -> None:
    name = "check_rewards"
    due = np.zeros((1, raw.game.num_players))
    raw._kernels.returns(raw._states, np.zeros(1, np.int64), due)
    paid = [env.rewards[agent] for agent in env.possible_agents]
    demand(bool(np.allclose(paid, due[0], rtol=0, atol=TOLERANCE)), name, f"paid are {paid}, due are {due[0].tolist()}")
    check_results(name, raw.game, raw._states, due)
