"""Run the conformance suite on a game, at every player count or at one.

It checks what users rely on: masks equal to what `step` accepts, no hidden information in observations, fresh arrays,
copies that go on identically, rewards, ends, seeds, records.
"""

from __future__ import annotations

import argparse
import functools

from card_envs import make
from card_envs.cli.common import add_game_arguments, options_of, whole
from card_envs.games import make_game, player_counts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_game_arguments(parser)
    parser.add_argument("--games", type=whole(1), default=2, help="games a check plays (default: %(default)s)")
    parser.add_argument("--seed", type=whole(0), default=0, help="default: %(default)s")


def main(args: argparse.Namespace) -> None:
    from card_envs.testing import check_env

    options = options_of(args)
    counts = [args.num_players] if args.num_players else player_counts(args.game)
    for count in counts:
        game = make_game(args.game, count, **options)
        make_env = functools.partial(make, args.game, count, **options)
        check_env(make_env, num_games=args.games, seed=args.seed)
        print(f"{game!r}: every check passed")
