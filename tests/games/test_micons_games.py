"""Micons over many random games: what must hold in every state, and what a seat must not learn."""

from __future__ import annotations

import functools
import os
import random
import subprocess
import sys

import numpy as np
import pytest

from card_envs.games.micons import Micons, rules, state
from card_envs.games.micons.heuristic import heuristic
from card_envs.games.micons.observation import observe
from card_envs.games.micons.resample import resample
from card_envs.games.micons.rules import apply_action, apply_chance, draw_chance, legal_actions, matches
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, random_legal, seed_words, split
from card_envs.kernels.state import RUNNING, TERMINATED, TRUNCATED, returns
from tests.games.micons_positions import DECK

compiled = functools.partial(jit, game="micons_v0", rules=rules.apply_action)

FAULTS = (
    "none",
    "a card is lost or twice there",
    "a hand has a wrong size",
    "the score is not that of the cards left",
    "the deck's order is not that of its cards",
    "no action is legal",
    "the count of legal actions is wrong",
    "the observation leaves [0, 1]",
    "the returns do not sum to 0",
    "a player without cards has not won",
    "the observation changes with what the seat can't know",
    "the legal actions change with what the seat can't know",
    "the hand-written player decides by what it can't know",
    "the hand-written player chooses what is not legal",
    "resampling depends on what the seat can't know",
)

# what a series of games adds up to
GAMES, DECISIONS, FORCED, TURNS, MATCHED, CUT, OUT_OF_CARDS, MOST_TURNS = range(8)


@compiled
def resolve_chance(s, value):
    while s.chance != 0:
        count = draw_chance(s, value)
        apply_chance(s, value[:count])


@compiled
def new_game(states, initial, rng, value):
    states[0] = initial[0]
    split(rng, states[0].rng)
    resolve_chance(states[0], value)


@compiled
def fault_of(s):
    """What is wrong with a state, as a position in FAULTS."""
    hands = np.zeros(state.MAX_PLAYERS, np.int64)
    active, beneath, in_deck = 0, 0, 0
    for card in range(s.where.shape[0]):
        if s.where[card] < s.num_players:
            hands[s.where[card]] += 1
        active += s.where[card] == state.ACTIVE
        beneath += s.where[card] == state.BENEATH
        in_deck += s.where[card] == state.IN_DECK
    if active != 1 or s.where[s.active] != state.ACTIVE or beneath != s.num_beneath or in_deck != s.deck_size:
        return 1
    if hands.sum() + 1 + beneath + in_deck != s.where.shape[0]:
        return 1
    for seat in range(s.num_players):
        if hands[seat] != s.hand_size[seat]:
            return 2
        if s.score[seat] != -hands[seat]:
            return 3
        if hands[seat] == 0 and not (s.end == TERMINATED and s.winner[seat]):
            return 9
    seen = np.zeros(s.where.shape[0], np.int64)
    for i in range(s.deck_size):
        seen[s.deck[i]] += 1
        if s.where[s.deck[i]] != state.IN_DECK or seen[s.deck[i]] > 1:
            return 4
    return 0


@compiled
def count_match(s, tally):
    tally[TURNS] += 1
    for card in range(s.where.shape[0]):
        if s.where[card] == s.turn and matches(s, card):
            tally[MATCHED] += 1
            return


@compiled
def play_random(states, initial, games, rng, value, mask, at, out, tally, seen):
    """Plays random games; what they add up to goes into `tally`, actions into `seen`; returns the first fault."""
    for _ in range(games):
        new_game(states, initial, rng, value)
        s = states[0]
        turns = -1
        while s.end == RUNNING:
            fault = fault_of(s)
            if fault != 0:
                return fault
            options = legal_actions(s, mask)
            if options == 0:
                return 5
            if options != mask.sum():
                return 6
            observe(s, below(rng, s.num_players), at[0], out)
            if out.min() < 0.0 or out.max() > 1.0:
                return 7
            tally[DECISIONS] += 1
            tally[FORCED] += options == 1
            if s.turns != turns and s.phase == state.PLAY:
                count_match(s, tally)
                turns = s.turns
            action = random_legal(rng, mask, options)
            seen[action] += 1
            apply_action(s, action)
            resolve_chance(s, value)
        fault = fault_of(s)
        if fault != 0:
            return fault
        tally[GAMES] += 1
        tally[CUT] += s.end == TRUNCATED
        tally[OUT_OF_CARDS] += s.hand_size[: s.num_players].min() == 0
        tally[MOST_TURNS] = max(tally[MOST_TURNS], s.turns)
        paid = np.zeros(s.num_players)
        returns(s, paid)
        if abs(paid.sum()) > 1e-12:
            return 8
    return 0


@compiled
def differs(a, b):
    return np.any(a != b)


@compiled
def same_arrangement(s, t):
    return not (differs(s.where, t.where) or differs(s.deck, t.deck) or s.active != t.active or s.starter != t.starter)


