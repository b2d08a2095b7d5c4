"""The tournament: equal deals, honest intervals, and its report."""

from __future__ import annotations

import csv
import dataclasses
import json
import multiprocessing
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from card_envs.arena.backends import Processes
from card_envs.arena.ratings import SCALE, luce_ratings
from card_envs.arena.records import replay
from card_envs.arena.report import as_json, text_table, verdict, write_csv, write_json, write_picture
from card_envs.arena.schedule import Part, Player
from card_envs.arena.statistics import MIN_DEALS, Estimate, estimate, t95
from card_envs.arena.tournament import (
    RESULTS,
    Lineup,
    gather,
    make_plan,
    num_games,
    play_tournament,
    run_plan,
    unique_names,
)
from card_envs.errors import CardEnvsError
from card_envs.games import make_game
from tests.arena.test_match import Answering, Drawing


@pytest.fixture(scope="module")
def game():
    return make_game("icarus_club", 3)


@pytest.fixture(scope="module")
def result(game):
    progress: list[int] = []
    policies = ["random", "heuristic", Drawing()]
    result = play_tournament(game, policies, games=58, seed=1, records=4, progress=progress.append)
    assert sum(progress) == result.num_games == num_games(result.plan) == 7 * 60
    return result


def arrays(tournament):
    return [getattr(x, f.name) for x in tournament.lineups for f in dataclasses.fields(Lineup)]


def assert_same(one, other):
    assert text_table(one) == text_table(other)
    assert one.records == other.records
    for a, b in zip(arrays(one), arrays(other), strict=True):
        np.testing.assert_array_equal(a, b)


# --- play


def test_every_line_up_meets_the_same_deals_from_every_seat(game, result):
    assert result.names == ("random", "heuristic", "drawing")
    assert set(result.pairings) == {(a, b) for a in range(3) for b in range(3) if a != b}
    assert len(result.records) == 7 * 4
    by_deal: dict[int, list] = {}
    seats: dict[tuple[int, str, str], list[int]] = {}
    for record in result.records:
        replay(record)
        by_deal.setdefault(record["deal"], []).append(record["events"][:3])
    for record in result.records[:24]:
        alone = next(name for name in record["policies"] if record["policies"].count(name) == 1)
        other = next(name for name in record["policies"] if name != alone)
        seats.setdefault((record["deal"], alone, other), []).append(record["policies"].index(alone))
    assert {deal: len(events) for deal, events in by_deal.items()} == {0: 21, 1: 7}
    for events in by_deal.values():
        assert all(event == events[0] for event in events)
    assert by_deal[0][0] != by_deal[1][0]
    assert len(seats) == 12
    assert all(places == list(range(len(places))) for places in seats.values())


@pytest.mark.parametrize(("n", "policies"), [(3, 2), (4, 3), (5, 3), (3, 4)])
def test_mixed_tables_seat_all_policies_equally_often_in_changing_company(n, policies):
    plan = make_plan(make_game("icarus_club", n), [Drawing() for _ in range(policies)], games=600 * n)
    mixed = Part(len(plan.lineups) - 1, 0)
    assert plan.lineups[mixed.lineup] is None
    seats = plan.games_in(mixed).seats.reshape(-1, n, n)
    for deal in seats:
        assert (np.sort(deal, axis=0) == np.sort(deal[:1].T, axis=0)).all()  # every policy in every seat
    counts = np.bincount(seats.ravel(), minlength=policies)
    assert counts.max() - counts.min() <= n
    companies = Counter(tuple(sorted(deal[0])) for deal in seats)
    assert len(companies) > 1 or n % policies == 0
    other = plan.games_in(Part(mixed.lineup, 1)).seats
    assert not np.array_equal(other[: len(seats)], seats.reshape(-1, n)[: len(other)])


def test_two_players_have_no_mixed_tables():
    game = make_game("icons", 2)
    result = play_tournament(game, ["random", "heuristic"], games=4)
    assert result.mixed is None
    assert result.in_mixed(0) is None
    assert len(result.lineups) == 2
    assert "rating" in text_table(result)


