"""Other decks that a seat can't tell from the true one."""

from __future__ import annotations

import numpy as np

from card_envs.games.micons.observation import top_trait
from card_envs.games.micons.rules import num_cards
from card_envs.games.micons.state import (
    ACTIVE,
    IN_DECK,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, shuffle, split


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


@jit
def is_unseen(s, card):
    return (s.where[card] == IN_DECK) | (card == s.starter)
