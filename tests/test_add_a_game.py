"""The page docs/add_a_game.md: its blocks run one after another, and together they are the example."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

from card_envs.games import registry

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "add_a_game.md").read_text("utf-8")
EXAMPLE = ROOT / "examples" / "kuhn_poker"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
TRY = "# try it\n"


def without_blank_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def test_blocks_together_are_the_example():
    parts = "\n".join(block for block in BLOCKS if not block.startswith(TRY))
    assert without_blank_lines(parts) == without_blank_lines((EXAMPLE / "kuhn_poker.py").read_text("utf-8"))
    assert (EXAMPLE / "pyproject.toml").read_text("utf-8") in PAGE


@pytest.mark.filterwarnings("ignore")
def test_every_step_runs(capsys, monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    page = types.ModuleType("kuhn_poker_of_the_page")  # a game is pickled by its module
    monkeypatch.setitem(sys.modules, page.__name__, page)
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"add_a_game.md, block {number + 1}", "exec"), vars(page))
    told = capsys.readouterr().out
    assert "legal: 2" in told
    assert "player_1 to bet" in told
    assert "| `moves` |" in told
    assert "search:100" in told
    assert "(256, 9) (256, 2)" in told
