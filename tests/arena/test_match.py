"""Games between policies: the same for the same seed, in fair rotation, and kept in full."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from card_envs.arena import match
from card_envs.arena.match import play_games, rotated
from card_envs.arena.records import record_of, replay
from card_envs.errors import IllegalActionError, PolicyError
from card_envs.games import list_games, make_game, player_counts
from card_envs.kernels.rng import seed_words
from card_envs.policies import make_policy
from tests.arena.helpers import games_of

TABLES = [(name, n) for name in list_games() for n in player_counts(name)]


class Drawing:
    """Draws every action from the decision's own random number."""

    name = "drawing"

    def act(self, decisions):
        place = (decisions.uniform * decisions.action_mask.sum(axis=1)).astype(np.int64)
        return ((decisions.action_mask.cumsum(axis=1) > place[:, None]) & (decisions.action_mask == 1)).argmax(axis=1)


class Answering:
    """Answers whatever a function makes of the decisions."""

    def __init__(self, answer, name="answering"):
        self.answer = answer
        self.name = name

    def act(self, decisions):
        return self.answer(decisions)


def arrays(results) -> dict[str, Any]:
    return {name: getattr(results, name) for name in ("returns", "wins", "scores", "decisions", "truncated")}


@pytest.mark.parametrize("log_actions", [False, True])
def test_results_are_the_same_however_many_tables_are_played_at_once(log_actions, monkeypatch):
    game = make_game("icarus_club", 3)
    policies = [make_policy("random", game), Drawing()]
    games = games_of(game, 50, seed=1, num_policies=2)
    whole = play_games(game, policies, games, log_actions=log_actions)
    for at_once in (1, 7, 50):
        monkeypatch.setattr(match, "TABLES_AT_ONCE", at_once)
        progress: list[int] = []
        parts = play_games(game, policies, games, log_actions=log_actions, progress=progress.append)
        assert progress == [min(at_once, 50 - start) for start in range(0, 50, at_once)]
        for name, array in arrays(whole).items():
            np.testing.assert_array_equal(getattr(parts, name), array, err_msg=name)
        assert len(parts.actions) == len(whole.actions) == (50 if log_actions else 0)
        for one, other in zip(whole.actions, parts.actions, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("name", "num_players"), TABLES)
def test_same_seed_gives_the_same_games_and_another_seed_gives_others(name, num_players):
    game = make_game(name, num_players)
    policies = [make_policy("random", game), make_policy("heuristic", game)]

    def play(seed: int) -> list[list[int]]:
        games = rotated([0] + [1] * (num_players - 1), 2, seed, stream=0)
        return [actions.tolist() for actions in play_games(game, policies, games, log_actions=True).actions]

    assert play(3) == play(3)
    assert play(3) != play(4)


def test_streams_set_the_choices_apart_and_leave_the_deals_alike():
    one, other = (rotated([0, 1, 1], 4, seed=5, stream=stream) for stream in (0, 1))
    np.testing.assert_array_equal(one.chance, other.chance)
    assert not (one.choices == other.choices).all(axis=1).any()
    assert len(np.unique(one.choices, axis=0)) == 12
    assert len(np.unique(one.chance, axis=0)) == 4


@pytest.mark.parametrize(("name", "num_players"), TABLES)
def test_every_deal_is_played_from_every_seat(name, num_players):
    game = make_game(name, num_players)
    lineup = list(range(num_players))
    policies = [Answering(make_policy("random", game).act, f"p{p}") for p in lineup]
    games = rotated(lineup, 2, seed=0, stream=0)
    results = play_games(game, policies, games, log_actions=True)
    seats = games.seats.reshape(2, num_players, num_players)
    records = [record_of(game, games.chance[i], results.actions[i]) for i in range(len(games))]
    for deal in range(2):
        for policy in lineup:
            assert sorted(np.nonzero(seats[deal] == policy)[1]) == lineup
        mine = records[deal * num_players : (deal + 1) * num_players]
        before = [next(i for i, e in enumerate(r["events"]) if e[0] != "chance") for r in mine]
        assert all(r["events"][:at] == mine[0]["events"][: before[0]] for r, at in zip(mine, before, strict=True))
    assert records[0]["events"][: before[0]] != records[-1]["events"][: before[0]]


@pytest.mark.parametrize(("name", "num_players"), TABLES)
def test_log_of_actions_reproduces_every_result(name, num_players):
    game = make_game(name, num_players)
    policies = [make_policy("random", game), make_policy("heuristic", game), Drawing()]
    games = games_of(game, 9, seed=4, num_policies=3)
    results = play_games(game, policies, games, log_actions=True)
    for i in range(9):
        record = record_of(game, games.chance[i], results.actions[i])
        table = replay(record)
        np.testing.assert_array_equal(table.returns(), results.returns[i])
        assert list(record["scores"].values()) == results.scores[i].tolist()
        assert record["truncated"] == results.truncated[i]
        assert len(results.actions[i]) == results.decisions[i]
        assert sum(event[0] != "chance" for event in record["events"]) == results.decisions[i]
        winners = [game.agents.index(agent) for agent in record["winners"]]
        assert results.wins[i].nonzero()[0].tolist() == winners
        if winners:
            assert results.wins[i].sum() == pytest.approx(1.0)


