"""The games by name. A new game is one folder here, one line in `GAMES`, one version module and one config."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from card_envs.errors import CardEnvsError, unknown_name

if TYPE_CHECKING:
    from card_envs.games.game import Game

#: id with version -> (folder under `games/`, Gymnasium name)
GAMES: dict[str, tuple[str, str]] = {
    "icarus_club_v0": ("icarus_club", "IcarusClub-v0"),
    "icons_v0": ("icons", "Icons-v0"),
    "micons_v0": ("micons", "Micons-v0"),
    "ice_points_v0": ("ice_points", "IcePoints-v0"),
}


def game_class(name: str) -> type[Game]:
    """The class of a game by its id, "icarus_club_v0", or without the version, "icarus_club" (the newest).

    Raises:
        CardEnvsError: there is no such game; the message names those that there are.
    """
    matches = [known for known in GAMES if name in (known, known.rpartition("_v")[0])]
    if not matches:
        raise CardEnvsError(unknown_name("game", name, GAMES))
    module = importlib.import_module(f"card_envs.games.{GAMES[matches[-1]][0]}")
    return module.GAME


def make_game(name: str, num_players: int | None = None, **options: Any) -> Game:
    """A game by name with its options chosen; see `Game`."""
    return game_class(name)(num_players, **options)


@functools.cache
def player_counts(name: str) -> range:
    """The player counts that a game allows."""
    cls = game_class(name)
    return range(cls.min_players, cls.max_players + 1)
