"""Runs a command on a damaged input and says what is wrong with what came of it."""

from __future__ import annotations

import contextlib
import io
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from card_envs import cli
from tests.fuzz.kinds import CutShort, Kind, cut_short

ROOT = Path(__file__).resolve().parents[2]
TIME_LIMIT = 60.0  # seconds; a kernel may have to be compiled
MEMORY_LIMIT = 400 * 2**20  # bytes by which the peak may rise with an input that is refused
LONGEST_MESSAGE = 2000


class TooLong(BaseException):
    """No command catches this."""


@dataclass
class Verdict:
    """What came of an input.

    Attributes:
        code: the exit code; None after a traceback or a hang.
        cut: whether the command was cut short, where all was accepted.
        said: what stood on stderr.
        fault: what is wrong with it; "" for nothing.
        command: the words.
    """

    code: int | None = None
    cut: bool = False
    said: str = ""
    fault: str = ""
    command: list[str] = field(default_factory=list)


def attempt(kind: Kind, sample: Path, seed: int, *, keep: Path | None = None, process: bool = False) -> Verdict:
    """Damages a copy of a valid sample and runs the command on it.

    Args:
        kind: of what.
        sample: the folder that `kind.prepare` has filled; one of its samples is taken.
        seed: decides what is damaged.
        keep: where the input goes if something is wrong; by default nowhere.
        process: runs the command a second time, as a user does, unless it was cut short; both must do the same.
    """
    with tempfile.TemporaryDirectory(dir=sample.parent) as scratch:
        rng = Random(f"{kind.name} {seed}")
        chosen = rng.choice(sorted(sample.iterdir()))
        folder = Path(shutil.copytree(chosen, Path(scratch) / "input"))
        words = kind.damage(chosen.name, folder, rng)
        before = contents(folder)
        verdict = in_this_process(words, folder)
        verdict.command = words
        verdict.fault = verdict.fault or _fault(verdict, before, folder)
        if process and not verdict.fault and not verdict.cut:
            restore(before, folder)
            verdict.fault = _fault_of_process(verdict, words, before, folder)
        if verdict.fault and keep:
            restore(before, folder)
            shutil.copytree(folder, keep, dirs_exist_ok=True)
            (keep / "what_happened.txt").write_text(
                f"card-envs {' '.join(words)}\n\n{verdict.fault}\n\nexit code {verdict.code}, stderr:\n{verdict.said}",
                errors="backslashreplace",
            )
    return verdict


def in_this_process(words: list[str], folder: Path) -> Verdict:
    """Runs a command inside a folder, cut short."""
    verdict = Verdict()
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with (
            contextlib.chdir(folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            cut_short(),
            _time_limit(),
        ):
            verdict.code = cli.main(words)
    except TooLong:
        verdict.fault = f"no answer after {TIME_LIMIT:.0f} seconds: {_where()}"
    except CutShort:
        verdict.code, verdict.cut = 0, True
    except SystemExit as stop:
        verdict.code = stop.code if isinstance(stop.code, int) else None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        verdict.fault = f"a traceback: {type(error).__name__}: {str(error)[:200]} ({_where()})"
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024
    verdict.said = err.buffer.getvalue().decode("utf-8", "backslashreplace")
    if grown > MEMORY_LIMIT and not verdict.fault and not (verdict.code == 0 or "not enough memory" in verdict.said):
        verdict.fault = f"{grown / 2**20:.0f} MiB of memory for an input that is refused"
    return verdict


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise TooLong

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _where() -> str:
    """The innermost lines of the package in the present traceback."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    named = [f"{Path(f.filename).name}:{f.lineno}" for f in frames if "card_envs" in f.filename][-3:]
    return " < ".join([*reversed(named), f"innermost {frames[-1].filename}:{frames[-1].lineno}"])


def _fault(verdict: Verdict, before: dict[Path, bytes | None], folder: Path) -> str:
    said = verdict.said
    if verdict.code == 0:
        wrong = "Traceback" in said or "Warning" in said
        return "exit code 0 with a warning or a traceback" if wrong else ""
    if verdict.code != 2:
        return f"exit code {verdict.code}"
    if not said.startswith("error: ") or not said.endswith("\n") or len(said.splitlines()) != 1:
        return "exit code 2 without exactly one line `error: ...`"
    if len(said) > LONGEST_MESSAGE:
        return f"a message of {len(said):,} characters"
    if not said[:-1].isprintable():
        return "a message with control characters"
    if len(said) < 20:
        return "a message that says nothing"
    after = contents(folder)
    if after != before:
        changed = sorted(
            str(path) for path in before.keys() | after.keys() if before.get(path, 0) != after.get(path, 0)
        )
        return f"refused, but changed: {', '.join(changed)}"
    return ""


def _fault_of_process(verdict: Verdict, words: list[str], before: dict[Path, bytes | None], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "card_envs", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=10 * TIME_LIMIT,
    )
    own = Verdict(done.returncode, said=done.stderr.decode("utf-8", "backslashreplace"))
    if fault := _fault(own, before, folder):
        verdict.said = own.said
        return f"as a process: {fault}"
    if (own.code, own.said) != (verdict.code, verdict.said):
        return f"as a process it said {own.code} {own.said!r}"
    return ""


def contents(folder: Path) -> dict[Path, bytes | None]:
    """All files in a folder by their paths, and folders with None."""
    return {path.relative_to(folder): None if path.is_dir() else path.read_bytes() for path in folder.rglob("*")}


def restore(before: dict[Path, bytes | None], folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()
    for path, content in before.items():
        target = folder / path
        if content is None:
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
