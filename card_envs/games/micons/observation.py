"""What a seat of Micons may know: the observation, and other decks that look the same to it.

All cards but those of the deck lie open, so every seat knows the same. The first active card was laid down trait side
up: its object is as unknown as those of the deck until every other card has been seen.
"""

from __future__ import annotations

import numpy as np

from card_envs.games.micons.rules import can_be_argued, counted, has, matches, num_cards, trait_to_match
from card_envs.games.micons.state import (
    ACCEPTED,
    ACTIVE,
    BENEATH,
    DRAWN,
    IN_DECK,
    MAX_COUNT,
    MAX_PLAYERS,
    NUM_TRAITS,
    REJECTED,
    VOTE,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, shuffle, split
from card_envs.kernels.state import RUNNING


@jit
def steps_to(s, seat, other):
    """How many seats clockwise from `seat` the other one sits."""
    steps = np.int64(other) - seat
    return steps if steps >= 0 else steps + s.num_players


@jit
def is_unseen(s, card):
    return s.where[card] == IN_DECK or card == s.starter


@jit
def traits_held(s, seat):
    """The traits that a card in front of this seat has without an argument."""
    held = np.uint32(0)
    for card in range(num_cards(s)):
        if s.where[card] == seat:
            held |= counted(s, card)
    return held


@jit
def top_trait(s):
    """The trait on the deck's top card, -1 without a deck."""
    return np.int64(s.back[s.deck[s.deck_size - 1]]) if s.deck_size > 0 else -1


@jit
def top_chance(s, trait):
    """The share of the cards that may be the deck's top card that have the trait without an argument."""
    shown = top_trait(s)
    possible, good = 0, 0
    for card in range(num_cards(s)):
        if is_unseen(s, card) and s.back[card] == shown:
            possible += 1
            good += has(counted(s, card), trait)
    return good / possible if possible else 0.0


@jit
def observe(s, seat, at, out):
    out[:] = 0.0
    out[at.phase + s.phase] = 1.0
    out[at.to_act + steps_to(s, seat, s.player)] = 1.0
    out[at.turn + steps_to(s, seat, s.turn)] = 1.0
    observe_cards(s, seat, at, out)
    observe_traits(s, seat, at, out)
    observe_own_cards(s, seat, at, out)
    observe_question(s, seat, at, out)
    observe_counts(s, seat, at, out)


@jit
def observe_cards(s, seat, at, out):
    cards = num_cards(s)
    for card in range(cards):
        place = s.where[card]
        if place < MAX_PLAYERS:
            out[at.hands + steps_to(s, seat, place) * cards + card] = 1.0
        elif is_unseen(s, card):
            out[at.unseen + card] = 1.0
        elif place == BENEATH:
            out[at.beneath + card] = 1.0
        elif place == ACTIVE:
            out[at.active_card + card] = 1.0


@jit
def observe_traits(s, seat, at, out):
    out[at.active_trait + trait_to_match(s)] = 1.0
    if s.deck_size > 0:
        out[at.top_trait + top_trait(s)] = 1.0
        out[at.top_match] = top_chance(s, trait_to_match(s))
    if s.starter >= 0:
        out[at.starter_trait + s.back[s.starter]] = 1.0
    for k in range(s.num_players):
        held = traits_held(s, (seat + k) % s.num_players)
        for trait in range(NUM_TRAITS):
            out[at.hand_traits + k * NUM_TRAITS + trait] = has(held, trait)


@jit
def observe_own_cards(s, seat, at, out):
    """Needs `hand_traits`, which tells what the opponents could match."""
    cards = num_cards(s)
    for card in range(cards):
        if s.where[card] == seat:
            out[at.matches + card] = matches(s, card)
            out[at.arguable + card] = can_be_argued(s, card)
            for k in range(1, s.num_players):
                if out[at.hand_traits + k * NUM_TRAITS + s.back[card]] > 0.0:
                    out[at.followed + (k - 1) * cards + card] = 1.0
        out[at.rejected + card] = s.rejected[card]


@jit
def observe_question(s, seat, at, out):
    if s.end != RUNNING:
        return
    if s.phase == DRAWN:
        out[at.in_question + s.drawn] = 1.0
        out[at.was_drawn] = 1.0
    elif s.phase == VOTE:
        out[at.in_question + s.argued] = 1.0
        out[at.was_drawn] = s.drawn >= 0
        for k in range(s.num_players):
            answer = s.votes[(seat + k) % s.num_players]
            out[at.votes + 2 * k] = answer == ACCEPTED
            out[at.votes + 2 * k + 1] = answer == REJECTED


@jit
def observe_counts(s, seat, at, out):
    n, cards = s.num_players, num_cards(s)
    for k in range(n):
        size = s.hand_size[(seat + k) % n]
        out[at.hand_size + k] = size / cards
        if size > 0:
            out[at.hand_count + k * MAX_COUNT + min(size, MAX_COUNT) - 1] = 1.0
    out[at.deck_size] = s.deck_size / cards
    out[at.beneath_size] = s.num_beneath / cards
    out[at.passes] = s.passes / n
    out[at.turns] = s.turns / s.max_turns


# --- other decks ------------------------------------------------------------------------------------------------------


@jit
def resample(s, seat, rng):
    """Draws the deck's order, and the first active card while it is unknown, anew: the traits that lie open stay.

    The number of cards that may lie on top does not depend on which card the first active one is, so choosing one after
    the other is uniform over all arrangements.
    """
    unseen = np.empty(num_cards(s), np.int64)
    count = 0
    for card in range(num_cards(s)):
        if is_unseen(s, card):
            unseen[count] = card
            count += 1
    shuffle(rng, unseen, count)
    shown = top_trait(s)
    if s.starter >= 0:
        count = set_aside(s, unseen, count, s.back[s.starter], rng)
        place = s.where[s.starter]
        s.starter = unseen[count]
        s.where[s.starter] = place
        if place == ACTIVE:
            s.active = s.starter
    if count > 0:
        count = set_aside(s, unseen, count, shown, rng)
        for i in range(count + 1):  # the card set aside for the top is the last one
            s.deck[i] = unseen[i]
            s.where[unseen[i]] = IN_DECK
    split(rng, s.rng)


@jit
def set_aside(s, cards, count, trait, rng):
    """Moves a random one of the first `count` cards that has this trait on its back to their end; returns count - 1."""
    possible = 0
    for i in range(count):
        possible += s.back[cards[i]] == trait
    chosen = below(rng, possible)
    for i in range(count):
        if s.back[cards[i]] == trait:
            if chosen == 0:
                cards[i], cards[count - 1] = cards[count - 1], cards[i]
                break
            chosen -= 1
    return count - 1
