"""Whole random games of Ice Points: what must hold at every decision."""

from __future__ import annotations

import random

import numba
import numpy as np
import pytest
from numba import njit

from card_envs.games.ice_points import IcePoints, rules, state
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels import batch
from card_envs.kernels.rng import random_legal, seed_words
from card_envs.kernels.state import returns

COMPILED = not numba.config.DISABLE_JIT
COUNTS = (5, 6, 7, 8)
GAMES = 2500 if COMPILED else 10

FINE, POINTS, PIECES, NEGATIVE, SCORE, CARDS, NO_ACTION = range(7)
AMOUNT, NEEDLESS, INSUFFICIENT, TURN, RETURNS, WINNER, LOG = range(7, 14)
FAULTS = (
    *("none", "points", "pieces", "negative pieces", "score", "cards", "no legal action", "wrong amount"),
    *("exchange without need", "exchange does not suffice", "a turn was left out", "returns", "winner", "log"),
)
SET_POINTS = np.array([2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 5])


@njit
def fault_of_table(s):
    n = int(s.num_players)
    worth = 0
    for size in range(3):
        total = 0
        for owner in range(9):
            if s.pieces[owner, size] < 0 or (n <= owner < 8 and s.pieces[owner, size] != 0):
                return NEGATIVE
            total += int(s.pieces[owner, size])
        if total != 5 * n:
            return PIECES
        worth += total * (size + 1)
    if worth != 30 * n:
        return POINTS
    for seat in range(n):
        own = 0
        for size in range(3):
            own += int(s.pieces[seat, size]) * (size + 1)
        if own != s.score[seat]:
            return SCORE
    seen = np.zeros(52, np.int64)
    for i in range(52):
        seen[s.deck[i]] += 1
    for card in range(52):
        if seen[card] != 1:
            return CARDS
    drawn = s.drawn if s.passes == 0 or s.end == 1 else 52 + s.drawn
    if s.chance == 0 and s.end == 0 and (drawn != s.logged or s.card != s.deck[s.drawn - 1]):
        return LOG
    return FINE


@njit
def fault_of_decision(s, mask, legal):
    """An exact sum of the right amount, and an exchange only where no exact sum can be paid."""
    if legal == 0:
        return NO_ACTION
    if s.log_seat[s.logged - 1] != s.player:
        return TURN
    rank = s.card // 4
    due = 0
    if 1 <= rank <= 3:
        due = 3
    elif 4 <= rank <= 7:
        due = 5
    elif rank >= 9:
        due = 14 - rank
    for action in range(mask.shape[0]):
        if mask[action]:
            if (action >= 14) != (s.phase == 2):
                return AMOUNT
            if action < 14 and SET_POINTS[action] != due:
                return AMOUNT
    if s.phase == 2:
        small, medium, large = s.pieces[s.player, 0], s.pieces[s.player, 1], s.pieces[s.player, 2]
        for a in range(min(large, 1) + 1):
            for b in range(min(medium, 2) + 1):
                if 0 <= due - 3 * a - 2 * b <= small:
                    return NEEDLESS
    return FINE


@njit
def fault_of_log(s):
    """Every card is logged once, and its drawer is the next clockwise, but for the draws for the start."""
    if s.logged != 104:
        return LOG
    for which in range(2):
        seen = np.zeros(52, np.int64)
        for i in range(52):
            seen[s.log_card[52 * which + i]] += 1
        for card in range(52):
            if seen[card] != 1:
                return LOG
    for i in range(1, 104):
        if s.log_outcome[i] == 0:
            return LOG
        if s.log_outcome[i - 1] != 1 and s.log_seat[i] != (s.log_seat[i - 1] + 1) % s.num_players:
            return TURN
    return FINE


@njit
def fault_of_end(s, out):
    best = 0
    for seat in range(s.num_players):
        best = max(best, s.score[seat])
    for seat in range(s.num_players):
        if (s.score[seat] == best) != (s.winner[seat] == 1):
            return WINNER
    returns(s, out)
    if abs(out.sum()) > 1e-9:
        return RETURNS
    return fault_of_log(s)


