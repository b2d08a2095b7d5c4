"""Who is better, by how much, and how surely: every policy among every other, on equal deals.

For each ordered pair of policies (A, B), A sits alone among B's. Every deal is played once from each seat, and all
pairs meet the same deals with the same chance, so that luck of seat and deal cancels. Games of one deal depend on each
other; so every figure is a mean over deals, and its 95% interval comes from the spread between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.arena.match import Games, Results, play_games, rotated
from card_envs.arena.records import record_of
from card_envs.arena.statistics import Estimate, estimate
from card_envs.errors import CardEnvsError
from card_envs.games.game import Game
from card_envs.policies.base import Policy, policy_label


@dataclass
class Pairing:
    """A alone among B's.

    Attributes:
        returns: float64, (deals,): A's mean return over the seats, by deal.
        wins: float64, (deals,): A's mean share of wins, by deal; a win shared by k counts 1/k.
        seat_returns: float64, (players,): A's mean return by seat.
        decisions: mean decisions of a game.
        truncated: share of games that `max_turns` ended.
    """

    returns: npt.NDArray[np.float64]
    wins: npt.NDArray[np.float64]
    seat_returns: npt.NDArray[np.float64]
    decisions: float
    truncated: float


@dataclass
class Tournament:
    """The results of a tournament.

    Attributes:
        game: what was played.
        names: the policies.
        pairings: `pairings[a, b]` for all a ≠ b.
        num_games: games played in all.
        seconds: how long they took.
        records: game records, where some were asked for.
    """

    game: Game
    names: list[str]
    pairings: dict[tuple[int, int], Pairing]
    num_games: int
    seconds: float = 0.0
    records: list[dict[str, Any]] = field(default_factory=list)

    def payoff(self, a: int, b: int) -> Estimate:
        """A's mean return alone among B's."""
        return estimate(self.pairings[a, b].returns)

    def overall(self, a: int) -> Estimate:
        """A's mean return alone among one other policy, averaged over the others."""
        return estimate(self._over_others(a, "returns"))

    def win_share(self, a: int) -> Estimate:
        """A's share of wins in the same games; 1/players is a fair share."""
        return estimate(self._over_others(a, "wins"))

    def _over_others(self, a: int, what: str) -> npt.NDArray[np.float64]:
        others = [b for b in range(len(self.names)) if b != a]
        return np.asarray(np.mean([getattr(self.pairings[a, b], what) for b in others], axis=0))


def unique_names(names: Sequence[str]) -> list[str]:
    """Names made distinct by a number where two policies share one."""
    out: list[str] = []
    for name in names:
        distinct, number = name, 1
        while distinct in out:
            number += 1
            distinct = f"{name} ({number})"
        out.append(distinct)
    return out


def play_tournament(
    game: Game,
    policies: Sequence[Policy],
    games: int,
    seed: int = 0,
    num_records: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Tournament:
    """Plays every policy alone among every other.

    Args:
        game: what is played.
        policies: two or more.
        games: games for each ordered pair, rounded up to whole deals from all seats.
        seed: the deals and all choices.
        num_records: how many games of each pair to keep as records.
        progress: called with the number of games that have ended since the last call.
    """
    if len(policies) < 2:
        raise CardEnvsError(f"a tournament needs two policies or more, not {len(policies)}")
    n = game.num_players
    deals = max(2, -(-games // n))
    tournament = Tournament(game, unique_names([policy_label(policy) for policy in policies]), {}, 0)
    for stream, (a, b) in enumerate(ordered_pairs(len(policies))):
        to_play = rotated([0] + [1] * (n - 1), deals, seed, stream)
        pair = [policies[a], policies[b]]
        results = play_games(game, pair, to_play, log_actions=num_records > 0, progress=progress)
        tournament.pairings[a, b] = _pairing(results, to_play, n)
        tournament.num_games += len(to_play)
        for i in range(min(num_records, len(to_play))):
            sitting = [tournament.names[(a, b)[p]] for p in to_play.seats[i]]
            tournament.records.append(
                record_of(game, to_play.chance[i], results.actions[i], policies=sitting, seed=seed, deal=i // n)
            )
    return tournament


def ordered_pairs(count: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(count) for b in range(count) if a != b)


def num_games(game: Game, policies: int, games: int) -> int:
    """How many games `play_tournament` plays."""
    return policies * (policies - 1) * max(2, -(-games // game.num_players)) * game.num_players


def _pairing(results: Results, games: Games, n: int) -> Pairing:
    alone = games.seats == 0
    returns = results.returns[alone].reshape(-1, n)
    seats = np.nonzero(alone)[1]
    return Pairing(
        returns.mean(axis=1),
        results.wins[alone].reshape(-1, n).mean(axis=1),
        np.array([results.returns[alone][seats == seat].mean() for seat in range(n)]),
        float(results.decisions.mean()),
        float(results.truncated.mean()),
    )
