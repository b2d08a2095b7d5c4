"""One learner at many tables: the view that single-agent training needs, shared by all its adapters.

The learner sits in one seat of each game, the others are policies. It is asked only for its own decisions; between two
of them the others play. Its reward is everything that its seat was paid since its last decision, a loss at the end
included, so the rewards of a game sum to the seat's return.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.envs.aec import checked_choice, checked_game
from card_envs.errors import CardEnvsError, shown
from card_envs.games.game import Game
from card_envs.kernels.rng import seed_words
from card_envs.kernels.seats import seat_players
from card_envs.kernels.state import TRUNCATED
from card_envs.policies import Policy, make_policy
from card_envs.policies.game_batch import CALLER, GameBatch, Views, aligned_empty

MAX_ENVS = 10_000_000  # games at once; far more than any machine plays, and less than NumPy can count
Opponents = str | Policy | Sequence[str | Policy] | Mapping[str, float]


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer)) and not isinstance(value, bool) and bool(0 <= value < np.inf)


@dataclass(frozen=True)
class FinishedEpisodes:
    """The games that ended in a step.

    Attributes:
        rows: int64, (k,), which tables.
        observation: float32, (k, O), the learner's view of the ended game.
        truncated: bool, (k,), ended by `max_turns`.
        returns: float32, (k,), the return of the learner's seat.
        rank: int64, (k,), its place; 0 when truncated or ended by an illegal action.
        score: int64, (k,), its score.
        seat: int64, (k,), where it sat.
    """

    rows: npt.NDArray[np.int64]
    observation: npt.NDArray[np.float32]
    truncated: npt.NDArray[np.bool_]
    returns: npt.NDArray[np.float32]
    rank: npt.NDArray[np.int64]
    score: npt.NDArray[np.int64]
    seat: npt.NDArray[np.int64]


class LearnerBatch:
    """`num_envs` games, each with one seat for the learner.

    Args:
        game: what is played.
        num_envs: how many games, B.
        opponents: who plays the other seats: one policy (by name, see `make_policy`, or an object with `act`) for all
            of them; a list of players - 1, clockwise from the learner; or a mapping {policy: share}, from which every
            other seat of every game is drawn anew.
        seat: the learner's seat, 0 … players - 1; None draws it anew for each game.
        skip_forced: the learner's decisions with one legal option are taken without asking.
        num_threads: how many threads play; the games are the same to the bit whatever their number.

    Attributes:
        observation: float32, (B, O), the learner's view at its present decision; zeros where the game has ended and is
            not dealt afresh.
        action_mask: int8, (B, A), its mask; all ones where the game has ended and is not dealt afresh.
        running: bool, (B,), where the learner is asked; empty before the first `reset`.
        illegal_actions: how many illegal actions were tried.

    Every `step`, and every `reset` of all games, makes new arrays of `observation` and `action_mask`, which begin at
    multiples of 64 bytes; nobody writes to the old ones any more.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        opponents: Opponents = "random",
        seat: int | None = None,
        skip_forced: bool = True,
        num_threads: int = 1,
    ) -> None:
        checked_game(game)
        checked_choice("skip_forced", skip_forced, (True, False))
        is_whole = isinstance(num_envs, (int, np.integer)) and not isinstance(num_envs, bool)
        if not is_whole or not 1 <= num_envs <= MAX_ENVS:
            raise CardEnvsError(f"num_envs is {shown(num_envs)}; allowed: a whole number from 1 to {MAX_ENVS:,}")
        self.game = game
        self.num_envs = int(num_envs)
        self.seat = self._checked_seat(seat)
        self.tables = GameBatch(game, num_envs, skip_forced=skip_forced, num_threads=num_threads)
        self.seats = np.zeros(num_envs, np.int64)
        self.illegal_actions = 0
        self._all = np.arange(num_envs)
        self.observation, self.action_mask = self._blank_views(self._all)
        self.running = np.zeros(0, bool)
        self.set_opponents(opponents)

    def _checked_seat(self, seat: Any) -> int:
        if seat is None:
            return -1
        if isinstance(seat, bool) or not isinstance(seat, (int, np.integer)) or not 0 <= seat < self.game.num_players:
            allowed = f"None or a whole number from 0 to {self.game.num_players - 1}"
            raise CardEnvsError(f"seat is {shown(seat)}; allowed: {allowed}")
        return int(seat)

    def set_opponents(self, opponents: Opponents) -> None:
        """Replaces the others; call it before `reset`, or between games through the training pool."""
        others = self.game.num_players - 1
        if isinstance(opponents, Mapping):
            shares = list(opponents.values())
            if not shares or not all(_is_share(share) for share in shares) or sum(shares) <= 0:
                raise CardEnvsError(f"opponents' shares are {shares}; allowed: numbers from 0 with a sum above 0")
            policies = [make_policy(name, self.game) for name in opponents]
        elif isinstance(opponents, Sequence) and not isinstance(opponents, str):
            if len(opponents) != others:
                needed = f"{others}, or one for all"
                raise CardEnvsError(f"opponents names {len(opponents)} policies; {self.game!r} needs {needed}")
            policies = [make_policy(name, self.game) for name in opponents]
            shares = []
        else:
            policies, shares = [make_policy(opponents, self.game)], [1.0]
        self.set_policies(policies, shares)

    def set_policies(self, policies: Sequence[Policy], shares: Sequence[float]) -> None:
        """The others as policies with shares; without shares they sit clockwise from the learner."""
        self.tables.set_policies(policies)
        self._fixed = None if shares else self.tables.driver_of
        by_driver = dict.fromkeys(sorted(self.tables.driver_of), 0.0)
        for driver, share in zip(self.tables.driver_of, shares or [1.0] * len(policies), strict=True):
            by_driver[driver] += share
        self._pool = np.array(list(by_driver), np.int8)
        self._shares = np.array(list(by_driver.values())) / sum(by_driver.values())

    def seed(self, seed: int | np.random.SeedSequence | None, rows: npt.NDArray[np.int64] | None = None) -> None:
        """Seeds chance and policies of the games at `rows` (all by default); takes effect at their next `reset`.

        None means fresh entropy. Before the first `reset` it is drawn by that `reset` and no earlier: copies and forks
        made before it play games of their own.
        """
        rows = self._all if rows is None else rows
        if seed is None and not len(self.running):
            self.tables.rngs[rows] = 0  # a state that no generator is ever in, see `reset`
        else:
            self._sow(seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed), rows)

    def _sow(self, sequence: np.random.SeedSequence, rows: npt.NDArray[np.int64]) -> None:
        chance, policies = sequence.spawn(2)
        self.tables.states["rng"][rows] = seed_words(chance, len(rows))
        self.tables.rngs[rows] = seed_words(policies, len(rows))

    def reset(self, rows: npt.NDArray[np.int64] | None = None) -> None:
        """Deals fresh games at `rows` (all by default) and plays on to the learner's first decision in each."""
        views = self.observation, self.action_mask
        if rows is None:
            rows = self._all
            views = self._blank_views(rows[:0])
            self.running = np.zeros(self.num_envs, bool)
        unseeded = rows[~self.tables.rngs[rows].any(axis=1)]
        if len(unseeded):
            self._sow(np.random.SeedSequence(), unseeded)
        waiting = self._deal(rows, views)
        while len(waiting):  # games that ended before the learner was asked
            waiting = self._deal(waiting, views)
        self.observation, self.action_mask = views
        self.running[rows] = True

    def step(self, actions: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float32], FinishedEpisodes]:
        """The learner acts in every game; games that end are dealt afresh.

        Args:
            actions: whole numbers, (B,). An illegal one ends its game and is paid -1.

        Returns:
            The rewards, float32, (B,), and what ended. `observation` and `action_mask` are fresh arrays afterwards.
        """
        rewards, ended = self.step_without_deal(actions)
        if len(ended.rows):
            self.reset(ended.rows)
        return rewards, ended

    def step_without_deal(
        self, actions: npt.NDArray[np.int64], rows: npt.NDArray[np.int64] | None = None
    ) -> tuple[npt.NDArray[np.float32], FinishedEpisodes]:
        """As `step`, but games that ended stay as they are, their masks all ones, until `reset(rows)`.

        Args:
            actions: whole numbers, (B,); those for games that had ended before, or that wait, are ignored.
            rows: int64, (k,), the games in which the learner acts, all by default; the others wait as they are.
        """
        if not len(self.running):
            raise CardEnvsError(f"{self.game.name}: a step comes before reset()")
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or not np.issubdtype(actions.dtype, np.integer):
            raise CardEnvsError(
                f"actions are {actions.dtype} of shape {actions.shape}; "
                f"expected whole numbers of shape ({self.num_envs},)"
            )
        actions = actions.astype(np.int64)
        in_range = (actions >= 0) & (actions < self.game.num_actions)
        legal = in_range & (self.action_mask[self._all, np.where(in_range, actions, 0)] == 1)
        acting = self.running.copy()
        waiting = np.zeros_like(acting)
        if rows is not None:
            acting[:] = False
            acting[rows] = self.running[rows]
            waiting = self.running & ~acting
        self.illegal_actions += int((acting & ~legal).sum())
        moved = self._all[acting & legal]
        views = observation, action_mask = self._blank_views(self._all[~(acting & legal)])
        asked = np.zeros(self.num_envs, bool)
        asked[moved] = self._advance(moved, views, actions[moved])
        rewards = np.zeros(self.num_envs, np.float32)
        ended = self._ended(self._all[acting & ~asked], legal)
        self.running = asked | waiting
        rewards[ended.rows] = ended.returns
        observation[ended.rows], action_mask[ended.rows] = 0.0, 1
        observation[waiting], action_mask[waiting] = self.observation[waiting], self.action_mask[waiting]
        self.observation, self.action_mask = views
        return rewards, ended

    def _deal(self, rows: npt.NDArray[np.int64], views: Views) -> npt.NDArray[np.int64]:
        """Seats and starts games at `rows`; returns those that ended before the learner was asked."""
        tables, n = self.tables, self.game.num_players
        tables.start(rows)
        seat_players(rows, n, self.seat, CALLER, self._pool, self._shares, tables.drivers, self.seats, tables.rngs)
        if self._fixed is not None:
            for k, driver in enumerate(self._fixed, start=1):
                tables.drivers[rows, (self.seats[rows] + k) % n] = driver
        self._before_play(rows)
        return rows[~self._advance(rows, views)]

    def _before_play(self, rows: npt.NDArray[np.int64]) -> None:
        """For training views that begin somewhere else than at the deal."""

    def _advance(
        self, rows: npt.NDArray[np.int64], views: Views, actions: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[np.bool_]:
        """Plays on, after the learner's `actions` if there are any, to where it is asked; what it sees goes to `views`.

        Returns:
            bool, (len(rows),): where it is asked.
        """
        asked = self.tables.advance(rows, actions=actions, name="the learner", views=views)
        self.tables.draw(rows[asked])  # every decision of an outsider has a random number, whether it is used or not
        return asked

    def _blank_views(self, rows: npt.NDArray[np.int64]) -> Views:
        """New arrays for observations and masks, in which nothing is seen and anything may be done at `rows`."""
        observation = aligned_empty((self.num_envs, self.game.layout.size), np.float32)
        action_mask = aligned_empty((self.num_envs, self.game.num_actions), np.int8)
        observation[rows], action_mask[rows] = 0.0, 1
        return observation, action_mask

    def _ended(self, rows: npt.NDArray[np.int64], legal: npt.NDArray[np.bool_]) -> FinishedEpisodes:
        states, seats = self.tables.states[rows], self.seats[rows]
        each = np.arange(len(rows))
        paid = np.where(legal[rows], self.tables.returns(rows)[each, seats], self.game.illegal_return)
        return FinishedEpisodes(
            rows,
            self.tables.observe(rows, seats),
            states["end"] == TRUNCATED,
            paid.astype(np.float32),
            np.where(legal[rows], states["rank"][each, seats], 0).astype(np.int64),
            states["score"][each, seats].astype(np.int64),
            seats,
        )