@njit
def first_fault(games, states, initial, rng, mask, value, out, tally):
    """Plays random games and stops at the first fault. `tally` counts decisions, options, forced ones and exchanges."""
    for _ in range(games):
        states[0] = initial[0]
        s = states[0]
        s.rng[0], s.rng[1] = rng[0], rng[1]
        exchanged = False
        while s.end == 0:
            while s.chance != 0:
                count = rules.draw_chance(s, value)
                rules.apply_chance(s, value[:count])
            if s.end == 0:
                legal = rules.legal_actions(s, mask)
                fault = fault_of_table(s)
                if fault == FINE:
                    fault = fault_of_decision(s, mask, legal)
                if fault != FINE:
                    return fault
                if exchanged and s.phase != 0:
                    return INSUFFICIENT
                seat, card = s.player, s.logged
                action = random_legal(rng, mask, legal)
                exchanged = s.phase == 2
                tally[0] += 1
                tally[1] += legal
                tally[2] += legal == 1
                tally[3] += exchanged
                rules.apply_action(s, action)
                if exchanged and (s.player != seat or s.logged != card):
                    return INSUFFICIENT
        fault = fault_of_table(s)
        if fault == FINE:
            fault = fault_of_end(s, out)
        if fault != FINE:
            return fault
    return FINE


@pytest.mark.parametrize("n", COUNTS)
def test_random_games_keep_every_piece_point_and_card(n):
    game = IcePoints(n)
    tally = np.zeros(4, np.int64)
    rng = seed_words(n, 1)[0]
    buffers = np.zeros(game.num_actions, np.int8), np.zeros(52, np.int16), np.zeros(n)
    fault = first_fault(GAMES, game.initial.copy(), game.initial, rng, *buffers, tally)
    assert FAULTS[fault] == "none"
    decisions, options, forced, exchanges = tally
    if COMPILED:
        assert 70 < decisions / GAMES < 74
        assert 2.8 < options / decisions < 3.0
        assert 0.2 < forced / decisions < 0.25
        assert 0 < exchanges / GAMES < 1


def only_payments(states: np.ndarray) -> np.ndarray:
    return states["log_outcome"] == state.PAID


@pytest.mark.parametrize("n", COUNTS)
def test_heuristic_plays_whole_games_and_keeps_the_centre_large(n):
    game, count = IcePoints(n), 400 if COMPILED else 4
    sizes = {}
    for driver in (batch.RANDOM, batch.HEURISTIC):
        states = np.repeat(game.initial, count)
        states["rng"] = seed_words(1, count)
        kernels, rows = batch.for_game(game), np.arange(count)
        mask, value = np.zeros(game.num_actions, np.int8), np.zeros(52, np.int16)
        kernels.start(states, rows, game.initial, value)
        drivers = np.full((count, state.MAX_PLAYERS), driver, np.int8)
        log, who = np.zeros((count, 0), np.int16), np.zeros(count, np.int8)
        decisions = np.zeros(count, np.int64)
        kernels.advance(states, rows, drivers, False, seed_words(2, count), mask, value, decisions, log, who, None)
        assert (states["end"] == 1).all()
        sizes[driver] = states["log_pieces"].sum(axis=2)[only_payments(states)].mean()
    if COMPILED:
        assert sizes[batch.HEURISTIC] < sizes[batch.RANDOM]


@pytest.mark.parametrize("n", COUNTS)
def test_a_game_replays_from_its_events_alone(n):
    rng = random.Random(n)
    for seed in range(20 if COMPILED else 2):
        table = RecordedGame(IcePoints(n), seed=seed)
        while not table.over:
            table.play(rng.choice(table.legal_actions()))
        again = RecordedGame(IcePoints(n), seed=999, explicit_chance=True)
        for who, what, *value in table.events:
            if who == "chance":
                again.apply_chance(what, value[0])
            else:
                assert who == f"player_{again.player}"
                again.play(what)
        assert again.over
        table.state.rng = again.state.rng = 0
        assert again.states.tobytes() == table.states.tobytes()
