"""The page that a tournament ends with, and the pages of its recorded games."""

from __future__ import annotations

import itertools
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from card_envs.arena import html
from card_envs.arena.html import write_html
from card_envs.arena.plots import Histogram, scale_of
from card_envs.arena.records import read_records, replay
from card_envs.arena.report import is_surely_better, verdict, write_csv, write_json
from card_envs.arena.schedule import Part
from card_envs.arena.statistics import Estimate
from card_envs.arena.tournament import gather, make_plan, play_tournament
from card_envs.games import make_game
from tests.arena.test_match import Answering, Drawing

NASTY = "<script>alert('1')</script> & \"co\""


def named(name):
    policy = Drawing()
    policy.name = name
    return policy


@pytest.fixture(scope="module")
def result():
    game = make_game("icarus_club", 3)
    return play_tournament(game, ["random", "heuristic", named(NASTY)], games=60, seed=1, records=2)


@pytest.fixture(scope="module")
def folder(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("report")
    write_json(result, path / "results.json")
    write_csv(result, path / "pairs.csv")
    write_html(result, path)
    return path


def made(winners, *, deals=40, names=("one", "two")):
    """A tournament of two at a game of two, whose winners a function of the number of the deal says."""
    plan = make_plan(make_game("icons", 2), [named(name) for name in names], games=2 * deals)
    lines = {}
    for lineup, (a, _) in enumerate(plan.lineups):
        part = Part(lineup, 0)
        first_sits = [int(np.flatnonzero(seats == 0)[0]) for seats in plan.games_in(part).seats]
        bits = [1 << (seat if winners(i // 2) == 0 else 1 - seat) for i, seat in enumerate(first_sits)]
        ending = {"decisions": [50 + a] * 2 * deals, "faults": [], "records": []}
        lines[part] = {"lineup": lineup, "part": 0, "winners": bits, **ending}
    return gather(plan, lines, 1)


class Reader(HTMLParser):
    """Reads a page strictly: every tag that is opened is closed in its turn.

    Attributes:
        text: what is to be read on it.
        links: where its links lead.
        tags: which tags there are.
    """

    def __init__(self, content: str) -> None:
        super().__init__()
        self.text, self.links, self.tags, self.attributes = "", [], set(), []
        self._open: list[str] = []
        self.feed(content)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        self.links += [value for name, value in attrs if name == "href"]
        if tag not in ("meta", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in ("line", "circle", "rect")
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self._open.pop() == tag, self.getpos()

    def handle_data(self, data):
        if "style" not in self._open:
            self.text += data


def read(path: Path) -> Reader:
    return Reader(path.read_text("utf-8"))


def test_pages_are_well_formed_and_need_nothing_from_elsewhere(folder):
    pages = [folder / "report.html", *sorted((folder / "games").glob("*.html"))]
    assert len(pages) == 1 + 14
    for path in pages:
        page = read(path)
        assert path.read_text("utf-8").startswith("<!DOCTYPE html>")
        assert not page.tags & {"script", "img", "link", "iframe", "object"}
        assert not {name for name, _ in page.attributes if name.startswith("on") or name == "src"}
        assert "url(" not in path.read_text("utf-8")
        assert "@import" not in path.read_text("utf-8")


def test_every_link_leads_to_a_file_that_is_there(folder, result):
    report = read(folder / "report.html")
    assert {"results.json", "pairs.csv"} <= set(report.links)
    assert "standings.png" not in report.links  # it was not written
    assert sum(address.startswith("games/") for address in report.links) == len(result.records)
    for path in [folder / "report.html", *(folder / "games").glob("*.html")]:
        for address in read(path).links:
            assert (path.parent / address).resolve().is_file(), (path, address)


def test_names_are_shown_as_they_are_and_never_become_markup(folder):
    for path in [folder / "report.html", *(folder / "games").glob("*.html")]:
        assert "<script" not in path.read_text("utf-8")
    assert NASTY in read(folder / "report.html").text
    assert any(NASTY in read(path).text for path in (folder / "games").glob("*.html"))


def test_page_shows_every_figure(folder, result):
    text = read(folder / "report.html").text
    rated = result.ratings()
    for place, a in enumerate(result.order(), start=1):
        assert f"{place}. {result.names[a]}" in text
        assert str(result.overall(a)) in text
        assert str(result.in_mixed(a)) in text
        assert f"{rated[a].mean:+.0f} ± {rated[a].half_width:.0f}" in text
        for seat in result.seat_returns(a):
            assert f"{seat.mean:+.3f}± {seat.half_width:.3f}" in text
    for seat in result.everyones_seat_returns():
        assert f"{seat.mean:+.3f}± {seat.half_width:.3f}" in text
    for a, b in result.pairings:
        payoff, win = result.payoff(a, b), result.win_share_among(a, b)
        assert f"{payoff.mean:+.3f}± {payoff.half_width:.3f}" in text  # in the heat map
        assert str(payoff) in text  # in the table
        assert f"{win.mean:.1%} ± {win.half_width:.1%}" in text
        if result.overall(a).mean > result.overall(b).mean:
            assert str(result.difference(a, b)) in text
    assert f"the shortest {result.lengths().min()}, the longest {result.lengths().max()}." in text
    assert f"{result.num_games:,} games" in text
    assert "20 deals from each of 3 seats, in 7 line-ups" in text
    assert "numba " in text
    assert "Wrong answers" not in text
    assert "truncated." not in text


def test_page_begins_with_who_is_best_by_how_much_and_how_surely(folder, result):
    text = read(folder / "report.html").text
    assert 0 < text.index(verdict(result)) < text.index("What the figures mean") < text.index("Who earns what")
    order = result.order()
    for a, b in itertools.pairwise(order):
        sure, lead = is_surely_better(result, a, b)
        words = "surely better" if sure else "not told apart yet"
        assert f"ahead of {result.names[b]} by {lead.mean:.3f} ± {lead.half_width:.3f}: {words}" in text


def test_verdict_says_surely_only_where_the_interval_of_the_lead_leaves_out_0(tmp_path):
    sure = made(lambda deal: 0 if deal % 4 else 1)
    lead = sure.difference(0, 1)
    assert lead.low > 0
    expected = f"one is surely better than two: ahead by {lead.mean:.3f} ± {lead.half_width:.3f}."
    assert verdict(sure) == expected
    near = made(lambda deal: 0 if deal < 22 else 1)
    lead = near.difference(0, 1)
    assert lead.low < 0 < lead.mean
    assert verdict(near) == f"Not told apart yet: one is ahead of two by {lead.mean:.3f} ± {lead.half_width:.3f}."
    for tournament, there, absent in ((sure, "surely better", "not told apart"), (near, "not told apart", "surely")):
        write_html(tournament, tmp_path)
        text = read(tmp_path / "report.html").text
        text = text[text.index("ahead of") : text.index("surely above a fair share")]
        assert there in text
        assert absent not in text


def test_verdict_names_the_best_of_several():
    never = [Answering(lambda decisions: np.full(len(decisions.rows), -1), name) for name in ("never", "nothing")]
    result = play_tournament(make_game("icarus_club", 3), [*never, "heuristic"], games=90, faults="loss")
    assert result.order()[0] == 2
    lead = result.difference(2, result.order()[1])
    assert lead.low > 0
    expected = f"heuristic is best, surely: it is ahead of {result.names[result.order()[1]]}, the next, by "
    assert verdict(result) == f"{expected}{lead.mean:.3f} ± {lead.half_width:.3f}."


def test_verdict_names_all_that_may_be_as_good_as_the_first(result):
    order = result.order()
    near = [result.names[b] for b in order[1:] if not is_surely_better(result, order[0], b)[0]]
    assert len(near) == 0 or all(name in verdict(result) for name in near)
    game = make_game("icarus_club", 3)
    alike = play_tournament(game, [named(name) for name in ("x", "y", "z")], games=30, seed=0)
    first, *others = (alike.names[a] for a in alike.order())
    assert verdict(alike).startswith(f"Not told apart yet: {first} is in front by ")
    assert verdict(alike).endswith(f", but {' and '.join(others)} may be as good.")


def test_two_players_have_no_mixed_tables_on_their_page(tmp_path):
    result = play_tournament(make_game("icons", 2), ["random", "heuristic"], games=20, records=1)
    write_html(result, tmp_path)
    text = read(tmp_path / "report.html").text
    assert "mixed tables" not in text
    assert "in 2 line-ups: 2 ordered pairs" in text
    command = "card-envs tournament icons random heuristic --num-players 2 --games 20 --seed 0 --records 1"
    assert command in text


def test_eight_policies_at_a_table_of_eight(tmp_path):
    names = ["random", *(f"a policy with a long name, number {k} of eight" for k in range(7))]
    policies = [name if name == "random" else named(name) for name in names]
    result = play_tournament(make_game("icons", 8), policies, games=16, seed=2)
    write_html(result, tmp_path)
    page = read(tmp_path / "report.html")
    assert all(page.text.count(name) > 8 for name in names)
    assert "Recorded games" not in page.text
    assert not (tmp_path / "games").exists()


def test_an_interval_without_end_is_drawn_as_far_as_the_plot_goes(tmp_path):
    """Of seven policies none sits at two mixed tables here, and from one deal there is no interval."""
    result = play_tournament(make_game("icons", 3), [named(name) for name in "abcdefg"], games=6, seed=0)
    assert any(mixed is not None and mixed.half_width == np.inf for mixed in map(result.in_mixed, range(7)))
    write_html(result, tmp_path)
    page = read(tmp_path / "report.html")
    assert "± inf" in page.text
    places = [value for name, value in page.attributes if name in ("x1", "x2", "cx", "x") and value.endswith("%")]
    assert len(places) > 100
    assert all(0 <= float(place[:-1]) <= 100 for place in places)


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (-0.013, 0.4), (-900, 12), (0, 1e-6)])
def test_scales_have_two_to_six_round_ticks_with_0_among_them(low, high):
    scale = scale_of([Estimate((low + high) / 2, (high - low) / 2, 20)])
    assert scale.low < low
    assert scale.high > high
    assert 2 <= len(scale.ticks) <= 6
    assert 0 in scale.ticks
    assert (scale.at(scale.low), scale.at(scale.high)) == ("0.00%", "100.00%")


@pytest.mark.parametrize("values", [[5], [3, 3, 4], list(range(200)), [0, 1000]])
def test_a_histogram_holds_every_number_once_in_at_most_40_groups(values):
    groups = Histogram(np.array(values))
    assert sum(bar.count for bar in groups.bars) == len(values)
    assert len(groups.bars) <= 40
    assert groups.top == max(bar.count for bar in groups.bars)
    assert 1 <= len(groups.labelled) <= 7


def test_wrong_answers_are_counted_with_their_first_message(tmp_path):
    never = Answering(lambda decisions: np.full(len(decisions.rows), -1), "never")
    result = play_tournament(make_game("icarus_club", 3), [never, "random"], games=6, faults="loss")
    write_html(result, tmp_path)
    text = read(tmp_path / "report.html").text
    assert "Wrong answers" in text
    assert result.messages["never", "illegal action"] in text
    assert str(result.faults["never"]["illegal action"]) in text


def test_truncated_games_are_counted(tmp_path):
    result = made(lambda deal: deal % 2)
    lineup = result.pairings[0, 1]
    lineup.truncated[:3] = True
    write_html(result, tmp_path)
    assert "3 games (1.88%) were truncated." in read(tmp_path / "report.html").text


# --- recorded games


@pytest.mark.parametrize(("name", "n"), [("icarus_club", 4), ("icons", 3), ("micons", 3), ("ice_points", 5)])
def test_page_of_a_game_shows_every_action_and_the_table_in_between(name, n, tmp_path):
    result = play_tournament(make_game(name, n), ["random", "heuristic"], games=2 * n, seed=4, records=1)
    write_html(result, tmp_path)
    assert len(list((tmp_path / "games").iterdir())) == 2 * len(result.records) == 6
    for i, record in enumerate(result.records, start=1):
        path = tmp_path / "games" / f"{i:05d}.html"
        text, place = read(path).text, 0
        for event in record["events"]:
            if event[0] != "chance":
                place = text.index(event[1], place) + len(event[1])
        assert replay(record).render() in text[place:]
        boards = path.read_text("utf-8").count("<pre>")
        assert 3 < boards < sum(event[0] != "chance" for event in record["events"]) / 2
        assert all(agent in text and record["policies"][k] in text for k, agent in enumerate(result.game.agents))
        assert list(read_records(tmp_path / "games" / f"{i:05d}.json")) == [(1, record)]


def test_of_very_many_records_as_many_get_a_page_as_can_be_looked_at(result, tmp_path, monkeypatch):
    monkeypatch.setattr(html, "PAGES", 5)
    write_html(result, tmp_path)
    pages = sorted(path.name for path in (tmp_path / "games").glob("*.html"))
    assert pages == [f"{number:05d}.html" for number in (1, 4, 7, 10, 13)]
    report = read(tmp_path / "report.html")
    assert "Shown are 5 of 14." in report.text
    assert [address for address in report.links if address.startswith("games/")] == [f"games/{name}" for name in pages]


# --- alpha-rank


def test_without_openspiel_one_line_says_which_extra_gives_alpha_rank(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "open_spiel", None)
    monkeypatch.setitem(sys.modules, "open_spiel.python.egt", None)
    result = made(lambda deal: deal % 2)
    assert result.alpha_rank is None
    write_html(result, tmp_path)
    assert "alpha-rank, which needs the extra card-envs[openspiel]" in read(tmp_path / "report.html").text


def test_alpha_rank_is_on_the_page_where_openspiel_is_installed(folder, result):
    pytest.importorskip("open_spiel.python.egt.alpharank")
    text = read(folder / "report.html").text
    assert "share of seats in the long run" in text
    assert result.alpha_rank is not None
    for mass in result.alpha_rank:
        assert f"{mass:.1%}" in text
