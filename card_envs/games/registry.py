"""The games by name: those built in, those of installed packages, and those registered by hand.

A package brings a game by an entry point of the group `card_envs.games`, named for the game's id::

    [project.entry-points."card_envs.games"]
    kuhn_poker_v0 = "kuhn_poker:KuhnPoker"

It is imported when the game is first used. A game of one's own script is registered by `card_envs.register`.
"""

from __future__ import annotations

import functools
import importlib
import re
import warnings
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from card_envs.errors import CardEnvsError, shown, unknown_name

if TYPE_CHECKING:
    from card_envs.games.game import Game

ENTRY_POINTS = "card_envs.games"
#: id with version -> "module:class"; one folder here, one version module and one config each
BUILT_IN: dict[str, str] = {
    "icarus_club_v0": "card_envs.games.icarus_club:IcarusClub",
    "icons_v0": "card_envs.games.icons:Icons",
    "micons_v0": "card_envs.games.micons:Micons",
    "ice_points_v0": "card_envs.games.ice_points:IcePoints",
}
_ID = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*_v(0|[1-9][0-9]*)")
_registered: dict[str, type[Game]] = {}


@functools.cache
def _installed() -> dict[str, EntryPoint]:
    """The entry points of other packages by id."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=ENTRY_POINTS):
        if not _ID.fullmatch(point.name) or point.name in BUILT_IN:
            wrong = "a built-in game has that id" if point.name in BUILT_IN else "an id is like my_game_v0"
            warnings.warn(f"the entry point {point.name!r} = {point.value!r} is left out: {wrong}", stacklevel=2)
        else:
            found[point.name] = point
    return found


def list_games() -> list[str]:
    """The ids of all games, the built-in ones first: `["icarus_club_v0", ...]`. None is imported for it."""
    return list({**BUILT_IN, **_installed(), **_registered})


def register(game: type[Game]) -> None:
    """Adds a game; from then on it is found by its `name`.

    Raises:
        CardEnvsError: the name is no id with a version, or that of a built-in or installed game.
    """
    name = getattr(game, "name", None)
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise CardEnvsError(f"a game's name is an id with a version, such as 'my_game_v0', not {name!r}")
    taken = name in BUILT_IN or name in _installed()
    if taken and game_class(name) is not game:
        raise CardEnvsError(f"there is another game {name!r} already; choose another name or version")
    if not taken:
        if _registered.get(name, game) is not game:
            warnings.warn(f"the game {name!r} registered before is replaced", stacklevel=3)
        _registered[name] = game


def short_name(name: str) -> str:
    """A game's id without its version: "icarus_club"."""
    return name.rpartition("_v")[0]


def game_class(name: str) -> type[Game]:
    """The class of a game by its id, "icarus_club_v0", or without the version, "icarus_club" (the newest).

    Raises:
        CardEnvsError: there is no such game (the message names those that there are), its package can't be imported, or
            what is given is no name.
    """
    known = list_games()
    if not isinstance(name, str):
        raise CardEnvsError(f"a game is named by its id, such as {known[0]!r}, not by {shown(name)}")
    matches = [one for one in known if name == one] or sorted(
        (one for one in known if name == short_name(one)), key=lambda one: int(one.rpartition("_v")[2])
    )
    if not matches:
        raise CardEnvsError(unknown_name("game", name, known))
    name = matches[-1]
    if name in _registered:
        return _registered[name]
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        built_in: type[Game] = getattr(importlib.import_module(module), attribute)
        return built_in
    return _load(name)


@functools.cache
def _load(name: str) -> type[Game]:
    from card_envs.games.game import Game

    point = _installed()[name]
    try:
        game = point.load()
    except Exception as error:  # importing a package runs its code, which may raise anything
        raise CardEnvsError(
            f"the game {name!r} ({point.value}) can't be loaded: {type(error).__name__}: {error}"
        ) from None
    if not (isinstance(game, type) and issubclass(game, Game)):
        raise CardEnvsError(f"the entry point {name!r} ({point.value}) is no class of a game")
    if getattr(game, "name", None) != name:
        called = repr(game.name) if hasattr(game, "name") else "missing"
        raise CardEnvsError(f"the entry point {name!r} ({point.value}) must have the game's name, which is {called}")
    return game


def make_game(name: str, num_players: int | None = None, **options: Any) -> Game:
    """A game by name with its options chosen; see `Game`."""
    return game_class(name)(num_players, **options)


def player_counts(name: str) -> range:
    """The player counts that a game allows."""
    cls = game_class(name)
    return range(cls.min_players, cls.max_players + 1)
