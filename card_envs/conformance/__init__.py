"""The conformance suite: what every environment of this package promises, as checks that anybody can run.

For example::

    from card_envs import conformance, icarus_club_v0

    conformance.check_env(icarus_club_v0.env)           # all promises, one after another
    conformance.check_copies(my_env)                        # one of them
    conformance.check_game("icarus_club")               # a game by name, rules and environment, at every player count

`check_env` takes an environment of this package, or any PettingZoo AEC environment whose observations are dicts with
`"observation"` and `"action_mask"`. What needs a game's state (leaks, records, the exact returns) is checked where the
environment is a `CardGameEnv`, wrapped or not, and left out elsewhere.

A promise that is broken raises an AssertionError which begins with the name of its check. Every check plays whole games
with random legal actions, seeded, so a failure comes again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from pettingzoo.utils.env import AECEnv

from card_envs.conformance.code import check_game_code
from card_envs.conformance.copies import check_copies
from card_envs.conformance.ends import check_end, check_rewards
from card_envs.conformance.leaks import check_game_leak, check_game_resample, check_leak
from card_envs.conformance.masks import check_legality, check_masks, check_spaces
from card_envs.conformance.playing import Env
from card_envs.conformance.records import check_game_record, check_record
from card_envs.conformance.rules import check_game_chance, check_game_layout, check_game_play
from card_envs.conformance.seeds import check_seeds
from card_envs.conformance.views import check_fresh_arrays, check_infos, check_observe, check_seats
from card_envs.envs.aec import CardGameEnv
from card_envs.errors import CardEnvsError
from card_envs.games import game_class, list_games, player_counts
from card_envs.games.game import Game

__all__ = [
    "ENV_CHECKS",
    "GAME_CHECKS",
    "all_games",
    "check_copies",
    "check_end",
    "check_env",
    "check_fresh_arrays",
    "check_game",
    "check_game_chance",
    "check_game_code",
    "check_game_layout",
    "check_game_leak",
    "check_game_play",
    "check_game_record",
    "check_game_resample",
    "check_infos",
    "check_leak",
    "check_legality",
    "check_masks",
    "check_observe",
    "check_record",
    "check_rewards",
    "check_seats",
    "check_seeds",
    "check_spaces",
    "variants_of",
]

#: In the order in which `check_env` runs them: later ones rely on seeds.
ENV_CHECKS: tuple[Callable[..., None], ...] = (
    check_seeds,
    check_spaces,
    check_masks,
    check_observe,
    check_fresh_arrays,
    check_copies,
    check_legality,
    check_seats,
    check_end,
    check_rewards,
    check_infos,
    check_leak,
    check_record,
)

GAME_CHECKS: tuple[Callable[..., None], ...] = (
    check_game_layout,
    check_game_code,  # before any compiled loop over the game, which could overwrite memory or never end
    check_game_chance,
    check_game_play,
    check_game_leak,
    check_game_resample,
    check_game_record,
)


def all_games() -> Iterator[Game]:
    """Every registered game at every player count under every choice of options that it declares (`Game.variants`)."""
    for name in list_games():
        yield from variants_of(name)


def variants_of(name: str) -> Iterator[Game]:
    """A game by name at every player count under every choice of options that it declares."""
    for num_players in player_counts(name):
        for options in game_class(name).variants():
            yield game_class(name)(num_players, **options)


def check_env(env: Env | Callable[[], Env], *, num_games: int = 2, seed: int = 0, skip: Collection[str] = ()) -> None:
    """Runs every check of `ENV_CHECKS` that applies.

    Args:
        env: an environment, or a function that makes one.
        num_games: games that each check plays.
        seed: the first of their seeds.
        skip: names of checks to leave out (`"check_seeds"` for a game without chance).

    Raises:
        AssertionError: a promise is broken; the message begins with the check's name.
        CardEnvsError: `skip` names an unknown check, or `env` is no AEC environment.
    """
    unknown = set(skip) - {check.__name__ for check in ENV_CHECKS}
    if unknown:
        raise CardEnvsError(f"unknown checks {sorted(unknown)} (known: {', '.join(c.__name__ for c in ENV_CHECKS)})")
    made = env if isinstance(env, AECEnv) else env()
    if not isinstance(made, AECEnv):
        raise CardEnvsError(f"check_env takes a PettingZoo AEC environment or a function that makes one, not {made!r}")
    for check in ENV_CHECKS:
        if check.__name__ not in skip:
            check(made, num_games=num_games, seed=seed)


def check_game(game: Game | str, *, num_games: int = 20, seed: int = 0) -> None:
    """Runs every check of `GAME_CHECKS` on a game, and every one of `ENV_CHECKS` on its environment.

    Args:
        game: a game with its options chosen, which need not be registered; or a name, for all that `variants_of` gives.
        num_games: games that each check of the rules plays; those of the environment play 2.
        seed: seeds them.

    Raises:
        AssertionError: a promise is broken; the message begins with the check's name.
        CardEnvsError: there is no game of that name.
    """
    for one in variants_of(game) if isinstance(game, str) else [game]:
        for check in GAME_CHECKS:
            check(one, num_games=num_games, seed=seed)
        check_env(CardGameEnv(one), seed=seed)
