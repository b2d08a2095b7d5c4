"""Plays any list of games between policies, many at once, the same for the same generators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from card_envs.games.game import Game
from card_envs.kernels.rng import seed_words
from card_envs.kernels.state import TRUNCATED
from card_envs.policies.base import Policy
from card_envs.policies.tables import Tables

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
    """

    returns: npt.NDArray[np.float64]
    wins: npt.NDArray[np.float64]
    scores: npt.NDArray[np.int64]
    decisions: npt.NDArray[np.int64]
    truncated: npt.NDArray[np.bool_]
    actions: list[npt.NDArray[np.int16]]

    @staticmethod
    def join(parts: Sequence[Results]) -> Results:
        return Results(
            returns=np.concatenate([part.returns for part in parts]),
            wins=np.concatenate([part.wins for part in parts]),
            scores=np.concatenate([part.scores for part in parts]),
            decisions=np.concatenate([part.decisions for part in parts]),
            truncated=np.concatenate([part.truncated for part in parts]),
            actions=[game for part in parts for game in part.actions],
        )


def rotated(lineup: Sequence[int], num_deals: int, seed: int, stream: int) -> Games:
    """Every deal with the line-up rotated through all seats, so that luck of seat and deal cancels.

    Args:
        lineup: a policy's position for each seat.
        num_deals: how many deals; the games of deal d are those at d * players … (d + 1) * players - 1.
        seed: the deals; the same for every line-up, so that line-ups meet the same deals.
        stream: sets the policies' choices of this line-up apart from those of others.
    """
    n = len(lineup)
    rotations = np.array([np.roll(lineup, k) for k in range(n)], np.int64)
    return Games(
        np.tile(rotations, (num_deals, 1)),
        np.repeat(seed_words(np.random.SeedSequence(seed, spawn_key=(0,)), num_deals), n, axis=0),
        seed_words(np.random.SeedSequence(seed, spawn_key=(1, stream)), num_deals * n),
    )


def play_games(
    game: Game,
    policies: Sequence[Policy],
    games: Games,
    *,
    log_actions: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Results:
    """Plays the games, up to 1,024 at once.

    Args:
        game: what is played.
        policies: who plays.
        games: who sits where, and the generators.
        log_actions: keep every action, for records.
        progress: called with the number of games that have ended since the last call.

    Raises:
        IllegalActionError: a policy tried an illegal action; the message names it.
    """
    parts = []
    for start in range(0, len(games), TABLES_AT_ONCE):
        part = games[start : start + TABLES_AT_ONCE]
        parts.append(_play_part(game, policies, part, log_actions))
        if progress:
            progress(len(part))
    return Results.join(parts)


def _play_part(game: Game, policies: Sequence[Policy], games: Games, log_actions: bool) -> Results:
    tables = Tables(game, len(games), policies, log_actions=log_actions)
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
    )
