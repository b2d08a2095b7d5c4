"""A hand-written player of Icons.

It remembers the Memory Bank and every card it saw, plays sets as they come, steals and trades tokens when that
pays, and turns what harms others against the players closest to winning. Values are in points.
"""

from __future__ import annotations

import numpy as np

from card_envs.games.icons.observation import count_unseen
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
    NUM_CATEGORIES,
    NUM_SETS,
    NUM_TYPES,
    OPPONENT,
    OPPONENT_1,
    PLAY,
    PLAY_CARD,
    PLAY_SET,
    PLAY_TORCH,
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
WIN = 100.0
# What tokens of so many categories promise beyond their points, on the way to all five.
PROMISE = np.array([0.0, 0.6, 1.4, 2.4, 3.6, 3.6], np.float64)
# What a card of each type is worth in hand, by itself.
CARD_WORTH = np.array([0.5] * 5 + [1.2] + [0.9] * 5 + [1.5] + [0.8, 0.1, 0.9, 0.15, 0.6, 1.2], np.float64)
SAVED_CARD = 1.2  # what it is worth to play the open card in place of one from hand


@jit
def heuristic(s, mask, rng):
    if s.phase == PLAY:
        return best_play(s, mask, rng)
    best, best_value, ties = -1, -1e9, 0
    unseen = np.empty(NUM_TYPES, np.int64)
    hidden = 0
    if s.phase == FLIP or s.phase == CARD_ASK:
        hidden = count_hidden(s, s.player, unseen)
    for action in range(mask.shape[0]):
        if mask[action]:
            if s.phase == FLIP:
                value = value_of_slot(s, action - SLOT_1, unseen, hidden)
            elif s.phase == OPPONENT:
                value = value_of_opponent(s, (s.player + action - OPPONENT_1 + 1) % s.num_players)
            elif s.phase == CARD_ASK:
                value = value_of_asking(s, s.target, action - CARD, unseen, hidden)
            elif s.phase == TOKEN_GIVE:
                value = best_trade_of(s, action - TOKEN)
            elif s.phase == TOKEN_TAKE:
                value = value_of_taking(s, action - TOKEN)
            else:  # give, return, pass or put away the card that is worth least
                value = -worth_in_hand(s, s.player, action - CARD)
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
def change(s, seat, more, less):
    return standing(s, seat, more, less) - standing(s, seat, NONE, NONE)


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
def value_of_steal(s, seat, category):
    """A6."""
    return change(s, s.turn, category, NONE) - threat(s, seat) * change(s, seat, NONE, category)


@jit
def value_of_trade(s, own, seat, theirs):
    """A5."""
    if own == theirs:
        return 0.0
    return change(s, s.turn, theirs, own) - threat(s, seat) * change(s, seat, own, theirs)


@jit
def value_of_taking(s, category):
    """The last part of A5 or A6."""
    if s.played == BARRIER:
        return value_of_trade(s, s.offered, s.target, category)
    return value_of_steal(s, s.target, category)


@jit
def best_trade_with(s, own, seat):
    best = -WIN
    for category in range(NUM_CATEGORIES):
        if s.tokens[seat, category] > 0:
            best = max(best, value_of_trade(s, own, seat, category))
    return best


@jit
def best_trade_of(s, own):
    best = -WIN
    for seat in range(s.num_players):
        if seat != s.turn:
            best = max(best, best_trade_with(s, own, seat))
    return best


@jit
def best_trade(s):
    best = -WIN
    for own in range(NUM_CATEGORIES):
        if s.tokens[s.turn, own] > 0:
            best = max(best, best_trade_of(s, own))
    return best


@jit
def best_steal_from(s, seat, card):
    """The best token that Pass the Torch with this Category card takes from the seat."""
    best = -WIN
    for category in range(NUM_CATEGORIES):
        if s.tokens[seat, category] > 0 and (card == WILD or card == CATEGORY + category):
            best = max(best, value_of_steal(s, seat, category))
    return best


@jit
def best_steal(s, card):
    best = -WIN
    for seat in range(s.num_players):
        if seat != s.turn:
            best = max(best, best_steal_from(s, seat, card))
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
def worth_in_hand(s, seat, card):
    """What a card is worth to keep: more with partners in the hand, less with others of its type."""
    worth = CARD_WORTH[card]
    hand = s.hand[seat]
    if card <= ICON_YOU:
        if card == ICON_YOU:
            partners = hand[WILD]
            for c in range(NUM_CATEGORIES):
                partners += hand[CATEGORY + c]
            gain = 2.0
        else:
            partners = hand[CATEGORY + card] + hand[WILD]
            gain = change(s, seat, card, NONE)
        worth += 0.15 * gain
        if partners >= hand[card]:
            worth += 0.4 * gain
        worth -= 0.2 * (hand[card] - 1)
    elif card < WILD:
        c = card - CATEGORY
        gain = change(s, seat, c, NONE)
        worth += 0.2 * gain
        if hand[c] + hand[ICON_YOU] + hand[TORCH] >= hand[card]:
            worth += 0.4 * gain
        worth -= 0.2 * (hand[card] - 1)
    elif card == WILD:
        worth += 1.0
    return worth


