"""Plays any list of games between policies, many at once, the same for the same generators."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from card_envs.games.game import Game
from card_envs.kernels.rng import seed_words
from card_envs.kernels.state import TRUNCATED
from card_envs.policies.base import Policy
from card_envs.policies.game_batch import Fault, GameBatch

TABLES_AT_ONCE = 1024


@dataclass(frozen=True)
class Games:
    """Games to play.

    Attributes:
        seats: int64, (G, players): which policy sits where, by position in the list of policies.
        chance: uint64, (G, 2): start words of every game's chance. Equal words give equal deals.
        choices: uint64, (G, 2): start words of the generators from which its policies choose.
    """

    seats: npt.NDArray[np.int64]
    chance: npt.NDArray[np.uint64]
    choices: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.seats)

    def __getitem__(self, part: slice) -> Games:
        return Games(self.seats[part], self.chance[part], self.choices[part])


@dataclass(frozen=True)
class Results:
    """What came of `G` games.

    Attributes:
        returns: float64, (G, players), by seat.
        wins: float64, (G, players): 1/|W| for each of the |W| winners, else 0.
        scores: int64, (G, players).
        decisions: int64, (G,): how long each game was.
        truncated: bool, (G,).
        actions: the actions of every game in order, where a log was asked for, else empty.
        faults: what policies did wrong, where that costs them the game; `row` is the game's position.
    """

    returns: npt.NDArray[np.float64]
    wins: npt.NDArray[np.float64]
    scores: npt.NDArray[np.int64]
    decisions: npt.NDArray[np.int64]
    truncated: npt.NDArray[np.bool_]
    actions: list[npt.NDArray[np.int16]]
    faults: list[Fault]

    @staticmethod
    def join(parts: Sequence[Results]) -> Results:
        return Results(
            returns=np.concatenate([part.returns for part in parts]),
            wins=np.concatenate([part.wins for part in parts]),
            scores=np.concatenate([part.scores for part in parts]),
            decisions=np.concatenate([part.decisions for part in parts]),
            truncated=np.concatenate([part.truncated for part in parts]),
            actions=[game for part in parts for game in part.actions],
            faults=[fault for part in parts for fault in part.faults],
        )


def rotations(lineup: Sequence[int] | npt.NDArray[np.int64], num_deals: int) -> npt.NDArray[np.int64]:
    """The `seats` of `rotated`, int64, (num_deals * players, players)."""
    n = np.shape(lineup)[-1]
    lineups = np.broadcast_to(np.asarray(lineup, np.int64), (num_deals, n))
    return np.stack([np.roll(lineups, k, axis=1) for k in range(n)], axis=1).reshape(-1, n)


def rotated(
    lineup: Sequence[int] | npt.NDArray[np.int64], num_deals: int, seed: int, stream: int, part: int = 0
) -> Games:
    """Every deal with the line-up rotated through all seats, so that luck of seat and deal cancels.

    Args:
        lineup: a policy's position for each seat, (players,), or for each deal and seat, (num_deals, players).
        num_deals: how many deals; the games of deal d are those at d * players … (d + 1) * players - 1.
        seed: the deals; the same for every line-up, so that line-ups meet the same deals.
        stream: sets the policies' choices of this line-up apart from those of others.
        part: further deals under the same seed.
    """
    n = np.shape(lineup)[-1]
    return Games(
        rotations(lineup, num_deals),
        np.repeat(seed_words(np.random.SeedSequence(seed, spawn_key=(0, part)), num_deals), n, axis=0),
        seed_words(np.random.SeedSequence(seed, spawn_key=(1, stream, part)), num_deals * n),
    )


def play_games(
    game: Game,
    policies: Sequence[Policy],
    games: Games,
    *,
    log_actions: bool = False,
    faults: Literal["error", "loss"] = "error",
    progress: Callable[[int], None] | None = None,
    num_threads: int = 1,
) -> Results:
    """Plays the games, up to 1,024 at once.

    Args:
        game: what is played.
        policies: who plays.
        games: who sits where, and the generators.
        log_actions: keep every action, for records.
        faults: what a wrong answer of a policy is: an "error", or the "loss" of its game, which all others win.
        progress: called with the number of games that have ended since the last call.
        num_threads: how many threads play; what comes of the games does not depend on it.

    Raises:
        PolicyError: a policy gave a wrong answer; the message names it.
    """
    parts: list[Results] = []
    for start in range(0, len(games), TABLES_AT_ONCE):
        part = games[start : start + TABLES_AT_ONCE]
        results = _play_part(game, policies, part, log_actions, faults, num_threads)
        parts.append(dataclasses.replace(results, faults=[f._replace(row=f.row + start) for f in results.faults]))
        if progress:
            progress(len(part))
    return Results.join(parts)


def play_one_among(
    game: Game, one: Policy, others: Policy, num_deals: int, *, seed: int = 0, stream: int = 0, num_threads: int = 1
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """One seat among others that all are of another kind, every deal from every seat.

    Args:
        game: what is played.
        one: who sits alone.
        others: who sits in all other seats.
        num_deals: how many deals, D.
        seed: the deals.
        stream: sets the policies' choices apart from those of other matches.
        num_threads: how many threads play; what comes of the games does not depend on it.

    Returns:
        float64, (D,), the mean return of that seat in each deal, and float64, (D,), its share of wins, one that several
        seats share counted in parts.

    Raises:
        PolicyError: a policy gave a wrong answer.
    """
    n = game.num_players
    games = rotated([0] + [1] * (n - 1), num_deals, seed, stream)
    results = play_games(game, [one, others], games, num_threads=num_threads)
    own = games.seats == 0
    return results.returns[own].reshape(-1, n).mean(axis=1), results.wins[own].reshape(-1, n).mean(axis=1)


def _play_part(
    game: Game,
    policies: Sequence[Policy],
    games: Games,
    log_actions: bool,
    faults: Literal["error", "loss"],
    num_threads: int,
) -> Results:
    tables = GameBatch(
        game, len(games), policies, log_actions=log_actions, forfeits=faults == "loss", num_threads=num_threads
    )
    rows = np.arange(len(games))
    tables.states["rng"] = games.chance
    tables.rngs[:] = games.choices
    tables.start(rows)
    tables.drivers[:, : game.num_players] = np.array(tables.driver_of, np.int8)[games.seats]
    tables.advance(rows)
    n = game.num_players
    winner = tables.states["winner"][:, :n].astype(np.float64)
    return Results(
        tables.returns(rows),
        winner / np.maximum(winner.sum(axis=1, keepdims=True), 1.0),
        tables.states["score"][:, :n].astype(np.int64),
        tables.counts.copy(),
        tables.states["end"] == TRUNCATED,
        [tables.log[row, : tables.counts[row]].copy() for row in rows] if log_actions else [],
        tables.faults,
    )
