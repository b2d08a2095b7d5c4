"""Who is better, by how much, and how surely: every policy among every other, on equal deals.

What is played is in `schedule.py`. Games of one deal depend on each other, deals do not; so every figure is a mean over
deals with a 95% interval from the spread between them. Policies are compared by their differences deal by deal, from
which the luck of the deal is gone.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from card_envs.arena.alpha import alpha_rank
from card_envs.arena.backends import Backend, Here
from card_envs.arena.ratings import luce_ratings
from card_envs.arena.schedule import FEW_DEALS, MANY_DEALS, Part, Plan, Player
from card_envs.arena.statistics import Estimate, estimate
from card_envs.errors import CardEnvsError
from card_envs.games.game import Game
from card_envs.policies.base import Policy, policy_label

FORMAT = "card-envs-tournament/1"
RESULTS = "results.jsonl"


@dataclass(frozen=True)
class Lineup:
    """The games of one line-up, in the order of their deals.

    Attributes:
        seats: int64, (G, players): which policy sat where.
        returns: float64, (G, players), by seat.
        wins: float64, (G, players): 1/|W| for each of the |W| winners, else 0.
        decisions: int64, (G,): how long each game was.
        truncated: bool, (G,): ended by `max_turns`.
    """

    seats: npt.NDArray[np.int64]
    returns: npt.NDArray[np.float64]
    wins: npt.NDArray[np.float64]
    decisions: npt.NDArray[np.int64]
    truncated: npt.NDArray[np.bool_]

    def by_deal(self, policy: int, what: Literal["returns", "wins"]) -> npt.NDArray[np.float64]:
        """A policy's mean over its seats in all games of a deal, float64, (deals,); NaN where it did not play."""
        n = self.seats.shape[1]
        mine = (self.seats == policy).reshape(-1, n * n)
        total = (getattr(self, what).reshape(-1, n * n) * mine).sum(axis=1)
        count = mine.sum(axis=1)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def by_deal_and_seat(self, policy: int) -> npt.NDArray[np.float64]:
        """The return of a policy that sits alone, in each seat on each deal, float64, (deals, players)."""
        n = self.seats.shape[1]
        return np.asarray((self.returns * (self.seats == policy)).reshape(-1, n, n).sum(axis=1))


