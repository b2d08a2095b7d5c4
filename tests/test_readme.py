"""The README's programs run as they stand, and their order is the order in which a reader meets them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parent.parent / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_there_are_programs_to_run():
    assert len(BLOCKS) >= 4


@pytest.mark.filterwarnings("ignore")
def test_programs_run_one_after_another(capsys):
    names: dict[str, object] = {}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"README.md, program {number + 1}", "exec"), names)
    printed = capsys.readouterr().out
    assert "the game has ended" in printed
    assert "| `hand` |" in printed


def test_every_game_is_in_the_table():
    from card_envs import list_games

    for name in list_games():
        assert f"`{name}`" in README
