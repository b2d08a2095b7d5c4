"""The programs of the README and of the pages run as they stand, in the order in which a reader meets them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from card_envs import list_games

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "docs/environments.md", "docs/tournaments.md"]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES)
def test_programs_run_one_after_another(page, capsys):
    names: dict[str, object] = {}
    assert len(blocks(page)) >= 2
    for number, block in enumerate(blocks(page)):
        exec(compile(block, f"{page}, program {number + 1}", "exec"), names)
    printed = capsys.readouterr().out
    if page == "README.md":
        assert "the game has ended" in printed


def test_every_game_is_in_the_table():
    for name in list_games():
        assert f"`{name}`" in README


def test_the_readme_is_read_in_one_sitting():
    assert len(README.splitlines()) < 120


@pytest.mark.parametrize(
    "page", sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
)
def test_links_inside_lead_somewhere(page):
    text = (ROOT / page).read_text("utf-8")
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}"
