"""The registry of games: nobody outside `games/` names one, and packages bring theirs by an entry point."""

from __future__ import annotations

import ast
import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import card_envs
from card_envs import cli
from card_envs.errors import CardEnvsError
from card_envs.games import game_class, list_games, make_game, registry, short_name

PACKAGE = Path(card_envs.__file__).resolve().parent
VERSION_MODULES = {PACKAGE / f"{name}.py" for name in registry.BUILT_IN}
OUTSIDE = sorted(
    path for path in PACKAGE.rglob("*.py") if PACKAGE / "games" not in path.parents and path not in VERSION_MODULES
)
ROOT = Path(__file__).resolve().parents[1]
ABOUT_ONE_GAME = {ROOT / "benchmarks" / "icons_memory.py"}  # and say so in their names
MEASURING = sorted({*(ROOT / "benchmarks").glob("*.py")} - ABOUT_ONE_GAME)
TO_COPY = sorted({*(ROOT / "training").glob("*.py"), ROOT / "examples" / "masked_ppo.py"})


def words_of(path: Path) -> list[str]:
    """Names and strings of a module's code; docstrings, which may show examples, left out."""
    tree = ast.parse(path.read_text("utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    words = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            words.append(node.value)
        elif isinstance(node, ast.Name):
            words.append(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            words += [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
    return words


def named_in(path: Path) -> list[str]:
    """The words that name a built-in game."""
    names = "|".join([*map(short_name, registry.BUILT_IN), "IcarusClub", "Icons", "Micons", "IcePoints"])
    return [word for word in words_of(path) if re.search(rf"(?<![A-Za-z])({names})(?![a-z])", word)]


@pytest.mark.parametrize("path", [*OUTSIDE, *MEASURING], ids=lambda path: str(path.relative_to(ROOT)))
def test_nobody_outside_the_games_names_one(path):
    shown = [word for word in named_in(path) if not word.startswith("env_config has no 'game'")]  # has an example
    assert not shown


@pytest.mark.parametrize("path", TO_COPY, ids=lambda path: path.name)
def test_a_script_to_copy_names_the_one_game_that_it_shows_and_lists_none(path):
    assert len(named_in(path)) <= 1


def test_built_in_games_come_first_and_are_found_by_both_names():
    assert list_games()[:4] == list(registry.BUILT_IN)
    for name in registry.BUILT_IN:
        assert game_class(name) is game_class(short_name(name))
        assert game_class(name).name == name


def installed(monkeypatch, **points: str) -> None:
    found = [EntryPoint(name, value, registry.ENTRY_POINTS) for name, value in points.items()]
    monkeypatch.setattr(registry, "entry_points", lambda group: found)
    registry._installed.cache_clear()
    registry._load.cache_clear()


@pytest.fixture(autouse=True)
def as_it_was():
    yield
    registry._installed.cache_clear()
    registry._load.cache_clear()


def test_an_installed_game_is_found_without_being_imported(monkeypatch):
    installed(monkeypatch, lots_v0="tests.lots:Lots", broken_v0="tests.no_such_module:Game")
    assert list_games()[-2:] == ["lots_v0", "broken_v0"]
    assert make_game("lots", 3).title == "Lots"
    with pytest.raises(CardEnvsError, match=r"'broken_v0' \(tests.no_such_module:Game\) can't be loaded: ModuleNot"):
        game_class("broken")


def test_the_list_of_games_shows_the_others_when_one_package_is_broken(monkeypatch, capsys):
    installed(monkeypatch, broken_v0="tests.no_such_module:Game", lots_v0="tests.lots:Lots")
    assert cli.main(["games"]) == 2
    told = capsys.readouterr()
    assert "Lots" in told.out.splitlines()[-1]
    assert told.err.startswith("error: the game 'broken_v0' (tests.no_such_module:Game) can't be loaded")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("lots_v1", "tests.lots:Lots", "must have the game.s name, which is .lots_v0."),
        ("lots_v0", "tests.lots:STATE", "is no class of a game$"),
        ("lots_v0", "tests.lots:nothing", "can't be loaded: AttributeError"),
    ],
)
def test_an_entry_point_that_is_no_game_is_told_when_it_is_used(name, value, message, monkeypatch):
    installed(monkeypatch, **{name: value})
    with pytest.raises(CardEnvsError, match=message):
        game_class(name)


def test_entry_points_can_not_take_a_built_in_games_name_or_none(monkeypatch):
    installed(monkeypatch, icons_v0="tests.lots:Lots", lots="tests.lots:Lots")
    with pytest.warns(UserWarning, match=r"'icons_v0'.*built-in") as warned:
        assert list_games() == list(registry.BUILT_IN)
    assert any("'lots'" in str(warning.message) for warning in warned)
