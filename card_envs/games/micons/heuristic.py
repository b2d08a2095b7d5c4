"""A hand-written player of Micons.

It holds its luck cards back, gets rid of cards that are hard to match, and looks one round ahead: which trait will lie
there when the turn comes back, and who can match on the way.
"""

from __future__ import annotations

import numpy as np

from card_envs.games.micons.observation import num_with, top_chance, top_trait
from card_envs.games.micons.rules import has, num_cards, trait_to_match
from card_envs.games.micons.state import ACCEPT, DRAW, DRAWN, KEEP, NUM_TRAITS, REJECT, VOTE
from card_envs.kernels.jit import jit
from card_envs.kernels.seats import left_of, seat_after

# What a card is worth to play, in chances to match on the next turn; found by measuring.
OTHER_WINS = 1.0
OTHER_PLAYS = 0.3
HARD_TO_MATCH = 0.05  # for every trait that the card lacks

NUM_OPINIONS = 8
PER_MATCH = 0.2  # brings a number of cards to about 0 to 1


@jit
def heuristic(s, mask, rng):
    words = num_cards(s)
    if s.phase == VOTE:
        return words + (ACCEPT if is_welcome(s) else REJECT)
    if s.phase == DRAWN:
        return words + KEEP if s.luck[s.drawn] else np.int64(s.drawn)
    card = best_card(s, mask, 0)
    if card < 0:
        card = best_card(s, mask, 1)
        if card < 0 or not luck_pays(s, card):
            return words + DRAW
    return card


@jit
def opinions(s, mask, rng, out):
    """Also what the look ahead says of every card that may be played, part by part, see `look_ahead`."""
    for card in range(num_cards(s)):
        if mask[card]:
            look_ahead(s, card, out[card])
    return heuristic(s, mask, rng)


@jit
def best_card(s, mask, luck):
    """The luck card, or other card, that is best to play; -1 for none."""
    best, best_value = -1, 0.0
    for card in range(num_cards(s)):
        if mask[card] and s.luck[card] == luck:
            value = value_of_playing(s, card)
            if best < 0 or value > best_value:
                best, best_value = card, value
    return best


@jit
def luck_pays(s, card):
    """A luck card instead of a draw: when the next player has nothing to follow with, or only luck cards are left."""
    if num_with(s, left_of(s, s.turn), s.back[card]) == 0 and not holds_luck(s, left_of(s, s.turn)):
        return True
    for other in range(num_cards(s)):
        if s.where[other] == s.turn and not s.luck[other]:
            return False
    return True


@jit
def is_welcome(s):
    """Another's argument is: it spoils what this seat, next to play, can't match, for something that it can."""
    return (
        s.num_players > 2
        and s.player == left_of(s, s.turn)
        and s.hand_size[s.turn] > 2
        and num_with(s, s.player, trait_to_match(s)) == 0
        and num_with(s, s.player, s.back[s.argued]) > 0
    )


@jit
def holds_luck(s, seat):
    for card in range(num_cards(s)):
        if s.where[card] == seat and s.luck[card]:
            return True
    return False


@jit
def value_of_playing(s, card):
    """Plays the round on in chances: who can match plays one of those cards at random, who can't draws the top card."""
    chance = np.zeros(NUM_TRAITS)  # that this trait lies there and nobody has won
    chance[s.back[card]] = 1.0
    value = 0.0
    for k in range(1, s.num_players):
        seat = seat_after(s, s.turn, k)
        after = np.zeros(NUM_TRAITS)
        for trait in range(NUM_TRAITS):
            if chance[trait] > 0.0:
                value -= play_on(s, seat, trait, chance[trait], after)
        chance = after
    for trait in range(NUM_TRAITS):
        if chance[trait] > 0.0:
            value += chance[trait] * can_follow_up(s, card, trait)
        value += HARD_TO_MATCH * (not has(s.traits[card], trait))
    return value


@jit
def look_ahead(s, card, out):
    """The same look one round ahead, its parts one by one.

    Into `out` (float32, (NUM_OPINIONS,)) go, for the next two players, what their turns cost us and how many cards they
    can match with; then the chance that we can follow up, how many cards with, whether it is a luck card, and the value
    of playing it.
    """
    chance = np.zeros(NUM_TRAITS)
    chance[s.back[card]] = 1.0
    for k in range(1, s.num_players):
        seat = (s.turn + k) % s.num_players
        after = np.zeros(NUM_TRAITS)
        costs, matching = 0.0, 0.0
        for trait in range(NUM_TRAITS):
            if chance[trait] > 0.0:
                costs += play_on(s, seat, trait, chance[trait], after)
                matching += chance[trait] * num_with(s, seat, trait)
        if k <= 2:
            out[2 * k - 2] = costs
            out[2 * k - 1] = matching * PER_MATCH
        chance = after
    for trait in range(NUM_TRAITS):
        if chance[trait] > 0.0:
            out[4] += chance[trait] * can_follow_up(s, card, trait)
            out[5] += chance[trait] * (num_with(s, s.turn, trait) - has(s.traits[card], trait)) * PER_MATCH
    out[6] = s.luck[card]
    out[7] = value_of_playing(s, card)


@jit
def can_follow_up(s, played, trait):
    for card in range(num_cards(s)):
        if card != played and s.where[card] == s.turn and has(s.traits[card], trait):
            return True
    return False


@jit
def play_on(s, seat, trait, chance, after):
    """Spreads the chance over the traits that lie there after this seat's turn; returns what the turn costs us."""
    matching = num_with(s, seat, trait)
    if s.hand_size[seat] == 1 and (matching or holds_luck(s, seat)):
        return OTHER_WINS * chance
    if matching == 0:
        drawn = top_chance(s, trait)
        after[trait] += chance * (1.0 - drawn)
        if drawn > 0.0:
            after[top_trait(s)] += chance * drawn
        return 0.0
    for card in range(num_cards(s)):
        if s.where[card] == seat and has(s.traits[card], trait):
            after[s.back[card]] += chance / matching
    return OTHER_PLAYS * chance
