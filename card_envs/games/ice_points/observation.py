"""What a seat of Ice Points may know: the observation, and other orders of the deck that look the same to it."""

from __future__ import annotations

import numpy as np

from card_envs.games.ice_points.rules import amount_due, can_make, points_of, rank_of
from card_envs.games.ice_points.state import (
    CENTRE,
    MANY_PIECES,
    MANY_POINTS,
    MAX_AMOUNT,
    MAX_LEAD,
    MIN_AMOUNT,
    MOST_DRAWS,
    NUM_CARDS,
    NUM_PASSES,
    NUM_SIZES,
    NUM_SUITS,
    PIECES_PER_SIZE,
    POINTS_PER_SET,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.seats import steps_to
from card_envs.kernels.state import RUNNING


@jit
def observe(s, seat, at, out):
    out[:] = 0.0
    if s.end == RUNNING:
        out[at.phase + s.phase] = 1.0
        out[at.to_act + steps_to(s, seat, s.player)] = 1.0
        out[at.card + rank_of(s.card)] = 1.0
        out[at.amount + amount_due(s) - MIN_AMOUNT] = 1.0
    observe_deck(s, seat, at, out)
    observe_centre(s, at, out)
    observe_seats(s, seat, at, out)


@jit
def cards_left(s):
    """Cards still to be drawn in this pass."""
    return NUM_CARDS - np.int64(s.drawn)


@jit
def cards_left_in_game(s):
    return cards_left(s) + (NUM_CARDS if s.passes == 0 else 0)


@jit
def draws_left(s, seat, cards):
    """How many of the next `cards` cards this seat draws; the seat to act has drawn its card already."""
    n = s.num_players
    first = (seat - s.player - 1) % n  # cards that are drawn before the seat's next one
    return (cards - first + n - 1) // n


@jit
def observe_deck(s, seat, at, out):
    n = s.num_players
    out[at.pass_number + min(s.passes, NUM_PASSES - 1)] = 1.0
    out[at.cards_left] = cards_left(s) / NUM_CARDS
    for i in range(s.drawn, NUM_CARDS):
        out[at.ranks_left + rank_of(s.deck[i])] += 1.0 / NUM_SUITS
    in_game = cards_left_in_game(s)
    for k in range(n):
        other = (seat + k) % n
        draws = draws_left(s, other, in_game)
        out[at.draws_left + k] = draws / MOST_DRAWS
        out[at.draws_left_here + k] = draws_left(s, other, cards_left(s)) / MOST_DRAWS
        if draws == 0:
            out[at.last_draws + k] = 1.0


@jit
def observe_pieces(s, owner, pieces_at, count_at, out):
    for size in range(NUM_SIZES):
        pieces = np.int64(s.pieces[owner, size])
        out[pieces_at + size] = pieces / (PIECES_PER_SIZE * s.num_players)
        out[count_at + size * (MANY_PIECES + 1) + min(pieces, MANY_PIECES)] = 1.0


@jit
def observe_centre(s, at, out):
    observe_pieces(s, CENTRE, at.centre, at.centre_count, out)
    out[at.centre_points] = points_of(s.pieces[CENTRE]) / (POINTS_PER_SET * np.int64(s.num_players))
    for amount in range(MIN_AMOUNT, MAX_AMOUNT + 1):
        out[at.centre_makes + amount - MIN_AMOUNT] = can_make(s.pieces[CENTRE], amount)


@jit
def observe_seats(s, seat, at, out):
    n = s.num_players
    most = 0
    for other in range(n):
        most = max(most, s.score[other])
    for k in range(n):
        other = (seat + k) % n
        points = np.int64(s.score[other])
        observe_pieces(s, other, at.pieces + k * NUM_SIZES, at.piece_count + k * NUM_SIZES * (MANY_PIECES + 1), out)
        out[at.owns + 2 * k] = points >= 3
        out[at.owns + 2 * k + 1] = points >= 5
        out[at.makes + 2 * k] = can_make(s.pieces[other], 3)
        out[at.makes + 2 * k + 1] = can_make(s.pieces[other], 5)
        out[at.points + k] = min(points / MANY_POINTS, 1.0)
        out[at.leads + k] = points == most
        if k > 0:
            lead = np.int64(s.score[seat]) - points
            out[at.lead + (k - 1) * (2 * MAX_LEAD + 1) + within(lead, MAX_LEAD) + MAX_LEAD] = 1.0
            out[at.far_lead + k - 1] = (within(lead, MANY_POINTS) + MANY_POINTS) / (2 * MANY_POINTS)


@jit
def within(value, bound):
    return max(-bound, min(value, bound))
