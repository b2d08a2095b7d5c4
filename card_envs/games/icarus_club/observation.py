"""What a seat of The Icarus Club may know: the observation, and other deals that look the same to it."""

from __future__ import annotations

import numpy as np

from card_envs.games.icarus_club.rules import (
    follow_suit,
    left_of,
    most_earnings,
    rank_of,
    suit_of,
    trick_winner,
)
from card_envs.games.icarus_club.state import (
    MAX_LEAD,
    MAX_PLAYERS,
    MAX_SCORE,
    MAX_STANDING,
    NUM_CARDS,
    NUM_RANKS,
    NUM_SUITS,
    OVERWRITE_PILE,
    PLAY,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, shuffle, split
from card_envs.kernels.state import RUNNING


@jit
def observe(s, seat, at, out):
    n = s.num_players
    out[:] = 0.0
    out[at.phase + s.phase] = 1.0
    out[at.to_act + (s.player - seat) % n] = 1.0
    out[at.round_number + min(s.rounds, n - 1)] = 1.0
    left = s.num_piles - s.pile_now
    if left > 0:
        out[at.tricks_left + left - 1] = 1.0
    for card in range(NUM_CARDS):
        if s.where[card] == seat:
            out[at.hand + card] = 1.0
        elif s.where[card] < n:
            out[at.unseen + card] = 1.0
    observe_seats(s, seat, at, out)
    observe_lane(s, at, out)
    if s.end == RUNNING and s.phase == PLAY:
        observe_chances(s, seat, at, out)
    if s.phase == OVERWRITE_PILE:
        out[at.chosen_suit + suit_of(s.chosen)] = 1.0
        out[at.chosen_rank] = rank_of(s.chosen) / NUM_RANKS


@jit
def observe_seats(s, seat, at, out):
    n = s.num_players
    out[at.trick_start + (s.start - seat) % n] = 1.0
    winner = trick_winner(s) if s.pile_now < s.num_piles else -1
    if winner >= 0:
        out[at.trick_winner + (winner - seat) % n] = 1.0
    most = most_earnings(s)
    own = standing(s, seat, most)
    for k in range(n):
        other = (seat + k) % n
        card = s.played[other]
        if card >= 0:
            out[at.trick_suit + k * NUM_SUITS + suit_of(card)] = 1.0
            out[at.trick_rank + k] = rank_of(card) / NUM_RANKS
        out[at.earnings + k] = s.earnings[other] / NUM_CARDS
        out[at.score + k] = s.score[other] / MAX_SCORE
        if k > 0:
            for suit in range(NUM_SUITS):
                out[at.void + (k - 1) * NUM_SUITS + suit] = s.void[other, suit]
            lead = min(max(s.earnings[seat] - s.earnings[other], -MAX_LEAD), MAX_LEAD)
            out[at.lead + (k - 1) * (2 * MAX_LEAD + 1) + lead + MAX_LEAD] = 1.0
            ahead = min(max(own - standing(s, other, most), -MAX_STANDING), MAX_STANDING)
            out[at.standing + (k - 1) * (2 * MAX_STANDING + 1) + ahead + MAX_STANDING] = 1.0


@jit
def standing(s, seat, most):
    """The seat's sum if the round ended now; between rounds and after the end simply its sum."""
    if s.end != RUNNING or s.earnings[seat] == most:
        return np.int64(s.score[seat])
    return np.int64(s.score[seat]) + s.earnings[seat]


@jit
def observe_lane(s, at, out):
    for k in range(s.num_piles - s.pile_now):
        top = s.pile_top[s.pile_now + k]
        out[at.lane_suit + k * NUM_SUITS + suit_of(top)] = 1.0
        out[at.lane_rank + k] = rank_of(top) / NUM_RANKS
        out[at.lane_depth + k] = s.pile_size[s.pile_now + k] / s.num_piles
    if s.pile_now < s.num_piles:
        out[at.stake + s.pile_size[s.pile_now] - 1] = 1.0


@jit
def observe_chances(s, seat, at, out):
    """Which cards in hand would win the trick as it stands, and which of them surely."""
    suit = follow_suit(s)
    first, last = suit * NUM_RANKS, (suit + 1) * NUM_RANKS
    best = -1
    for other in range(s.num_players):
        card = s.played[other]
        if card >= 0 and suit_of(card) == suit:
            best = max(best, np.int64(card))
    # the highest card of the suit that somebody still to play after this seat may hold
    threat = -1
    other = left_of(s, seat)
    while other != s.start and other != seat:
        if s.played[other] < 0 and not s.void[other, suit]:
            for card in range(first, last):
                if s.where[card] < s.num_players and s.where[card] != seat:
                    threat = max(threat, card)
        other = left_of(s, other)
    for card in range(first, last):
        if s.where[card] == seat and card > best:
            out[at.wins_now + card] = 1.0
            if card > threat:
                out[at.wins_surely + card] = 1.0


# --- other deals -------------------------------------------------------------------------------------------------------


@jit
def resample(s, seat, rng):
    """Deals the cards that `seat` can't see anew: same hand sizes, no suit to a seat that was seen not to hold it.

    A first deal places the cards in random order, each with a random seat that may hold it, moving earlier ones where all such
    seats are full. Exchanges and rotations between seats then bring it near the uniform distribution over all such deals.
    """
    n = s.num_players
    cards = np.empty(NUM_CARDS, np.int64)
    count = 0
    room = np.zeros(MAX_PLAYERS, np.int64)
    for card in range(NUM_CARDS):
        if s.where[card] < n and s.where[card] != seat:
            cards[count] = card
            room[s.where[card]] += 1
            count += 1
    shuffle(rng, cards, count)
    holder = np.full(count, -1, np.int64)
    for i in range(count):
        place_card(s, cards, holder, room, i, rng)
    mix_deal(s, cards, holder, count, rng)
    for i in range(count):
        s.where[cards[i]] = holder[i]
    split(rng, s.rng)


@jit
def place_card(s, cards, holder, room, i, rng):
    """Gives card i to a seat with room, moving cards along the shortest chain of seats where that is needed."""
    n = s.num_players
    suit = suit_of(cards[i])
    total = 0
    for p in range(n):
        if not s.void[p, suit]:
            total += room[p]
    if total > 0:
        pick = below(rng, total)
        for p in range(n):
            if not s.void[p, suit]:
                pick -= room[p]
                if pick < 0:
                    holder[i] = p
                    room[p] -= 1
                    return
    # Breadth first over the full seats that may hold the card: card via[p] would move to seat p.
    via = np.full(MAX_PLAYERS, -1, np.int64)
    queue = np.empty(MAX_PLAYERS, np.int64)
    head, tail = 0, 0
    for p in range(n):
        if not s.void[p, suit]:
            via[p] = i
            queue[tail] = p
            tail += 1
    while head < tail:
        full = queue[head]
        head += 1
        for j in range(i):
            if holder[j] == full:
                for p in range(n):
                    if via[p] < 0 and may_hold(s, p, cards[j]):
                        via[p] = j
                        queue[tail] = p
                        tail += 1
                        if room[p] > 0:
                            room[p] -= 1
                            move_chain(holder, via, i, p)
                            return


@jit
def move_chain(holder, via, i, seat):
    """Moves every card of the chain that ends at `seat` one seat on; the chain began with card i."""
    while True:
        mover = via[seat]
        before = holder[mover]
        holder[mover] = seat
        if mover == i:
            return
        seat = before


@jit
def mix_deal(s, cards, holder, count, rng):
    if count < 2:
        return
    for _ in range(4 * count):
        i, j, k = below(rng, count), below(rng, count), below(rng, count)
        p, q, r = holder[i], holder[j], holder[k]
        if below(rng, 2):
            if p != q and may_hold(s, q, cards[i]) and may_hold(s, p, cards[j]):
                holder[i], holder[j] = q, p
        elif p != q and q != r and p != r:
            if may_hold(s, q, cards[i]) and may_hold(s, r, cards[j]) and may_hold(s, p, cards[k]):
                holder[i], holder[j], holder[k] = q, r, p


@jit
def may_hold(s, seat, card):
    return not s.void[seat, suit_of(card)]
