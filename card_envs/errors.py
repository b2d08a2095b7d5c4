"""The errors that the package raises on purpose. Each message says what was wrong, where, and what is allowed."""

from __future__ import annotations

import difflib
import importlib
import reprlib
import traceback
from collections.abc import Iterable

LONGEST_NAME = 60  # characters of a name in a message


class CardEnvsError(ValueError):
    """Any bad input to this package."""


class Stopped(Exception):
    """Something long that was asked to stop has done so in good order."""


class IllegalActionError(CardEnvsError):
    """An action that the rules do not allow now; the game stays as it was."""


class PolicyError(CardEnvsError):
    """A policy that raised an error, or whose answer can't be read as actions.

    Args:
        message: what happened.
        kind: in two words, for counts.
    """

    def __init__(self, message: str, kind: str = "exception") -> None:
        super().__init__(message)
        self.kind = kind

    @classmethod
    def raised(cls, name: str, error: Exception) -> PolicyError:
        """What to say of an error that the policy `name` has raised."""
        return cls(f"policy {name!r} raised {describe(error)}")


class RenderModeError(CardEnvsError, TypeError):
    """An unknown render mode; a TypeError too, at which SB3's `make_vec_env` goes on without a picture."""


class RecordError(CardEnvsError):
    """A game record that is broken, foreign, or does not follow the rules."""


class Terminated(SystemExit):
    """SIGTERM has come: whoever catches all that a stranger's code may raise lets this through."""


def describe(error: BaseException) -> str:
    """An error that other people's code has raised, as one line: its type, what it says, and where it was raised."""
    said = str(error)
    if isinstance(error, SyntaxError):  # whose traceback ends where the file was imported
        said, place = error.msg, f"{error.filename}, line {error.lineno}" if error.filename else ""
    else:
        frames = traceback.extract_tb(error.__traceback__)[1:]  # the first one is whoever caught it
        named = [f for f in frames if not f.filename.startswith("<frozen ") and f.filename != importlib.__file__]
        place = f"{named[-1].filename}, line {named[-1].lineno}" if named else ""
    parts = (type(error).__name__, f": {said}" if said else "", f" ({place})" if place else "")
    return " ".join("".join(parts).split())


class _Short(reprlib.Repr):
    """Never builds more than a line of a value, however large it is."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 2, 60, 60

    def repr_int(self, value: int, level: int) -> str:
        return repr(value) if abs(value) <= 10**20 else f"a whole number of {value.bit_length()} bits"


_short = _Short()


def shown(value: object) -> str:
    """A value for a message, whatever it is: one line and never long."""
    return " ".join(_short.repr(value).split())


def clipped(name: str) -> str:
    """A name as messages show it: one that fills a page helps nobody."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."


def unknown_name(kind: str, name: object, allowed: Iterable[str]) -> str:
    """The message for a name that nobody knows: the nearest known one first, then all of them."""
    known = sorted(allowed)
    short = clipped(name) if isinstance(name, str) else name
    near = difflib.get_close_matches(str(short), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"unknown {kind} {short!r}{hint} (known: {', '.join(known)})"