def test_figures_are_those_of_the_games(game):
    result = play_tournament(game, ["random", "heuristic"], games=12, seed=3, records=12)
    assert len(result.records) == 36
    for i, (a, lineup) in enumerate(((0, result.pairings[0, 1]), (1, result.pairings[1, 0]))):
        own, wins, counts = np.zeros((4, 3)), np.zeros((4, 3)), []
        for k, record in enumerate(result.records[12 * i : 12 * i + 12]):
            seat = record["policies"].index(result.names[a])
            own[k // 3, seat] = record["returns"][f"player_{seat}"]
            won = f"player_{seat}" in record["winners"]
            wins[k // 3, seat] = 1 / len(record["winners"]) if won else 0
            counts.append(sum(event[0] != "chance" for event in record["events"]))
            np.testing.assert_allclose(lineup.returns[k], list(record["returns"].values()))
        np.testing.assert_allclose(lineup.by_deal(a, "returns"), own.mean(axis=1))
        np.testing.assert_allclose(lineup.by_deal(a, "wins"), wins.mean(axis=1))
        np.testing.assert_allclose(lineup.by_deal_and_seat(a), own)
        assert not lineup.truncated.any()
        np.testing.assert_array_equal(lineup.decisions, counts)
        assert result.payoff(a, 1 - a).mean == pytest.approx(own.mean())
    in_mixed = [[] for _ in range(4)]
    for k, record in enumerate(result.records[24:]):
        returns = zip(record["policies"], record["returns"].values(), strict=True)
        in_mixed[k // 3] += [value for name, value in returns if name == "heuristic"]
    expected = estimate(np.array([np.mean(values) for values in in_mixed]))
    assert result.in_mixed(1).mean == pytest.approx(expected.mean)
    assert result.in_mixed(1).half_width == pytest.approx(expected.half_width)


def test_returns_follow_from_winners_for_every_kind_of_ending():
    """Shared wins, games that nobody or everybody won, truncated ones; see `kernels.state.returns`."""
    plan = make_plan(make_game("icarus_club", 3), ["random", "heuristic"], games=6)
    endings = {"winners": [1, 3, 0, 7, 6, 0], "decisions": [5, 6, 7, 8, 9, -10], "faults": [], "records": []}
    lines = {Part(i, 0): {"lineup": i, "part": 0, **endings} for i in range(3)}
    lineup = gather(plan, lines, 1).pairings[0, 1]
    half, third = 1 / 2, 1 / 3
    np.testing.assert_allclose(
        lineup.returns,
        [[1, -0.5, -0.5], [0.25, 0.25, -0.5], [0, 0, 0], [0, 0, 0], [-0.5, 0.25, 0.25], [0, 0, 0]],
    )
    np.testing.assert_allclose(
        lineup.wins, [[1, 0, 0], [half, half, 0], [0, 0, 0], [third] * 3, [0, half, half], [0, 0, 0]]
    )
    assert lineup.decisions.tolist() == [5, 6, 7, 8, 9, 10]
    assert lineup.truncated.tolist() == [False] * 5 + [True]
    np.testing.assert_allclose(lineup.by_deal(0, "returns"), [(1 + 0.25 + 0) / 3, (0 + 0.25 + 0) / 3])


def test_overall_is_the_mean_over_the_others_by_deal(result):
    for a in range(3):
        b, c = (result.pairings[a, other] for other in range(3) if other != a)
        mean = lambda what, a=a, b=b, c=c: (b.by_deal(a, what) + c.by_deal(a, what)) / 2  # noqa: E731
        assert result.overall(a) == estimate(mean("returns"))
        assert result.win_share(a) == estimate(mean("wins"))


def test_seat_is_worth_the_mean_return_of_all_who_sat_there(result):
    seats = result.everyones_seat_returns()
    games = np.concatenate([lineup.returns for lineup in result.lineups])
    assert [seat.mean for seat in seats] == pytest.approx(games.mean(axis=0).tolist())
    assert sum(seat.mean for seat in seats) == pytest.approx(0)
    assert {seat.samples for seat in seats} == {20}
    for a in range(3):
        assert np.mean([seat.mean for seat in result.seat_returns(a)]) == pytest.approx(result.overall(a).mean)


def test_same_seed_gives_the_same_tournament_and_another_seed_another(game, result):
    policies = ["random", "heuristic", Drawing()]
    assert_same(play_tournament(game, policies, games=58, seed=1, records=4), result)
    other = play_tournament(game, policies, games=58, seed=2)
    assert not np.array_equal(other.pairings[0, 1].returns, result.pairings[0, 1].returns)


def test_result_does_not_depend_on_how_many_processes_play(game):
    policies, further = ["random", "heuristic", "mc:8"], {"seed": 5, "records": 2}
    here = play_tournament(game, policies, games=60, **further)
    assert len(list(here.plan.parts(0))) == 7 * 3
    assert_same(here, play_tournament(game, policies, games=60, backend=Processes(2), **further))


def test_policy_against_itself_is_worth_nothing(game):
    inside = 0
    for seed in range(100):
        result = play_tournament(game, ["random", "random"], games=30, seed=seed)
        inside += result.payoff(0, 1).low <= 0 <= result.payoff(0, 1).high
    assert inside >= 86  # of 100 at 95%: fewer comes about once in 1,000 times


def test_one_policy_is_no_tournament(game):
    with pytest.raises(CardEnvsError, match="two policies or more, not 1"):
        play_tournament(game, ["random"], games=4)


def test_names_are_distinct():
    assert unique_names(["a", "b", "a", "a", "a (2)"]) == ["a", "b", "a (2)", "a (3)", "a (2) (2)"]
    assert len(set(unique_names(["a", "a (2)", "a", "a (2)"]))) == 4


# --- playing on until the intervals are narrow


def test_play_goes_on_until_every_interval_is_narrow_enough(game):
    result = play_tournament(game, ["random", "heuristic"], games=300, seed=2, until_ci=0.03)
    rounds = result.num_games // num_games(result.plan)
    assert result.widest() <= 0.03
    assert rounds > 1
    lines = {part: Player(result.plan).play(part) for k in range(rounds) for part in result.plan.parts(k)}
    assert gather(result.plan, lines, rounds - 1).widest() > 0.03
    assert_same(gather(result.plan, lines, rounds), result)
    chance = [result.plan.games_in(part).chance for k in range(rounds) for part in result.plan.parts(k)]
    assert len(np.unique(np.concatenate(chance), axis=0)) == rounds * 100  # new deals in every round


@pytest.mark.parametrize("games", [1, 12])
def test_play_until_intervals_are_narrow_ends_with_a_verdict(game, games):
    """Ten deals at least, however wide intervals may be: fewer tell nobody apart."""
    result = play_tournament(game, ["random", "heuristic"], games=games, seed=2, until_ci=100.0)
    deals = result.num_games // len(result.lineups) // game.num_players
    assert MIN_DEALS <= deals < MIN_DEALS + result.plan.deals
    assert not verdict(result).startswith("No verdict")


# --- saved as it goes


def test_tournament_resumes_from_whatever_lines_there_are(game, tmp_path):
    plan = make_plan(game, ["random", "mc:4"], 60, seed=4, records=1)
    whole = run_plan(plan, folder=tmp_path / "whole")
    content = (tmp_path / "whole" / RESULTS).read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    for number, cut in enumerate([0, 1, ends[0] - 1, ends[0], ends[1] + 1, ends[2] - 1, ends[4], len(content)]):
        folder = tmp_path / f"cut-{number}"
        folder.mkdir()
        (folder / RESULTS).write_bytes(content[:cut])
        again = run_plan(plan, folder=folder, resume=True)
        assert_same(again, whole)
        lines = (folder / RESULTS).read_bytes().splitlines()
        assert sorted(lines) == sorted(content.splitlines())


def test_killed_twice_and_resumed_it_ends_as_if_nothing_had_happened(tmp_path):
    command = [sys.executable, "-m", "card_envs", "tournament", "icarus_club", "random", "mc:12", "--num-players", "3"]
    command += ["--games", "150", "--seed", "3", "--records", "1", "--workers", "2", "--out"]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)
    results, resume = tmp_path / "killed" / RESULTS, []
    for lines in (3, 7):
        process = subprocess.Popen([*command, str(tmp_path / "killed"), *resume], stderr=subprocess.DEVNULL)
        while process.poll() is None and not (results.exists() and results.read_bytes().count(b"\n") > lines):
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        resume = ["--resume"]
    assert results.read_bytes().count(b"\n") < 22
    subprocess.run([*command, str(tmp_path / "killed"), "--resume"], check=True, capture_output=True)
    for name in ("table.txt", "pairs.csv", "results.json", "games.jsonl"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_folder_in_use_and_another_tournament_are_refused(game, tmp_path):
    play_tournament(game, ["random", "heuristic"], games=6, folder=tmp_path)
    before = (tmp_path / RESULTS).read_bytes()
    with pytest.raises(CardEnvsError, match="is not an empty folder: name another one, or resume"):
        play_tournament(game, ["random", "heuristic"], games=6, folder=tmp_path)
    for change, message in (
        ({"games": 9}, "games = 6, not games = 9"),
        ({"games": 6, "seed": 1}, "seed = 0, not seed = 1"),
        ({"games": 6, "until_ci": 0.1}, "until_ci = None, not until_ci = 0.1"),
    ):
        with pytest.raises(CardEnvsError, match=f"holds another tournament: {message}"):
            play_tournament(game, ["random", "heuristic"], folder=tmp_path, resume=True, **change)
    with pytest.raises(CardEnvsError, match="no tournament to resume"):
        play_tournament(game, ["random", "heuristic"], games=6, folder=tmp_path / "other", resume=True)
    assert not (tmp_path / "other").exists()
    assert (tmp_path / RESULTS).read_bytes() == before
    (tmp_path / RESULTS).write_text("{}\nnothing\n")
    with pytest.raises(CardEnvsError, match="line 1: this is no file of a tournament's results"):
        play_tournament(game, ["random", "heuristic"], games=6, folder=tmp_path, resume=True)


# --- wrong answers


def sometimes_wrong(kind):
    """A policy that gives a wrong answer wherever its random number is small."""

    def answer(decisions):
        good = Drawing().act(decisions)
        wrong = decisions.uniform < 0.01
        if kind == "illegal action":
            return np.where(wrong, decisions.action_mask.argmin(axis=1), good)
        if kind == "exception" and wrong.any():
            raise RuntimeError("out of ideas")
        if kind == "wrong shape" and wrong.any():
            return good[:, None]
        return good

    return Answering(answer, "shaky")


@pytest.mark.parametrize("kind", ["illegal action", "exception", "wrong shape"])
def test_wrong_answer_loses_its_game_and_is_counted_by_name(game, kind):
    result = play_tournament(game, ["random", sometimes_wrong(kind)], games=150, records=150, faults="loss")
    assert set(result.faults["shaky"]) == {kind}
    assert not result.faults["random"]
    lost = result.faults["shaky"][kind]
    assert 20 < lost < result.num_games
    assert result.num_games - lost == len(result.records)  # a game without an end has no record
    assert "policy 'shaky'" in result.messages["shaky", kind]
    assert f"shaky lost {lost:,} games by its {kind}" in text_table(result)
    assert as_json(result)["policies"][1]["faults"] == {kind: lost}
    assert result.overall(1).high < 0 < result.overall(0).low
    for lineup in result.lineups:
        np.testing.assert_allclose(lineup.returns.sum(axis=1), 0, atol=1e-12)
    for record in result.records[:20]:
        replay(record)


@pytest.mark.parametrize("kind", ["illegal action", "exception", "wrong shape"])
def test_wrong_answer_is_an_error_where_that_was_asked_for(game, kind):
    with pytest.raises(CardEnvsError, match="policy 'shaky'"):
        play_tournament(game, ["random", sometimes_wrong(kind)], games=150)


def test_forfeit_gives_the_win_to_all_others(game):
    never = Answering(lambda decisions: np.full(len(decisions.rows), -1), "never")
    result = play_tournament(game, [never, "random"], games=6, faults="loss")
    lineup = result.pairings[0, 1]
    assert (lineup.returns[lineup.seats == 0] == -0.5).all()
    assert (lineup.returns[lineup.seats == 1] == 0.25).all()
    assert result.faults["never"]["illegal action"] == result.num_games


# --- differences, ratings


def test_pairing_narrows_intervals_where_the_deal_decides():
    """Ice Points is decided by the cards that everybody draws, the same for all in paired games."""
    result = play_tournament(make_game("ice_points", 5), ["heuristic", "random"], games=3000, seed=8)
    unpaired = []
    for a in (0, 1):
        lineup = result.pairings[a, 1 - a]
        alone = estimate(lineup.returns[lineup.seats == a])  # as if every game had a deal and a seat of its own
        unpaired.append(alone.half_width)
        assert alone.mean == pytest.approx(result.payoff(a, 1 - a).mean)
        assert alone.half_width > 3 * result.payoff(a, 1 - a).half_width
    assert np.hypot(*unpaired) > 3 * result.difference(0, 1).half_width
    assert result.difference(0, 1).mean == pytest.approx(result.overall(0).mean - result.overall(1).mean)


def luce_games(theta, games, players, rng):
    """Games that follow the model, with `games` deals of one game each."""
    seats = rng.integers(len(theta), size=(games, players))
    strength = np.exp(np.asarray(theta) / SCALE)[seats]
    winner = (strength.cumsum(axis=1) < rng.random((games, 1)) * strength.sum(axis=1, keepdims=True)).sum(axis=1)
    return seats, np.eye(players)[winner], np.arange(games)


def test_ratings_find_the_strengths_that_games_were_made_with():
    true = np.array([200.0, 50.0, 0.0, -250.0])
    covered, rng = 0, np.random.default_rng(0)
    for _ in range(100):
        ratings = luce_ratings(*luce_games(true, 1500, 4, rng), 4)
        assert sum(r.mean for r in ratings) == pytest.approx(0, abs=1e-6)
        covered += sum(r.low <= t <= r.high for r, t in zip(ratings, true, strict=True))
    assert 0.92 <= covered / 400 <= 0.98


def test_rating_of_two_players_is_that_of_bradley_and_terry():
    seats, wins = np.tile([0, 1], (400, 1)), np.zeros((400, 2))
    wins[:300, 0] = wins[300:, 1] = 1
    first, second = luce_ratings(seats, wins, np.arange(400), 2)
    assert first.mean - second.mean == pytest.approx(SCALE * np.log(300 / 100), rel=0.01)
    # the interval of a logit: 1.96 / sqrt(n p q), and half of it for a rating, whose mean is 0
    assert first.half_width == pytest.approx(SCALE * 1.96 / np.sqrt(400 * 0.75 * 0.25) / 2, rel=0.02)


def test_ratings_count_games_of_one_deal_as_one():
    seats, wins, deals = luce_games([100, 0, -100], 500, 3, np.random.default_rng(1))
    once = luce_ratings(seats, wins, deals, 3)
    four = luce_ratings(np.repeat(seats, 4, 0), np.repeat(wins, 4, 0), np.repeat(deals, 4), 3)
    for a, b in zip(once, four, strict=True):
        assert b.mean == pytest.approx(a.mean, abs=2)
        assert b.half_width == pytest.approx(a.half_width, rel=0.02)


def test_policy_that_never_wins_has_a_rating_too():
    seats, wins = np.tile([0, 1, 1], (50, 1)), np.tile([0.0, 1.0, 0.0], (50, 1))
    loser, winner = luce_ratings(seats, wins, np.arange(50), 2)
    assert -2000 < loser.mean < winner.mean < 2000


# --- statistics


def test_t_distribution_has_its_known_points():
    known = {
        1: 12.7062,
        2: 4.3027,
        3: 3.1824,
        4: 2.7764,
        5: 2.5706,
        10: 2.2281,
        30: 2.0423,
        120: 1.9799,
        10**9: 1.95996,
    }
    for degrees, point in known.items():
        assert t95(degrees) == pytest.approx(point, rel=2e-3)


def test_estimate_of_known_numbers():
    result = estimate(np.array([0.0, 1.0, 2.0, 3.0, 4.0]))
    assert result.mean == 2.0
    assert result.samples == 5
    assert result.half_width == pytest.approx(2.7764 * np.sqrt(2.5) / np.sqrt(5), rel=1e-3)
    assert (result.low, result.high) == (2.0 - result.half_width, 2.0 + result.half_width)
    assert str(Estimate(0.1234, 0.0456, 5)) == "+0.123 ± 0.046"


@pytest.mark.parametrize("deals", [2, 3, 10, 200])
def test_interval_covers_the_truth_in_95_of_100_cases_though_the_games_of_a_deal_depend_on_each_other(deals):
    rng = np.random.default_rng(deals)
    covered = 0
    for _ in range(2000):
        luck = rng.normal(size=(deals, 1))
        by_deal = (0.3 + luck + 0.5 * rng.normal(size=(deals, 4))).mean(axis=1)
        result = estimate(by_deal)
        covered += result.low <= 0.3 <= result.high
    assert 0.93 <= covered / 2000 <= 0.97


# --- report


def test_text_table_shows_every_figure_best_first(game, result):
    text = text_table(result)
    lines = text.split("\n")
    assert "The Icarus Club" in lines[0]
    assert "420 games: 20 deals, each from 3 seats, in 7 line-ups" in lines[0]
    assert "(fair share 33.3%)" in text
    standings = lines[3:6]
    order = sorted(range(3), key=lambda a: -result.overall(a).mean)
    assert [line.split()[0] for line in standings] == [result.names[a] for a in order]
    for line, a in zip(standings, order, strict=True):
        assert str(result.overall(a)) in line
        assert f"{result.win_share(a).mean:.1%}" in line
        assert str(result.in_mixed(a)) in line
        assert f"{result.ratings()[a].mean:+.0f} ±" in line
    for line, a, b in zip(standings, order, order[1:], strict=False):
        assert str(result.difference(a, b)) in line
    for a, b in result.pairings:
        row = next(line for line in lines[8:] if line.startswith(result.names[a]))
        assert str(result.payoff(a, b)) in row
    assert "truncated" not in text
    assert lines[-1] == verdict(result)


def test_csv_holds_every_pair(result, tmp_path):
    write_csv(result, tmp_path / "pairs.csv")
    content = (tmp_path / "pairs.csv").read_bytes()
    assert b"\r" not in content
    rows = list(csv.DictReader(content.decode().splitlines()))
    assert [(row["policy"], row["among"]) for row in rows] == [
        (result.names[a], result.names[b]) for a in range(3) for b in range(3) if a != b
    ]
    for row in rows:
        a, b = result.names.index(row["policy"]), result.names.index(row["among"])
        payoff, win, lineup = result.payoff(a, b), result.win_share_among(a, b), result.pairings[a, b]
        assert (row["deals"], row["games"]) == ("20", "60")
        assert float(row["mean_return"]) == pytest.approx(payoff.mean, abs=1e-6)
        assert float(row["return_ci95"]) == pytest.approx(payoff.half_width, abs=1e-6)
        assert float(row["win_share"]) == pytest.approx(win.mean, abs=1e-6)
        assert float(row["win_share_ci95"]) == pytest.approx(win.half_width, abs=1e-6)
        assert float(row["decisions"]) == pytest.approx(lineup.decisions.mean(), abs=1e-2)
        seats = [float(row[f"return_seat_{seat}"]) for seat in range(3)]
        assert np.mean(seats) == pytest.approx(payoff.mean, abs=1e-5)


def test_json_holds_every_figure(result, tmp_path):
    write_json(result, tmp_path / "results.json")
    found = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert found == json.loads(json.dumps(as_json(result)))
    assert [policy["name"] for policy in found["policies"]] == list(result.names)
    for a, policy in enumerate(found["policies"]):
        assert policy["mean_return"]["mean"] == result.overall(a).mean
        assert [seat["mean"] for seat in policy["seat_returns"]] == [seat.mean for seat in result.seat_returns(a)]
        assert policy["place"] == result.order().index(a) + 1
    assert len(found["differences"]) == 3
    assert len(found["line_ups"]) == 6


def test_picture_is_a_png_of_a_size_to_look_at(result, tmp_path):
    write_picture(result, tmp_path / "standings.png")
    content = (tmp_path / "standings.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert content.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", content[16:24])
    assert width > 900
    assert height > 300
    assert [path.name for path in Path(tmp_path).iterdir()] == ["standings.png"]


def test_worker_that_plays_a_network_leaves_the_other_cores_to_the_others(game):
    """Two workers whose networks use all cores each take twice the time and more."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        Player(make_plan(game, ["random", "heuristic"], 6)).use_one_thread()
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


class Slow:
    """Plays a part of a tournament in so many seconds."""

    def use_one_thread(self) -> None:
        pass

    def play(self, part):
        time.sleep(part)
        return {}


def test_who_stops_a_tournament_does_not_wait_for_the_games_that_are_played():
    before = set(multiprocessing.active_children())
    results = Processes(1).play(Slow(), iter([0] + [600] * 10))
    assert next(results) == {}
    workers = set(multiprocessing.active_children()) - before
    results.close()
    for worker in workers:
        worker.join(60)
    assert workers
    assert not any(worker.is_alive() for worker in workers)
