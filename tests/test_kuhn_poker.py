"""A game from outside, registered and then everywhere: the example of the page on adding a game."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import card_envs
from card_envs import cli
from card_envs.arena.html import write_html
from card_envs.arena.report import text_table
from card_envs.arena.tournament import play_tournament
from card_envs.conformance import check_env, check_game
from card_envs.envs.vector import CardVectorEnv
from card_envs.errors import CardEnvsError
from card_envs.games import game_class, make_game, registry
from card_envs.games.recorded_game import RecordedGame
from card_envs.policies.game_batch import GameBatch
from tests.arena.test_html import read
from tests.arena.test_match import Answering

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "kuhn_poker"
JACK, QUEEN, KING = "jack", "queen", "king"


@pytest.fixture(scope="module", autouse=True)
def kuhn_poker():
    """The example's module, as its entry point brings it."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        import kuhn_poker

        card_envs.register(kuhn_poker.KuhnPoker)
        yield kuhn_poker
    finally:
        sys.path.remove(str(EXAMPLE))
        registry._registered.pop("kuhn_poker_v0", None)


def played(cards: tuple[str, str], moves: str) -> RecordedGame:
    """A game with these cards of player_0 and player_1, p for pass and b for bet."""
    left = ({JACK, QUEEN, KING} - set(cards)).pop()
    game = RecordedGame(make_game("kuhn_poker"), explicit_chance=True)
    game.apply_chance("deck", [left, cards[1], cards[0]])
    for move in moves:
        game.play({"p": "pass", "b": "bet"}[move])
    return game


@pytest.mark.parametrize(
    ("cards", "moves", "paid"),
    [
        ((KING, JACK), "pp", [1, -1]),
        ((JACK, KING), "pp", [-1, 1]),
        ((JACK, KING), "bp", [1, -1]),
        ((JACK, KING), "bb", [-2, 2]),
        ((KING, QUEEN), "pbp", [-1, 1]),
        ((KING, QUEEN), "pbb", [2, -2]),
    ],
)
def test_every_way_to_end_pays_its_chips(cards, moves, paid):
    game = played(cards, moves)
    assert game.over
    assert game.returns().tolist() == paid
    assert not played(cards, moves[:-1]).over


def test_it_keeps_every_promise():
    check_game(make_game("kuhn_poker"))
    check_env(lambda: card_envs.make("kuhn_poker"))


def test_its_lines_are_few():
    assert len((EXAMPLE / "kuhn_poker.py").read_text("utf-8").splitlines()) <= 120


def test_gymnasium_and_pettingzoo_make_it_by_its_id():
    pettingzoo = pytest.importorskip("pettingzoo", minversion="1.27")
    env = gymnasium.make("card_envs/KuhnPoker-v0", opponents="random")
    observation, info = env.reset(seed=0)
    assert observation.shape == (9,)
    assert info["action_mask"].tolist() == [1, 1]
    assert pettingzoo.make("aec", "card_envs/kuhn_poker-v0").unwrapped.game == make_game("kuhn_poker")


def test_batches_search_and_tournament_take_payoffs_of_its_own():
    """A raise costs two chips: no scale of winning and losing says so."""
    envs = CardVectorEnv("kuhn_poker", 64, seat=0)
    envs.reset(seed=0)
    seen = set()
    for _ in range(40):
        _, rewards, *_ = envs.step(np.ones(64, np.int64))
        seen |= set(rewards.tolist())
    assert seen == {-2.0, 1.0, 2.0}  # who always bets gives nothing up
    result = play_tournament(make_game("kuhn_poker"), ["random", "search:50", "mc:20"], games=400, seed=1)
    returns = np.concatenate([lineup.returns for lineup in result.lineups])
    assert set(np.unique(returns)) == {-2.0, -1.0, 1.0, 2.0}
    assert not returns.sum(axis=1).any()
    assert result.payoff(1, 0).low > 0


