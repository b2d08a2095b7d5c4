"""Copies that go on as their originals do."""

from __future__ import annotations

import copy
import pickle

from card_envs.conformance.comparing import demand, difference
from card_envs.conformance.playing import Env, actions_of, difference_of_copy, go_to, rest, spread, view


def check_copies(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """A copy made in mid-game goes on as the original does, its next unseeded game included, and apart from it.

    `copy.deepcopy`, `pickle`, and `save` with `restore` where the environment has them.

    Prevents: copies that begin a new game, copies that draw other cards, copies that share arrays with their original.
    """
    name = "check_copies"
    for k in range(num_games):
        actions = actions_of(env, seed + k)
        for position in spread(len(actions), 3)[k::num_games]:
            go_to(env, seed + k, actions, position)
            twins = {"deepcopy": copy.deepcopy(env), "pickle": pickle.loads(pickle.dumps(env))}
            here = view(env)
            for how, twin in twins.items():
                where = difference_of_copy(here, twin)
                demand(not where, name, f"after {position} actions a copy by {how} differs in {where}")
            raw = env.unwrapped
            restorable = hasattr(raw, "save") and hasattr(raw, "restore")
            snapshot = raw.save() if restorable else None
            expected = rest(env)
            for how, twin in twins.items():
                where = difference(here, view(twin))
                demand(not where, name, f"a copy by {how} is changed when its original is played: {where}")
                where = difference(expected, rest(twin))
                demand(not where, name, f"a copy by {how} goes on otherwise than its original: {where}")
            for _ in range(2 if restorable else 0):
                raw.restore(snapshot)
                where = difference(here, view(env)) or difference(expected, rest(env))
                demand(not where, name, f"a game that was saved and restored differs in {where}")
