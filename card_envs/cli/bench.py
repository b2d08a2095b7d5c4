"""Measure how fast a game runs here: whole games in compiled code, a batch of environments, one environment.

Decisions a second with random legal play, the median and the spread of several rounds taken in turn.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from card_envs import make
from card_envs.cli.common import add_game_arguments, options_of, positive, whole
from card_envs.games import make_game
from card_envs.games.game import Game
from card_envs.machine import machine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_game_arguments(parser)
    parser.add_argument(
        "--num-envs", type=whole(1, 10_000_000), default=256, help="games in a batch (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=whole(1), default=5, help="default: %(default)s")
    parser.add_argument("--seconds", type=positive, default=0.5, help="of a round (default: %(default)s)")


def main(args: argparse.Namespace) -> None:
    options = options_of(args)
    game = make_game(args.game, args.num_players, **options)
    contenders = {
        "whole games in compiled code": compiled_games(game, args.num_envs),
        f"Gymnasium vector environment, {args.num_envs} games": vector(game, args.num_envs),
        "PettingZoo AEC environment": aec(game),
    }
    print(machine(("numpy", "numba", "gymnasium", "pettingzoo")))
    print(f"{game!r}: decisions a second, median (lowest to highest)")
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for play in contenders.values():
        play()  # compiles
    for _ in range(args.rounds):
        for name, play in contenders.items():
            count, start = 0, time.perf_counter()
            while (spent := time.perf_counter() - start) < args.seconds:
                count += play()
            rates[name].append(count / spent)
    for name, measured in rates.items():
        print(f"  {name:<44}{statistics.median(measured):>14,.0f}  ({min(measured):,.0f} to {max(measured):,.0f})")


def compiled_games(game: Game, num_games: int) -> Callable[[], int]:
    """Plays a batch of games to their ends."""
    from card_envs.kernels.rng import seed_words
    from card_envs.policies.game_batch import GameBatch

    games, rows = GameBatch(game, num_games), np.arange(num_games)
    games.states["rng"], games.rngs[:] = seed_words(0, num_games), seed_words(1, num_games)

    def play() -> int:
        games.start(rows)
        games.advance(rows)
        return int(games.counts.sum())

    return play


def vector(game: Game, num_envs: int) -> Callable[[], int]:
    """One step of every environment; the others' decisions and the forced ones count as they do for a learner: not."""
    from card_envs.envs.vector import CardVectorEnv

    envs, rng = CardVectorEnv(game.name, num_envs, game.num_players, **game.options), np.random.default_rng(0)
    _, infos = envs.reset(seed=0)

    def play() -> int:
        nonlocal infos
        masks = infos["action_mask"]
        *_, infos = envs.step((rng.random(masks.shape) * masks).argmax(axis=1))
        return num_envs

    return play


def aec(game: Game) -> Callable[[], int]:
    """One whole game."""
    env, seed = make(game.name, game.num_players, **game.options), 0

    def play() -> int:
        nonlocal seed
        env.reset(seed=seed)
        seed, count = seed + 1, 0
        for agent in env.agent_iter():
            observation, _, termination, truncation, _ = env.last()
            if termination or truncation:
                env.step(None)
                continue
            env.step(int(env.action_space(agent).sample(observation["action_mask"])))
            count += 1
        return count

    return play
