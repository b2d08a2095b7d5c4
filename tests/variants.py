"""Every registered game, for tests that hold for all of them."""

import pytest

from card_envs.conformance import all_games

VARIANTS = list(all_games())
ONE_OF_EACH = list({game.name: game for game in VARIANTS if game == type(game)(game.num_players)}.values())


def short_name(game):
    """ "icarus_club-4", or "icarus_club-4-b" for the second choice of options at that player count."""
    alike = [other for other in VARIANTS if (other.name, other.num_players) == (game.name, game.num_players)]
    letter = f"-{chr(ord('a') + alike.index(game))}" if len(alike) > 1 else ""
    return f"{game.name.rpartition('_v')[0]}-{game.num_players}{letter}"


#: gives a test every registered game at every player count
each_variant = pytest.mark.parametrize("game", VARIANTS, ids=short_name)
#: ... or every game once, at its largest player count without options
each_game = pytest.mark.parametrize("game", ONE_OF_EACH, ids=short_name)


def share_of(count: int) -> int:
    """How many of `count` games fall to each variant, rounded up."""
    return -(-count // len(VARIANTS))
