"""Compiles the kernels of all games, several games at a time: `python -m tests.warm [PROCESSES]`.

The workers of a test run find them on disk then, instead of each compiling the same ones.
"""

from __future__ import annotations

import multiprocessing
import sys

import numpy as np

from benchmarks.throughput import random_play
from card_envs.arena.match import Games, play_games
from card_envs.arena.records import replay
from card_envs.envs.aec import CardGameEnv
from card_envs.games import list_games, make_game
from card_envs.games.game import Game
from card_envs.kernels import batch
from card_envs.kernels.rng import seed_words
from card_envs.policies import GameBatch, make_policy
from card_envs.policies.agent import Agent, networks_of
from tests.golden.write import play as golden_games
from tests.kernels.playing import digest

POLICIES = ("random", "heuristic", "mc:2", "search:2")


def last_legal(observation, action_mask):
    return np.flatnonzero(action_mask)[-1]


def use(name: str) -> None:
    """Calls every kernel of a game."""
    game = make_game(name)
    digest(game, 10)
    for record in golden_games(game):
        replay(record)
    env = CardGameEnv(game)
    env.reset(seed=0)
    for _ in range(10):
        if not env.terminations[env.agent_selection]:
            env.step(last_legal(**env.observe(env.agent_selection)))
    tables, rows = GameBatch(game, 2, [make_policy(last_legal, game)]), np.arange(2)
    tables.states["rng"], tables.rngs[:] = seed_words(0, 2), seed_words(1, 2)
    tables.start(rows)
    tables.fast_forward(rows, rows + 1, batch.RANDOM)
    tables.value_actions(rows, 2, batch.RANDOM, np.empty((2, game.num_actions)))
    observation, mask = np.zeros(game.layout.size, np.float32), np.zeros(game.num_actions, np.int8)
    outcome = np.zeros(game.max_chance_values, np.int16)
    random_play(game)(tables.states, game.initial, tables.rngs, 3, game.layout.at, observation, mask, outcome)
    seats = np.arange(3)[:, None] + np.arange(game.num_players)
    policies = [make_policy(policy, game) for policy in (*POLICIES, last_legal)]
    play_games(game, policies, Games(seats % 5, seed_words(0, 3), seed_words(1, 3)), log_actions=True)
    chosen, opinions = np.zeros(2, np.int64), np.zeros((2, game.num_actions, game.num_opinions), np.float32)
    tables.kernels.opine(tables.states, rows, tables.rngs, mask, chosen, opinions)
    networks = networks_of([agent_of_zeros(game)], game)
    tables.kernels.decide(tables.states, rows, -1, tables.rngs, mask, chosen, networks)


def agent_of_zeros(game: Game) -> Agent:
    """The smallest network: kernels are the same for all."""
    inputs, actions = game.layout.size, game.num_actions
    shapes = {"trunk.0.weight": (1, inputs), "trunk.0.bias": (1,), "unscored.weight": (actions, 1)}
    shapes |= {"unscored.bias": (actions,), "critic.0.weight": (1, inputs), "critic.0.bias": (1,)}
    shapes |= {"value.weight": (1, 1), "value.bias": (1,)}
    tensors = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    return Agent(game, tensors, {"network": {"activation": "relu", "advised": False}})


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(int(sys.argv[1]) if len(sys.argv) > 1 else 2) as pool:
        pool.map(use, list_games(), chunksize=1)
