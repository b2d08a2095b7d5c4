"""What a seat of The Icarus Club may know: the observation, and other deals that look the same to it."""

from __future__ import annotations

import numpy as np

from card_envs.games.icarus_club.odds import (
    HOW_MANY,
    LETS_STAND,
    UNIT,
    cards_of,
    count_cards,
    is_unseen,
    known_cards,
    may_follow,
    sum_of_chances,
)
from card_envs.games.icarus_club.rules import (
    follow_suit,
    most_earnings,
    rank_of,
    suit_of,
    sum_after_round,
    trick_winner,
)
from card_envs.games.icarus_club.state import (
    CARD_OPTION,
    MAX_LEAD,
    MAX_PILES,
    MAX_SCORE,
    MAX_STANDING,
    NUM_CARDS,
    NUM_RANKS,
    NUM_SUITS,
    OVERWRITE_CARD,
    OVERWRITE_PILE,
    PILE_OPTION,
    PLAY,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.seats import left_of, steps_to
from card_envs.kernels.state import RUNNING

# Scales as factors: the compiler keeps divisions, and they are slow.
PER_RANK, PER_HIGHER, PER_CARD, PER_PILE, PER_SCORE = (
    1.0 / NUM_RANKS,
    1.0 / (NUM_RANKS - 1),
    1.0 / NUM_CARDS,
    1.0 / MAX_PILES,
    1.0 / MAX_SCORE,
)


@jit
def observe(s, seat, at, out):
    n = s.num_players
    out[:] = 0.0
    out[at.phase + s.phase] = 1.0
    out[at.to_act + steps_to(s, seat, s.player)] = 1.0
    out[at.round_number + min(s.rounds, s.num_rounds - 1)] = 1.0
    left = s.num_piles - s.pile_now
    if left > 0:
        out[at.tricks_left + left - 1] = 1.0
    where = s.where
    hand, unseen = out[at.hand : at.hand + NUM_CARDS], out[at.unseen : at.unseen + NUM_CARDS]
    for card in range(NUM_CARDS):  # without branches, in slices: the compiler takes many cards at once
        hand[card] = where[card] == seat
        unseen[card] = (where[card] < n) & (where[card] != seat)
    observe_seats(s, seat, at, out)
    observe_lane(s, at, out)
    observe_suits(s, seat, at, out)
    if s.end == RUNNING and s.player == seat:
        observe_options(s, seat, at, out)
    if s.phase == OVERWRITE_PILE:
        out[at.chosen_suit + suit_of(s.chosen)] = 1.0


@jit
def observe_seats(s, seat, at, out):
    n = s.num_players
    out[at.trick_start + steps_to(s, seat, s.start)] = 1.0
    winner = trick_winner(s) if s.pile_now < s.num_piles else -1
    if winner >= 0:
        out[at.trick_winner + steps_to(s, seat, winner)] = 1.0
    most = most_earnings(s)
    own = standing(s, seat, most)
    other = seat - 1
    for k in range(n):
        other = left_of(s, other)
        card = s.played[other]
        if card >= 0:
            out[at.trick_suit + k * NUM_SUITS + suit_of(card)] = 1.0
            out[at.trick_rank + k] = rank_of(card) * PER_RANK
        out[at.earnings + k] = s.earnings[other] * PER_CARD
        out[at.score + k] = s.score[other] * PER_SCORE
        if k > 0:
            for suit in range(NUM_SUITS):
                out[at.void + (k - 1) * NUM_SUITS + suit] = s.void[other, suit]
            lead = min(max(s.earnings[seat] - s.earnings[other], -MAX_LEAD), MAX_LEAD)
            out[at.lead + (k - 1) * (2 * MAX_LEAD + 1) + lead + MAX_LEAD] = 1.0
            ahead = min(max(own - standing(s, other, most), -MAX_STANDING), MAX_STANDING)
            out[at.standing + (k - 1) * (2 * MAX_STANDING + 1) + ahead + MAX_STANDING] = 1.0


@jit
def standing(s, seat, most):
    """The seat's sum if the round ended now; after the end of the game simply its sum."""
    return np.int64(sum_after_round(s, seat, most) if s.end == RUNNING else s.score[seat])


@jit
def observe_lane(s, at, out):
    depth_scale = 1.0 / s.num_piles
    for k in range(s.num_piles - s.pile_now):
        top = s.pile_top[s.pile_now + k]
        out[at.lane_suit + k * NUM_SUITS + suit_of(top)] = 1.0
        out[at.lane_depth + k] = s.pile_size[s.pile_now + k] * depth_scale
    if s.pile_now < s.num_piles:
        out[at.stake + s.pile_size[s.pile_now] - 1] = 1.0


@jit
def observe_suits(s, seat, at, out):
    for pile in range(s.pile_now + 1, s.num_piles):
        out[at.suit_ahead + suit_of(s.pile_top[pile])] += s.pile_size[pile] * (0.5 * PER_PILE)
    own, unseen = known_cards(s, seat)
    for suit in range(NUM_SUITS):
        own_cards, others = cards_of(own, suit), cards_of(unseen, suit)
        held = HOW_MANY[own_cards]
        out[at.suit_held + suit] = held * PER_RANK
        out[at.suit_unseen + suit] = HOW_MANY[others] * PER_RANK
        if held > 0 and (s.phase != PLAY or out[at.suit_ahead + suit] > 0.0):
            chances = sum_of_chances(own_cards, others, may_follow(s, seat, suit))
            out[at.suit_chance + suit] = chances / (UNIT * held)


@jit
def observe_options(s, seat, at, out):
    """What every legal action would do."""
    if s.phase == PLAY:
        follow = follow_suit(s)
        if out[at.suit_held + follow] > 0.0:
            observe_cards(s, seat, follow, at, out)
        else:
            for suit in range(NUM_SUITS):
                if out[at.suit_held + suit] > 0.0:
                    observe_cards(s, seat, suit, at, out)
    elif s.phase == OVERWRITE_CARD:
        for other in range(s.num_players):
            if other != seat:
                card = int(s.played[other])
                higher = 0
                for above in range(card + 1, (suit_of(card) + 1) * NUM_RANKS):
                    higher += is_unseen(s, seat, above)
                observe_card(card, higher, 0.0, at, out)
    else:
        chosen = suit_of(s.chosen)
        for k in range(s.num_piles - s.pile_now - 1):
            pile = s.pile_now + 1 + k
            top = suit_of(s.pile_top[pile])
            i = at.pile_options + k * PILE_OPTION
            out[i] = 1.0
            out[i + 1] = s.pile_size[pile] * PER_PILE
            out[i + 2] = (k + 1) * PER_HIGHER
            out[i + 3] = out[at.suit_held + top]
            out[i + 4] = out[at.suit_chance + top]
            out[i + 5] = out[at.suit_held + chosen]
            out[i + 6] = out[at.suit_chance + chosen]


@jit
def observe_cards(s, seat, suit, at, out):
    """The cards of one suit that may be played."""
    best, rivals = NUM_CARDS, 0  # off suit nothing wins
    if suit == follow_suit(s):
        best = -1
        for other in range(s.num_players):
            card = s.played[other]
            if card < 0:
                rivals += (other != seat) & (s.void[other, suit] == 0)
            elif suit_of(card) == suit:
                best = max(best, int(card))
    unseen = count_cards(s, seat, suit)[1]
    each = LETS_STAND[may_follow(s, seat, suit), unseen]
    higher = 0
    for card in range((suit + 1) * NUM_RANKS - 1, suit * NUM_RANKS - 1, -1):
        if s.where[card] == seat:
            wins = 1.0 if card > best else 0.0
            for _ in range(rivals):
                wins *= each[higher]
            observe_card(card, higher, wins, at, out)
        higher += is_unseen(s, seat, card)


@jit
def observe_card(card, higher, wins, at, out):
    suit = suit_of(card)
    i = at.card_options + card * CARD_OPTION
    out[i] = 1.0
    out[i + 1] = rank_of(card) * PER_RANK
    out[i + 2] = out[at.suit_held + suit]
    out[i + 3] = out[at.suit_ahead + suit]
    out[i + 4] = out[at.suit_chance + suit]
    out[i + 5] = higher * PER_HIGHER
    out[i + 6] = wins
