"""Play games and write them as records.

Policies sit in seat order, one seat further on in every game. A record is one JSON object a line, with every chance
event and action of a game; `card-envs replay` checks and shows them.
"""

from __future__ import annotations

import argparse

import numpy as np

from card_envs import __version__
from card_envs.arena.match import Games, play_games
from card_envs.arena.records import record_of, write_records
from card_envs.cli.common import add_game_arguments, options_of, some_games, whole
from card_envs.games import make_game
from card_envs.kernels.rng import seed_words
from card_envs.policies import make_policy
from card_envs.policies.base import policy_label


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_game_arguments(parser)
    parser.add_argument("--games", type=whole(1, 10_000_000), default=1, help="how many (default: %(default)s)")
    parser.add_argument(
        "--policies", nargs="+", default=["random"], metavar="POLICY", help="as for card-envs tournament"
    )
    parser.add_argument("--seed", type=whole(0), default=0, help="default: %(default)s")
    parser.add_argument("--out", required=True, metavar="FILE", help="the .jsonl file to write")


def main(args: argparse.Namespace) -> None:
    game = make_game(args.game, args.num_players, **options_of(args))
    policies = [make_policy(name, game) for name in args.policies]
    games, n = args.games, game.num_players
    seats = (np.arange(n)[None, :] + np.arange(games)[:, None]) % len(policies)
    chance, choices = np.random.SeedSequence(args.seed).spawn(2)
    to_play = Games(seats, seed_words(chance, games), seed_words(choices, games))
    results = play_games(game, policies, to_play, log_actions=True)
    count = write_records(
        args.out,
        (
            record_of(
                game,
                to_play.chance[i],
                results.actions[i],
                policies=[policy_label(policies[p]) for p in seats[i]],
                seed=args.seed,
                version=__version__,
            )
            for i in range(games)
        ),
    )
    print(f"{args.out}: {some_games(count)} of {game.name} with {n} players")
