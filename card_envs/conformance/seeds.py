"""Seeds: the same game again, and no two alike."""

from __future__ import annotations

import itertools

from card_envs.conformance.comparing import demand, difference
from card_envs.conformance.playing import Env, card_env, view, whole_game
from card_envs.games.recorded_game import RecordedGame

MANY_SEEDS = 24  #: deals of which two must differ, however small the game


def check_seeds(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """The same seed gives the same game, another one another; 0 is a seed, and neighbours share nothing.

    A small game has few deals, so neighbours may be alike there; but not all of a row, and in this package their
    generators are never in the same state.

    Prevents: seeds that are ignored or taken for "none" when they are 0, games that differ although seeded, rows of a
    batch that repeat each other, options that fall back to their defaults on a seeded reset.
    """
    name, raw = "check_seeds", card_env(env)
    agents = list(env.possible_agents)
    spaces = [(env.observation_space(agent), env.action_space(agent)) for agent in agents]
    games = []
    for k in range(max(2, num_games)):
        env.reset(seed=seed + k)
        same = list(env.possible_agents) == agents and spaces == [
            (env.observation_space(agent), env.action_space(agent)) for agent in agents
        ]
        demand(same, name, "a seeded reset changes the agents or their spaces: options must survive it")
        if raw is not None:
            dealt = raw._states.tobytes() == RecordedGame(raw.game, seed=seed + k).states.tobytes()
            demand(dealt, name, f"reset(seed={seed + k}) does not deal {raw.game!r} as its rules do")
        games.append(whole_game(env, seed + k, choice_seed=seed))
        where = difference(games[-1], whole_game(env, seed + k, choice_seed=seed))
        demand(not where, name, f"seed {seed + k} gives two different games; they differ in {where}")
    for k, (first, second) in enumerate(itertools.pairwise(games)):
        others = (whole_game(env, seed + further, choice_seed=seed) for further in range(len(games), MANY_SEEDS))
        differ = bool(difference(first, second)) or any(difference(first, other) for other in others)
        demand(
            differ, name, f"seeds {seed + k} and {seed + k + 1} give the same game, and so do all up to {MANY_SEEDS}"
        )
    if raw is not None:
        words = set()
        for k in range(MANY_SEEDS):
            env.reset(seed=seed + k)
            words.add(raw._states["rng"].tobytes())
        demand(len(words) == MANY_SEEDS, name, "two seeds leave the generator in the same state")
    env.reset(seed=0)
    zero, differ = view(env), False
    for _ in range(MANY_SEEDS):
        env.reset()
        differ = differ or bool(difference(zero, view(env)))
    demand(differ, name, "a reset without a seed deals the same game once more")
    env.reset(seed=0)
    demand(not difference(zero, view(env)), name, "seed 0 is not taken for a seed")
