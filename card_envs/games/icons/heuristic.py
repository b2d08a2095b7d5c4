"""A hand-written player of Icons.

It remembers the Memory Bank and every card it saw, plays sets as they come, steals and trades tokens when that
pays, and turns what harms others against the players closest to winning. Values are in points.

Playouts ask this player at every decision, so it works out only what the phase needs, and nothing of which a bound
proves that it can't be the best.
"""

from __future__ import annotations

import numpy as np

from card_envs.games.icons.observation import count_unseen
from card_envs.games.icons.rules import open_card
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
    NUM_SLOTS,
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
from card_envs.kernels.seats import seat_after

NONE = -1
ANYBODY = -1
NOBODY_HAS_IT = -1.0
WIN = 100.0
# What tokens of so many categories promise beyond their points, on the way to all five.
PROMISE = np.array([0.0, 0.6, 1.4, 2.4, 3.6, 3.6], np.float64)
# What a card of each type is worth in hand, by itself.
CARD_WORTH = np.array([0.5] * 5 + [1.2] + [0.9] * 5 + [1.5] + [0.8, 0.1, 0.9, 0.15, 0.6, 1.2], np.float64)
NUM_OPINIONS = 2
PER_POINT, MOST_POINTS = 0.1, 2.0  # bring values to about 0 to 1
SAVED_CARD = 1.2  # what it is worth to play the open card in place of one from hand


@jit
def heuristic(s, mask, rng):
    return choose(s, mask, rng, None)


@jit
def opinions(s, mask, rng, out):
    """Also what every option is worth: by itself, and how far below the best one, both in steps of 10 points."""
    choice = choose(s, mask, rng, out)
    best = np.float64(out[choice, 0])
    for action in range(mask.shape[0]):
        if mask[action]:
            value = np.float64(out[action, 0])
            out[action, 0] = min(max(value * PER_POINT, -MOST_POINTS), MOST_POINTS)
            out[action, 1] = min((best - value) * PER_POINT, MOST_POINTS)
    return choice


@jit
def choose(s, mask, rng, told):
    """The best legal action by value; among equals, one at random.

    Unless `told` is None, every option's value is written into its first column.
    """
    if s.phase == FLIP:
        return best_slot(s, mask, rng, told)
    if s.phase == PLAY:
        return best_play(s, mask, rng, told)
    if s.phase == OPPONENT:
        return best_opponent(s, mask, rng, told)
    if s.phase == TOKEN_GIVE or s.phase == TOKEN_TAKE:
        return best_token(s, mask, rng, told)
    return best_card(s, mask, rng, told)


@jit
def pick_best(mask, first, values, rng, told):
    """The best of the legal actions from `first` on, by their values; among equals, one at random."""
    if told is not None:
        for k in range(values.shape[0]):
            if mask[first + k]:
                told[first + k, 0] = values[k]
    best, best_value, ties = -1, -1e9, 0
    for k in range(values.shape[0]):
        if mask[first + k]:
            if values[k] > best_value:
                best, best_value, ties = first + k, values[k], 1
            elif values[k] == best_value:
                ties += 1
                if below(rng, ties) == 0:
                    best = first + k
    return best


# --- tokens ---------------------------------------------------------------------------------------------------------


@jit
def standing(s, seat, more, less):
    """What a seat's tokens are worth with one more of category `more` and one less of `less` (NONE for none)."""
    score, categories = 0, 0
    for category in range(NUM_CATEGORIES):
        count = s.tokens[seat, category] + (category == more) - (category == less)
        score += count + count * (count >= 2)
        categories += count > 0
    score += 5 * (categories == NUM_CATEGORIES)
    if score >= s.goal:
        return WIN
    if s.turns_left == 0:
        return np.float64(score)
    return score + PROMISE[categories]


@jit
def judge_gains(s, gain):
    """Fills in what a token of each category is worth to the player to act."""
    now = standing(s, s.player, NONE, NONE)
    for c in range(NUM_CATEGORIES):
        gain[c] = standing(s, s.player, c, NONE) - now


