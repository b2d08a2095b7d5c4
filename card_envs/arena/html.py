"""A tournament as one page to read in a browser, with a page for each recorded game."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from card_envs.arena.markup import Row, bars, heat, histogram, intervals, link, page, table, td, text, wrap
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
        file.write(_Report(tournament, folder, shown).page())


def _number(record: int) -> str:
    """Of a recorded game: the line of `games.jsonl` that holds it."""
    return f"{record + 1:05d}"


class _Report:
    """The parts of `report.html`."""

    def __init__(self, tournament: Tournament, folder: Path, shown: range) -> None:
        self.tournament, self.folder, self.shown = tournament, folder, shown
        self.order, self.names = tournament.order(), tournament.names
        self.n = tournament.game.num_players
        self.deals = len(tournament.lineups[0].seats) // self.n
        self.alone = "against" if self.n == 2 else f"alone among {self.n - 1} seats of"  # another policy
        self.among = "" if self.n == 2 else " alone among others"

    def page(self) -> str:
        title = f"{self.tournament.game.title}, {self.n} players"
        parts = [
            self.standing,
            self.meaning,
            self.payoffs,
            self.ratings,
            self.mixed,
            self.seats,
            self.lengths,
            self.faults,
            self.alpha_rank,
            self.line_ups,
            self.records,
            self.how,
        ]
        return page(f"{title}: tournament", "\n".join(html for part in parts if (html := part())))

    def standing(self) -> str:
        t, order = self.tournament, self.order
        rows = []
        for place, a in enumerate(order):
            note = ""
            if place + 1 < len(order):
                sure, difference = is_surely_better(t, a, order[place + 1])
                note = f"ahead of {text(self.names[order[place + 1]])} by {_plain(difference)}: " + (
                    '<span class="sure">surely better</span>' if sure else _unsure()
                )
            rows.append(Row(self._placed(a), t.overall(a), str(t.overall(a)), note))
        first = t.win_share(order[0])
        fair = f"{1 / self.n:.1%}"
        return (
            f"<h1>{text(t.game.title)}, {self.n} players: {len(order)} policies in {t.num_games:,} games</h1>\n"
            f'<p class="verdict">{text(verdict(t))}</p>\n'
            f"<p>{text(self.names[order[0]])} wins {_percent(first)} of its games{self.among}; a fair share is {fair}."
            "</p>\n"
            + intervals(rows, "mean return with its 95% interval; 0 is a fair share of wins")
            + '\n<p class="soft"><span class="key" style="background:rgb(var(--good))"></span> surely above a fair '
            'share &nbsp; <span class="key" style="background:rgb(var(--bad))"></span> surely below it &nbsp; '
            '<span class="key" style="border:2px solid var(--soft)"></span> can’t be told from it yet</p>'
        )

    def meaning(self) -> str:
        return (
            "<h2>What the figures mean</h2>\n"
            f"<p>A policy’s <b>mean return</b> is what it earns {self.alone} another policy, averaged over all others: "
            f"1 if it won every game, 0 for a fair share of wins ({1 / self.n:.1%}), {-1 / (self.n - 1):+.3g} if it "
            f"won none. All play the same {self.deals:,} deals, each from every seat, so that luck falls on all alike. "
            "<b>±</b> is the 95% interval: the true value lies inside in 95 of 100 such tournaments, and a policy is "
            "<b>surely better</b> when the interval of its lead, compared deal by deal, leaves out 0; four times as "
            "many games make an interval half as wide.</p>"
        )

    def payoffs(self) -> str:
        t = self.tournament
        bound = max(0.1, *(abs(t.payoff(a, b).mean) for a, b in t.pairings))
        rows = [
            [
                text(self._placed(a)),
                *(heat(t.payoff(a, b), bound) if a != b else td("–", "none") for b in self.order),
            ]
            for a in self.order
        ]
        columns = [
            f'{place}.<span class="rest"> {text(self.names[b])}</span>' for place, b in enumerate(self.order, start=1)
        ]
        return (
            "<h2>Who earns what among whom</h2>\n"
            "<p>The mean return of the row’s policy, alone among the column’s. Blue is more than a fair share, orange "
            "less; bold figures are surely so.</p>\n" + table(["alone ↓ among →", *columns], rows, "heats")
        )

    def ratings(self) -> str:
        ratings, t = self.tournament.ratings(), self.tournament
        order = sorted(self.order, key=lambda a: -ratings[a].mean)
        rows = [
            Row(self.names[a], ratings[a], f"{ratings[a].mean:+.0f} ± {ratings[a].half_width:.0f}", "") for a in order
        ]
        return (
            "<h2>Ratings</h2>\n"
            f"<p>One number for each policy from all {t.num_games:,} games, whoever sat there: 400 points more are ten "
            "times the chance to win at one table. Their mean is 0.</p>\n"
            + intervals(rows, "rating with its 95% interval; 0 is the average policy")
        )

    def mixed(self) -> str:
        t = self.tournament
        found = [(a, mixed) for a in self.order if (mixed := t.in_mixed(a)) is not None]
        if not found or t.mixed is None:
            return ""
        found.sort(key=lambda pair: -pair[1].mean)
        return (
            "<h2>At mixed tables</h2>\n"
            f"<p>Mean returns where all policies sit together in changing company ({len(t.mixed.seats):,} games). Who "
            "beats tables of one kind need not win here.</p>\n"
            + intervals([Row(self.names[a], mixed, str(mixed)) for a, mixed in found], "mean return at mixed tables")
        )

    def seats(self) -> str:
        t = self.tournament
        returns = {a: t.seat_returns(a) for a in self.order}
        everyone = t.everyones_seat_returns()
        bound = max(0.1, *(abs(seat.mean) for seats in (*returns.values(), everyone) for seat in seats))
        rows = [[text(self._placed(a)), *(heat(seat, bound) for seat in returns[a])] for a in self.order]
        rows.append(["whoever sat there", *(heat(seat, bound) for seat in everyone)])
        return (
            "<h2>Seat by seat</h2>\n"
            f"<p>Mean returns of a policy{self.among}, by its seat. The last row is what a seat itself is worth."
            "</p>\n" + table(["", *t.game.agents], rows, "heats")
        )

    def lengths(self) -> str:
        lengths = self.tournament.lengths()
        low, middle, high = np.quantile(lengths, [0.05, 0.5, 0.95])
        truncated = np.concatenate([lineup.truncated for lineup in self.tournament.lineups])
        cut = f" {int(truncated.sum()):,} games ({truncated.mean():.2%}) were truncated." if truncated.any() else ""
        return (
            "<h2>Length of games</h2>\n"
            f"<p>A game took {middle:.0f} decisions in the middle, nine of ten {low:.0f} to {high:.0f}, the shortest "
            f"{lengths.min():,}, the longest {lengths.max():,}.{cut}</p>\n" + histogram(lengths, "decisions of a game")
        )

    def faults(self) -> str:
        t = self.tournament
        rows = [
            [text(name), td(text(kind)), td(f"{count:,}"), td(text(t.messages[name, kind]), "long")]
            for name, kinds in t.faults.items()
            for kind, count in kinds.items()
        ]
        if not rows:
            return ""
        return "<h2>Wrong answers</h2>\n<p>Each lost its game, which all others won.</p>\n" + table(
            ["policy", "what", "games", "the first"], rows
        )

    def alpha_rank(self) -> str:
        masses = self.tournament.alpha_rank
        if masses is None:
            return ""
        order = sorted(self.order, key=lambda a: -masses[a])
        return (
            "<h2>alpha-rank</h2>\n"
            "<p>The share of seats that each policy holds in the long run, if the seat alone and the seats around it "
            "change in turn to what earns them more (Omidshafiei et al. 2019; infinite alpha, two populations). Mean "
            "returns are taken as exact here, so a lead that is not sure may decide.</p>\n"
            + bars([(self.names[a], float(masses[a])) for a in order], "share of seats in the long run")
        )

    def line_ups(self) -> str:
        t = self.tournament
        rows = []
        for a in self.order:
            for b in self.order:
                if a == b:
                    continue
                lineup, payoff, win = t.pairings[a, b], t.payoff(a, b), t.win_share_among(a, b)
                figures = [
                    str(payoff),
                    _percent(win),
                    f"{lineup.decisions.mean():.1f}",
                    f"{lineup.truncated.mean():.1%}",
                ]
                rows.append([text(self.names[a]), td(wrap(text(self.names[b]))), *map(td, figures)])
        head = ["alone", "among", "mean return", "share of wins", "decisions a game", "truncated"]
        others = []
        for i, a in enumerate(self.order):
            for b in self.order[i + 1 :]:
                sure, difference = is_surely_better(t, a, b)
                how = '<span class="sure">surely better</span>' if sure else _unsure()
                others.append([text(self.names[a]), td(wrap(text(self.names[b]))), td(str(difference)), td(how)])
        return (
            "<h2>Every pair</h2>\n"
            "<details><summary>How far each policy is ahead of each other</summary>\n"
            + table(["policy", "ahead of", "by", ""], others, "tall")
            + f"\n</details>\n<details><summary>All {len(rows)} line-ups</summary>\n"
            + table(head, rows, "tall")
            + "\n</details>"
        )

    def records(self) -> str:
        records = self.tournament.records
        if not records:
            return ""
        rows = []
        for i in self.shown:
            record = records[i]
            seats = zip(record["policies"], self.tournament.game.agents, strict=True)
            cells = [_seat(name, agent, record) for name, agent in seats]
            decisions = sum(event[0] != "chance" for event in record["events"])
            rows.append([link(f"{GAMES}/{_number(i)}.html", f"game {i + 1}"), *cells, td(f"{decisions:,}")])
        which = "" if len(rows) == len(records) else f" Shown are {len(rows):,} of {len(records):,}."
        return (
            "<h2>Recorded games</h2>\n"
            f"<p>Each link leads to a game move by move. Scores are at the end; winners are bold.{which}</p>\n"
            + table(["", *self.tournament.game.agents, "decisions"], rows, "tall")
        )

    def how(self) -> str:
        t, plan = self.tournament, self.tournament.plan
        line_ups = f"{len(t.lineups)} line-ups: {len(t.pairings)} ordered pairs" + (
            " and mixed tables" if t.mixed else ""
        )
        facts = [
            ("game", text(repr(t.game))),
            ("played", f"{t.num_games:,} games: {self.deals:,} deals from each of {self.n} seats, in {line_ups}"),
            ("seed", text(plan.seed)),
        ]
        if plan.until_ci is not None:
            facts.append(("until", f"no interval of a mean return was wider than ± {plan.until_ci:g}"))
        if t.seconds >= 1:
            facts.append(("time", f"{t.seconds:,.0f} seconds since the tournament was begun or resumed"))
        if all(isinstance(policy, str) for policy in plan.policies):
            facts.append(("the same again", f"<code>{text(_command(t))}</code>"))
        facts.append(("machine", text(machine(PACKAGES))))
        if t.alpha_rank is None:
            facts.append(("left out", "alpha-rank, which needs the extra <code>card-envs[openspiel]</code>"))
        files = [f"{link(name, name)} ({what})" for name, what in BESIDE.items() if (self.folder / name).is_file()]
        if files:
            facts.append(("files", "<br>".join(files)))
        body = "\n".join(f"<dt>{key}</dt><dd>{value}</dd>" for key, value in facts)
        return f"<h2>How it was played</h2>\n<dl>\n{body}\n</dl>"

    def _placed(self, a: int) -> str:
        return f"{self.order.index(a) + 1}. {self.names[a]}"


def _unsure() -> str:
    return '<span class="unsure">not told apart yet</span>'


def _plain(difference: Estimate) -> str:
    return f"{difference.mean:.3f} ± {difference.half_width:.3f}"


def _percent(share: Estimate) -> str:
    return f"{share.mean:.1%} ± {share.half_width:.1%}"


def _seat(name: str, agent: str, record: dict[str, Any]) -> str:
    """Who sat there and what score it ended with."""
    css = "firm" if agent in record["winners"] else ""
    return td(wrap(f"{text(name)} <small>{record['scores'][agent]}</small>"), css)


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
    record, agents = tournament.records[i], tournament.game.agents
    rows = [
        [
            agent,
            td(wrap(text(name))),
            td(str(record["scores"][agent])),
            td(f"{record['returns'][agent]:+.3f}"),
            td("won" if agent in record["winners"] else ""),
        ]
        for agent, name in zip(agents, record["policies"], strict=True)
    ]
    ending = " It was truncated." if record["truncated"] else ""
    body = [
        f"<p>{link('../report.html', '← the tournament')} · {link(f'{_number(i)}.json', 'record')} (for "
        "<code>python -m card_envs replay</code>)</p>",
        f"<h1>{text(tournament.game.title)}: game {i + 1}, deal {record['deal'] + 1}</h1>",
        table(["seat", "policy", "score", "return", ""], rows),
        f"<p>{text(repr(tournament.game))}, seed {record['seed']}. All cards are shown, hidden ones, too.{ending}</p>",
        *_moves(record),
    ]
    return page(f"{tournament.game.title}: game {i + 1}", "\n".join(body))


def _moves(record: dict[str, Any]) -> Iterator[str]:
    """What happened, as html: what a seat did in a row on one line, and the table in between."""
    agents = [f"player_{seat}" for seat in range(len(record["scores"]))]
    policy = dict(zip(agents, record["policies"], strict=True))
    waiting: set[str] = set()  # seats that have not decided anything since the table was shown
    actor = ""
    actions: list[str] = []

    def line() -> Iterator[str]:
        if actions:
            yield f"<p><b>{actor}</b> <small>{text(policy[actor])}</small>: {' · '.join(map(text, actions))}</p>"
            actions.clear()

    for now, event in zip(positions(record), [*record["events"], None], strict=True):
        if event is None:
            yield from line()
            yield f"<pre>{text(now.render())}</pre>"
        elif event[0] == "chance":
            yield from line()
            yield _chance(event)
            waiting.clear()
        else:
            if not waiting:
                yield from line()
                yield f"<pre>{text(now.render())}</pre>"
                waiting.update(agents)
            if event[0] != actor:
                yield from line()
                actor = event[0]
            actions.append(event[1])
            waiting.discard(actor)


def _chance(event: list[Any]) -> str:
    _, kind, value = event
    if isinstance(value, list):
        return f"<details><summary>chance: {text(kind)}</summary><p>{text(', '.join(map(str, value)))}</p></details>"
    return f"<p>chance: {text(kind)} {text(value)}</p>"
