"""Real multiplayer card games as fast environments for reinforcement learning.

`list_games()` names them, `make(name)` gives a PettingZoo AEC environment, as does `icarus_club_v0.env()` after
`from card_envs import icarus_club_v0`. Importing this package registers every game with Gymnasium
(`gymnasium.make("card_envs/IcarusClub-v0")`, `make_vec`) and with PettingZoo (`pettingzoo.make("aec",
"card_envs/icarus_club-v0")`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from card_envs import games
from card_envs.games import list_games
from card_envs.registration import register_environments

if TYPE_CHECKING:
    from card_envs.envs.aec import CardGameEnv
    from card_envs.games.game import Game

__version__ = "0.1.0"
__all__ = ["__version__", "list_games", "make", "register"]


def register(game: type[Game]) -> None:
    """Adds a game of your own: from then on it is everywhere where a game is named.

    Args:
        game: its class; `game.name` is its id with a version, "my_game_v0".

    Raises:
        CardEnvsError: the name is no such id, or another game has it.
    """
    games.register(game)
    register_environments(game.name)


def make(game: str, num_players: int | None = None, **options: Any) -> CardGameEnv:
    """A game as a PettingZoo AEC environment.

    Args:
        game: its id, with or without the version.
        num_players: seats at the table; None takes the game's default.
        options: `render_mode`, `illegal_action`, and the game's own.

    Raises:
        CardEnvsError: unknown game, option or player count; the message says what is allowed.
    """
    from card_envs.envs.versions import make_env

    return make_env(game, num_players, **options)


for _name in list_games():
    register_environments(_name)