@compiled
def leak_of(states, scratch, seat, at, out, out_2, mask, mask_2, rng):
    """Arranges anew what `seat` can't know, and compares all that the seat sees and does."""
    scratch[0] = states[0]
    s, t, u = states[0], scratch[0], scratch[1]
    resample(t, seat, rng)
    fault = fault_of(t)
    if fault != 0:
        return fault
    observe(s, seat, at[0], out)
    observe(t, seat, at[0], out_2)
    if differs(out, out_2):
        return 10
    words, words_2 = rng.copy(), rng.copy()
    if s.end == RUNNING and s.player == seat:
        legal_actions(s, mask)
        legal_actions(t, mask_2)
        if differs(mask, mask_2):
            return 11
        choice = heuristic(s, mask, words)
        if choice != heuristic(t, mask, words_2):
            return 12
        if mask[choice] == 0:
            return 13
    scratch[1] = states[0]
    words, words_2 = rng.copy(), rng.copy()
    scratch[2] = scratch[0]
    resample(u, seat, words)
    resample(scratch[2], seat, words_2)
    return 0 if same_arrangement(u, scratch[2]) else 14


@compiled
def play_and_resample(states, scratch, initial, wanted, rng, value, mask, mask_2, at, out, out_2, heuristic_share):
    """Resamples at `wanted` states, for the seat to act and a random one, and at times plays on from the copy."""
    done, moved = 0, 0
    while done < wanted:
        new_game(states, initial, rng, value)
        s = states[0]
        while True:
            for seat in (np.int64(s.player), below(rng, s.num_players)):
                fault = leak_of(states, scratch, seat, at, out, out_2, mask, mask_2, rng)
                if fault != 0:
                    return -fault
            done += 1
            moved += not same_arrangement(s, scratch[0])
            if s.end != RUNNING:
                break
            if below(rng, 20) == 0:  # a resampled game must play on like any other
                states[0] = scratch[0]
            options = legal_actions(s, mask)
            by_hand = below(rng, 100) < heuristic_share
            apply_action(s, heuristic(s, mask, rng) if by_hand else random_legal(rng, mask, options))
            resolve_chance(s, value)
    return moved


def play_games(n, judging, games, deck=None):
    game = Micons(n, judging=judging, deck=deck)
    tally, seen = np.zeros(8, np.int64), np.zeros(game.num_actions, np.int64)
    fault = play_random(
        game.initial.copy(),
        game.initial,
        games,
        seed_words(n, 1)[0],
        np.zeros(game.max_chance_values, np.int16),
        np.zeros(game.num_actions, np.int8),
        game.layout.at,
        np.zeros(game.layout.size, np.float32),
        tally,
        seen,
    )
    assert FAULTS[fault] == "none"
    assert tally[GAMES] == games
    return game, tally, seen


@functools.cache
def supplied(n, judging):
    return play_games(n, judging, 3000)


@pytest.mark.parametrize("judging", state.JUDGING)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_random_games(n, judging):
    game, tally, seen = supplied(n, judging)
    assert tally[CUT] < 0.01 * tally[GAMES]
    assert tally[OUT_OF_CARDS] + tally[CUT] == tally[GAMES]  # 50 cards are too many for X2
    never = {name for name, count in zip(game.action_names, seen, strict=True) if count == 0}
    assert never == (set() if judging == "vote" else {"accept", "reject"})


def test_D2_about_half_of_all_turns_have_a_match():
    shares = []
    for n in (2, 3, 4):
        _, tally, _ = supplied(n, "table")
        shares.append(tally[MATCHED] / tally[TURNS])
        assert 0.45 < shares[-1] < 0.6
    assert 0.47 < np.mean(shares) < 0.55


@pytest.mark.parametrize("judging", state.JUDGING)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_seats_see_only_what_they_may_know(n, judging):
    game = Micons(n, judging=judging)
    for heuristic_share, wanted in ((0, 8000), (90, 4000)):
        moved = play_and_resample(
            game.initial.copy(),
            np.repeat(game.initial, 3),
            game.initial,
            wanted,
            seed_words(n, 1)[0],
            np.zeros(game.max_chance_values, np.int16),
            np.zeros(game.num_actions, np.int8),
            np.zeros(game.num_actions, np.int8),
            game.layout.at,
            np.zeros(game.layout.size, np.float32),
            np.zeros(game.layout.size, np.float32),
            heuristic_share,
        )
        assert FAULTS[max(-moved, 0)] == "none"
        assert moved > 0.8 * wanted  # only an almost empty deck can come out the same


