"""How far something long has come: a bar on a terminal, else a plain line now and then."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Protocol

from tqdm import tqdm

FIRST_LINE, LONGEST_SILENCE = 5.0, 60.0  # seconds; the time between two lines doubles from the first to the second


class Progress(Protocol):
    """What `progress_bar` gives: `tqdm`'s bar, or `PlainProgress` with the part of it that is used."""

    def update(self, count: int) -> object:
        """`count` more are done."""

    def write(self, text: str) -> None:
        """Prints a line to stdout without disturbing the bar."""

    def close(self) -> None:
        """Nothing more will be told."""

    def __enter__(self) -> Any: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> object: ...


def progress_bar(total: int | None, unit: str, *, initial: int = 0, description: str = "") -> Progress:
    """Tells on stderr how far something long has come.

    Args:
        total: how many there are; None if nobody knows.
        unit: what is counted, in the plural.
        initial: how many were done before.
        description: what is being done, in one word.
    """
    if sys.stderr.isatty():
        bar: Progress = tqdm(
            total=total, initial=initial, unit=f" {unit}", desc=description or None, unit_scale=True, dynamic_ncols=True
        )
        return bar
    return PlainProgress(total, unit, initial, description)


class PlainProgress:
    """Lines for a file or a pipe: the first after five seconds, then ever more rarely, down to one a minute.

    What is done sooner says nothing.

    Args:
        total: how many there are; None if nobody knows.
        unit: what is counted.
        initial: how many were done before.
        description: what is being done.
    """

    def __init__(self, total: int | None, unit: str, initial: int, description: str) -> None:
        self.total, self.unit, self.initial, self.done = total, unit, initial, initial
        self.description = description
        self._start = time.monotonic()
        self._silence, self._due = FIRST_LINE, self._start + FIRST_LINE

    def update(self, count: int) -> None:
        self.done += count
        now = time.monotonic()
        if now < self._due:
            return
        self._silence = min(2 * self._silence, LONGEST_SILENCE)
        self._due = now + self._silence
        print(self._line(now - self._start), file=sys.stderr, flush=True)

    def _line(self, seconds: float) -> str:
        what = f"{self.description}: " if self.description else ""
        far = f"{self.done:,}"
        if self.total:
            far += f" of {self.total:,}"
        share = f" ({min(self.done / self.total, 1.0):.0%})" if self.total else ""
        speed = (self.done - self.initial) / seconds
        digits = 0 if speed >= 10 else 2
        return f"{what}{far} {self.unit}{share} · {tqdm.format_interval(seconds)} · {speed:,.{digits}f} {self.unit}/s"

    def write(self, text: str) -> None:
        print(text, flush=True)

    def close(self) -> None:
        """There is nothing to take away."""

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
