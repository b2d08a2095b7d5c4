"""The tournament: equal deals, honest intervals, and its report."""

from __future__ import annotations

import csv
import struct
from pathlib import Path

import numpy as np
import pytest

from card_envs.arena import match
from card_envs.arena.match import Results, rotated
from card_envs.arena.records import replay
from card_envs.arena.report import text_table, write_csv, write_picture
from card_envs.arena.statistics import Estimate, estimate, t95
from card_envs.arena.tournament import _pairing, num_games, play_tournament, unique_names
from card_envs.errors import CardEnvsError
from card_envs.games import make_game
from card_envs.policies import make_policy
from tests.arena.test_match import Drawing


@pytest.fixture(scope="module")
def game():
    return make_game("icarus_club", 3)


@pytest.fixture(scope="module")
def result(game):
    policies = [make_policy("random", game), make_policy("heuristic", game), Drawing()]
    progress: list[int] = []
    result = play_tournament(game, policies, games=58, seed=1, num_records=4, progress=progress.append)
    assert sum(progress) == result.num_games == num_games(game, 3, 58) == 6 * 60
    return result


# --- play


def test_every_ordered_pair_meets_on_the_same_deals(game, result):
    assert result.names == ["random", "heuristic", "drawing"]
    assert set(result.pairings) == {(a, b) for a in range(3) for b in range(3) if a != b}
    assert len(result.records) == 6 * 4
    by_deal: dict[int, list] = {}
    seats: dict[tuple[int, str, str], list[int]] = {}
    for record in result.records:
        replay(record)
        by_deal.setdefault(record["deal"], []).append(record["events"][:3])
        alone = next(name for name in record["policies"] if record["policies"].count(name) == 1)
        other = next(name for name in record["policies"] if name != alone)
        seats.setdefault((record["deal"], alone, other), []).append(record["policies"].index(alone))
    assert {deal: len(events) for deal, events in by_deal.items()} == {0: 18, 1: 6}
    for events in by_deal.values():
        assert all(event == events[0] for event in events)
    assert by_deal[0][0] != by_deal[1][0]
    assert len(seats) == 12
    assert all(places == list(range(len(places))) for places in seats.values())