def test_X2_ends_games_in_which_a_trait_that_nobody_has_is_asked_for():
    deck = [
        {
            "name": f"thing-{k}",
            "traits": [state.TRAITS[k % 10]],
            "arguable": [],
            "luck": False,
            "back": state.TRAITS[k % 11],  # no object has the eleventh
        }
        for k in range(len(DECK))
    ]
    endings = []
    for seed in range(100):
        table = RecordedGame(Micons(3, judging="strict", deck=deck), seed=seed)
        choice = random.Random(seed).choice
        while not table.over:
            table.play(choice(table.legal_actions()))
        assert not table.truncated
        sizes = [int(size) for size in table.state.hand_size[:3]]
        assert [int(table.state.winner[p]) for p in range(3)] == [int(size == min(sizes)) for size in sizes]
        endings.append(min(sizes) == 0)
    assert 0 < sum(endings) < 20  # most games end with cards left


def test_resample_keeps_the_open_traits_and_draws_the_rest_evenly():
    game = Micons(3)
    states = game.initial.copy()
    new_game(states, game.initial, seed_words(5, 1)[0], np.zeros(game.max_chance_values, np.int16))
    s = states[0]
    unseen = [card for card in range(50) if s.where[card] >= state.IN_DECK]
    on_top = [card for card in unseen if s.back[card] == s.back[s.deck[s.deck_size - 1]]]
    first = [card for card in unseen if s.back[card] == s.back[s.active]]
    rng = seed_words(6, 1)[0]
    tops, starts, bottoms = np.zeros(50), np.zeros(50), np.zeros(50)
    for _ in range(6000):
        copy = states.copy()
        resample(copy[0], 1, rng)
        tops[copy[0].deck[s.deck_size - 1]] += 1
        bottoms[copy[0].deck[0]] += 1
        starts[copy[0].active] += 1
        assert copy[0].starter == copy[0].active
    assert set(np.flatnonzero(tops)) == set(on_top)
    assert set(np.flatnonzero(starts)) == set(first)
    assert set(np.flatnonzero(bottoms)) <= set(unseen)
    np.testing.assert_allclose(tops[on_top] / 6000, 1 / len(on_top), atol=0.03)
    np.testing.assert_allclose(starts[first] / 6000, 1 / len(first), atol=0.03)
    others = [card for card in unseen if card not in on_top and card not in first]
    assert bottoms[others].min() > 0.6 * bottoms[others].mean()


def test_heuristic_beats_random_players():
    """One hand-written player among random ones, and the reverse."""
    from card_envs.kernels import batch

    for n, judging, gain in ((2, "table", 0.3), (3, "strict", 0.12), (4, "vote", 0.15)):
        game = Micons(n, judging=judging)
        kernels = batch.for_game(game)
        rows = np.arange(4000)
        for alone, others, sign in ((batch.HEURISTIC, batch.RANDOM, 1), (batch.RANDOM, batch.HEURISTIC, -1)):
            states = np.repeat(game.initial, len(rows))
            states["rng"] = seed_words(1, len(rows))
            value, mask = np.zeros(game.max_chance_values, np.int16), np.zeros(game.num_actions, np.int8)
            kernels.start(states, rows, game.initial, value)
            drivers = np.full((len(rows), n), others, np.int8)
            drivers[rows, rows % n] = alone
            counts, log, who = (
                np.zeros(len(rows), np.int64),
                np.zeros((len(rows), 0), np.int16),
                np.zeros(len(rows), np.int8),
            )
            kernels.advance(states, rows, drivers, True, seed_words(2, len(rows)), mask, value, counts, log, who, None)
            paid = np.zeros((len(rows), n))
            kernels.returns(states, rows, paid)
            assert sign * paid[rows, rows % n].mean() > gain * (0.5 if sign < 0 else 1)


def test_interpreted_rules_play_the_same_games():
    """Without compilation the same seeds give the same games, state by state."""
    script = """
import sys, numpy as np, zlib
from card_envs.games.micons import Micons, rules
from card_envs.games.micons.heuristic import heuristic
from card_envs.games.micons.observation import observe
from card_envs.games.micons.resample import resample
from card_envs.kernels import batch
from card_envs.kernels.rng import random_legal, seed_words
def key(s): return b"".join(s[name].tobytes() for name in s.dtype.names)  # without the padding between fields
for n, judging in ((2, "strict"), (3, "table"), (4, "vote")):
    game = Micons(n, judging=judging, max_turns=60)
    states = game.initial.copy()
    states["rng"] = seed_words(n, 1)
    value, mask, out = np.zeros(50, np.int16), np.zeros(54, np.int8), np.zeros(game.layout.size, np.float32)
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
        while s.chance != 0:
            count = rules.draw_chance(s, value)
            rules.apply_chance(s, value[:count])
        moves += 1
    print(n, moves, crc)
"""
    outputs = []
    for disable in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disable}
        run = subprocess.run(
            [sys.executable, "-W", "error::RuntimeWarning", "-c", script],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert run.stderr == ""
        outputs.append(run.stdout)
    assert outputs[0] == outputs[1]
