"""What the command lines share: arguments, and one clear line for bad input."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from card_envs.errors import CardEnvsError
from card_envs.games import GAMES


def whole(low: int) -> Callable[[str], int]:
    """An argparse type: a whole number from `low`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low}")
        return value

    return parse


def add_game_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME", help=", ".join(name.rpartition("_v")[0] for name in GAMES))
    parser.add_argument("--num-players", type=whole(1), default=None, metavar="N", help="default: the game's own")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the game, may be given several times (VALUE is JSON or a word)",
    )


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """The game's options that were given as `--option NAME=VALUE`."""
    options = {}
    for text in args.option:
        name, equals, value = text.partition("=")
        if not equals:
            raise CardEnvsError(f"--option {text!r} must be NAME=VALUE")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options


def run(function: Callable[[argparse.Namespace], object], args: argparse.Namespace) -> int:
    """Runs a command: exit code 0, or 2 and one line on stderr for bad input and files that can't be read or written."""
    try:
        function(args)
    except (CardEnvsError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    return 0
