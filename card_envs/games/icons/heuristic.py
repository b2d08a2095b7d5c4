"""A hand-written player of Icons.

It remembers the Memory Bank and every card it saw, plays sets as they come, steals and trades tokens when that
pays, and turns what harms others against the players closest to winning. Values are in points.
"""

from __future__ import annotations

import numpy as np

from card_envs.games.icons.observation import count_unseen
from card_envs.games.icons.rules import seat_after
from card_envs.games.icons.state import (
    AHEAD,
    BANK_CARD,
    BANK_SET,
    BARRIER,
    CARD,
    CARD_ASK,
    CATEGORY,
    END_TURN,
    FAVOR,
    FLIP,
    ICON_YOU,
    MAX_PLAYERS,
    NUM_CATEGORIES,
    NUM_SETS,
    NUM_TYPES,
    OPPONENT,
    OPPONENT_1,
    PLAY,
    PLAY_CARD,
    PLAY_SET,
    SET_CATEGORY,
    SET_ICON,
    SET_TOKEN,
    SHARE,
    SLOT_1,
    TOKEN,
    TOKEN_GIVE,
    TOKEN_TAKE,
    TORCH,
    WILD,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below

NONE = -1
ANYBODY = -1
WIN = 100.0
# What tokens of so many categories promise beyond their points, on the way to all five.
PROMISE = np.array([0.0, 0.6, 1.4, 2.4, 3.6, 3.6], np.float64)
# What a card of each type is worth in hand, by itself.
CARD_WORTH = np.array([0.5] * 5 + [1.2] + [0.9] * 5 + [1.5] + [0.8, 0.1, 0.9, 0.15, 0.6, 1.2], np.float64)
SAVED_CARD = 1.2  # what it is worth to play the open card in place of one from hand


@jit
def heuristic(s, mask, rng):
    """The best legal action by value; among equals, one at random."""
    gain = np.empty(NUM_CATEGORIES, np.float64)
    swap = np.empty((NUM_CATEGORIES + 1, MAX_PLAYERS, NUM_CATEGORIES), np.float64)
    unseen = np.empty(NUM_TYPES, np.int64)
    judge_tokens(s, gain, swap)
    hidden = count_hidden(s, s.player, unseen) if s.player == s.turn else 0
    best, best_value, ties = -1, -1e9, 0
    for action in range(mask.shape[0]):
        if mask[action]:
            if s.phase == FLIP:
                value = value_of_slot(s, action - SLOT_1, gain, swap, unseen, hidden)
            elif s.phase == PLAY:
                value = value_of_play(s, action, gain, swap, unseen, hidden)
            elif s.phase == OPPONENT:
                value = value_of_opponent(
                    s, seat_after(s, s.player, action - OPPONENT_1 + 1), gain, swap, unseen, hidden
                )
            elif s.phase == CARD_ASK:
                value = value_of_asking(s, s.target, action - CARD, gain, swap, unseen, hidden)
            elif s.phase == TOKEN_GIVE:
                value = best_swap(s, swap[1 + action - TOKEN], ANYBODY, WILD)
            elif s.phase == TOKEN_TAKE:
                value = swap[1 + s.offered, s.target, action - TOKEN]
            else:  # give, return, pass or put away the card that is worth least
                value = -worth_in_hand(s, s.player, action - CARD, gain)
            if value > best_value:
                best, best_value, ties = action, value, 1
            elif value == best_value:
                ties += 1
                if below(rng, ties) == 0:
                    best = action
    return best


# --- tokens ---------------------------------------------------------------------------------------------------------


@jit
def standing(s, seat, more, less):
    """What a seat's tokens are worth with one more of category `more` and one less of `less` (NONE for none)."""
    score, categories = 0, 0
    for category in range(NUM_CATEGORIES):
        count = s.tokens[seat, category]
        if category == more:
            count += 1
        if category == less:
            count -= 1
        if count > 0:
            categories += 1
            score += count if count == 1 else 2 * count
    if categories == NUM_CATEGORIES:
        score += 5
    if score >= s.goal:
        return WIN
    if s.turns_left == 0:
        return np.float64(score)
    return score + PROMISE[categories]


@jit
def threat(s, seat):
    """How much a point of this opponent counts against a point of one's own."""
    ahead = 0
    for other in range(s.num_players):
        if other != s.turn and s.score[other] > s.score[seat]:
            ahead += 1
    if s.goal - s.score[seat] <= 6:
        return 0.8
    return 0.6 if ahead == 0 else 0.15


@jit
def judge_tokens(s, gain, swap):
    """Values what can be done with tokens.

    `gain[c]` is what a token of category c is worth to the player to act. `swap[1 + own, seat, theirs]` is what a swap
    (A5) is worth to the player in turn, `swap[0, seat, theirs]` a theft (A6); -WIN where it can't be done.
    """
    now = np.empty(MAX_PLAYERS, np.float64)
    for seat in range(s.num_players):
        now[seat] = standing(s, seat, NONE, NONE)
    for c in range(NUM_CATEGORIES):
        gain[c] = standing(s, s.player, c, NONE) - now[s.player]
    swap[:] = -WIN
    may_trade = s.phase == FLIP or s.phase == PLAY or s.played == BARRIER
    for seat in range(s.num_players if s.player == s.turn else 0):
        against = threat(s, seat)
        for own in range(NONE, NUM_CATEGORIES if may_trade else 0):
            for theirs in range(NUM_CATEGORIES):
                possible = s.tokens[seat, theirs] > 0 and (own == NONE or s.tokens[s.turn, own] > 0)
                if possible and seat != s.turn:
                    won = standing(s, s.turn, theirs, own) - now[s.turn]
                    lost = now[seat] - standing(s, seat, own, theirs)
                    swap[1 + own, seat, theirs] = won + against * lost


@jit
def best_swap(s, values, seat, card):
    """The best in a part of `swap`: from the seat, or ANYBODY, of the category that a Category card stands for."""
    best = -WIN
    for other in range(s.num_players):
        if other == seat or seat == ANYBODY:
            for category in range(NUM_CATEGORIES):
                if card == WILD or card == CATEGORY + category:
                    best = max(best, values[other, category])
    return best


@jit
def best_trade(s, swap):
    best = -WIN
    for own in range(NUM_CATEGORIES):
        best = max(best, best_swap(s, swap[1 + own], ANYBODY, WILD))
    return best


# --- cards ----------------------------------------------------------------------------------------------------------


@jit
def count_hidden(s, seat, unseen):
    """Fills in the cards of each type that may be anywhere, and returns how many there are."""
    count_unseen(s, seat, unseen)
    hidden = 0
    for card in range(NUM_TYPES):
        for other in range(s.num_players):
            if other != seat:
                unseen[card] -= s.at_least[seat, other, card]
        hidden += unseen[card]
    return hidden


@jit
def worth_in_hand(s, seat, card, gain):
    """What a card is worth to keep: more with partners in the hand, less with others of its type."""
    worth = CARD_WORTH[card]
    hand = s.hand[seat]
    if card == ICON_YOU:
        partners = hand[WILD]
        for c in range(NUM_CATEGORIES):
            partners += hand[CATEGORY + c]
        worth += (0.55 if partners >= hand[card] else 0.15) * 2.0
    elif card < ICON_YOU:
        partners = hand[CATEGORY + card] + hand[WILD]
        worth += (0.55 if partners >= hand[card] else 0.15) * gain[card] - 0.2 * (hand[card] - 1)
    elif card < WILD:
        c = card - CATEGORY
        partners = hand[c] + hand[ICON_YOU] + hand[TORCH]
        worth += (0.6 if partners >= hand[card] else 0.2) * gain[c] - 0.2 * (hand[card] - 1)
    elif card == WILD:
        worth += 1.0
    return worth


@jit
def best_set_with(s, seat, card, gain):
    """The most that a set of this card and one in hand brings; 0 if there is none."""
    best = 0.0
    for i in range(NUM_SETS):
        icon, category = SET_ICON[i], SET_CATEGORY[i]
        if (card == icon and s.hand[seat, category] > 0) or (card == category and s.hand[seat, icon] > 0):
            partner = category if card == icon else icon
            best = max(best, gain[SET_TOKEN[i]] - 0.5 * CARD_WORTH[partner])
    return best


@jit
def value_of_open(s, card, gain, swap):
    """What the card is worth lying open in the bank, to the player in turn."""
    seat = s.turn
    value = best_set_with(s, seat, card, gain)
    for partner in range(CATEGORY, WILD + 1):  # A6, with one of its two cards from hand
        if card == partner and s.hand[seat, TORCH] > 0:
            value = max(value, best_swap(s, swap[0], ANYBODY, partner) - 0.5 * CARD_WORTH[TORCH])
        elif card == TORCH and s.hand[seat, partner] > 0:
            value = max(value, best_swap(s, swap[0], ANYBODY, partner) - 0.5 * CARD_WORTH[partner])
    if card == BARRIER:
        value = max(value, best_trade(s, swap) if s.tokens[seat].sum() > 0 else 0.0)
    elif card in (AHEAD, SHARE):
        value = CARD_WORTH[card]
    if s.hand[seat, card] > 0 and value > 0.0:  # one of these in hand does the same: the bank only saves it
        value = min(value, CARD_WORTH[card] + 0.3)
    return value


@jit
def value_of_slot(s, k, gain, swap, unseen, hidden):
    """What flipping a slot promises: its card if it is known, else the average of all that it may be."""
    known = s.slot_known[s.player, k] == 1
    if not known and hidden == 0:
        return 0.0
    value = 0.0 if known else 0.05
    for card in range(NUM_TYPES):
        share = np.float64(card == s.slot[k]) if known else unseen[card] / hidden
        if share > 0.0:
            value += share * value_of_open(s, card, gain, swap)
    return value


@jit
def chance_to_hold(s, seat, card, unseen, hidden):
    """The chance that an opponent holds a card of this type."""
    me = s.player
    if s.at_least[me, seat, card] > 0:
        return 1.0
    if s.at_most[me, seat, card] == 0 or hidden == 0:
        return 0.0
    free = np.int64(s.hand_size[seat])
    for other in range(NUM_TYPES):
        free -= s.at_least[me, seat, other]
    return 1.0 - (1.0 - unseen[card] / hidden) ** free


@jit
def value_of_asking(s, seat, card, gain, swap, unseen, hidden):
    """A3: what the card is worth in hand now, and to take it from that player."""
    value = best_set_with(s, s.player, card, gain)
    if CATEGORY <= card <= WILD and s.hand[s.player, TORCH] > 0:
        value = max(value, best_swap(s, swap[0], ANYBODY, card))
    if s.hand[s.player, card] > 0:
        value *= 0.3
    value += 0.3 * CARD_WORTH[card] + 0.1 * threat(s, seat)
    return chance_to_hold(s, seat, card, unseen, hidden) * value


@jit
def best_asking(s, seat, gain, swap, unseen, hidden):
    """The best question to the seat, or ANYBODY."""
    best = 0.0
    for other in range(s.num_players):
        if other != s.player and (other == seat or seat == ANYBODY):
            for card in range(NUM_TYPES):
                if card != ICON_YOU:
                    best = max(best, value_of_asking(s, other, card, gain, swap, unseen, hidden))
    return best


# --- plays ----------------------------------------------------------------------------------------------------------


@jit
def value_of_opponent(s, seat, gain, swap, unseen, hidden):
    if s.played == AHEAD:
        return s.score[seat] + 0.3 * s.hand_size[seat] - 2.0 * s.skips[seat]
    if s.played == SHARE:
        return best_asking(s, seat, gain, swap, unseen, hidden)
    if s.played == FAVOR:  # to give the worst card to the player who is furthest behind
        return -np.float64(s.score[seat])
    return best_swap(s, swap[1 + s.offered], seat, WILD if s.played == BARRIER else s.torch_with)


@jit
def value_of_play(s, action, gain, swap, unseen, hidden):
    if action == END_TURN:
        return 0.0
    from_bank = BANK_SET <= action < PLAY_CARD or action >= BANK_CARD
    saved = SAVED_CARD if from_bank else 0.0
    if action < PLAY_CARD:
        i = action - (BANK_SET if from_bank else PLAY_SET)
        cost = CARD_WORTH[SET_ICON[i]] + CARD_WORTH[SET_CATEGORY[i]]
        return gain[SET_TOKEN[i]] - 0.4 * cost + 1.0 + saved
    card = AHEAD + action - (BANK_CARD if from_bank else PLAY_CARD)
    if card >= TORCH:
        partner = CATEGORY + card - TORCH
        cost = CARD_WORTH[TORCH] + CARD_WORTH[partner]
        return best_swap(s, swap[0], ANYBODY, partner) - 0.4 * cost + 0.5 + saved
    if card == AHEAD:
        return 0.5 + saved
    if card == BARRIER:
        return best_trade(s, swap) - 0.8 + saved
    if card == SHARE:
        return 0.1 * (best_asking(s, ANYBODY, gain, swap, unseen, hidden) - 0.6)
    return 0.01 if from_bank or s.hand_size[s.player] > 6 else -0.01
