"""The rules of the games, and how a game is found by its name."""

from card_envs.games.registry import game_class, list_games, make_game, player_counts, register, short_name

__all__ = ["game_class", "list_games", "make_game", "player_counts", "register", "short_name"]