@dataclass(frozen=True)
class Tournament:
    """The results of a tournament.

    Attributes:
        plan: what was played.
        pairings: `pairings[a, b]`, A alone among B's, for all a ≠ b.
        mixed: the mixed tables; None with two players.
        faults: how often each policy gave each kind of wrong answer: `faults[name][kind]`.
        messages: for each of these the first message: `messages[name, kind]`.
        records: game records, where some were asked for.
        seconds: how long this process has played.
    """

    plan: Plan
    pairings: dict[tuple[int, int], Lineup]
    mixed: Lineup | None
    faults: dict[str, Counter[str]]
    messages: dict[tuple[str, str], str]
    records: list[dict[str, Any]]
    seconds: float = 0.0

    @property
    def game(self) -> Game:
        return self.plan.game

    @property
    def names(self) -> tuple[str, ...]:
        return self.plan.names

    @property
    def lineups(self) -> list[Lineup]:
        """All of them."""
        return [*self.pairings.values(), *([self.mixed] if self.mixed else [])]

    @property
    def num_games(self) -> int:
        return sum(len(lineup.seats) for lineup in self.lineups)

    def payoff(self, a: int, b: int) -> Estimate:
        """A's mean return alone among B's."""
        return estimate(self.pairings[a, b].by_deal(a, "returns"))

    def win_share_among(self, a: int, b: int) -> Estimate:
        """A's share of wins alone among B's."""
        return estimate(self.pairings[a, b].by_deal(a, "wins"))

    def overall(self, a: int) -> Estimate:
        """A's mean return alone among one other policy, averaged over the others."""
        return estimate(self._over_others(a, "returns"))

    def win_share(self, a: int) -> Estimate:
        """A's share of wins in the same games; 1/players is a fair share."""
        return estimate(self._over_others(a, "wins"))

    def difference(self, a: int, b: int) -> Estimate:
        """How much better A is than B `overall`, deal by deal: both played the same deals."""
        return estimate(self._over_others(a, "returns") - self._over_others(b, "returns"))

    def in_mixed(self, a: int) -> Estimate | None:
        """A's mean return at mixed tables; None with two players."""
        if self.mixed is None:
            return None
        by_deal = self.mixed.by_deal(a, "returns")
        return estimate(by_deal[~np.isnan(by_deal)])

    def seat_returns(self, a: int) -> list[Estimate]:
        """A's mean return in each seat, alone among one other policy, averaged over the others."""
        by_deal = np.mean([self.pairings[a, b].by_deal_and_seat(a) for b in self._others(a)], axis=0)
        return [estimate(seat) for seat in by_deal.T]

    def everyones_seat_returns(self) -> list[Estimate]:
        """The mean return of each seat over all games, whoever sat there: what the seat itself is worth."""
        n = self.game.num_players
        by_deal = np.mean([lineup.returns.reshape(-1, n, n).mean(axis=1) for lineup in self.lineups], axis=0)
        return [estimate(seat) for seat in by_deal.T]

    def lengths(self) -> npt.NDArray[np.int64]:
        """How many decisions each game took, int64, (games,)."""
        return np.concatenate([lineup.decisions for lineup in self.lineups])

    def ratings(self) -> list[Estimate]:
        """One rating per policy from all games, see `ratings.py`."""
        n = self.game.num_players
        deals = [np.arange(len(lineup.seats)) // n for lineup in self.lineups]
        seats, wins = (np.concatenate([getattr(x, what) for x in self.lineups]) for what in ("seats", "wins"))
        return luce_ratings(seats, wins, np.concatenate(deals), len(self.names))

    @functools.cached_property
    def alpha_rank(self) -> npt.NDArray[np.float64] | None:
        """The share of seats that each policy holds in the long run, see `alpha.py`; None without OpenSpiel."""
        payoffs = np.zeros((len(self.names), len(self.names)))
        for a, b in self.pairings:
            payoffs[a, b] = self.payoff(a, b).mean
        return alpha_rank(payoffs, self.game.num_players)

    def order(self) -> list[int]:
        """The policies, best first."""
        return sorted(range(len(self.names)), key=lambda a: -self.overall(a).mean)

    def widest(self) -> float:
        """The half width of the widest interval of `overall`."""
        return max(self.overall(a).half_width for a in range(len(self.names)))

    def _others(self, a: int) -> list[int]:
        return [b for b in range(len(self.names)) if b != a]

    def _over_others(self, a: int, what: Literal["returns", "wins"]) -> npt.NDArray[np.float64]:
        return np.asarray(np.mean([self.pairings[a, b].by_deal(a, what) for b in self._others(a)], axis=0))


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


def make_plan(
    game: Game,
    policies: Sequence[str | os.PathLike[str] | Policy],
    games: int,
    *,
    seed: int = 0,
    records: int = 0,
    until_ci: float | None = None,
    faults: Literal["error", "loss"] = "error",
    time_limit: float | None = None,
) -> Plan:
    """What `play_tournament` will play; its arguments are explained there.

    Raises:
        CardEnvsError: fewer than two policies, or one that there is not.
    """
    if len(policies) < 2:
        raise CardEnvsError(f"a tournament needs two policies or more, not {len(policies)}")
    given = tuple(os.fspath(policy) if isinstance(policy, os.PathLike) else policy for policy in policies)
    plan = Plan(game, given, (), games, seed, records, until_ci, faults, time_limit, 0)
    made = Player(plan).policies()
    names = tuple(unique_names([policy_label(policy) for policy in made]))
    slow = any(getattr(policy, "slow", False) for policy in made)
    return Plan(
        game, given, names, games, seed, records, until_ci, faults, time_limit, FEW_DEALS if slow else MANY_DEALS
    )


def play_tournament(
    game: Game,
    policies: Sequence[str | os.PathLike[str] | Policy],
    games: int,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    backend: Backend | None = None,
    progress: Callable[[int], None] | None = None,
    **further: Any,
) -> Tournament:
    """Plays every policy alone among every other, and mixed tables.

    Args:
        game: what is played.
        policies: two or more: names for `make_policy`, or policies (objects must be picklable for other processes, and
            a resumed tournament knows them by their names alone).
        games: games of every line-up, rounded up to whole deals from all seats; with `until_ci` of every round of play.
        folder: where `results.jsonl` is written line by line, so that a tournament that was killed can go on.
        resume: go on with the tournament that `folder` holds; all else must be as it was.
        backend: who plays; by default this process.
        progress: called with the number of games that have ended since the last call.
        further: of `Plan`: `seed` (0), `records` (0), `until_ci` (None), `faults` ("error"), `time_limit` (None).

    Raises:
        CardEnvsError: bad input, a folder in use, or a policy that gave a wrong answer with `faults="error"`.
    """
    plan = make_plan(game, policies, games, **further)
    return run_plan(plan, folder=folder, resume=resume, backend=backend, progress=progress)


def run_plan(
    plan: Plan,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    backend: Backend | None = None,
    progress: Callable[[int], None] | None = None,
) -> Tournament:
    """Plays a plan; see `play_tournament`."""
    backend, player, start = backend or Here(), Player(plan), time.perf_counter()
    with ResultFile(plan, folder, resume) as results:
        if progress:
            progress(sum(len(line["winners"]) for line in results.lines.values()))
        for round_number in itertools.count():
            missing = (part for part in plan.parts(round_number) if part not in results.lines)
            for line in backend.play(player, missing):
                results.add(line)
                if progress:
                    progress(len(line["winners"]))
            tournament = gather(plan, results.lines, round_number + 1, time.perf_counter() - start)
            if plan.until_ci is None or tournament.widest() <= plan.until_ci:
                break
    return tournament


class ResultFile:
    """The results of a tournament's parts, in memory and, with a folder, appended to a file.

    Each line is written in one piece as soon as it is known. What a killed process has left of its last one is cut off.

    Attributes:
        lines: the results by part.
    """

    def __init__(self, plan: Plan, folder: str | Path | None, resume: bool) -> None:
        self.lines: dict[Part, dict[str, Any]] = {}
        self._file: IO[bytes] | None = None
        if folder is None:
            if resume:
                raise CardEnvsError("to resume a tournament, name the folder that holds it")
            return
        path = Path(folder) / RESULTS
        head = {"format": FORMAT, **plan.describe()}
        if path.exists() and not resume:
            raise CardEnvsError(f"{path} is there already: name another folder, or resume that tournament")
        if resume and not path.exists():
            raise CardEnvsError(f"there is no tournament to resume: {path} does not exist")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 - closed by __exit__
        try:
            self._read(path, head)
        except BaseException:
            self._file.close()
            raise

    def _read(self, path: Path, head: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        self._file.truncate(len(whole))
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            known = lines[0] if lines else None
            self.lines = {Part(line["lineup"], line["part"]): line for line in lines[1:]}
        except (ValueError, KeyError, TypeError) as error:
            raise CardEnvsError(f"{path} is no file of results: {error}") from None
        if known is None:
            self._write(head)
        elif known != json.loads(json.dumps(head)):
            different = [key for key in head if known.get(key) != head[key]]
            before, now = ([f"{key} = {x.get(key)!r}" for key in different] for x in (known, head))
            raise CardEnvsError(f"{path} holds another tournament: {', '.join(before)}, not {', '.join(now)}")

    def add(self, line: dict[str, Any]) -> None:
        """Keeps and saves the results of a part."""
        self.lines[Part(line["lineup"], line["part"])] = line
        if self._file:
            self._write(line)

    def _write(self, line: dict[str, Any]) -> None:
        assert self._file is not None
        data = (json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n").encode()
        written = self._file.write(data)
        while written < len(data):  # an unbuffered write may stop short
            written += self._file.write(data[written:])

    def __enter__(self) -> ResultFile:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file:
            self._file.close()


def gather(plan: Plan, lines: dict[Part, dict[str, Any]], rounds: int, seconds: float = 0.0) -> Tournament:
    """The tournament from the results of its parts; those after `rounds` rounds of play are left out."""
    faults: dict[str, Counter[str]] = {name: Counter() for name in plan.names}
    messages: dict[tuple[str, str], str] = {}
    records: list[dict[str, Any]] = []
    collected: list[Lineup] = []
    of_lineup: dict[int, list[Part]] = {i: [] for i in range(len(plan.lineups))}
    for round_number in range(rounds):
        for part in plan.parts(round_number):
            of_lineup[part.lineup].append(part)
    for parts in of_lineup.values():
        collected.append(_collect(plan, parts, [lines[part] for part in parts]))
        for part in parts:
            records += lines[part]["records"]
            seats = None
            for row, seat, _, kind, message in lines[part]["faults"]:
                seats = plan.seats_in(part) if seats is None else seats
                name = plan.names[seats[row, seat]]
                faults[name][kind] += 1
                messages.setdefault((name, kind), message)
    pairings = {pair: lineup for pair, lineup in zip(plan.lineups, collected, strict=True) if pair}
    mixed = None if plan.lineups[-1] else collected[-1]
    return Tournament(plan, pairings, mixed, faults, messages, records, seconds)


def _collect(plan: Plan, parts: Sequence[Part], lines: Iterable[dict[str, Any]]) -> Lineup:
    n, lines = plan.game.num_players, list(lines)
    seats = np.concatenate([plan.seats_in(part) for part in parts])
    bits = np.array([number for line in lines for number in line["winners"]], np.int64)
    decisions = np.array([number for line in lines for number in line["decisions"]], np.int64)
    won = (bits[:, None] >> np.arange(n)) & 1
    winners = won.sum(axis=1, keepdims=True)
    wins = won / np.maximum(winners, 1)
    if plan.game.pays_winners:
        decided = (winners > 0) & (winners < n) & (decisions[:, None] >= 0)
        returns = np.where(decided, (n * wins - 1.0) / (n - 1.0), 0.0)
    else:
        returns = np.array([paid for line in lines for paid in line["returns"]], np.float64)
    return Lineup(seats, returns, wins, np.abs(decisions), decisions < 0)


def num_games(plan: Plan) -> int:
    """How many games a round of play has; the whole tournament without `until_ci`."""
    return len(plan.lineups) * plan.deals * plan.game.num_players
