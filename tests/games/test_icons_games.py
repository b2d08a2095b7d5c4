"""Icons over many random games: what must hold in every state, and what a seat must not learn."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

import numpy as np
import pytest

from card_envs.games.icons import Icons, rules, state
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels import batch
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import seed_words
from card_envs.kernels.state import RUNNING, TERMINATED
from card_envs.policies.game_batch import GameBatch

compiled = functools.partial(jit, game="icons_v0", rules=rules.apply_action)

FAULTS = (
    "none",
    "a card is lost or twice there",
    "tokens are not the Icons played",
    "a player not in turn holds more than seven cards",
    "a hand has a wrong size",
    "what a player knows is wrong",
    "the score is not that of the tokens",
    "a card chosen to pass, or just given, is not in the hand",
    "the cards that players put under the pile are miscounted",
)


@compiled
def fault_of(s):
    """What is wrong with a state, as a position in FAULTS."""
    n = s.num_players
    count = s.discards.astype(np.int64)
    for k in range(state.NUM_SLOTS):
        if s.slot[k] >= 0:
            count[s.slot[k]] += 1
    put_back = np.zeros(n, np.int64)
    for i in range(s.pile_size):
        place = (s.pile_top + i) % state.NUM_CARDS
        count[s.pile[place]] += 1
        if s.pile_by[place] >= 0:
            put_back[s.pile_by[place]] += 1
        elif put_back.sum() > 0:
            return 8  # a card of the deal lies below
    tokens = 0
    for seat in range(n):
        size = 0
        for card in range(state.NUM_TYPES):
            count[card] += s.hand[seat, card]
            size += s.hand[seat, card]
        if size != s.hand_size[seat]:
            return 4
        if s.chosen[seat] >= 0 and s.hand[seat, s.chosen[seat]] == 0:
            return 7
        given = s.phase == state.CARD_RETURN and seat == s.target  # holds the card given until it gives one back
        if given and s.hand[seat, s.given] == 0:
            return 7
        if size > state.HAND_LIMIT + given and seat != s.turn:
            return 3
        for category in range(state.NUM_CATEGORIES):
            tokens += s.tokens[seat, category]
        if s.score[seat] != rules.points(s, seat):
            return 6
        if s.put_back[seat] != put_back[seat]:
            return 8
        for observer in range(n + 1):
            if observer != seat:
                for card in range(state.NUM_TYPES):
                    if not s.at_least[observer, seat, card] <= s.hand[seat, card] <= s.at_most[observer, seat, card]:
                        return 5
    for card in range(state.NUM_TYPES):
        if count[card] != state.COPIES[card]:
            return 1
    icons = 0
    for card in range(state.ICON_YOU + 1):
        icons += s.discards[card]
    return 2 if icons != tokens else 0


@compiled
def first_fault(states):
    for row in range(states.shape[0]):
        fault = fault_of(states[row])
        if fault != 0:
            return fault
    return 0


def check(states):
    assert FAULTS[first_fault(states)] == "none"


def deal(game, num_tables, seed):
    tables = GameBatch(game, num_tables)
    tables.states["rng"] = seed_words(seed, num_tables)
    tables.rngs[:] = seed_words(seed + 100, num_tables)
    tables.start(np.arange(num_tables))
    return tables


def decide(tables, rows, driver, states=None, rngs=None):
    """A built-in player's choices for the seats to act."""
    actions = np.zeros(len(rows), np.int64)
    states = tables.states if states is None else states
    rngs = tables.rngs if rngs is None else rngs
    tables.kernels.decide(states, rows, driver, rngs, np.zeros(tables.game.num_actions, np.int8), actions, None)
    return actions


def running(tables):
    return np.flatnonzero(tables.states["end"] == RUNNING)


@pytest.mark.parametrize("n", range(2, 9))
def test_random_games(n):
    tables = deal(Icons(n), 1000, n)
    seen = np.zeros(102, np.int64)
    while len(rows := running(tables)):
        actions = decide(tables, rows, batch.RANDOM)
        np.add.at(seen, actions, 1)
        tables.act(rows, actions, "random")
        check(tables.states)
    assert (tables.states["end"] == TERMINATED).all()
    assert (tables.states["turns_left"] >= 0).all() == (n >= 6)  # E2: without points to win, all reach the last round
    np.testing.assert_allclose(tables.returns(np.arange(1000)).sum(axis=1), 0, atol=1e-12)
    never = {name for name, count in zip(state.ACTION_NAMES, seen, strict=True) if count == 0}
    assert never == {f"opponent-{k}" for k in range(n, 8)}