def test_reports_speak_of_returns_where_wins_do_not_tell_what_is_paid(tmp_path):
    never = Answering(lambda decisions: np.full(len(decisions.rows), -1), "never")
    result = play_tournament(make_game("kuhn_poker"), ["random", "mc:20", never], games=40, seed=1, faults="loss")
    write_html(result, tmp_path)
    page, table, best = read(tmp_path / "report.html").text, text_table(result), result.order()[0]
    for text in (page, table):
        assert not re.search(r"win share|share of wins|fair share|rating|wins|won", text, re.IGNORECASE)
        assert "a game pays -2 to 2" in text
        assert all(str(result.overall(a)) in text for a in range(3))
    assert f"{result.names[best]} earns {result.overall(best)} a game; a game pays -2 to 2." in page
    assert "mean return a game with its 95% interval" in page
    assert "surely above 0" in page
    assert "Each ended its game, which paid it -2." in page
    for a, b in result.pairings:
        assert str(result.payoff(a, b)) in page
    headings = re.split(r" {2,}", table.splitlines()[2])
    assert headings[:4] == ["alone among others", "mean return", "ahead of the next", "at mixed tables"]


def test_losing_by_a_wrong_answer_costs_the_most_that_a_game_can_cost():
    never = type("Never", (), {"name": "never", "act": lambda self, d: np.full(len(d.rows), -1)})()
    tables, rows = GameBatch(make_game("kuhn_poker"), 4, [never], forfeits=True), np.arange(4)
    tables.states["rng"] = 1
    tables.start(rows)
    tables.drivers[:, :2] = tables.driver_of[0]
    tables.advance(rows)
    assert tables.returns(rows).tolist() == [[-2.0, 2.0]] * 4


def test_records_are_written_and_replayed_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["record", "kuhn_poker", "--games", "5", "--out", "x.jsonl"]) == 0
    assert cli.main(["replay", "x.jsonl"]) == 0
    assert "5 games of kuhn_poker_v0, all by the rules" in capsys.readouterr().out
    assert cli.main(["games"]) == 0
    assert "kuhn_poker_v0      2 players  Kuhn poker\n" in capsys.readouterr().out


def test_check_tells_a_game_that_keeps_its_promises_from_one_that_does_not(kuhn_poker, monkeypatch, capsys):
    assert cli.main(["check", "kuhn_poker", "--games", "2"]) == 0
    assert capsys.readouterr().out == "kuhn_poker_v0(num_players=2): every check passed\n"
    build = kuhn_poker.KuhnPoker._build

    def promise_less(game):
        build(game)
        game.max_return = 1.0

    monkeypatch.setattr(kuhn_poker.KuhnPoker, "_build", promise_less)
    assert cli.main(["check", "kuhn_poker", "--num-players", "2"]) == 2
    out, error = capsys.readouterr()
    assert not out
    assert error.startswith("error: kuhn_poker_v0(num_players=2): check_")
    assert "the game states returns from -2.0 to 1.0" in error
    assert error.count("\n") == 1


def test_bench_measures_whole_games_batches_and_one_environment(capsys):
    assert cli.main(["bench", "kuhn_poker", "--num-envs", "8", "--rounds", "3", "--seconds", "0.01"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "kuhn_poker_v0(num_players=2): decisions a second, median (lowest to highest)"
    names = ("whole games in compiled code", "Gymnasium vector environment, 8 games", "PettingZoo AEC environment")
    for line, name in zip(lines[2:], names, strict=True):
        middle, lowest, highest = (
            int(x.replace(",", "")) for x in re.findall(r"[\d,]+", line.removeprefix(f"  {name}"))
        )
        assert 0 < lowest <= middle <= highest


def test_names_that_are_taken_or_no_ids_are_refused(kuhn_poker):
    for name in ("icons_v0", "Kuhn", "kuhn_poker", "", 3):
        with pytest.raises(CardEnvsError, match=r"another game|id with a version"):
            card_envs.register(type("Other", (kuhn_poker.KuhnPoker,), {"name": name}))
    card_envs.register(kuhn_poker.KuhnPoker)
    assert game_class("kuhn_poker") is kuhn_poker.KuhnPoker
    with pytest.warns(UserWarning, match="is replaced"):
        card_envs.register(type("KuhnPoker", (kuhn_poker.KuhnPoker,), {}))
    with pytest.warns(UserWarning, match="is replaced"):
        card_envs.register(kuhn_poker.KuhnPoker)


def test_the_newest_version_answers_to_the_bare_name(kuhn_poker):
    for version in (2, 10):
        card_envs.register(type("KuhnPoker", (kuhn_poker.KuhnPoker,), {"name": f"kuhn_poker_v{version}"}))
    try:
        assert game_class("kuhn_poker").name == "kuhn_poker_v10"
    finally:
        for version in (2, 10):
            del registry._registered[f"kuhn_poker_v{version}"]
