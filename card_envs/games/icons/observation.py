"""What a seat of Icons may know: the observation, and other arrangements of the cards that look the same to it."""

from __future__ import annotations

import numpy as np

from card_envs.games.icons.rules import can_target, open_card, pile_place, points_with
from card_envs.games.icons.state import (
    AHEAD,
    BARRIER,
    CARD_ASK,
    CARD_KIND,
    CARD_OPTION,
    CATEGORY,
    COPIES,
    FLIP,
    ICON,
    ICON_YOU,
    MAX_CHANGE,
    MAX_GAIN,
    MAX_HAND,
    MAX_LEAD,
    MAX_PILE,
    MAX_PLAYERS,
    MAX_SCORE,
    MAX_SKIPS,
    MAX_TOKENS,
    MOST_COPIES,
    NO_GOAL,
    NUM_CATEGORIES,
    NUM_KINDS,
    NUM_SLOTS,
    NUM_TYPES,
    OPPONENT,
    OPPONENT_OPTION,
    PERFECT,
    PLAY,
    SET_CATEGORY,
    SET_ICON,
    SET_OPTION,
    SET_TOKEN,
    SLOT_OPTION,
    TAKES,
    TOKEN_GIVE,
    TOKEN_OPTION,
    TOKEN_TAKE,
    TORCH,
    TORCH_OPTION,
    UPSETS,
    WILD,
    WITH_WILD,
    YOU_WITH_CARD,
    YOU_WITH_WILD,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.seats import seat_after, steps_to
from card_envs.kernels.state import RUNNING

# Speed, as the throughput benchmark repays it: scales are float32 factors, since divisions and mixed types are slow; an
# index that is written as np.uintp can't be negative, so that nothing is checked; loops over slices have no branches.
PER_HAND, PER_SCORE, PER_SKIP, PER_GAIN, PER_LEAD, PER_CHANGE, PER_PILE, PER_TYPE = (
    np.float32(1.0 / scale)
    for scale in (MAX_HAND, MAX_SCORE, MAX_SKIPS, MAX_GAIN, 2 * MAX_LEAD, 2 * MAX_CHANGE, MAX_PILE, NUM_TYPES)
)
ONE, HALF, NOTHING = np.float32(1.0), np.float32(0.5), np.float32(0.0)
ALL_BOUNDS = MAX_PLAYERS * NUM_TYPES
PER_COPY = (1.0 / COPIES).astype(np.float32)
PER_COPY_OF_SEATS = np.tile(PER_COPY, MAX_PLAYERS)
# What one token more of a category brings (P1-P3), as a part of MAX_GAIN: by the number of categories of which a player
# has tokens, and the number of tokens of this one.
GAIN = np.full((NUM_CATEGORIES + 1, MAX_TOKENS + 1), 2.0 / MAX_GAIN, np.float32)
GAIN[:, 0], GAIN[:, 1] = 1.0 / MAX_GAIN, 3.0 / MAX_GAIN
GAIN[NUM_CATEGORIES - 1, 0] = 6.0 / MAX_GAIN
TOKEN_SHARE = np.linspace(0.0, 1.0, MAX_TOKENS + 1, dtype=np.float32)


@jit
def observe(s, seat, at, out):
    remembers = s.memory == PERFECT
    out[at.phase if remembers else at.unseen :] = 0.0  # what lies before is written whole
    out[at.phase + s.phase] = 1.0
    out[at.to_act + steps_to(s, seat, s.player)] = 1.0
    out[at.in_turn + steps_to(s, seat, s.turn)] = 1.0
    show_counts(s.hand[seat], out[at.hand : at.hand + NUM_TYPES])
    show_counts(s.discards, out[at.discards : at.discards + NUM_TYPES])
    out[at.pile_size] = np.float32(s.pile_size) * PER_PILE
    out[at.turns] = s.turns / s.max_turns
    observe_seats(s, seat, at, out)
    observe_tokens(s, seat, at, out)
    observe_sets(s, seat, at, out)
    observe_bank(s, seat, at, out)
    if s.played >= 0:
        observe_play(s, seat, at, out)
    if remembers:
        observe_hidden_cards(s, seat, at, out)
    if s.player == seat and s.end == RUNNING:
        observe_options(s, seat, at, out)


@jit
def show_counts(counts, out):
    """Cards of each type as a share of the copies in the game."""
    for card in range(NUM_TYPES):  # in slices of fixed length the compiler takes many types at once
        out[card] = np.float32(counts[card]) * PER_COPY[card]


@jit
def observe_seats(s, seat, at, out):
    n = np.int64(s.num_players)
    goal, own = np.float32(s.goal), np.float32(s.score[seat])
    per_goal = ONE / goal if s.goal != NO_GOAL else np.float32(0.0)
    hand_size, scores = out[at.hand_size : at.hand_size + n], out[at.score : at.score + n]
    skips, missing = out[at.skips : at.skips + n], out[at.missing : at.missing + n]
    other = np.uintp(seat)
    for k in range(n):
        score = np.float32(s.score[other])
        hand_size[k] = min(np.float32(s.hand_size[other]) * PER_HAND, ONE)
        scores[k] = min(score * PER_SCORE, ONE)
        skips[k] = min(np.float32(s.skips[other]) * PER_SKIP, ONE)
        missing[k] = max(goal - score, NOTHING) * per_goal
        if k > 0:
            out[at.lead + k - 1] = min(max((own - score) * PER_LEAD + HALF, NOTHING), ONE)
        other = other + np.uintp(1) if other + np.uintp(1) < n else np.uintp(0)
    if s.turns_left >= 0:
        out[at.last_round] = 1.0
        for k in range(n):
            other = seat_after(s, seat, k)
            steps = steps_to(s, s.turn, other)
            if steps == 0:
                steps = np.int64(n)
            if s.turns_left >= steps and s.skips[other] == 0:  # E3
                out[at.turn_to_come + k] = 1.0


@jit
def observe_tokens(s, seat, at, out):
    tokens = out[at.tokens : at.tokens + s.num_players * NUM_CATEGORIES]
    other = np.uintp(seat)
    for k in range(s.num_players):
        counts = s.tokens[other]
        for c in range(NUM_CATEGORIES):
            tokens[k * NUM_CATEGORIES + c] = TOKEN_SHARE[np.uintp(counts[c])]
        other = other + np.uintp(1) if other + np.uintp(1) < s.num_players else np.uintp(0)


@jit
def observe_sets(s, seat, at, out):
    """What a token would bring, and the best set that a card of each type would make with one in hand."""
    hand, counts = s.hand[seat], s.tokens[seat]
    gain, best = out[at.gain : at.gain + NUM_CATEGORIES], out[at.best_set : at.best_set + NUM_TYPES]
    categories = 0
    for c in range(NUM_CATEGORIES):
        categories += counts[c] > 0
    gains = GAIN[categories]
    wild, you = hand[WILD] > 0, hand[ICON_YOU] > 0
    with_you, with_wild = np.float32(0.0), np.float32(0.0)
    for c in range(NUM_CATEGORIES):
        gain[c] = gains[np.uintp(counts[c])]
        with_category, with_icon = (hand[CATEGORY + c] > 0) | wild, (hand[ICON + c] > 0) | you
        best[ICON + c] = gain[c] * np.float32(with_category)
        best[CATEGORY + c] = gain[c] * np.float32(with_icon)
        with_you = max(with_you, best[ICON + c])
        with_wild = max(with_wild, best[CATEGORY + c])
    best[ICON_YOU] = with_you
    best[WILD] = with_wild
    for card in range(AHEAD, NUM_TYPES):
        best[card] = 0.0


@jit
def observe_bank(s, seat, at, out):
    if s.flipped >= 0:
        out[at.flipped_slot + s.flipped] = 1.0
        out[at.flipped_card + s.slot[s.flipped]] = 1.0
    remembers = s.memory == PERFECT
    for k in range(NUM_SLOTS):
        card = s.slot[k]
        seen = ((s.slot_known[seat, k] == 1) & remembers) | (k == s.flipped)
        out[at.slot_empty + k] = np.float32(card < 0)
        out[at.slot_card + k * NUM_TYPES + max(card, 0)] = np.float32(seen & (card >= 0))


@jit
def observe_play(s, seat, at, out):
    """The play that is being asked in parts."""
    out[at.played + s.played - AHEAD] = 1.0
    if s.torch_with >= 0:
        out[at.torch_with + s.torch_with - CATEGORY] = 1.0
    if s.target >= 0:
        out[at.target + steps_to(s, seat, s.target)] = 1.0
    if s.offered >= 0:
        out[at.offered + s.offered] = 1.0
    if s.given >= 0 and s.memory == PERFECT and (seat == s.turn or seat == s.target):
        out[at.chosen + s.given] = 1.0
    if s.chosen[seat] >= 0:
        out[at.chosen + s.chosen[seat]] = 1.0
    for k in range(s.num_players):
        if s.chosen[seat_after(s, seat, k)] >= 0:
            out[at.has_chosen + k] = 1.0


@jit
def observe_hidden_cards(s, seat, at, out):
    """K: other hands, and the cards that the observer put under the pile."""
    n = s.num_players
    unseen = out[at.unseen : at.unseen + NUM_TYPES]
    hand, discards = s.hand[seat], s.discards
    sure = s.at_least[seat]
    for card in range(NUM_TYPES):  # in bytes the compiler takes most types at once
        count = np.int8(MOST_COPIES[card] - hand[card] - discards[card])
        for other in range(MAX_PLAYERS):
            count = np.int8(count - sure[other, card])
        unseen[card] = np.float32(count)
    for k in range(NUM_SLOTS):
        unseen[np.uintp(max(s.slot[k], 0))] -= np.float32((s.slot_known[seat, k] == 1) & (s.slot[k] >= 0))
    if s.put_back[seat] > 0:
        for i in range(cards_dealt_in_pile(s), s.pile_size):
            place = pile_place(s, i)
            if s.pile_by[place] == seat:
                unseen[s.pile[place]] -= ONE
                out[at.pile_own + i] = np.float32(s.pile[place] + 1) * PER_TYPE
    for card in range(NUM_TYPES):
        unseen[card] *= PER_COPY[card]
    # the opponents to the left, up to the last seat, then those from the first seat on
    right = np.int64(seat) * NUM_TYPES
    left = (n - 1) * NUM_TYPES - right
    least, most = s.at_least[seat].reshape(ALL_BOUNDS), s.at_most[seat].reshape(ALL_BOUNDS)
    show_bounds(least[right + NUM_TYPES :], most[right + NUM_TYPES :], left, out[at.at_least :], out[at.at_most :])
    show_bounds(least, most, right, out[at.at_least + left :], out[at.at_most + left :])


@jit
def show_bounds(least, most, size, out_least, out_most):
    for i in range(size):
        out_least[i] = np.float32(least[i]) * PER_COPY_OF_SEATS[i]
        out_most[i] = np.float32(most[i]) * PER_COPY_OF_SEATS[i]


@jit
def cards_dealt_in_pile(s):
    """How many cards of the deal are left in the pile; those that players put there lie below them."""
    count = np.int64(s.pile_size)
    for seat in range(s.num_players):
        count -= s.put_back[seat]
    return count


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


# --- what the observer may choose -------------------------------------------------------------------------------------


@jit
def observe_options(s, seat, at, out):
    """What every legal action would do."""
    if s.phase == FLIP:
        observe_slots(s, seat, at, out)
    elif s.phase == PLAY:
        observe_plays(s, seat, at, out)
    elif s.phase == OPPONENT:
        observe_opponents(s, seat, at, out)
    elif s.phase == TOKEN_GIVE or s.phase == TOKEN_TAKE:
        observe_token_options(s, seat, at, out)
    else:
        observe_cards(s, seat, at, out)


@jit
def observe_slots(s, seat, at, out):
    remembers = s.memory == PERFECT
    for k in range(NUM_SLOTS):
        card = max(s.slot[k], 0)
        known = np.float32((s.slot_known[seat, k] == 1) & (s.slot[k] >= 0) & remembers)
        i = at.slot_options + k * SLOT_OPTION
        out[i] = np.float32(s.slot[k] >= 0)
        out[i + 1] = known
        out[i + 2] = known * out[at.best_set + card]
        out[i + 3] = known * CARD_KIND[card, TAKES]
        out[i + 4] = known * CARD_KIND[card, UPSETS]


@jit
def observe_plays(s, seat, at, out):
    hand = s.hand[seat]
    for c in range(NUM_CATEGORIES):
        if hand[ICON + c] > 0:
            if hand[CATEGORY + c] > 0:
                describe_set(s, seat, c, at.set_options, at, out)
            if hand[WILD] > 0:
                describe_set(s, seat, WITH_WILD + c, at.set_options, at, out)
    if hand[ICON_YOU] > 0:
        for c in range(NUM_CATEGORIES):
            if hand[CATEGORY + c] > 0:
                describe_set(s, seat, YOU_WITH_CARD + c, at.set_options, at, out)
            if hand[WILD] > 0:
                describe_set(s, seat, YOU_WITH_WILD + c, at.set_options, at, out)
    flipped = open_card(s)
    if 0 <= flipped <= WILD:
        observe_bank_sets(s, seat, flipped, at, out)
    if hand[TORCH] > 0 or flipped == TORCH:
        observe_torches(s, seat, flipped, at, out)


@jit
def observe_bank_sets(s, seat, flipped, at, out):
    hand, start = s.hand[seat], at.bank_set_options
    if flipped < ICON_YOU:
        c = flipped - ICON
        if hand[CATEGORY + c] > 0:
            describe_set(s, seat, c, start, at, out)
        if hand[WILD] > 0:
            describe_set(s, seat, WITH_WILD + c, start, at, out)
    elif CATEGORY <= flipped < WILD:
        c = flipped - CATEGORY
        if hand[ICON + c] > 0:
            describe_set(s, seat, c, start, at, out)
        if hand[ICON_YOU] > 0:
            describe_set(s, seat, YOU_WITH_CARD + c, start, at, out)
    else:
        you = flipped == ICON_YOU
        for c in range(NUM_CATEGORIES):
            if hand[CATEGORY + c if you else ICON + c] > 0:
                describe_set(s, seat, (YOU_WITH_CARD if you else WITH_WILD) + c, start, at, out)
            if hand[WILD if you else ICON_YOU] > 0:
                describe_set(s, seat, YOU_WITH_WILD + c, start, at, out)


@jit
def describe_set(s, seat, k, start, at, out):
    icon, category = SET_ICON[k], SET_CATEGORY[k]
    worth = out[at.gain + SET_TOKEN[k]]
    i = start + k * SET_OPTION
    out[i] = 1.0
    out[i + 1] = worth
    out[i + 2] = np.float32(s.score[seat] + worth * MAX_GAIN >= s.goal)
    out[i + 3] = out[at.hand + icon]
    out[i + 4] = out[at.hand + category]
    out[i + 5] = np.float32(category == WILD)


@jit
def observe_torches(s, seat, flipped, at, out):
    """A6."""
    hand = s.hand[seat]
    any_token = hand[WILD] > 0 or flipped == WILD
    most_gain, most_loss = NOTHING, NOTHING
    for c in range(NUM_CATEGORIES + 1):
        card = CATEGORY + c
        if any_token or hand[card] > 0 or flipped == card:
            gain, loss = most_gain, most_loss
            if c < NUM_CATEGORIES:
                gain, loss = out[at.gain + c], np.float32(most_loss_of(s, seat, c)) * PER_GAIN
            if loss > 0.0:
                most_gain, most_loss = max(most_gain, gain), max(most_loss, loss)
                if hand[TORCH] > 0 and hand[card] > 0:
                    describe_torch(gain, loss, at.torch_options + c * TORCH_OPTION, out)
                if (flipped == TORCH and hand[card] > 0) or (flipped == card and hand[TORCH] > 0):
                    describe_torch(gain, loss, at.bank_torch_options + c * TORCH_OPTION, out)


@jit
def most_loss_of(s, seat, category):
    """The most points that an opponent would lose with a token of the category; 0 if none has one."""
    most = 0
    for other in range(s.num_players):
        if other != seat and s.tokens[other, category] > 0:
            most = max(most, s.score[other] - points_with(s, other, -1, category))
    return most


@jit
def describe_torch(gain, loss, i, out):
    out[i] = 1.0
    out[i + 1] = gain
    out[i + 2] = loss


@jit
def as_change(points):
    return np.float32(min(max(points, -MAX_CHANGE), MAX_CHANGE) + MAX_CHANGE) * PER_CHANGE


@jit
def observe_opponents(s, seat, at, out):
    for k in range(1, s.num_players):
        other = seat_after(s, seat, k)
        if can_target(s, other):
            own, theirs = 0, 0
            if s.played == BARRIER or s.played == TORCH:
                own, theirs = -MAX_CHANGE, 0
                for c in range(NUM_CATEGORIES):
                    if s.tokens[other, c] > 0 and (s.played == BARRIER or s.torch_with in (WILD, CATEGORY + c)):
                        own = max(own, points_with(s, seat, c, s.offered) - s.score[seat])
                        theirs = min(theirs, points_with(s, other, s.offered, c) - s.score[other])
            i = at.opponent_options + (k - 1) * OPPONENT_OPTION
            out[i] = 1.0
            out[i + 1] = out[at.score + k]
            out[i + 2] = out[at.missing + k]
            out[i + 3] = out[at.hand_size + k]
            out[i + 4] = out[at.skips + k]
            out[i + 5] = as_change(own)
            out[i + 6] = as_change(theirs)


@jit
def observe_token_options(s, seat, at, out):
    """A5, A6."""
    owner = s.target if s.phase == TOKEN_TAKE else seat
    for c in range(NUM_CATEGORIES):
        if s.tokens[owner, c] > 0:
            i = at.token_options + c * TOKEN_OPTION
            out[i] = 1.0
            out[i + 1] = out[at.tokens + c]
            if s.phase == TOKEN_TAKE:
                out[i + 2] = as_change(points_with(s, seat, c, s.offered) - s.score[seat])
                out[i + 3] = as_change(points_with(s, owner, s.offered, c) - s.score[owner])
            else:
                out[i + 2] = as_change(points_with(s, seat, -1, c) - s.score[seat])
                out[i + 3] = as_change(0)


@jit
def observe_cards(s, seat, at, out):
    """A card to ask for (A3), or one to give, return, pass or put away."""
    hand = s.hand[seat]
    for card in range(NUM_TYPES):
        if card != ICON_YOU if s.phase == CARD_ASK else hand[card] > 0:
            i = at.card_options + card * CARD_OPTION
            out[i] = 1.0
            out[i + 1] = out[at.hand + card]
            out[i + 2] = out[at.best_set + card]
            for k in range(NUM_KINDS):
                out[i + 3 + k] = CARD_KIND[card, k]
            if s.memory == PERFECT and s.target >= 0 and s.target != seat:
                out[i + 8] = np.float32(s.at_least[seat, s.target, card]) * PER_COPY[card]
                out[i + 9] = np.float32(s.at_most[seat, s.target, card]) * PER_COPY[card]
