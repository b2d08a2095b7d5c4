"""A tournament as one page to read in a browser, with a page for each recorded game.

The pages are the templates in `templates/`, which escape whatever comes from outside; here is what they show.
"""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from card_envs.arena.plots import Histogram, scale_of
from card_envs.arena.records import positions
from card_envs.arena.report import is_surely_better, verdict
from card_envs.arena.statistics import Estimate
from card_envs.arena.tournament import RESULTS, Tournament
from card_envs.files import atomic_write
from card_envs.machine import machine

GAMES = "games"  # the folder of the recorded games' pages
PAGES = 500  # at most so many of them
PACKAGES = ("card-envs", "numpy", "numba", "torch", "stable-baselines3", "open-spiel")
BESIDE = {
    "results.json": "all figures, for code",
    "pairs.csv": "every pair, for a spreadsheet",
    "table.txt": "the result as plain text",
    "standings.png": "the standing as a picture",
    "games.jsonl": "the recorded games",
    RESULTS: "every game's winners and length, as they were played",
}


_templates = Environment(
    loader=PackageLoader("card_envs.arena"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters["spec"] = format  # {{ share|spec(".1%") }}
_templates.globals["scale_of"] = scale_of


def write_html(tournament: Tournament, folder: Path) -> None:
    """Writes `report.html`, and for each recorded game a page and its record in the folder `games` beside it.

    The page links to other files of the tournament as far as they are in `folder`, so write those before. With more
    than 500 recorded games, every second, third, ... gets a page.
    """
    records = tournament.records
    shown = range(0, len(records), -(-len(records) // PAGES)) if records else range(0)
    for i in shown:
        with atomic_write(folder / GAMES / f"{_number(i)}.json") as file:
            file.write(json.dumps(records[i], ensure_ascii=True) + "\n")
        with atomic_write(folder / GAMES / f"{_number(i)}.html") as file:
            file.write(game_page(tournament, i))
    with atomic_write(folder / "report.html") as file:
        file.write(report_page(tournament, folder, shown))


def _number(record: int) -> str:
    """Of a recorded game: the line of `games.jsonl` that holds it."""
    return f"{record + 1:05d}"


def report_page(tournament: Tournament, folder: Path, shown: range) -> str:
    """The page about the whole tournament.

    Args:
        tournament: what was played.
        folder: where the page will be; it links to the other files that are there.
        shown: which of the recorded games have a page.
    """
    by_name = all(isinstance(policy, str) for policy in tournament.plan.policies)
    return _templates.get_template("report.html.jinja").render(
        t=tournament,
        report=_Report(tournament),
        verdict=verdict(tournament),
        n=tournament.game.num_players,
        deals=len(tournament.lineups[0].seats) // tournament.game.num_players,
        shown=shown,
        games=GAMES,
        number=_number,
        command=_command(tournament) if by_name else None,
        machine=machine(PACKAGES),
        files=[(name, what) for name, what in BESIDE.items() if (folder / name).is_file()],
    )


class _Lead(NamedTuple):
    """How far a policy is ahead of another."""

    name: str
    difference: Estimate
    sure: bool


class _Row(NamedTuple):
    """A line of a plot of intervals: whose, what is drawn, the same in figures, and the lead over the next."""

    name: str
    estimate: Estimate
    figure: str
    lead: _Lead | None = None


class _Seats(NamedTuple):
    """Returns by seat: rows of a name and one estimate a seat, and the largest mean's size."""

    rows: list[tuple[str, list[Estimate]]]
    bound: float


class _Lengths(NamedTuple):
    """How long games took."""

    low: float
    middle: float
    high: float
    shortest: int
    longest: int
    truncated: int
    histogram: Histogram


class _Report:
    """The figures of `report.html`, in the order in which they are shown."""

    def __init__(self, tournament: Tournament) -> None:
        self._t, self.order = tournament, tournament.order()

    def placed(self, a: int) -> str:
        return f"{self.order.index(a) + 1}. {self._t.names[a]}"

    def lead(self, a: int, b: int) -> _Lead:
        sure, difference = is_surely_better(self._t, a, b)
        return _Lead(self._t.names[b], difference, sure)

    def standing(self) -> list[_Row]:
        leads = [*(self.lead(a, b) for a, b in itertools.pairwise(self.order)), None]
        means = [(a, self._t.overall(a)) for a in self.order]
        return [_Row(self.placed(a), mean, str(mean), lead) for (a, mean), lead in zip(means, leads, strict=True)]

    def payoff_bound(self) -> float:
        return max(0.1, *(abs(self._t.payoff(a, b).mean) for a, b in self._t.pairings))

    def ratings(self) -> list[_Row]:
        ratings = self._t.ratings()
        order = sorted(self.order, key=lambda a: -ratings[a].mean)
        return [
            _Row(self._t.names[a], ratings[a], f"{ratings[a].mean:+.0f} ± {ratings[a].half_width:.0f}") for a in order
        ]

    def mixed(self) -> list[_Row]:
        found = [(a, mixed) for a in self.order if (mixed := self._t.in_mixed(a)) is not None]
        found.sort(key=lambda pair: -pair[1].mean)
        return [_Row(self._t.names[a], mixed, str(mixed)) for a, mixed in found]

    def seats(self) -> _Seats:
        rows = [(self.placed(a), self._t.seat_returns(a)) for a in self.order]
        rows.append(("whoever sat there", self._t.everyones_seat_returns()))
        return _Seats(rows, max(0.1, *(abs(seat.mean) for _, seats in rows for seat in seats)))

    def lengths(self) -> _Lengths:
        lengths = self._t.lengths()
        low, middle, high = np.quantile(lengths, [0.05, 0.5, 0.95]).tolist()
        truncated = sum(int(lineup.truncated.sum()) for lineup in self._t.lineups)
        return _Lengths(low, middle, high, int(lengths.min()), int(lengths.max()), truncated, Histogram(lengths))

    def has_faults(self) -> bool:
        return any(self._t.faults.values())

    def long_run(self) -> list[tuple[str, float]]:
        """The shares of alpha-rank, where there are some."""
        masses = self._t.alpha_rank
        assert masses is not None
        return [(self._t.names[a], float(masses[a])) for a in sorted(self.order, key=lambda a: -masses[a])]

    def pairs_in_order(self) -> Iterator[tuple[int, int]]:
        return itertools.combinations(self.order, 2)

    def decisions(self, record: dict[str, Any]) -> int:
        return sum(event[0] != "chance" for event in record["events"])


def _command(tournament: Tournament) -> str:
    """The command line that plays the same games."""
    plan = tournament.plan
    options = plan.game.options_to_json()
    command = ["card-envs", "tournament", plan.game.name.rpartition("_v")[0], *map(str, plan.policies)]
    command += ["--num-players", str(options.pop("num_players"))]
    for name, value in options.items():
        command += ["--option", f"{name}={json.dumps(value)}"]
    command += ["--games", str(plan.games), "--seed", str(plan.seed)]
    if plan.records:
        command += ["--records", str(plan.records)]
    if plan.until_ci is not None:
        command += ["--until-ci", f"{plan.until_ci:g}"]
    if plan.faults != "error":
        command += ["--on-fault", plan.faults]
    if plan.time_limit is not None:
        command += ["--time-limit", f"{plan.time_limit:g}"]
    return shlex.join(command)


def game_page(tournament: Tournament, i: int) -> str:
    """A recorded game move by move, as a page.

    The table is shown at the start, after every chance event, whenever every seat has decided something since the last
    time, and at the end.
    """
    record = tournament.records[i]
    return _templates.get_template("game.html.jinja").render(
        game=tournament.game, i=i, record=record, number=_number, moves=_moves(record)
    )


class _Turn(NamedTuple):
    """What a seat did in a row."""

    agent: str
    policy: str
    actions: list[str]


class _Chance(NamedTuple):
    """What chance decided: an outcome, or a list of them."""

    kind: str
    outcome: Any


def _moves(record: dict[str, Any]) -> Iterator[tuple[str, str | _Turn | _Chance]]:
    """What happened, as ("turn", a turn), ("chance", an event) and, in between, ("table", what it looks like)."""
    agents = [f"player_{seat}" for seat in range(len(record["scores"]))]
    policy = dict(zip(agents, record["policies"], strict=True))
    waiting: set[str] = set()  # seats that have not decided anything since the table was shown
    turn: _Turn | None = None
    for now, event in zip(positions(record), [*record["events"], None], strict=True):
        at_chance = event is not None and event[0] == "chance"
        shown = event is None or not (at_chance or waiting)
        if turn and (shown or at_chance or event[0] != turn.agent):
            yield "turn", turn
            turn = None
        if shown:
            yield "table", now.render()
        if event is None:
            return
        if at_chance:
            yield "chance", _Chance(*event[1:])
            waiting.clear()
            continue
        if shown:
            waiting.update(agents)
        turn = turn or _Turn(event[0], policy[event[0]], [])
        turn.actions.append(event[1])
        waiting.discard(event[0])