@pytest.mark.parametrize("memory", state.MEMORIES)
@pytest.mark.parametrize("n", range(2, 9))
def test_seats_see_only_what_they_may_know(n, memory):
    """Over 10,000 states for each number of players, of random and hand-written play, for the seat to act or any."""
    game, rng = Icons(n, memory=memory), np.random.default_rng(n)
    kernels, words, states_seen = batch.for_game(game), seed_words(n, 1)[0], 0
    while states_seen < (10_000 if memory == "perfect" else 1000):
        tables = deal(game, 100 if memory == "perfect" else 10, int(rng.integers(1000)))
        while len(rows := running(tables)):
            to_act = rng.random(len(rows)) < 0.5
            seats = np.where(to_act, tables.states["player"][rows], rng.integers(n, size=len(rows)))
            drawn = tables.states.copy()
            for row, seat in zip(rows, seats, strict=True):
                kernels.resample(drawn, row, seat, words)
            check(drawn)
            out = np.zeros((2, len(rows), game.layout.size), np.float32)
            for i, states in enumerate((tables.states, drawn)):
                kernels.observe_rows(states, rows, seats, game.layout.at, out[i])
            assert (out[0] == out[1]).all()
            own = rows[tables.states["player"][rows] == seats]
            masks = np.zeros((2, len(own), game.num_actions), np.int8)
            for i, states in enumerate((tables.states, drawn)):
                kernels.ask(states, own, game.layout.at, np.arange(len(own)), out[i], masks[i])
            assert (masks[0] == masks[1]).all()
            rngs = tables.rngs.copy()
            choice = decide(tables, own, batch.HEURISTIC, rngs=rngs)
            assert (choice == decide(tables, own, batch.HEURISTIC, drawn, tables.rngs.copy())).all()
            assert masks[0][np.arange(len(own)), choice].all()
            states_seen += len(rows)
            go_on = rows[rng.random(len(rows)) < 0.05]
            tables.states[go_on] = drawn[go_on]  # a resampled game plays on like any other
            random = decide(tables, rows, batch.RANDOM)
            by_hand = decide(tables, rows, batch.HEURISTIC)
            tables.act(rows, np.where(rng.random(len(rows)) < rng.integers(2) * 0.9, by_hand, random), "mixed")


@pytest.mark.parametrize("n", [2, 4, 8])
def test_resample_does_not_depend_on_what_the_seat_cannot_know(n):
    """Two states that differ only in what the seat can't know give the same arrangement from the same words."""
    tables = deal(Icons(n), 5, n)
    resample = tables.kernels.resample
    moved = 0
    while len(rows := running(tables)):
        one = tables.states.copy()
        for row in rows:
            resample(one, row, one[row].player, seed_words(moved, 1)[0])
        two = tables.states.copy()
        for row in rows:
            words = seed_words(moved + 1, 1)[0]
            resample(one, row, one[row].player, words.copy())
            resample(two, row, two[row].player, words)
        assert one.tobytes() == two.tobytes()
        tables.act(rows, decide(tables, rows, batch.RANDOM), "random")
        moved += 1


def test_resample_keeps_what_is_known_and_draws_the_rest_evenly():
    states = RecordedGame(Icons(3), seed=5).states
    resample = batch.for_game(Icons).resample
    s = states[0]
    seat, other = int(s.player), (int(s.player) + 1) % 3
    s.at_least[seat, other] = 0
    known = int(np.flatnonzero(s.hand[other])[0])
    absent = int(np.flatnonzero(s.hand[other, :5] == 0)[0])
    s.at_least[seat, other, known] = 1
    s.at_most[:, other, absent] = 0
    rng = seed_words(6, 1)[0]
    hands = np.zeros((2000, state.NUM_TYPES))
    for i in range(2000):
        copy = states.copy()
        resample(copy, 0, seat, rng)
        hands[i] = copy[0].hand[other]
    assert (hands[:, known] >= 1).all()
    assert (hands[:, absent] == 0).all()
    # the other three cards are drawn from what is unseen, without the type that is known to be absent
    unseen = state.COPIES - s.hand[seat]
    unseen[known] -= 1
    unseen[absent] = 0
    expected = 3 * unseen / unseen.sum()
    expected[known] += 1
    np.testing.assert_allclose(hands.mean(0), expected, atol=0.06)