def test_log_grows_with_the_game():
    game = make_game("icarus_club", 5)
    games = games_of(game, 8, seed=6, num_policies=2)
    results = play_games(game, [Drawing(), make_policy("random", game)], games, log_actions=True)
    assert results.decisions.min() > 256  # more than the log holds at first
    for i in range(8):
        assert len(results.actions[i]) == results.decisions[i]
        returns = list(record_of(game, games.chance[i], results.actions[i])["returns"].values())
        assert returns == results.returns[i].tolist()


def test_seats_are_those_that_were_asked_for():
    game = make_game("icarus_club", 4)
    asked: dict[str, set[int]] = {"a": set(), "b": set()}
    random = make_policy("random", game)

    def policy(name):
        def answer(decisions):
            asked[name] |= set(decisions.states["player"][decisions.rows].tolist())
            return random.act(decisions)

        return Answering(answer, name)

    games = games_of(game, 6, seed=0)
    games.seats[:] = [0, 1, 0, 0]
    play_games(game, [policy("a"), policy("b")], games)
    assert asked == {"a": {0, 2, 3}, "b": {1}}


def test_policy_sees_what_its_seat_sees_and_the_mask_of_its_actions():
    game = make_game("icarus_club", 3)
    kernels = match.GameBatch(game, 1).kernels
    checked = 0

    def answer(decisions):
        nonlocal checked
        for i, row in enumerate(decisions.rows[:2]):
            observation, mask = np.empty(game.layout.size, np.float32), np.empty(game.num_actions, np.int8)
            kernels.observe(decisions.states, row, decisions.states[row].player, game.layout.at, observation)
            kernels.legal(decisions.states, row, mask)
            np.testing.assert_array_equal(decisions.observation[i], observation)
            np.testing.assert_array_equal(decisions.action_mask[i], mask)
            checked += 1
        assert ((decisions.uniform >= 0) & (decisions.uniform < 1)).all()
        return decisions.action_mask.argmax(axis=1)

    play_games(game, [Answering(answer)], games_of(game, 4, seed=0))
    assert checked > 100


MISBEHAVIOUR = {
    "illegal": lambda d: d.action_mask.argmin(axis=1),
    "below": lambda d: np.full(len(d.rows), -1),
    "above": lambda d: np.full(len(d.rows), 10_000),
    "unsigned": lambda d: np.full(len(d.rows), 2**64 - 1, np.uint64),
    "fractions": lambda d: d.action_mask.argmax(axis=1).astype(np.float64),
    "truth values": lambda d: d.action_mask.argmax(axis=1).astype(bool),
    "too few": lambda d: d.action_mask.argmax(axis=1)[:-1],
    "too many": lambda d: np.append(d.action_mask.argmax(axis=1), 0),
    "a column": lambda d: d.action_mask.argmax(axis=1)[:, None],
    "one for all": lambda d: int(d.action_mask[0].argmax()),
    "nothing": lambda d: None,
    "names": lambda d: ["slots-1"] * len(d.rows),
    "ragged": lambda d: [[0], [0, 1]],
}


@pytest.mark.parametrize("kind", MISBEHAVIOUR)
def test_policy_that_misbehaves_is_reported_by_name(kind):
    game = make_game("icarus_club", 3)
    policies = [make_policy("random", game), Answering(MISBEHAVIOUR[kind], "the culprit")]
    illegal = kind in ("illegal", "below", "above", "unsigned")
    with pytest.raises(IllegalActionError if illegal else PolicyError, match="policy 'the culprit'") as caught:
        play_games(game, policies, games_of(game, 6, seed=0, num_policies=2))
    message = str(caught.value)
    if illegal:
        assert "legal actions: " in message
        assert "phase 'play'" in message
    else:
        assert "expected whole numbers of shape (" in message


def test_policy_without_a_name_is_called_by_its_class():
    class Nameless:
        def act(self, decisions):
            return np.full(len(decisions.rows), -1)

    game = make_game("icarus_club", 3)
    with pytest.raises(IllegalActionError, match="policy 'Nameless'"):
        play_games(game, [Nameless()], games_of(game, 1, seed=0))


def test_lists_and_narrow_integers_are_good_answers():
    game = make_game("icarus_club", 3)
    games = games_of(game, 3, seed=0)
    first = lambda d: d.action_mask.argmax(axis=1)  # noqa: E731
    expected = play_games(game, [Answering(first)], games)
    for answer in (lambda d: first(d).tolist(), lambda d: first(d).astype(np.uint8)):
        np.testing.assert_array_equal(play_games(game, [Answering(answer)], games).returns, expected.returns)


def test_start_words_are_distinct_for_deals_and_choices():
    games = rotated([0, 1, 1], 50, seed=0, stream=0)
    words = np.concatenate([np.unique(games.chance, axis=0), games.choices])
    assert len(np.unique(words, axis=0)) == 200
    np.testing.assert_array_equal(games.chance[0], seed_words(np.random.SeedSequence(0, spawn_key=(0, 0)), 50)[0])
