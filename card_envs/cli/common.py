"""What the command lines share: arguments, and one clear line for bad input."""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from card_envs.errors import CardEnvsError, Stopped, Terminated, unknown_name
from card_envs.games import game_class, list_games

BAD_INPUT, INTERRUPTED, NO_READER, TERMINATED = 2, 130, 141, 143  #: exit codes


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """An argparse type: a whole number from `low` (to `high`)."""
    allowed = f"a whole number from {low}" + (f" to {high}" if high is not None else "")

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low or (high is not None and value > high):
            raise argparse.ArgumentTypeError(f"{text[:60]!r} is not {allowed}")
        return value

    return parse


def positive(text: str) -> float:
    """An argparse type: a number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is not a number above 0")
    return value


def some_games(count: int) -> str:
    """The number with its word: 1 game, 2 games."""
    return f"{count} game{'' if count == 1 else 's'}"


def add_game_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME", help=", ".join(name.rpartition("_v")[0] for name in list_games()))
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
    game, options = game_class(args.game), {}
    for text in args.option:
        name, equals, value = text.partition("=")
        if not equals:
            raise CardEnvsError(f"--option {text!r} must be NAME=VALUE")
        if name == "num_players":
            raise CardEnvsError(f"--option {text!r}: the number of players is given as --num-players N")
        if not game.option_table:
            raise CardEnvsError(f"--option {text!r}: {game.name} has no options")
        if name not in game.option_table:
            raise CardEnvsError(f"--option {text!r}: {unknown_name('option', name, game.option_table)}")
        try:
            options[name] = json.loads(value)
        except (ValueError, RecursionError):  # a word, or nested without end
            options[name] = value
    return options


def run(function: Callable[[argparse.Namespace], object], args: argparse.Namespace) -> int:
    """Runs a command and returns its exit code.

    Bad input, and files that can't be read or written, give one line on stderr and the code 2.
    """
    try:
        with _terminable():
            for stream in (sys.stdout, sys.stderr):
                if isinstance(stream, io.TextIOWrapper):
                    stream.reconfigure(errors="backslashreplace")  # a name may hold what can't be encoded
            function(args)
            sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has gone, as in `... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO_READER
    except (CardEnvsError, OSError) as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return BAD_INPUT
    except ValueError as error:
        if "embedded null byte" not in str(error):
            raise
        print("error: a path holds a null byte", file=sys.stderr)
        return BAD_INPUT
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "can't allocate memory" not in str(error):  # which PyTorch says
            raise
        print("error: not enough memory: ask for less at once", file=sys.stderr)
        return BAD_INPUT
    except Stopped as stopped:
        print(stopped, file=sys.stderr)
        return INTERRUPTED
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INTERRUPTED
    return 0


def _terminate(number: int, frame: object) -> NoReturn:
    raise Terminated(TERMINATED)


def printable(text: str) -> str:
    """A text in one line; what would steer a terminal, or can't be seen, as its escape."""
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends the command as an exception does, so that nothing unfinished stays behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
