"""Which games a tournament consists of: line-ups, and the parts in which their games are played and saved.

A tournament of m policies has

- m (m - 1) **field** line-ups: one seat of A among n - 1 seats of B, for every ordered pair;
- with three seats or more, one **mixed** line-up: for each deal other company, all policies equally often.

All line-ups meet the same deals with the same chance, each deal once from every seat. Games are played in **parts**:
part p of a line-up is the same games whoever plays them, when, and beside what else.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from card_envs.arena.match import Games, play_games, rotated, rotations
from card_envs.arena.records import record_of
from card_envs.games.game import Game
from card_envs.policies import BuiltInPolicy, make_policy
from card_envs.policies.agent import Agent, model_file
from card_envs.policies.base import Policy
from card_envs.policies.external import TimedPolicy
from card_envs.policies.search import LookAheadPolicy

MANY_DEALS, FEW_DEALS = 256, 8  # deals of a part: with fast policies only, with a slow one


class Part(NamedTuple):
    """A part of the games of one line-up.

    Attributes:
        lineup: position in `Plan.lineups`.
        number: from 0 within the line-up.
    """

    lineup: int
    number: int


@dataclass(frozen=True)
class Plan:
    """Everything that decides a tournament's games.

    Attributes:
        game: what is played.
        policies: names for `make_policy`, or policies themselves.
        names: how they are called, all different.
        games: games of every line-up, rounded up to whole deals from all seats; with `until_ci` of every round of play.
        seed: the deals and all choices.
        records: how many games of every line-up to record.
        until_ci: play on until no interval of a mean return is wider than ± this, `MIN_DEALS` deals or more.
        faults: what a policy's wrong answer is: an "error", or the "loss" of its game.
        time_limit: seconds for a decision of a policy that is neither built in nor looks ahead.
        deals_of_part: deals in a part.
    """

    game: Game
    policies: tuple[str | Policy, ...]
    names: tuple[str, ...]
    games: int
    seed: int
    records: int
    until_ci: float | None
    faults: Literal["error", "loss"]
    time_limit: float | None
    deals_of_part: int

    @property
    def deals(self) -> int:
        """Deals of every line-up (in every round of play): at least 2, for an interval."""
        return max(2, -(-self.games // self.game.num_players))

    @functools.cached_property
    def lineups(self) -> list[tuple[int, int] | None]:
        """(A, B) for A alone among B's, and at last None for mixed tables."""
        count = len(self.policies)
        pairs: list[tuple[int, int] | None] = [(a, b) for a in range(count) for b in range(count) if a != b]
        return [*pairs, None] if self.game.num_players > 2 else pairs

    @property
    def parts_of_round(self) -> int:
        """How many parts the games of a line-up have (in every round of play)."""
        return -(-self.deals // self.deals_of_part)

    def parts(self, round_number: int) -> Iterator[Part]:
        """The parts of a round of play, all line-ups in turn."""
        for number in range(self.parts_of_round):
            for lineup in range(len(self.lineups)):
                yield Part(lineup, round_number * self.parts_of_round + number)

    def deals_in(self, part: Part) -> int:
        """How many deals a part has: the last of a round may have fewer."""
        begun = part.number % self.parts_of_round * self.deals_of_part
        return min(self.deals_of_part, self.deals - begun)

    def games_in(self, part: Part) -> Games:
        """Who sits where, and all generators."""
        return rotated(self._seats(part), self.deals_in(part), self.seed, part.lineup, part.number)

    def seats_in(self, part: Part) -> npt.NDArray[np.int64]:
        """The `seats` of `games_in`, (G, players)."""
        return rotations(self._seats(part), self.deals_in(part))

    def _seats(self, part: Part) -> npt.NDArray[np.int64]:
        """Which policy has which seat before a deal is rotated, (players,), or (deals, players) at mixed tables."""
        n, count, deals = self.game.num_players, len(self.policies), self.deals_in(part)
        lineup = self.lineups[part.lineup]
        if lineup is None:
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(2, part.number)))
            shuffled = rng.permuted(np.tile(np.arange(count), (-(-deals * n // count), 1)), axis=1)
            return np.asarray(shuffled.ravel()[: deals * n].reshape(deals, n))
        return np.array([lineup[0]] + [lineup[1]] * (n - 1), np.int64)

    def describe(self) -> dict[str, Any]:
        """What identifies the tournament, for the head of its result file."""
        return {
            "game": self.game.name,
            "options": self.game.options_to_json(),
            "policies": [self._identity(policy, name) for policy, name in zip(self.policies, self.names, strict=True)],
            "games": self.games,
            "seed": self.seed,
            "records": self.records,
            "until_ci": self.until_ci,
            "faults": self.faults,
            "time_limit": self.time_limit,
            "deals_of_part": self.deals_of_part,
        }

    @staticmethod
    def _identity(policy: str | Policy, name: str) -> str:
        file_name = model_file(policy)
        if file_name is not None:
            with open(file_name, "rb") as file:
                return f"{name} sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
        return name


class Player:
    """Plays parts of a plan. It can be sent to other processes; policies are made there when they are first needed."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._policies: list[Policy] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"plan": self.plan, "_policies": None}

    def policies(self) -> list[Policy]:
        if self._policies is None:
            self._policies = [self._make(policy) for policy in self.plan.policies]
        return self._policies

    def _make(self, policy: str | Policy) -> Policy:
        made = make_policy(policy, self.plan.game)
        if self.plan.time_limit is not None and not isinstance(made, (BuiltInPolicy, LookAheadPolicy, Agent)):
            return TimedPolicy(policy, self.plan.game, self.plan.time_limit)
        return made

    def use_one_thread(self) -> None:
        """Leaves the other cores to other parts."""
        for policy in self.policies():
            if isinstance(policy, LookAheadPolicy):
                policy.threads = 1
        if torch := sys.modules.get("torch"):  # a model or a user's policy has loaded it
            torch.set_num_threads(1)

    def play(self, part: Part) -> dict[str, Any]:
        """The results of a part, as a line of the result file.

        `winners` has one number per game with bit s set where seat s has won; `decisions` how long it was, less than 0
        where `max_turns` ended it. In a game with payoffs of its own `returns` has those of every game by seat.
        """
        plan, games = self.plan, self.plan.games_in(part)
        wanted = plan.records if part.number == 0 else 0
        results = play_games(plan.game, self.policies(), games, log_actions=wanted > 0, faults=plan.faults)
        bits = (results.wins > 0) @ (1 << np.arange(plan.game.num_players))
        lost = {fault.row for fault in results.faults}
        recorded = [i for i in range(min(wanted, len(games))) if i not in lost]
        return {
            "lineup": part.lineup,
            "part": part.number,
            "winners": bits.tolist(),
            "decisions": np.where(results.truncated, -results.decisions, results.decisions).tolist(),
            **({} if plan.game.pays_winners else {"returns": results.returns.tolist()}),
            "faults": [list(fault) for fault in results.faults],
            "records": [
                record_of(
                    plan.game,
                    games.chance[i],
                    results.actions[i],
                    policies=[plan.names[p] for p in games.seats[i]],
                    seed=plan.seed,
                    deal=i // plan.game.num_players,
                )
                for i in recorded
            ],
        }