def test_figures_are_those_of_the_games(game):
    policies = [make_policy("random", game), make_policy("heuristic", game)]
    result = play_tournament(game, policies, games=12, seed=3, num_records=12)
    assert len(result.records) == 24
    for (a, _b), pairing, records in (
        ((0, 1), result.pairings[0, 1], result.records[:12]),
        ((1, 0), result.pairings[1, 0], result.records[12:]),
    ):
        own = np.zeros((4, 3))
        wins = np.zeros((4, 3))
        for i, record in enumerate(records):
            seat = record["policies"].index(result.names[a])
            own[i // 3, seat] = record["returns"][f"player_{seat}"]
            won = f"player_{seat}" in record["winners"]
            wins[i // 3, seat] = 1 / len(record["winners"]) if won else 0
        np.testing.assert_allclose(pairing.returns, own.mean(axis=1))
        np.testing.assert_allclose(pairing.wins, wins.mean(axis=1))
        np.testing.assert_allclose(pairing.seat_returns, own.mean(axis=0))
        assert pairing.truncated == 0.0
        counts = [sum(event[0] != "chance" for event in record["events"]) for record in records]
        assert pairing.decisions == pytest.approx(np.mean(counts))
        assert result.payoff(a, 1 - a).mean == pytest.approx(own.mean())


def test_win_that_is_shared_counts_in_parts():
    half, third = 1 / 2, 1 / 3
    games = rotated([0, 1, 1], 2, seed=0, stream=0)
    results = Results(
        returns=np.array(
            [[1, -0.5, -0.5], [0.25, 0.25, -0.5], [0, 0, 0], [-0.5, 0.25, 0.25], [0, 0, 0], [-0.5, -0.5, 1]]
        ),
        wins=np.array([[1, 0, 0], [half, half, 0], [third] * 3, [0, half, half], [0, 0, 0], [0, 0, 1]]),
        scores=np.zeros((6, 3), np.int64),
        decisions=np.arange(6),
        truncated=np.array([False, False, False, False, True, False]),
        actions=[],
    )
    pairing = _pairing(results, games, 3)
    np.testing.assert_allclose(pairing.returns, [(1 + 0.25 + 0) / 3, (-0.5 + 0 + 1) / 3])
    np.testing.assert_allclose(pairing.wins, [(1 + half + third) / 3, (0 + 0 + 1) / 3])
    np.testing.assert_allclose(pairing.seat_returns, [(1 - 0.5) / 2, 0.125, 0.5])
    assert pairing.decisions == 2.5
    assert pairing.truncated == pytest.approx(1 / 6)


def test_overall_is_the_mean_over_the_others_by_deal(result):
    for a in range(3):
        b, c = (other for other in range(3) if other != a)
        expected = estimate((result.pairings[a, b].returns + result.pairings[a, c].returns) / 2)
        assert result.overall(a) == expected
        assert result.win_share(a) == estimate((result.pairings[a, b].wins + result.pairings[a, c].wins) / 2)


def test_same_seed_gives_the_same_tournament_however_many_tables_are_played_at_once(game, result, monkeypatch):
    monkeypatch.setattr(match, "TABLES_AT_ONCE", 7)
    policies = [make_policy("random", game), make_policy("heuristic", game), Drawing()]
    again = play_tournament(game, policies, games=58, seed=1)
    other = play_tournament(game, policies, games=58, seed=2)
    for pair, pairing in result.pairings.items():
        np.testing.assert_array_equal(again.pairings[pair].returns, pairing.returns)
        assert not np.array_equal(other.pairings[pair].returns, pairing.returns)


def test_policy_against_itself_is_worth_nothing(game):
    policies = [make_policy("random", game)] * 2
    inside = 0
    for seed in range(100):
        result = play_tournament(game, policies, games=30, seed=seed)
        inside += result.payoff(0, 1).low <= 0 <= result.payoff(0, 1).high
    assert inside >= 86  # of 100 at 95%: fewer comes about once in 1,000 times


def test_one_policy_is_no_tournament(game):
    with pytest.raises(CardEnvsError, match="two policies or more, not 1"):
        play_tournament(game, [make_policy("random", game)], games=4)


def test_names_are_distinct():
    assert unique_names(["a", "b", "a", "a", "a (2)"]) == ["a", "b", "a (2)", "a (3)", "a (2) (2)"]
    assert len(set(unique_names(["a", "a (2)", "a", "a (2)"]))) == 4


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
    assert "360 games: 20 deals, each from 3 seats" in lines[0]
    assert "fair: 33.3%" in text
    standings = lines[3:6]
    order = sorted(range(3), key=lambda a: -result.overall(a).mean)
    assert [line.split()[0] for line in standings] == [result.names[a] for a in order]
    for line, a in zip(standings, order, strict=True):
        assert str(result.overall(a)) in line
        assert f"{result.win_share(a).mean:.1%}" in line
    for a, b in result.pairings:
        row = next(line for line in lines[8:] if line.startswith(result.names[a]))
        assert str(result.payoff(a, b)) in row
    assert max(map(len, lines)) <= 120
    assert "truncated" not in text


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
        payoff, pairing = result.payoff(a, b), result.pairings[a, b]
        assert (row["deals"], row["games"]) == ("20", "60")
        assert float(row["mean_return"]) == pytest.approx(payoff.mean, abs=1e-6)
        assert float(row["return_ci95"]) == pytest.approx(payoff.half_width, abs=1e-6)
        assert float(row["win_share"]) == pytest.approx(pairing.wins.mean(), abs=1e-6)
        assert float(row["win_share_ci95"]) == pytest.approx(estimate(pairing.wins).half_width, abs=1e-6)
        assert float(row["decisions"]) == pytest.approx(pairing.decisions, abs=1e-2)
        seats = [float(row[f"return_seat_{seat}"]) for seat in range(3)]
        assert np.mean(seats) == pytest.approx(payoff.mean, abs=1e-5)


def test_picture_is_a_png_of_a_size_to_look_at(result, tmp_path):
    write_picture(result, tmp_path / "standings.png")
    content = (tmp_path / "standings.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert content.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", content[16:24])
    assert width > 900
    assert height > 300
    assert [path.name for path in Path(tmp_path).iterdir()] == ["standings.png"]
