"""What a seat of Icons may know: the observation, and other arrangements of the cards that look the same to it."""

from __future__ import annotations

import numpy as np

from card_envs.games.icons.rules import NOBODY, open_card, pile_place
from card_envs.games.icons.state import (
    AHEAD,
    CATEGORY,
    COPIES,
    MAX_GAIN,
    MAX_HAND,
    MAX_LEAD,
    MAX_PILE,
    MAX_PLAYERS,
    MAX_SCORE,
    MAX_SKIPS,
    NO_GOAL,
    NUM_CARDS,
    NUM_CATEGORIES,
    NUM_SETS,
    NUM_SLOTS,
    NUM_TYPES,
    PERFECT,
    PILE_NEXT,
    SET_CATEGORY,
    SET_ICON,
    SET_TOKEN,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, shuffle, split

SHARE_OF_COPIES = (1.0 / COPIES).astype(np.float32)


@jit
def observe(s, seat, at, out):
    n = s.num_players
    out[:] = 0.0
    out[at.phase + s.phase] = 1.0
    out[at.to_act + (s.player - seat) % n] = 1.0
    out[at.in_turn + (s.turn - seat) % n] = 1.0
    show_counts(s.hand[seat], out[at.hand :])
    show_counts(s.discards, out[at.discards :])
    out[at.pile_size] = s.pile_size / MAX_PILE
    out[at.turns] = s.turns / s.max_turns
    if s.turns_left >= 0:
        out[at.last_round] = 1.0
    observe_seats(s, seat, at, out)
    observe_sets(s, seat, at, out)
    observe_play(s, seat, at, out)
    if s.memory == PERFECT:
        observe_hidden_cards(s, seat, at, out)


@jit
def sees_slot(s, seat, k):
    """Whether the observation of `seat` shows the card in slot k."""
    return s.slot[k] >= 0 and (k == s.flipped or (s.memory == PERFECT and s.slot_known[seat, k] == 1))


@jit
def show_counts(counts, out):
    """Cards of each type as a share of the copies in the game."""
    for card in range(NUM_TYPES):
        out[card] = counts[card] * SHARE_OF_COPIES[card]


@jit
def observe_seats(s, seat, at, out):
    n = s.num_players
    for k in range(n):
        other = (seat + k) % n
        out[at.hand_size + k] = min(s.hand_size[other] / MAX_HAND, 1.0)
        out[at.score + k] = min(s.score[other] / MAX_SCORE, 1.0)
        out[at.skips + k] = min(s.skips[other] / MAX_SKIPS, 1.0)
        if s.goal != NO_GOAL:
            out[at.missing + k] = max(s.goal - s.score[other], 0) / s.goal
        if k > 0:
            lead = min(max(s.score[seat] - s.score[other], -MAX_LEAD), MAX_LEAD)
            out[at.lead + k - 1] = (lead + MAX_LEAD) / (2 * MAX_LEAD)
        if turn_to_come(s, other):
            out[at.turn_to_come + k] = 1.0
        categories = categories_of(s, other)
        for category in range(NUM_CATEGORIES):
            i = k * NUM_CATEGORIES + category
            count = s.tokens[other, category]
            out[at.tokens + i] = count / 9
            out[at.gain + i] = gain(count, categories) / MAX_GAIN
            out[at.loss + i] = gain(count - 1, categories - (count == 1)) / MAX_GAIN if count > 0 else 0.0


@jit
def turn_to_come(s, seat):
    """E3: whether the seat still has a turn in the last round."""
    steps = (seat - s.turn) % s.num_players
    if steps == 0:
        steps += s.num_players
    return s.turns_left >= steps and s.skips[seat] == 0


@jit
def categories_of(s, seat):
    """The number of categories of which the seat has tokens."""
    count = 0
    for category in range(NUM_CATEGORIES):
        if s.tokens[seat, category] > 0:
            count += 1
    return count


@jit
def gain(count, categories):
    """P1-P3: the points of one more token of a category, with `count` of it and tokens of `categories` in all."""
    if count == 0:
        return 6 if categories == NUM_CATEGORIES - 1 else 1
    return 3 if count == 1 else 2


@jit
def observe_sets(s, seat, at, out):
    """The bank, and what sets are worth to the observer with it and without."""
    hand = s.hand[seat]
    flipped = open_card(s)
    if s.flipped >= 0:
        out[at.flipped_slot + s.flipped] = 1.0
        out[at.flipped_card + flipped] = 1.0
    best_with = np.zeros(NUM_TYPES, np.float32)  # the best set of a card with one in hand
    for i in range(NUM_SETS):
        icon, category = SET_ICON[i], SET_CATEGORY[i]
        worth = out[at.gain + SET_TOKEN[i]]
        if hand[icon] > 0:
            best_with[category] = max(best_with[category], worth)
            if hand[category] > 0:
                out[at.set_points + i] = worth
            if flipped == category:
                out[at.bank_set_points + i] = worth
        if hand[category] > 0:
            best_with[icon] = max(best_with[icon], worth)
            if flipped == icon:
                out[at.bank_set_points + i] = worth
    for k in range(NUM_SLOTS):
        if s.slot[k] < 0:
            out[at.slot_empty + k] = 1.0
        elif k == s.flipped or (s.memory == PERFECT and s.slot_known[seat, k]):
            out[at.slot_card + k * NUM_TYPES + s.slot[k]] = 1.0
            out[at.slot_points + k] = best_with[s.slot[k]]


@jit
def observe_play(s, seat, at, out):
    """The play that is being asked in parts."""
    n = s.num_players
    if s.played >= 0:
        out[at.played + s.played - AHEAD] = 1.0
    if s.torch_with >= 0:
        out[at.torch_with + s.torch_with - CATEGORY] = 1.0
    if s.target >= 0:
        out[at.target + (s.target - seat) % n] = 1.0
    if s.offered >= 0:
        out[at.offered + s.offered] = 1.0
    if s.given >= 0 and s.memory == PERFECT and (seat == s.turn or seat == s.target):
        out[at.given + s.given] = 1.0
    if s.chosen[seat] >= 0:
        out[at.chosen + s.chosen[seat]] = 1.0
    for k in range(n):
        if s.chosen[(seat + k) % n] >= 0:
            out[at.has_chosen + k] = 1.0


@jit
def observe_hidden_cards(s, seat, at, out):
    """K: other hands, and the cards that the observer put under the pile."""
    n = s.num_players
    unseen = np.empty(NUM_TYPES, np.int64)
    count_unseen(s, seat, unseen)
    for k in range(1, n):
        other = (seat + k) % n
        at_least, at_most = s.at_least[seat, other], s.at_most[seat, other]
        show_counts(at_least, out[at.at_least + (k - 1) * NUM_TYPES :])
        show_counts(at_most, out[at.at_most + (k - 1) * NUM_TYPES :])
        for card in range(NUM_TYPES):
            unseen[card] -= at_least[card]
    show_counts(unseen, out[at.unseen :])
    for i in range(cards_dealt_in_pile(s), s.pile_size):
        place = pile_place(s, i)
        if s.pile_by[place] == seat:
            out[at.pile_own + i] = (s.pile[place] + 1) / NUM_TYPES
            if i < PILE_NEXT:
                out[at.pile_next + i * NUM_TYPES + s.pile[place]] = 1.0


@jit
def cards_dealt_in_pile(s):
    """How many cards of the deal are left in the pile; those that players put there lie below them."""
    depth = s.pile_size
    while depth > 0 and s.pile_by[pile_place(s, depth - 1)] != NOBODY:
        depth -= 1
    return depth


@jit
def count_unseen(s, seat, unseen):
    """Counts the cards of each type in other hands, and those in the bank and the pile that `seat` does not know."""
    for card in range(NUM_TYPES):
        unseen[card] = COPIES[card] - s.hand[seat, card] - s.discards[card]
    for k in range(NUM_SLOTS):
        if s.slot[k] >= 0 and s.slot_known[seat, k]:
            unseen[s.slot[k]] -= 1
    for i in range(cards_dealt_in_pile(s), s.pile_size):
        place = pile_place(s, i)
        if s.pile_by[place] == seat:
            unseen[s.pile[place]] -= 1


# --- other arrangements ---------------------------------------------------------------------------------------------

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
            s.at_most[observer] = s.at_most[n]
