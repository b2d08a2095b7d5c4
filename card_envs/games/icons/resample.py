"""Other arrangements of hands, bank and pile that a seat can't tell from the true one."""

from __future__ import annotations

import numpy as np

from card_envs.games.icons.observation import count_unseen
from card_envs.games.icons.rules import pile_place
from card_envs.games.icons.state import (
    MAX_PLAYERS,
    NUM_CARDS,
    NUM_SLOTS,
    NUM_TYPES,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, shuffle, split

REST = MAX_PLAYERS  # where cards go that are in no hand: the bank and the pile


@jit
def resample(s, seat, rng):
    """Arranges the cards that `seat` can't see anew, within what it knows of every hand.

    The cards that a hand surely holds stay there. All others go in random order to places with room that may hold
    them, moving earlier ones where all such places are full; exchanges then bring this near the uniform distribution
    over all arrangements. What the other players know of hands is reduced to what everybody knows.
    """
    n = s.num_players
    held = np.zeros((MAX_PLAYERS + 1, NUM_TYPES), np.int64)  # cards at each place
    most = np.full((MAX_PLAYERS + 1, NUM_TYPES), NUM_CARDS, np.int64)
    room = np.zeros(MAX_PLAYERS + 1, np.int64)
    unseen = np.empty(NUM_TYPES, np.int64)
    count_unseen(s, seat, unseen)
    count = 0
    for card in range(NUM_TYPES):
        count += unseen[card]
    room[REST] = count
    for other in range(n):
        if other != seat:
            room[other] = s.hand_size[other]
            room[REST] -= s.hand_size[other]
            for card in range(NUM_TYPES):
                sure = s.at_least[seat, other, card]
                held[other, card] = sure
                most[other, card] = s.at_most[seat, other, card]
                room[other] -= sure
                unseen[card] -= sure
                count -= sure
    cards = np.empty(count, np.int64)
    i = 0
    for card in range(NUM_TYPES):
        for _ in range(unseen[card]):
            cards[i] = card
            i += 1
    shuffle(rng, cards, count)
    place_of = np.full(count, -1, np.int64)
    for i in range(count):
        place_card(cards, place_of, held, most, room, i, rng)
    mix_places(cards, place_of, held, most, count, rng)
    lay_out(s, seat, cards, place_of, held, count, rng)
    share_public_knowledge(s, seat)
    split(rng, s.rng)


@jit
def place_card(cards, place_of, held, most, room, i, rng):
    """Puts card i where there is room, moving earlier cards along the shortest chain of places where that is needed."""
    card = cards[i]
    total = 0
    for place in range(MAX_PLAYERS + 1):
        if held[place, card] < most[place, card]:
            total += room[place]
    if total > 0:
        pick = below(rng, total)
        for place in range(MAX_PLAYERS + 1):
            if held[place, card] < most[place, card]:
                pick -= room[place]
                if pick < 0:
                    place_of[i] = place
                    held[place, card] += 1
                    room[place] -= 1
                    return
    # Breadth first over the full places that may hold the card: card via[p] would move to place p.
    via = np.full(MAX_PLAYERS + 1, -1, np.int64)
    queue = np.empty(MAX_PLAYERS + 1, np.int64)
    head, tail = 0, 0
    for place in range(MAX_PLAYERS + 1):
        if held[place, card] < most[place, card]:
            via[place] = i
            queue[tail] = place
            tail += 1
    while head < tail:
        full = queue[head]
        head += 1
        for j in range(i):
            if place_of[j] == full:
                for place in range(MAX_PLAYERS + 1):
                    if via[place] < 0 and held[place, cards[j]] < most[place, cards[j]]:
                        via[place] = j
                        queue[tail] = place
                        tail += 1
                        if room[place] > 0:
                            room[place] -= 1
                            move_chain(cards, place_of, held, via, i, place)
                            return


@jit
def move_chain(cards, place_of, held, via, i, place):
    """Moves every card of the chain that ends at `place` one place on; the chain began with card i."""
    while True:
        mover = via[place]
        before = place_of[mover]
        place_of[mover] = place
        held[place, cards[mover]] += 1
        if mover == i:
            return
        held[before, cards[mover]] -= 1
        place = before


@jit
def mix_places(cards, place_of, held, most, count, rng):
    if count < 2:
        return
    for _ in range(2 * count):
        i, j, k = below(rng, count), below(rng, count), below(rng, count)
        p, q, r = place_of[i], place_of[j], place_of[k]
        if below(rng, 2):
            if p != q and may_take(cards, held, most, q, i, j) and may_take(cards, held, most, p, j, i):
                move_card(cards, place_of, held, i, q)
                move_card(cards, place_of, held, j, p)
        elif (
            (p != q and q != r and p != r)
            and may_take(cards, held, most, q, i, j)
            and may_take(cards, held, most, r, j, k)
            and may_take(cards, held, most, p, k, i)
        ):
            move_card(cards, place_of, held, i, q)
            move_card(cards, place_of, held, j, r)
            move_card(cards, place_of, held, k, p)


@jit
def may_take(cards, held, most, place, i, instead):
    """Whether a place may hold card i in exchange for the card `instead` that it gives away."""
    return cards[i] == cards[instead] or held[place, cards[i]] < most[place, cards[i]]


@jit
def move_card(cards, place_of, held, i, place):
    held[place_of[i], cards[i]] -= 1
    held[place, cards[i]] += 1
    place_of[i] = place


@jit
def lay_out(s, seat, cards, place_of, held, count, rng):
    """Writes the arrangement into the state: hands, cards chosen or given from them, the bank, the pile."""
    for other in range(s.num_players):
        if other != seat:
            for card in range(NUM_TYPES):
                s.hand[other, card] = held[other, card]
            if s.chosen[other] >= 0:
                s.chosen[other] = random_card(s, other, rng)
    if s.given >= 0 and seat != s.turn and seat != s.target:
        s.given = random_card(s, s.target, rng)
    rest = 0
    for i in range(count):
        if place_of[i] == REST:
            cards[rest] = cards[i]
            rest += 1
    shuffle(rng, cards, rest)
    for k in range(NUM_SLOTS):
        if s.slot[k] >= 0 and not s.slot_known[seat, k]:
            rest -= 1
            s.slot[k] = cards[rest]
    for i in range(s.pile_size):
        place = pile_place(s, i)
        if s.pile_by[place] != seat:
            rest -= 1
            s.pile[place] = cards[rest]


@jit
def random_card(s, seat, rng):
    """A random card of the seat's hand."""
    pick = below(rng, s.hand_size[seat])
    for card in range(NUM_TYPES):
        pick -= s.hand[seat, card]
        if pick < 0:
            return card
    return -1


@jit
def share_public_knowledge(s, seat):
    """Replaces what the other seats know of hands, which `seat` can't know, by what everybody knows."""
    n = s.num_players
    for observer in range(n):
        if observer != seat:
            s.at_least[observer] = s.at_least[n]
            s.at_least[observer, observer] = 0
            s.at_most[observer] = s.at_most[n]
