"""Run the conformance suite on a game: every player count and variant, or one.

It checks what users rely on: masks equal to what `step` accepts, no hidden information in observations, fresh arrays,
copies that go on identically, rewards, ends, seeds, records.
"""

from __future__ import annotations

import argparse

from card_envs.cli.common import add_game_arguments, options_of, whole
from card_envs.errors import CardEnvsError
from card_envs.games import make_game


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_game_arguments(parser)
    parser.add_argument(
        "--games", type=whole(1), default=20, help="games a check of the rules plays (default: %(default)s)"
    )
    parser.add_argument("--seed", type=whole(0), default=0, help="default: %(default)s")


def main(args: argparse.Namespace) -> None:
    from card_envs.conformance import check_game, variants_of

    options = options_of(args)
    if args.num_players or options:
        games = iter([make_game(args.game, args.num_players, **options)])
    else:
        games = variants_of(args.game)
    for game in games:
        try:
            check_game(game, num_games=args.games, seed=args.seed)
        except AssertionError as error:
            raise CardEnvsError(f"{game!r}: {error}") from None
        print(f"{game!r}: every check passed", flush=True)
