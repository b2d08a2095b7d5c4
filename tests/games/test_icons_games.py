"""Icons over many random games: what must hold in every state, and what a seat must not learn."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

import numpy as np
import pytest

from card_envs.games.icons import Icons, rules, state
from card_envs.games.icons.heuristic import heuristic
from card_envs.games.icons.observation import observe, resample
from card_envs.games.icons.rules import apply_action, apply_chance, draw_chance, legal_actions
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, random_legal, seed_words, split
from card_envs.kernels.state import RUNNING, TERMINATED, returns

compiled = functools.partial(jit, game="icons_v0", rules=rules.apply_action)

FAULTS = (
    "none",
    "a card is lost or twice there",
    "tokens are not the Icons played",
    "a player not in turn holds more than seven cards",
    "a hand has a wrong size",
    "what a player knows is wrong",
    "no action is legal",
    "the count of legal actions is wrong",
    "the score is not that of the tokens",
    "the returns do not sum to 0",
    "the observation leaves [0, 1]",
    "the observation changes with what the seat can't know",
    "the legal actions change with what the seat can't know",
    "the hand-written player decides by what it can't know",
    "the hand-written player chooses what is not legal",
    "a card chosen to pass, or just given, is not in the hand",
)


@compiled
def new_game(states, initial, rng, value):
    states[0] = initial[0]
    s = states[0]
    split(rng, s.rng)
    while s.chance != 0:
        count = draw_chance(s, value)
        apply_chance(s, value[:count])


@compiled
def fault_of(s):
    """What is wrong with a state, as a position in FAULTS."""
    n = s.num_players
    count = s.discards.astype(np.int64)
    for k in range(state.NUM_SLOTS):
        if s.slot[k] >= 0:
            count[s.slot[k]] += 1
    for i in range(s.pile_size):
        count[s.pile[(s.pile_top + i) % state.NUM_CARDS]] += 1
    tokens = 0
    for seat in range(n):
        size = 0
        for card in range(state.NUM_TYPES):
            count[card] += s.hand[seat, card]
            size += s.hand[seat, card]
        if size != s.hand_size[seat]:
            return 4
        if s.chosen[seat] >= 0 and s.hand[seat, s.chosen[seat]] == 0:
            return 15
        given = s.phase == state.CARD_RETURN and seat == s.target  # holds the card given until it gives one back
        if given and s.hand[seat, s.given] == 0:
            return 15
        if size > state.HAND_LIMIT + given and seat != s.turn:
            return 3
        for category in range(state.NUM_CATEGORIES):
            tokens += s.tokens[seat, category]
        if s.score[seat] != rules.points(s, seat):
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
def play_random(states, initial, games, rng, value, mask, seen, at, out, paid):
    """Plays random games; counts actions in `seen`, endings in `paid`; returns the first fault."""
    for _ in range(games):
        new_game(states, initial, rng, value)
        s = states[0]
        while s.end == RUNNING:
            options = legal_actions(s, mask)
            if options == 0:
                return 6
            if options != mask.sum():
                return 7
            observe(s, below(rng, s.num_players), at[0], out)
            for i in range(out.shape[0]):
                if not 0.0 <= out[i] <= 1.0:
                    return 10
            action = random_legal(rng, mask, options)
            seen[action] += 1
            apply_action(s, action)
            fault = fault_of(s)
            if fault != 0:
                return fault
        paid[s.end] += 1
        if s.turns_left >= 0:
            paid[3] += 1
        total = np.zeros(s.num_players)
        returns(s, total)
        if abs(total.sum()) > 1e-12:
            return 9
    return 0


@compiled
def differs(a, b):
    return np.any(a != b)


@compiled
def leak_of(states, scratch, seat, at, out, out_2, mask, mask_2, rng, rng_2):
    """Arranges anew what `seat` can't know, and compares all that the seat sees and does."""
    scratch[0] = states[0]
    s, t = states[0], scratch[0]
    resample(t, seat, rng)
    fault = fault_of(t)
    if fault != 0:
        return fault
    observe(s, seat, at[0], out)
    observe(t, seat, at[0], out_2)
    if differs(out, out_2):
        return 11
    if s.end == RUNNING and s.player == seat:
        legal_actions(s, mask)
        legal_actions(t, mask_2)
        if differs(mask, mask_2):
            return 12
        split(rng, rng_2)
        rng_3 = rng_2.copy()
        choice = heuristic(s, mask, rng_2)
        if choice != heuristic(t, mask, rng_3):
            return 13
        if mask[choice] == 0:
            return 14
    return 0


