"""Progress of what takes long: a bar on a terminal, plain lines now and then in a file."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from card_envs import progress
from card_envs.progress import progress_bar


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_file_gets_plain_lines_ever_more_rarely(clock, capsys):
    with progress_bar(100_000, "games") as bar:
        for _ in range(600):
            clock[0] += 1.0
            bar.update(100)
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.splitlines()
    assert lines[0] == "500 of 100,000 games (0%) · 00:05 · 100 games/s"
    assert lines[1] == "1,500 of 100,000 games (2%) · 00:15 · 100 games/s"
    assert [line.split(" · ")[1] for line in lines[1:5]] == ["00:15", "00:35", "01:15", "02:15"]
    assert len(lines) == 4 + 8  # one a minute from then on
    assert "\r" not in said.err


def test_what_is_done_at_once_says_nothing(clock, capsys):
    with progress_bar(10, "games") as bar:
        bar.update(10)
    assert capsys.readouterr() == ("", "")


def test_what_was_done_before_counts_as_done_but_not_as_speed(clock, capsys):
    with progress_bar(1000, "steps", initial=500, description="training") as bar:
        clock[0] += 10
        bar.update(25)
        bar.write("a result")
    assert capsys.readouterr() == ("a result\n", "training: 525 of 1,000 steps (52%) · 00:10 · 2.50 steps/s\n")


def test_total_that_nobody_knows_is_not_told(clock, capsys):
    with progress_bar(None, "games") as bar:
        clock[0] += 10
        bar.update(2000)
    assert capsys.readouterr().err == "2,000 games · 00:10 · 200 games/s\n"


def test_terminal_gets_a_bar():
    script = (
        "from card_envs.progress import progress_bar\n"
        "with progress_bar(10, 'games', description='playing') as bar: bar.update(10)\n"
    )
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    try:
        assert subprocess.run([sys.executable, "-c", script], stderr=theirs, timeout=60).returncode == 0
        shown = os.read(ours, 65536).decode()
    finally:
        os.close(theirs)
        os.close(ours)
    assert "playing: 100%" in shown
    assert "10.0/10.0" in shown
    assert "games/s" in shown
