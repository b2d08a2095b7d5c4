"""`python -m card_envs`: writes game records, and checks and shows them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from card_envs import __version__
from card_envs.arena.match import Games, play_games
from card_envs.arena.records import read_records, record_of, replay, write_records
from card_envs.cli import add_game_arguments, options_of, run, whole
from card_envs.errors import CardEnvsError, RecordError
from card_envs.games import make_game
from card_envs.kernels.rng import seed_words
from card_envs.policies import make_policy
from card_envs.policies.base import policy_label


def record(args: argparse.Namespace) -> None:
    """Plays games and writes them as records. Policies sit in seat order, one seat further on in every game."""
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
    print(f"{args.out}: {count} games of {game.name} with {n} players")


def replay_file(args: argparse.Namespace) -> None:
    """Checks every record of a file and shows one game."""
    shown, count, kinds = None, 0, set()
    for line, parsed in read_records(args.file):
        try:
            table = replay(parsed, line)
        except RecordError as error:
            raise RecordError(f"{args.file}: {error}") from None
        count += 1
        kinds.add(table.game.name)
        if line == args.line:
            shown = table
    if shown is None:
        raise CardEnvsError(f"{args.file} has no line {args.line}; it has {count}")
    for number, event in enumerate(shown.events):
        value = event[-1] if not isinstance(event[-1], list) else " ".join(event[-1])
        print(f"{number:>5}  {' '.join(map(str, event[:-1]))}: {value}")
    print()
    for happened in shown.game.resolution(shown.state):
        print(f"       {happened}")
    print(shown.render())
    print(f"\n{args.file}: {count} games of {', '.join(sorted(kinds))}, all by the rules (shown: line {args.line})")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m card_envs", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("record", help="play games and write them as records", description=record.__doc__)
    add_game_arguments(command)
    command.add_argument("--games", type=whole(1, 10_000_000), default=1, help="how many (default: %(default)s)")
    command.add_argument(
        "--policies", nargs="+", default=["random"], metavar="POLICY", help="random, heuristic, or a model's .zip"
    )
    command.add_argument("--seed", type=whole(0), default=0, help="default: %(default)s")
    command.add_argument("--out", required=True, metavar="FILE", help="the .jsonl file to write")
    command.set_defaults(function=record)
    command = commands.add_parser("replay", help="check a file of records", description=replay_file.__doc__)
    command.add_argument("file", metavar="FILE")
    command.add_argument("--line", type=whole(1), default=1, help="the game to show (default: %(default)s)")
    command.set_defaults(function=replay_file)
    args = parser.parse_args(argv)
    return run(args.function, args)


if __name__ == "__main__":
    sys.exit(main())