@compiled
def play_and_resample(states, scratch, initial, wanted, rng, value, mask, mask_2, at, out, out_2, heuristic_share):
    """Resamples at `wanted` states, for the seat to act and a random one, and at times plays on from the copy."""
    rng_2 = np.zeros(2, np.uint64)
    done = 0
    while done < wanted:
        new_game(states, initial, rng, value)
        s = states[0]
        while True:
            for seat in (np.int64(s.player), below(rng, s.num_players)):
                fault = leak_of(states, scratch, seat, at, out, out_2, mask, mask_2, rng, rng_2)
                if fault != 0:
                    return fault
            done += 1
            if s.end != RUNNING:
                break
            if below(rng, 20) == 0:  # a resampled game must play on like any other
                states[0] = scratch[0]
            options = legal_actions(s, mask)
            by_hand = below(rng, 100) < heuristic_share
            apply_action(s, heuristic(s, mask, rng) if by_hand else random_legal(rng, mask, options))
    return 0


@compiled
def play_against_random(states, initial, games, rng, value, mask):
    """The share of wins of the hand-written player among random ones; its seat changes from game to game."""
    won = 0.0
    for game in range(games):
        new_game(states, initial, rng, value)
        s = states[0]
        seat = game % s.num_players
        while s.end == RUNNING:
            options = legal_actions(s, mask)
            by_hand = s.player == seat
            apply_action(s, heuristic(s, mask, rng) if by_hand else random_legal(rng, mask, options))
        if s.winner[seat]:
            won += 1.0 / s.winner.sum()
    return won / games


def buffers(game):
    return {
        "value": np.zeros(game.max_chance_values, np.int16),
        "mask": np.zeros(game.num_actions, np.int8),
        "out": np.zeros(game.layout.size, np.float32),
    }


@pytest.mark.parametrize("n", range(2, 9))
def test_random_games(n):
    game = Icons(n)
    seen, paid = np.zeros(102, np.int64), np.zeros(4, np.int64)
    b = buffers(game)
    fault = play_random(
        game.initial.copy(),
        game.initial,
        1000,
        seed_words(n, 1)[0],
        b["value"],
        b["mask"],
        seen,
        game.layout.at,
        b["out"],
        paid,
    )
    assert FAULTS[fault] == "none"
    assert paid[TERMINATED] == 1000
    assert (paid[3] == 1000) == (n >= 6)  # E2: without points to win all games reach the last round
    never = {name for name, count in zip(state.ACTION_NAMES, seen, strict=True) if count == 0}
    assert never == {f"opponent-{k}" for k in range(n, 8)}


@pytest.mark.parametrize("memory", state.MEMORIES)
@pytest.mark.parametrize("n", range(2, 9))
def test_seats_see_only_what_they_may_know(n, memory):
    game = Icons(n, memory=memory)
    b, c = buffers(game), buffers(game)
    for heuristic_share, wanted in ((0, 7000), (90, 4000)):
        fault = play_and_resample(
            game.initial.copy(),
            game.initial.copy(),
            game.initial,
            wanted if memory == "perfect" else wanted // 10,
            seed_words(n, 1)[0],
            b["value"],
            b["mask"],
            c["mask"],
            game.layout.at,
            b["out"],
            c["out"],
            heuristic_share,
        )
        assert FAULTS[fault] == "none"


@compiled
def resample_both(scratch, states, seat, words, words_2):
    """Two states that differ only in what `seat` can't know must give the same arrangement from the same words."""
    scratch[0] = states[0]
    resample(scratch[0], seat, words)
    scratch[1] = scratch[0]
    resample(scratch[0], seat, words_2.copy())
    scratch[2] = states[0]
    resample(scratch[2], seat, words_2.copy())