@jit
def best_set_with(s, seat, card):
    """The most that a set of this card and one in hand brings; 0 if there is none."""
    best = 0.0
    for i in range(NUM_SETS):
        icon, category = SET_ICON[i], SET_CATEGORY[i]
        if (card == icon and s.hand[seat, category] > 0) or (card == category and s.hand[seat, icon] > 0):
            partner = category if card == icon else icon
            best = max(best, change(s, seat, SET_TOKEN[i], NONE) - 0.5 * CARD_WORTH[partner])
    return best


@jit
def value_of_open(s, card):
    """What the card is worth lying open in the bank, to the player in turn."""
    seat = s.turn
    value = best_set_with(s, seat, card)
    if CATEGORY <= card <= WILD and s.hand[seat, TORCH] > 0:
        value = max(value, best_steal(s, card) - 0.5 * CARD_WORTH[TORCH])
    elif card == TORCH:
        for partner in range(CATEGORY, WILD + 1):
            if s.hand[seat, partner] > 0:
                value = max(value, best_steal(s, partner) - 0.5 * CARD_WORTH[partner])
    elif card == BARRIER:
        value = max(value, best_trade(s) if s.tokens[seat].sum() > 0 else 0.0)
    elif card in (AHEAD, SHARE):
        value = CARD_WORTH[card]
    if s.hand[seat, card] > 0 and value > 0.0:  # one of these in hand does the same: the bank only saves it
        value = min(value, CARD_WORTH[card] + 0.3)
    return value


@jit
def value_of_slot(s, k, unseen, hidden):
    """What flipping a slot promises: its card if it is known, else the average of all that it may be."""
    if s.slot_known[s.player, k]:
        return value_of_open(s, s.slot[k])
    if hidden == 0:
        return 0.0
    value = 0.0
    for card in range(NUM_TYPES):
        if unseen[card] > 0:
            value += unseen[card] * value_of_open(s, card)
    return value / hidden + 0.05


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
def value_of_getting(s, card):
    """What a card is worth that enters the hand now."""
    value = best_set_with(s, s.player, card)
    if CATEGORY <= card <= WILD and s.hand[s.player, TORCH] > 0:
        value = max(value, best_steal(s, card))
    if s.hand[s.player, card] > 0:
        value *= 0.3
    return value + 0.3 * CARD_WORTH[card]


@jit
def value_of_asking(s, seat, card, unseen, hidden):
    """A3."""
    chance = chance_to_hold(s, seat, card, unseen, hidden)
    return chance * (value_of_getting(s, card) + 0.1 * threat(s, seat))


@jit
def best_asking(s, seat, unseen, hidden):
    best = 0.0
    for card in range(NUM_TYPES):
        if card != ICON_YOU:
            best = max(best, value_of_asking(s, seat, card, unseen, hidden))
    return best


# --- plays ----------------------------------------------------------------------------------------------------------


@jit
def value_of_opponent(s, seat):
    if s.played == AHEAD:
        return s.score[seat] + 0.3 * s.hand_size[seat] - 2.0 * s.skips[seat]
    if s.played == SHARE:
        unseen = np.empty(NUM_TYPES, np.int64)
        hidden = count_hidden(s, s.player, unseen)
        return best_asking(s, seat, unseen, hidden)
    if s.played == FAVOR:  # to give the worst card to the player who is furthest behind
        return -np.float64(s.score[seat])
    if s.played == BARRIER:
        return best_trade_with(s, s.offered, seat)
    return best_steal_from(s, seat, s.torch_with)


@jit
def value_of_play(s, play, from_bank):
    """The value of a play, numbered as those from hand."""
    saved = SAVED_CARD if from_bank else 0.0
    if play < PLAY_CARD:
        i = play - PLAY_SET
        icon, category = SET_ICON[i], SET_CATEGORY[i]
        cost = CARD_WORTH[icon] + CARD_WORTH[category]
        return change(s, s.player, SET_TOKEN[i], NONE) - 0.4 * cost + 1.0 + saved
    if play >= PLAY_TORCH:
        card = CATEGORY + play - PLAY_TORCH
        return best_steal(s, card) - 0.4 * (CARD_WORTH[TORCH] + CARD_WORTH[card]) + 0.5 + saved
    card = AHEAD + play - PLAY_CARD
    if card == AHEAD:
        return 0.5 + saved
    if card == BARRIER:
        return best_trade(s) - 0.8 + saved
    if card == SHARE:
        unseen = np.empty(NUM_TYPES, np.int64)
        hidden = count_hidden(s, s.player, unseen)
        best = 0.0
        for seat in range(s.num_players):
            if seat != s.player:
                best = max(best, best_asking(s, seat, unseen, hidden))
        return 0.1 * (best - 0.6)
    return 0.01 if from_bank or s.hand_size[s.player] > 6 else -0.01


@jit
def best_play(s, mask, rng):
    best, best_value, ties = END_TURN, 0.0, 1
    for action in range(PLAY_SET, OPPONENT_1):
        if mask[action]:
            if action >= BANK_CARD:
                value = value_of_play(s, PLAY_CARD + action - BANK_CARD, True)
            elif action >= PLAY_CARD or action < BANK_SET:
                value = value_of_play(s, action, False)
            else:
                value = value_of_play(s, PLAY_SET + action - BANK_SET, True)
            if value > best_value:
                best, best_value, ties = action, value, 1
            elif value == best_value:
                ties += 1
                if below(rng, ties) == 0:
                    best = action
    return best
