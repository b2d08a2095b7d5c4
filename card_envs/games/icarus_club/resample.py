"""Other deals that a seat can't tell from the true one."""

from __future__ import annotations

import numpy as np

from card_envs.games.icarus_club.rules import (
    suit_of,
)
from card_envs.games.icarus_club.state import (
    MAX_PILES,
    MAX_PLAYERS,
    NUM_CARDS,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, shuffle, split

EXCHANGES = 2  # tried per hidden card when a deal is redrawn


@jit
def resample(s, seat, rng):
    """Deals the cards that `seat` can't see anew: same hand sizes, no suit to a seat that was seen not to hold it.

    A first deal gives the cards in random order each to a random seat that may hold it, moving earlier ones where all
    such seats are full. That is uniform over all possible deals while no void is known; else random exchanges bring it
    there.
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
    hands = np.empty((MAX_PLAYERS, MAX_PILES), np.int64)
    size = np.zeros(MAX_PLAYERS, np.int64)
    bound = False
    for i in range(count):
        place_card(s, cards[i], hands, size, room, rng)
        for p in range(n):
            bound = bound or (room[p] > 0 and not may_hold(s, p, cards[i]))
    for _ in range(EXCHANGES * count if bound else 0):
        exchange_cards(s, hands, size, rng)
    for p in range(n):
        for k in range(size[p]):
            s.where[hands[p, k]] = p
    split(rng, s.rng)


@jit
def place_card(s, card, hands, size, room, rng):
    """Gives the card to a seat with room, moving cards along the shortest chain of seats where that is needed."""
    n = s.num_players
    total = 0
    for p in range(n):
        if may_hold(s, p, card):
            total += room[p] - size[p]
    if total > 0:
        pick = below(rng, total)
        for p in range(n):
            if may_hold(s, p, card):
                pick -= room[p] - size[p]
                if pick < 0:
                    hands[p, size[p]] = card
                    size[p] += 1
                    return
    # Breadth first from the full seats that may hold the card: seat p would get card slot[p] of seat giver[p].
    giver = np.full(MAX_PLAYERS, -1, np.int64)
    slot = np.zeros(MAX_PLAYERS, np.int64)
    queue = np.empty(MAX_PLAYERS, np.int64)
    head, tail = 0, 0
    for p in range(n):
        if may_hold(s, p, card) and room[p] > 0:
            giver[p] = p  # the chain begins here, with the card itself
            queue[tail] = p
            tail += 1
    while head < tail:
        full = queue[head]
        head += 1
        for k in range(size[full]):
            for p in range(n):
                if giver[p] < 0 and room[p] > 0 and may_hold(s, p, hands[full, k]):
                    giver[p], slot[p] = full, k
                    queue[tail] = p
                    tail += 1
                    if size[p] < room[p]:
                        size[p] += 1
                        pass_along(hands, size[p] - 1, p, giver, slot, card)
                        return


@jit
def pass_along(hands, at, seat, giver, slot, card):
    """Moves every card of the chain one seat on, the last to place `at` of `seat`; `card` fills the first gap."""
    while giver[seat] != seat:
        hands[seat, at] = hands[giver[seat], slot[seat]]
        seat, at = giver[seat], slot[seat]
    hands[seat, at] = card


@jit
def exchange_cards(s, hands, size, rng):
    """A walk: a random card of a random seat goes to another seat that may hold it, a random card of that one on, ...

    It takes place only if it comes back to its first seat before any other. A walk and its reverse are equally likely,
    so repeated ones make all deals equally likely.
    """
    seats = np.empty(MAX_PLAYERS, np.int64)
    slots = np.empty(MAX_PLAYERS, np.int64)
    first = below(rng, s.num_players)
    seat, length, visited = first, 0, 0
    while size[seat] > 0:
        seats[length], slots[length] = seat, below(rng, size[seat])
        visited |= 1 << seat
        seat = another_holder(s, seat, hands[seat, slots[length]], size, rng)
        length += 1
        if seat == first:
            card = hands[seats[length - 1], slots[length - 1]]
            for k in range(length - 1, 0, -1):
                hands[seats[k], slots[k]] = hands[seats[k - 1], slots[k - 1]]
            hands[first, slots[0]] = card
            return
        if seat < 0 or (visited >> seat) & 1:
            return


@jit
def another_holder(s, seat, card, size, rng):
    """A random other seat with hidden cards that may hold the card, -1 if there is none."""
    total = 0
    for p in range(s.num_players):
        total += p != seat and size[p] > 0 and may_hold(s, p, card)
    if total == 0:
        return -1
    pick = below(rng, total)
    for p in range(s.num_players):
        if p != seat and size[p] > 0 and may_hold(s, p, card):
            if pick == 0:
                return p
            pick -= 1
    return -1


@jit
def may_hold(s, seat, card):
    return not s.void[seat, suit_of(card)]