@pytest.mark.parametrize("n", [2, 4, 8])
def test_resample_does_not_depend_on_what_the_seat_cannot_know(n):
    game = Icons(n)
    states, scratch = game.initial.copy(), np.repeat(game.initial, 3)
    b = buffers(game)
    rng = seed_words(n, 1)[0]
    for _ in range(5):
        new_game(states, game.initial, rng, b["value"])
        s = states[0]
        moved = 0
        while s.end == RUNNING:
            options = legal_actions(s, b["mask"])
            seat = int(s.player)
            resample_both(scratch, states, seat, seed_words(moved, 1)[0], seed_words(moved + 1, 1)[0])
            assert scratch[0].tobytes() == scratch[2].tobytes()
            apply_action(s, random_legal(rng, b["mask"], options))
            moved += 1


def test_resample_keeps_what_is_known_and_draws_the_rest_evenly():
    game = Icons(3)
    states = game.initial.copy()
    new_game(states, game.initial, seed_words(5, 1)[0], buffers(game)["value"])
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
        resample(copy[0], seat, rng)
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
import sys, numpy as np, zlib
from card_envs.games.icons import Icons, rules
from card_envs.games.icons.heuristic import heuristic
from card_envs.games.icons.observation import observe, resample
from card_envs.kernels import batch
from card_envs.kernels.rng import random_legal, seed_words
def key(s): return b"".join(s[name].tobytes() for name in s.dtype.names)  # without the padding between fields
for n in (2, 5, 8):
    game = Icons(n, max_turns=40)
    states = game.initial.copy()
    states["rng"] = seed_words(n, 1)
    value, mask, out = np.zeros(95, np.int16), np.zeros(102, np.int8), np.zeros(game.layout.size, np.float32)
    batch.for_game(game).start(states, np.arange(1), game.initial, value)
    s, rng, crc, moves = states[0], seed_words(9, 1)[0], 0, 0
    while s.end == 0:
        options = rules.legal_actions(s, mask)
        observe(s, int(s.player), game.layout.at[0], out)
        crc = zlib.crc32(key(s) + out.tobytes() + mask.tobytes(), crc)
        if moves % 10 == 0:
            copy = states.copy()
            resample(copy[0], int(s.player), rng)
            crc = zlib.crc32(key(copy[0]), crc)
        action = heuristic(s, mask, rng) if moves % 2 else random_legal(rng, mask, options)
        rules.apply_action(s, action)
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
    game = Icons(n)
    b = buffers(game)
    won = play_against_random(game.initial.copy(), game.initial, 500, seed_words(n, 1)[0], b["value"], b["mask"])
    assert won > share


def test_observation_is_egocentric():
    game = Icons(4)
    states = game.initial.copy()
    b = buffers(game)
    new_game(states, game.initial, seed_words(2, 1)[0], b["value"])
    s = states[0]
    s.tokens[2] = [1, 2, 0, 0, 0]
    for seat in range(4):
        observe(s, seat, game.layout.at[0], b["out"])
        seen = game.layout.split(b["out"].copy())
        np.testing.assert_array_equal(np.flatnonzero(seen["to_act"]), [(s.player - seat) % 4])
        np.testing.assert_allclose(seen["tokens"][(2 - seat) % 4] * 9, [1, 2, 0, 0, 0], rtol=1e-6)
        np.testing.assert_allclose(seen["hand"] * state.COPIES, s.hand[seat], rtol=1e-6)


def test_observation_shows_points_within_reach():
    game = Icons(2)
    states = game.initial.copy()
    b = buffers(game)
    new_game(states, game.initial, seed_words(2, 1)[0], b["value"])
    s = states[0]
    s.tokens[0] = [1, 2, 1, 1, 0]
    s.hand[0] = 0
    for card in (state.ICON + 4, state.CATEGORY + 0):
        s.hand[0, card] = 1
    s.slot[3] = state.CATEGORY + 4
    s.slot_known[0, 3] = 1
    s.slot[4] = state.ICON + 0
    s.slot_known[0, 4] = 1
    observe(s, 0, game.layout.at[0], b["out"])
    seen = game.layout.split(b["out"])
    np.testing.assert_allclose(seen["gain"][0] * 8, [3, 2, 3, 3, 6])
    np.testing.assert_allclose(seen["loss"][0] * 8, [1, 3, 1, 1, 0])
    np.testing.assert_allclose(seen["slot_points"][3:5] * 8, [6, 3])
    assert not seen["set_points"].any()
    s.hand[0, state.ICON + 0] = 1
    observe(s, 0, game.layout.at[0], b["out"])
    assert seen["set_points"][0] * 8 == 3