def test_interpreted_rules_play_the_same_games():
    """Without compilation the same seeds give the same games, state by state."""
    script = """
import numpy as np, zlib
from card_envs.games.icons import Icons
from card_envs.kernels import batch
from card_envs.kernels.rng import seed_words
from card_envs.policies.game_batch import GameBatch
for n in (2, 5, 8):
    tables = GameBatch(Icons(n, max_turns=40), 1)
    tables.states["rng"] = seed_words(n, 1)
    tables.rngs[:] = seed_words(9, 1)
    rows, rng, crc, moves = np.arange(1), seed_words(8, 1)[0], 0, 0
    tables.start(rows)
    while tables.states[0].end == 0:
        seen = tables.decisions(rows)
        crc = zlib.crc32(tables.states.tobytes() + seen.observation.tobytes() + seen.action_mask.tobytes(), crc)
        if moves % 10 == 0:
            copy = tables.states.copy()
            tables.kernels.resample(copy, 0, int(copy[0].player), rng)
            crc = zlib.crc32(copy.tobytes(), crc)
        actions = np.zeros(1, np.int64)
        driver = batch.HEURISTIC if moves % 2 else batch.RANDOM
        tables.kernels.decide(tables.states, rows, driver, tables.rngs, np.zeros(102, np.int8), actions, None)
        tables.act(rows, actions, "")
        moves += 1
    print(n, moves, crc)
"""
    outputs = []
    for disable in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disable}
        run = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        outputs.append(run.stdout)
    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) == 3


@pytest.mark.parametrize(("n", "share"), [(2, 0.95), (3, 0.92), (4, 0.88), (5, 0.83), (8, 0.7)])
def test_hand_written_player_beats_random_ones(n, share):
    tables = deal(Icons(n), 500, n)
    seats = np.arange(500) % n
    tables.drivers[np.arange(500), seats] = batch.HEURISTIC
    tables.advance(np.arange(500))
    won = tables.states["winner"][np.arange(500), seats] / tables.states["winner"].sum(axis=1)
    assert won.mean() > share


# --- how strong the hand-written player is ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "good", "better"), [(2, 0.85, 0.67), (3, 0.76, 0.49), (4, 0.65, 0.39), (5, 0.55, 0.27), (8, 0.4, 0.17)]
)
def test_what_the_hand_written_player_remembers_wins_games(n, good, better):
    """Without its memory it is good among random players; with it, it is far better than fair among such good ones."""
    from benchmarks.heuristics import alone
    from benchmarks.icons_memory import Forgetful
    from card_envs.policies import make_policy

    game = Icons(n)
    forgetful, heuristic, random = Forgetful(game), make_policy("heuristic", game), make_policy("random", game)
    assert alone(game, forgetful, random, 400)[1].mean > good
    assert alone(game, heuristic, forgetful, 400)[1].low > max(better, 1 / n)


def test_what_memory_is_worth_comes_as_a_table(capsys):
    from benchmarks import icons_memory

    assert icons_memory.main(["--num-games", "16"]) == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [int(row[0]) for row in rows] == [*range(2, 9)]
    assert all(row[i].count("% ± ") == 1 for row in rows for i in (1, 2))


def test_a_player_without_memory_knows_what_lies_open_and_nothing_else():
    from benchmarks.icons_memory import Forgetful

    tables = deal(Icons(3), 50, 3)
    forgetful, compared = Forgetful(tables.game), 0
    rows = np.arange(50)
    for _ in range(40):
        running_rows = running(tables)
        before, words = tables.states.copy(), tables.rngs.copy()
        chosen = forgetful.act(tables.decisions(running_rows))
        assert tables.states.tobytes() == before.tobytes()
        # whatever is remembered of the bank and of other hands makes no difference
        tables.states["slot_known"] = np.arange(state.NUM_SLOTS) == tables.states["flipped"][:, None, None]
        tables.states["at_least"] = 0
        tables.states["at_most"] = state.COPIES
        tables.rngs[:] = words
        decisions = tables.decisions(running_rows)
        np.testing.assert_array_equal(forgetful.act(decisions), chosen)
        compared += len(running_rows)
        tables.states[rows] = before
        tables.act(running_rows, chosen, "forgetful")
    assert compared > 1500
