"""Some damaged files of each kind, of which `python -m tests.fuzz` tries thousands; and what its judge sees."""

from __future__ import annotations

import importlib.util
import os
import resource
import sys
import time
from pathlib import Path

import pytest

from card_envs.errors import CardEnvsError
from tests.fuzz import judge
from tests.fuzz.kinds import KINDS

TRAINS = ("settings", "runs")


@pytest.mark.parametrize("name", KINDS)
def test_damaged_files_are_accepted_or_refused_in_one_line(name, tmp_path, capsys):
    if name in TRAINS and not importlib.util.find_spec("sb3_contrib"):
        pytest.skip("training needs the extra 'train'")
    (tmp_path / "samples").mkdir()
    KINDS[name].prepare(tmp_path / "samples")
    verdicts = [judge.attempt(KINDS[name], tmp_path / "samples", seed) for seed in range(30)]
    assert {seed: verdict.fault for seed, verdict in enumerate(verdicts) if verdict.fault} == {}
    assert {verdict.code for verdict in verdicts} == {0, 2}


# --- the judge


class Own:
    """A command that does what a test wants of it, in the place of `record`."""

    name = "own"

    def __init__(self, does) -> None:
        self.does = does

    def prepare(self, folder: Path) -> None:
        (folder / "sample").mkdir(parents=True)
        (folder / "sample" / "kept.txt").write_text("kept")

    def damage(self, game: str, folder: Path, rng) -> list[str]:
        return ["record", "micons", "--out", "x.jsonl"]


def refuse(message: str = "x.jsonl can't be read"):
    raise CardEnvsError(message)


def write_and_refuse():
    Path("kept.txt").write_text("lost")
    refuse()


def write_more_and_refuse():
    Path("more.txt").write_text("left behind")
    refuse()


def say_more_and_refuse():
    print("by the way", file=sys.stderr)
    refuse()


def say_in_red_and_refuse():
    print("error: a name with \x1b[31m in it", file=sys.stderr)
    raise SystemExit(2)


def eat_and_refuse():
    eaten, peak = [], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < peak + 64 * 1024:
        eaten.append(os.urandom(2**22))
    refuse()


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda: None, ""),
        (refuse, ""),
        (lambda: [][1], "a traceback: IndexError: list index out of range"),
        (lambda: sys.exit(3), "exit code 3"),
        (lambda: print("Traceback: x", file=sys.stderr), "exit code 0 with a warning or a traceback"),
        (say_more_and_refuse, "exit code 2 without exactly one line"),
        (lambda: refuse("x" * 5000), "a message of 5,008 characters"),
        (say_in_red_and_refuse, "a message with control characters"),
        (lambda: refuse(""), "a message that says nothing"),
        (write_and_refuse, "refused, but changed: kept.txt"),
        (write_more_and_refuse, "refused, but changed: more.txt"),
        (eat_and_refuse, " MiB of memory for an input that is refused"),
        (lambda: time.sleep(9), "no answer after 0 seconds"),
    ],
)
def test_the_judge_sees_what_is_wrong(does, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(judge, "TIME_LIMIT", 0.3 if "no answer" in expected else 60.0)
    monkeypatch.setattr(judge, "MEMORY_LIMIT", 2**25)
    monkeypatch.setattr("card_envs.cli.record.main", lambda args: does())
    kind = Own(does)
    kind.prepare(tmp_path / "samples")
    verdict = judge.attempt(kind, tmp_path / "samples", 0, keep=tmp_path / "bad")
    assert expected in verdict.fault if expected else verdict.fault == ""
    assert (tmp_path / "bad" / "kept.txt").exists() == bool(expected)
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("bad", "samples")] == []
