"""Games that were played for a test, with their records."""

from __future__ import annotations

from typing import Any

import numpy as np

from card_envs.arena.match import Games, Results, play_games
from card_envs.arena.records import record_of
from card_envs.games import make_game
from card_envs.games.game import Game
from card_envs.kernels.rng import seed_words
from card_envs.policies import make_policy


def games_of(game: Game, count: int, seed: int, num_policies: int = 1) -> Games:
    """`count` games with the policies going round."""
    seats = (np.arange(game.num_players)[None, :] + np.arange(count)[:, None]) % num_policies
    chance, choices = np.random.SeedSequence(seed).spawn(2)
    return Games(seats, seed_words(chance, count), seed_words(choices, count))


def played(name: str, num_players: int | None, count: int, seed: int = 0) -> tuple[Results, list[dict[str, Any]]]:
    """The results and the records of games between random players."""
    game = make_game(name, num_players)
    games = games_of(game, count, seed)
    results = play_games(game, [make_policy("random", game)], games, log_actions=True)
    return results, [record_of(game, games.chance[i], results.actions[i]) for i in range(count)]
