"""Who is better, by how much, and how surely: every policy among every other, on equal deals.

What is played is in `schedule.py`. Games of one deal depend on each other, deals do not; so every figure is a mean over
deals with a 95% interval from the spread between them. Policies are compared by their differences deal by deal, from
which the luck of the deal is gone.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import numbers
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
from card_envs.arena.records import replay
from card_envs.arena.schedule import FEW_DEALS, MANY_DEALS, Part, Plan, Player
from card_envs.arena.statistics import MIN_DEALS, Estimate, estimate
from card_envs.errors import CardEnvsError, clipped, shown
from card_envs.files import lock_folder, resumable
from card_envs.games.game import Game
from card_envs.policies.base import Policy, policy_label

FORMAT = "card-envs-tournament/1"
RESULTS = "results.jsonl"
MAX_GAMES = 10_000_000  # of a line-up (in every round of play)
FAULTS = ("error", "loss")  # what a wrong answer of a policy is


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

    @property
    def _span(self) -> float:
        """How far two returns can be apart."""
        return self.game.max_return - self.game.min_return

    def payoff(self, a: int, b: int) -> Estimate:
        """A's mean return alone among B's."""
        return estimate(self.pairings[a, b].by_deal(a, "returns"), self._span)

    def win_share_among(self, a: int, b: int) -> Estimate:
        """A's share of wins alone among B's."""
        return estimate(self.pairings[a, b].by_deal(a, "wins"), 1.0)

    def overall(self, a: int) -> Estimate:
        """A's mean return alone among one other policy, averaged over the others."""
        return estimate(self._over_others(a, "returns"), self._span)

    def win_share(self, a: int) -> Estimate:
        """A's share of wins in the same games; 1/players is a fair share."""
        return estimate(self._over_others(a, "wins"), 1.0)

    def difference(self, a: int, b: int) -> Estimate:
        """How much better A is than B `overall`, deal by deal: both played the same deals."""
        return estimate(self._over_others(a, "returns") - self._over_others(b, "returns"), 2 * self._span)

    def in_mixed(self, a: int) -> Estimate | None:
        """A's mean return at mixed tables; None with two players, or where it never sat."""
        if self.mixed is None:
            return None
        by_deal = self.mixed.by_deal(a, "returns")
        by_deal = by_deal[~np.isnan(by_deal)]
        return estimate(by_deal, self._span) if len(by_deal) else None

    def seat_returns(self, a: int) -> list[Estimate]:
        """A's mean return in each seat, alone among one other policy, averaged over the others."""
        by_deal = np.mean([self.pairings[a, b].by_deal_and_seat(a) for b in self._others(a)], axis=0)
        return [estimate(seat, self._span) for seat in by_deal.T]

    def everyones_seat_returns(self) -> list[Estimate]:
        """The mean return of each seat over all games, whoever sat there: what the seat itself is worth."""
        n = self.game.num_players
        by_deal = np.mean([lineup.returns.reshape(-1, n, n).mean(axis=1) for lineup in self.lineups], axis=0)
        return [estimate(seat, self._span) for seat in by_deal.T]

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
        CardEnvsError: fewer than two policies, one that does not exist, or a number that is not allowed.
    """
    for name, value, low, high in (
        ("games", games, 1, MAX_GAMES),
        ("records", records, 0, MAX_GAMES),
        ("seed", seed, 0, math.inf),
    ):
        is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not is_whole or not low <= value <= high:
            upto = f" to {high:,}" if high < math.inf else ""
            raise CardEnvsError(f"{name} is {shown(value)}; allowed: a whole number from {low}{upto}")
    for name, limit in (("until_ci", until_ci), ("time_limit", time_limit)):
        is_number = isinstance(limit, numbers.Real) and not isinstance(limit, bool)
        if limit is not None and not (is_number and 0.0 < limit < math.inf):
            raise CardEnvsError(f"{name} is {shown(limit)}; allowed: None or a number above 0")
    if not isinstance(faults, str) or faults not in FAULTS:
        raise CardEnvsError(f"faults is {shown(faults)}; allowed: {' or '.join(map(repr, FAULTS))}")
    if isinstance(policies, (str, bytes)) or not isinstance(policies, Sequence):
        raise CardEnvsError(f"policies are {shown(policies)}; allowed: a list of two or more")
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
            enough_deals = (round_number + 1) * plan.deals >= MIN_DEALS  # fewer would end without a verdict
            if plan.until_ci is None or (enough_deals and tournament.widest() <= plan.until_ci):
                break
    return tournament


class ResultFile:
    """The results of a tournament's parts, in memory and, with a folder, appended to a file.

    Each line is written in one piece as soon as it is known. The folder is this process's until `__exit__`. A file is
    changed only when it is known to hold this tournament: then what a killed process left of a line is cut off.

    Attributes:
        lines: the results by part.
    """

    def __init__(self, plan: Plan, folder: str | Path | None, resume: bool) -> None:
        self.lines: dict[Part, dict[str, Any]] = {}
        self._file: IO[bytes] | None = None
        self._held = contextlib.ExitStack()
        if folder is None:
            if resume:
                raise CardEnvsError("to resume a tournament, name the folder that holds it")
            return
        if not str(folder):
            raise CardEnvsError("the folder's name is empty; expected a folder for the results")
        folder = Path(folder)
        self._path = folder / RESULTS
        if resume and not self._path.exists():
            raise CardEnvsError(f"there is no tournament to resume: {self._path} does not exist")
        if not resume and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            hint = ", or resume that tournament (--resume)" if self._path.exists() else ""
            raise CardEnvsError(f"{folder} is not an empty folder: name another one{hint}")
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self._held.enter_context(lock_folder(folder))
            if not resume and any(folder.iterdir()):  # since we looked
                raise CardEnvsError(f"{folder} is in use by another process: name another folder")
            head = {"format": FORMAT, **plan.describe()}
            if resume:
                self._read(plan, head)
            self._file = self._held.enter_context(self._path.open("ab", buffering=0))
            if not self._file.tell():
                self._write(head)
        except BaseException:
            self._held.close()
            raise

    def _read(self, plan: Plan, head: dict[str, Any]) -> None:
        content = self._path.read_bytes()
        if _line(head).startswith(content):  # killed while it wrote its first line
            os.truncate(self._path, 0)
            return
        whole = content[: content.rfind(b"\n") + 1]
        for number, text in enumerate(whole.splitlines(), 1):
            try:
                line = json.loads(text, parse_constant=_no_number)
                if number == 1:
                    self._compare(line, head)
                    continue
                part = check_line(plan, line)
                if part in self.lines:
                    raise ValueError("the same part of the same line-up stands above")
                self.lines[part] = line
            except CardEnvsError:
                raise
            except (ValueError, RecursionError) as error:
                raise CardEnvsError(f"{self._path}: line {number}: {str(error)[:300]}") from None
        if not whole:
            raise CardEnvsError(f"{self._path} is no file of results: it has no whole line")
        if len(whole) < len(content):
            os.truncate(self._path, len(whole))

    def _compare(self, known: Any, head: dict[str, Any]) -> None:
        if not isinstance(known, dict) or known.get("format") != FORMAT:
            raise CardEnvsError(f"{self._path}: line 1: this is no file of a tournament's results in {FORMAT!r}")
        wanted = json.loads(json.dumps(head))
        different = [key for key in {**wanted, **known} if known.get(key) != wanted.get(key)]
        if different:
            before, now = ([f"{clipped(key)} = {shown(x.get(key))}" for key in different[:5]] for x in (known, wanted))
            raise CardEnvsError(f"{self._path} holds another tournament: {', '.join(before)}, not {', '.join(now)}")

    def add(self, line: dict[str, Any]) -> None:
        """Keeps and saves the results of a part."""
        self.lines[Part(line["lineup"], line["part"])] = line
        if self._file:
            self._write(line)

    def _write(self, line: dict[str, Any]) -> None:
        assert self._file is not None
        data = _line(line)
        with resumable(self._path):
            written = self._file.write(data)
            while written < len(data):  # an unbuffered write may stop short
                written += self._file.write(data[written:])

    def __enter__(self) -> ResultFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()


def _line(value: dict[str, Any]) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
    return text.encode("utf-8", "backslashreplace")  # half a surrogate pair becomes JSON's own escape


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number")


def check_line(plan: Plan, line: Any) -> Part:
    """The part whose results a line of the file holds.

    Raises:
        ValueError: something in it can't be the result of that part; the message says what is allowed.
    """
    known = {"lineup", "part", "winners", "decisions", "faults", "records"}
    if not plan.game.pays_winners:
        known.add("returns")
    if not isinstance(line, dict) or line.keys() != known:
        raise ValueError(f"expected an object with the keys {', '.join(sorted(known))}")
    n, most = plan.game.num_players, plan.game.max_decisions
    lineup = _integers([line["lineup"]], 0, len(plan.lineups) - 1, "lineup")[0]
    rounds = 1 if plan.until_ci is None else 10**9
    part = Part(lineup, _integers([line["part"]], 0, rounds * plan.parts_of_round - 1, "part")[0])
    games = plan.deals_in(part) * n
    for key, low, high in (("winners", 0, 2**n - 1), ("decisions", -most, most)):
        if not isinstance(line[key], list) or len(line[key]) != games:
            raise ValueError(f"{key}: expected a list of {games} numbers, one a game")
        _integers(line[key], low, high, key)
    for paid in _listed(line.get("returns", []), "returns"):
        numbers = isinstance(paid, list) and all(type(number) in (int, float) for number in paid)
        least, largest = plan.game.min_return - 1e-9, plan.game.max_return + 1e-9
        if not numbers or len(paid) != n or not all(least <= number <= largest for number in paid):
            raise ValueError(
                f"returns: expected {n} numbers from {plan.game.min_return} to {plan.game.max_return} a game"
            )
    if "returns" in line and len(line["returns"]) != games:
        raise ValueError(f"returns: expected a list for each of {games} games")
    for fault in _listed(line["faults"], "faults"):
        if plan.faults != "loss" or not isinstance(fault, list) or len(fault) != 5:
            raise ValueError(
                "faults: expected [row, seat, policy, kind, message] each, and none where a fault is an error"
            )
        _integers(fault[:1], 0, games - 1, "faults: row")
        _integers(fault[1:2], 0, n - 1, "faults: seat")
        if not all(isinstance(word, str) for word in fault[2:]):
            raise ValueError("faults: policy, kind and message are texts")
    records = _listed(line["records"], "records")
    if len(records) > (plan.records if part.number == 0 else 0):
        raise ValueError(f"records: {len(records)} are more than this part has")
    for record in records:
        try:
            replayed = replay(record).game
        except (CardEnvsError, KeyError, TypeError) as error:
            raise ValueError(f"records: {error}") from None
        names = record.get("policies")
        by_us = isinstance(names, list) and len(names) == n and all(name in plan.names for name in names)
        if replayed != plan.game or not by_us or not _is_same_number(record.get("seed"), plan.seed):
            raise ValueError(f"records: expected games of {plan.game!r} between this tournament's policies")
        _integers([record.get("deal")], 0, games // n - 1, "records: deal")
    return part


def _is_same_number(given: Any, expected: int) -> bool:
    return type(given) is int and given == expected


def _listed(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{key}: expected a list")
    return value


def _integers(values: list[Any], low: int, high: int, key: str) -> list[int]:
    for value in values:
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{key}: {shown(value)} is not a whole number from {low} to {high}")
    return values


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
