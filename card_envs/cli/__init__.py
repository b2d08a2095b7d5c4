"""`card-envs COMMAND`: everything that is run from a shell. One module a command, named for it."""

from __future__ import annotations

import argparse
import importlib
import shlex
import sys
from collections.abc import Sequence

import shtab

from card_envs import __version__
from card_envs.cli.common import run

COMMANDS = ("games", "check", "train", "export", "tournament", "record", "replay", "bench")


def parser() -> argparse.ArgumentParser:
    """The whole command line; a command's help is its module's docstring."""
    top = argparse.ArgumentParser(
        prog="card-envs",
        description="Multiplayer card games for reinforcement learning: list, check, train, compare, record, replay.",
    )
    top.add_argument("--version", action="version", version=__version__)
    shtab.add_argument_to(top, "--print-completion", help="print a completion script for this shell")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for name in COMMANDS:
        module = importlib.import_module(f"card_envs.cli.{name}")
        command = commands.add_parser(
            name,
            help=str(module.__doc__).partition("\n")[0].rstrip("."),
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(function=module.main)
    return top


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The arguments of a command, and as `command` the words that were typed."""
    words = sys.argv[1:] if argv is None else list(argv)
    args = parser().parse_args(words)
    args.command = shlex.join(["card-envs", *words])
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit code: 0, or 2 after one line about bad input."""
    args = parse(argv)
    return run(args.function, args)