@jit
def most_points_of_others(s):
    most = 0
    for seat in range(s.num_players):
        if seat != s.turn:
            most = max(most, s.score[seat])
    return most


@jit
def threat(s, seat, most):
    """How much a point of this opponent counts against a point of one's own; `most` points has any opponent."""
    if s.goal - s.score[seat] <= 6:
        return 0.8
    return 0.6 if s.score[seat] == most else 0.15


@jit
def value_of_swap(s, own, seat, theirs):
    """What it is worth to take a token from a seat, for one of category `own` (A5) or NONE (A6)."""
    won = standing(s, s.turn, theirs, own) - standing(s, s.turn, NONE, NONE)
    lost = standing(s, seat, NONE, NONE) - standing(s, seat, own, theirs)
    return won + threat(s, seat, most_points_of_others(s)) * lost


@jit
def judge_harm(s, harm):
    """Fills in the most that the loss of a token of each category by an opponent is worth, or NOBODY_HAS_IT."""
    most = most_points_of_others(s)
    for c in range(NUM_CATEGORIES):
        harm[c] = NOBODY_HAS_IT
    for seat in range(s.num_players):
        if seat != s.turn and s.score[seat] > 0:
            against, now = threat(s, seat, most), standing(s, seat, NONE, NONE)
            for c in range(NUM_CATEGORIES):
                if s.tokens[seat, c] > 0:
                    harm[c] = max(harm[c], against * (now - standing(s, seat, NONE, c)))


@jit
def judge_thefts(gain, harm, theft):
    """Fills in the best that Pass the Torch brings (A6) with each Category card, Wild the last; -WIN for nothing."""
    best = -WIN
    for c in range(NUM_CATEGORIES):
        theft[c] = -WIN if harm[c] == NOBODY_HAS_IT else gain[c] + harm[c]
        best = max(best, theft[c])
    theft[NUM_CATEGORIES] = best


@jit
def best_trade_of(s, own, harm, best):
    """The best that Break the Barrier brings (A5) for a token of category `own`, if it is more than `best`."""
    now, most = standing(s, s.turn, NONE, NONE), most_points_of_others(s)
    for theirs in range(NUM_CATEGORIES):
        if harm[theirs] != NOBODY_HAS_IT:
            won = standing(s, s.turn, theirs, own) - now
            if theirs == own:
                best = max(best, 0.0)
            elif won + harm[theirs] > best:  # a token in return makes the loss smaller than that of a theft
                for seat in range(s.num_players):
                    if seat != s.turn and s.tokens[seat, theirs] > 0:
                        lost = standing(s, seat, NONE, NONE) - standing(s, seat, own, theirs)
                        best = max(best, won + threat(s, seat, most) * lost)
    return best


@jit
def best_trade(s, harm, best):
    """The best that Break the Barrier brings (A5), if it is more than `best`."""
    for own in range(NUM_CATEGORIES):
        if s.tokens[s.turn, own] > 0:
            best = best_trade_of(s, own, harm, best)
    return best


@jit
def best_token(s, mask, rng, told):
    """A5, A6: the token to give, or to take."""
    scratch = np.empty((2, NUM_CATEGORIES))
    values, harm = scratch[0], scratch[1]
    if s.phase == TOKEN_GIVE:
        judge_harm(s, harm)
        for own in range(NUM_CATEGORIES):
            if mask[TOKEN + own]:
                values[own] = best_trade_of(s, own, harm, -WIN)
    else:
        for theirs in range(NUM_CATEGORIES):
            if mask[TOKEN + theirs]:
                values[theirs] = value_of_swap(s, s.offered, s.target, theirs)
    return pick_best(mask, TOKEN, values, rng, told)


# --- cards ----------------------------------------------------------------------------------------------------------


