"""Check a file of records against the rules and show one of its games."""

from __future__ import annotations

import argparse

from card_envs.arena.records import read_records, replay
from card_envs.cli.common import some_games, whole
from card_envs.errors import CardEnvsError, RecordError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--line", type=whole(1), default=1, help="the game to show (default: %(default)s)")


def main(args: argparse.Namespace) -> None:
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
    for happened in shown.game.event_log(shown.state):
        print(f"       {happened}")
    print(shown.render())
    paid = ", ".join(f"{agent} {value:g}" for agent, value in zip(shown.game.agents, shown.returns(), strict=True))
    print(f"\nreturns: {paid}")
    print(f"{args.file}: {some_games(count)} of {', '.join(sorted(kinds))}, all by the rules (shown: line {args.line})")
