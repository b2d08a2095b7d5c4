"""What a seat of Micons may know: the observation, and other decks that look the same to it.

All cards but those of the deck lie open, so every seat knows the same. The first active card was laid down trait side
up: its object is as unknown as those of the deck until every other card has been seen.
"""

from __future__ import annotations

import numpy as np

from card_envs.games.micons.rules import can_be_argued, can_play, has, matches, num_cards, trait_to_match
from card_envs.games.micons.state import (
    ACCEPTED,
    BY_VOTE,
    CARD_OPTION,
    DRAWN,
    IN_DECK,
    MAX_COUNT,
    NUM_TRAITS,
    PLAY,
    REJECTED,
    VOTE,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.seats import left_of, steps_to
from card_envs.kernels.state import RUNNING


@jit
def traits_held(s, seat):
    """The traits that a card in front of this seat has without an argument."""
    where, traits = s.where, s.traits
    held = np.uint32(0)
    for card in range(num_cards(s)):
        held |= traits[card] * np.uint32(where[card] == seat)
    return held


@jit
def num_with(s, seat, trait):
    """How many cards in front of this seat have the trait without an argument."""
    where, traits = s.where, s.traits
    count = 0
    for card in range(num_cards(s)):
        count += (where[card] == seat) & has(traits[card], trait)
    return count


@jit
def top_trait(s):
    """The trait on the deck's top card, -1 without a deck."""
    return np.int64(s.back[s.deck[s.deck_size - 1]]) if s.deck_size > 0 else -1


@jit
def top_chance(s, trait):
    """The share of the cards that may be the deck's top card that have the trait without an argument."""
    where, back, traits, shown, starter = s.where, s.back, s.traits, top_trait(s), s.starter
    possible, good = 0, 0
    for card in range(num_cards(s)):
        may_be = ((where[card] == IN_DECK) | (card == starter)) & (back[card] == shown)
        possible += may_be
        good += may_be & has(traits[card], trait)
    return good / max(possible, 1)


# Loops over cards run without branches over arrays of fixed length: the compiler takes many cards at once.


@jit
def observe(s, seat, at, out):
    out[:] = 0.0
    out[at.phase + s.phase] = 1.0
    out[at.to_act + steps_to(s, seat, s.player)] = 1.0
    out[at.turn + steps_to(s, seat, s.turn)] = 1.0
    observe_cards(s, at, out)
    observe_traits(s, at, out)
    observe_hands(s, seat, at, out)
    if s.end == RUNNING:
        if s.player == seat and s.phase != VOTE:
            observe_options(s, seat, at, out)
        observe_question(s, seat, at, out)


@jit
def observe_cards(s, at, out):
    cards, where = num_cards(s), s.where
    unseen = out[at.unseen : at.unseen + cards]
    for card in range(cards):
        unseen[card] = where[card] == IN_DECK
    if s.starter >= 0:
        unseen[s.starter] = 1.0
    out[at.active_card + s.active] = s.active != s.starter
    per_card = 1.0 / cards
    out[at.deck_size] = s.deck_size * per_card
    out[at.beneath_size] = s.num_beneath * per_card
    out[at.passes] = s.passes / s.num_players
    out[at.turns] = s.turns / s.max_turns


@jit
def observe_traits(s, at, out):
    out[at.active_trait + trait_to_match(s)] = 1.0
    if s.deck_size > 0:
        out[at.top_trait + top_trait(s)] = 1.0
        out[at.top_match] = top_chance(s, trait_to_match(s))
    if s.starter >= 0:
        out[at.starter_trait + s.back[s.starter]] = 1.0


@jit
def observe_hands(s, seat, at, out):
    cards, where, trait = num_cards(s), s.where, trait_to_match(s)
    per_card = 1.0 / cards
    other = seat
    for k in range(s.num_players):
        hand = out[at.hands + k * cards : at.hands + (k + 1) * cards]
        for card in range(cards):
            hand[card] = where[card] == other
        held = traits_held(s, other)
        row = out[at.hand_traits + k * NUM_TRAITS : at.hand_traits + (k + 1) * NUM_TRAITS]
        for bit in range(NUM_TRAITS):
            row[bit] = has(held, bit)
        out[at.can_match + k] = row[trait]
        size = np.int64(s.hand_size[other])
        out[at.hand_size + k] = size * per_card
        if size > 0:
            out[at.hand_count + k * MAX_COUNT + min(size, MAX_COUNT) - 1] = 1.0
        other = left_of(s, other)


@jit
def observe_options(s, seat, at, out):
    """What playing each of the observer's cards would do."""
    if s.phase == DRAWN:
        observe_option(s, seat, np.int64(s.drawn), at, out)
        return
    for card in range(num_cards(s)):
        if (s.where[card] == seat) & can_play(s, card):
            observe_option(s, seat, card, at, out)


@jit
def observe_option(s, seat, card, at, out):
    """Needs `hand_traits`, which tells what the opponents could match."""
    trait = np.int64(s.back[card])
    others = s.hand_size[seat] - 1
    fitting = num_with(s, seat, trait) - has(s.traits[card], trait)
    after = 0.0
    for k in range(2, s.num_players):
        after += out[at.hand_traits + k * NUM_TRAITS + trait]
    i = at.card_options + card * CARD_OPTION
    out[i] = 1.0
    out[i + 1] = 1.0 if matches(s, card) else 0.5 if can_be_argued(s, card) else 0.0
    out[i + 2] = fitting / max(others, 1)
    out[i + 3] = out[at.hand_traits + NUM_TRAITS + trait]
    out[i + 4] = after / max(s.num_players - 2, 1)


@jit
def observe_question(s, seat, at, out):
    if s.judging == BY_VOTE:
        cards, rejected = num_cards(s), s.rejected
        in_question = out[at.in_question : at.in_question + cards]
        for card in range(cards):
            in_question[card] = rejected[card] * 0.5
    if s.phase == PLAY:
        return
    question = s.drawn if s.phase == DRAWN else s.argued
    out[at.in_question + question] = 1.0
    out[at.was_drawn] = s.drawn >= 0
    for k in range(s.num_players):
        out[at.can_follow + k] = out[at.hand_traits + k * NUM_TRAITS + s.back[question]]
    if s.phase == VOTE:
        voter = seat
        for k in range(s.num_players):
            out[at.votes + 2 * k] = s.votes[voter] == ACCEPTED
            out[at.votes + 2 * k + 1] = s.votes[voter] == REJECTED
            voter = left_of(s, voter)