@jit
def count_hidden(s, unseen):
    """Fills in the cards of each type that may be anywhere, as the player to act knows, and returns their number."""
    count_unseen(s, s.player, unseen)
    sure = s.at_least[s.player]
    for other in range(MAX_PLAYERS):
        for card in range(NUM_TYPES):
            unseen[card] -= sure[other, card]
    hidden = 0
    for card in range(NUM_TYPES):
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
def best_card(s, mask, rng, told):
    """The card to ask for, or the one to give, return, pass or put away, which is worth least."""
    scratch = np.empty((3, NUM_TYPES))
    gain, values, unseen = scratch[0], scratch[1], scratch[2]
    judge_gains(s, gain)
    if s.phase == CARD_ASK:
        judge_cards(s, gain, values)
        hidden, against = count_hidden(s, unseen), threat(s, s.target, most_points_of_others(s))
        free = cards_not_known(s, s.target)
        for card in range(NUM_TYPES):
            value = values[card] + (0.3 * CARD_WORTH[card] + 0.1 * against)
            values[card] = chance_to_hold(s, s.target, card, free, unseen, hidden) * value
    else:
        for card in range(NUM_TYPES):
            if mask[CARD + card]:
                values[card] = -worth_in_hand(s, s.player, card, gain)
    return pick_best(mask, CARD, values, rng, told)


@jit
def judge_sets(s, seat, gain, best):
    """Fills in the most that a set of a card of each type and one in hand brings; 0 if there is none."""
    hand = s.hand[seat]
    best[:] = 0.0
    for i in range(NUM_SETS):
        icon, category, worth = SET_ICON[i], SET_CATEGORY[i], gain[SET_TOKEN[i]]
        if hand[category] > 0:
            best[icon] = max(best[icon], worth - 0.5 * CARD_WORTH[category])
        if hand[icon] > 0:
            best[category] = max(best[category], worth - 0.5 * CARD_WORTH[icon])


@jit
def judge_open(s, gain, harm, theft, values):
    """Fills in what a card of each type is worth lying open in the bank, to the player in turn."""
    hand = s.hand[s.turn]
    judge_gains(s, gain)
    judge_harm(s, harm)
    judge_thefts(gain, harm, theft)
    judge_sets(s, s.turn, gain, values)
    for partner in range(CATEGORY, WILD + 1):  # A6, with one of its two cards from hand
        if hand[TORCH] > 0:
            values[partner] = max(values[partner], theft[partner - CATEGORY] - 0.5 * CARD_WORTH[TORCH])
        if hand[partner] > 0:
            values[TORCH] = max(values[TORCH], theft[partner - CATEGORY] - 0.5 * CARD_WORTH[partner])
    values[BARRIER] = best_trade(s, harm, 0.0)
    values[AHEAD] = CARD_WORTH[AHEAD]
    values[SHARE] = CARD_WORTH[SHARE]
    for card in range(NUM_TYPES):
        if hand[card] > 0 and values[card] > 0.0:  # one of these in hand does the same: the bank only saves it
            values[card] = min(values[card], CARD_WORTH[card] + 0.3)


@jit
def best_slot(s, mask, rng, told):
    """The slot that promises most: by its card if that is known, else by the average of all that it may be."""
    scratch = np.empty((6, NUM_TYPES))
    gain, harm, theft, cards = scratch[0], scratch[1], scratch[2], scratch[3]
    unseen, values = scratch[4], scratch[5, :NUM_SLOTS]
    known = s.slot_known[s.player]
    judge_open(s, gain, harm, theft, cards)
    hidden = count_hidden(s, unseen)
    average = 0.0
    if hidden > 0:
        average = 0.05
        for card in range(NUM_TYPES):
            if unseen[card] > 0:
                average += unseen[card] / hidden * cards[card]
    for k in range(NUM_SLOTS):
        values[k] = cards[s.slot[k]] if known[k] == 1 else average
    return pick_best(mask, SLOT_1, values, rng, told)


@jit
def judge_cards(s, gain, values):
    """Fills in what a card of each type is worth in hand now (A3)."""
    hand = s.hand[s.player]
    judge_sets(s, s.player, gain, values)
    if hand[TORCH] > 0:
        scratch = np.empty((2, NUM_CATEGORIES + 1))
        harm, theft = scratch[0], scratch[1]
        judge_harm(s, harm)
        judge_thefts(gain, harm, theft)
        for c in range(NUM_CATEGORIES + 1):
            values[CATEGORY + c] = max(values[CATEGORY + c], theft[c])
    for card in range(NUM_TYPES):
        if hand[card] > 0:
            values[card] *= 0.3


@jit
def cards_not_known(s, seat):
    """How many cards of an opponent's hand the player to act does not know."""
    count, sure = np.int64(s.hand_size[seat]), s.at_least[s.player, seat]
    for card in range(NUM_TYPES):
        count -= sure[card]
    return count


@jit
def chance_to_hold(s, seat, card, free, unseen, hidden):
    """The chance that an opponent, of whose cards `free` are not known, holds a card of this type."""
    if s.at_least[s.player, seat, card] > 0:
        return 1.0
    if s.at_most[s.player, seat, card] == 0 or hidden == 0:
        return 0.0
    return 1.0 - (1.0 - unseen[card] / hidden) ** free


@jit
def best_asking(s, seat, gain):
    """The best question to the seat, or ANYBODY (A3): what the card is worth, and to take it from that player."""
    scratch = np.empty((2, NUM_TYPES))
    values, unseen = scratch[0], scratch[1]
    judge_cards(s, gain, values)
    hidden, most = count_hidden(s, unseen), most_points_of_others(s)
    best = 0.0
    for other in range(s.num_players):
        if other != s.player and (other == seat or seat == ANYBODY):
            against, free = threat(s, other, most), cards_not_known(s, other)
            for card in range(NUM_TYPES):
                value = values[card] + (0.3 * CARD_WORTH[card] + 0.1 * against)
                if value > best and card != ICON_YOU:  # no chance makes it more
                    best = max(best, chance_to_hold(s, other, card, free, unseen, hidden) * value)
    return best


# --- plays ----------------------------------------------------------------------------------------------------------


@jit
def best_opponent(s, mask, rng, told):
    scratch = np.empty((2, MAX_PLAYERS - 1))
    values, gain = scratch[0], scratch[1]
    if s.played == SHARE:
        judge_gains(s, gain)
    for k in range(s.num_players - 1):
        if mask[OPPONENT_1 + k]:
            values[k] = value_of_opponent(s, seat_after(s, s.player, k + 1), gain)
    return pick_best(mask, OPPONENT_1, values, rng, told)


@jit
def value_of_opponent(s, seat, gain):
    if s.played == AHEAD:
        return s.score[seat] + 0.3 * s.hand_size[seat] - 2.0 * s.skips[seat]
    if s.played == SHARE:
        return best_asking(s, seat, gain)
    if s.played == FAVOR:  # to give the worst card to the player who is furthest behind
        return -np.float64(s.score[seat])
    best = -WIN
    for theirs in range(NUM_CATEGORIES):
        if s.tokens[seat, theirs] > 0 and (s.played == BARRIER or s.torch_with in (WILD, CATEGORY + theirs)):
            best = max(best, value_of_swap(s, s.offered, seat, theirs))
    return best


@jit
def best_play(s, mask, rng, told):
    scratch = np.empty((4, OPPONENT_1 - END_TURN))
    gain, harm, theft, values = scratch[0], scratch[1], scratch[2], scratch[3]
    hand, flipped = s.hand[s.player], open_card(s)
    judge_gains(s, gain)
    if hand[TORCH] > 0 or hand[BARRIER] > 0 or flipped in (TORCH, BARRIER):
        judge_harm(s, harm)
        judge_thefts(gain, harm, theft)
    for k in range(OPPONENT_1 - END_TURN):
        if mask[END_TURN + k]:
            values[k] = value_of_play(s, END_TURN + k, gain, harm, theft)
    return pick_best(mask, END_TURN, values, rng, told)


@jit
def value_of_play(s, action, gain, harm, theft):
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
        return theft[card - TORCH] - 0.4 * cost + 0.5 + saved
    if card == AHEAD:
        return 0.5 + saved
    if card == BARRIER:
        return best_trade(s, harm, -WIN) - 0.8 + saved
    if card == SHARE:
        return 0.1 * (best_asking(s, ANYBODY, gain) - 0.6)
    return 0.01 if from_bank or s.hand_size[s.player] > 6 else -0.01
