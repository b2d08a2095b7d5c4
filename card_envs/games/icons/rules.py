"""The rules of Icons: Women Who Play to Win. Clause numbers are those of `rules.md` beside this file."""

from __future__ import annotations

from card_envs.games.icons.state import (
    AHEAD,
    BANK_CARD,
    BANK_SET,
    BANK_TORCH,
    BARRIER,
    CARD,
    CARD_ASK,
    CARD_GIVE,
    CARD_PASS,
    CARD_RETURN,
    CARDS_DEALT,
    CATEGORY,
    COPIES,
    DECK,
    DISCARD,
    END_TURN,
    FAVOR,
    FIRST_PLAYER,
    FLIP,
    HAND_LIMIT,
    ICON_YOU,
    MAX_PLAYERS,
    MOST_COPIES,
    NO_CHANCE,
    NUM_CARDS,
    NUM_CATEGORIES,
    NUM_SETS,
    NUM_SLOTS,
    NUM_TYPES,
    OPPONENT,
    OPPONENT_1,
    PAY,
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
from card_envs.kernels.rng import below, shuffle
from card_envs.kernels.seats import left_of, right_of, seat_after, steps_to
from card_envs.kernels.state import TERMINATED, TRUNCATED, rank_by_score

# Who sees a card that enters or leaves a hand, besides its holder: a seat, or one of these.
NOBODY = -1
ALL = -2


# --- chance ---------------------------------------------------------------------------------------------------------


@jit
def draw_chance(s, value):
    if s.chance == FIRST_PLAYER:  # S1
        value[0] = below(s.rng, s.num_players)
        return 1
    count = 0
    for card in range(NUM_TYPES):
        for _ in range(COPIES[card]):
            value[count] = card
            count += 1
    shuffle(s.rng, value, count)
    return count


@jit
def apply_chance(s, value):
    if s.chance == FIRST_PLAYER:
        s.player = value[0]
        s.chance = DECK
    else:
        deal(s, value)


@jit
def deal(s, deck):
    """S1: the hands in seat order, then the Memory Bank, then the Draw Pile."""
    n = s.num_players
    for seat in range(n):
        for i in range(CARDS_DEALT):
            s.hand[seat, deck[seat * CARDS_DEALT + i]] += 1
        s.hand_size[seat] = CARDS_DEALT
    start = n * CARDS_DEALT
    for k in range(NUM_SLOTS):
        s.slot[k] = deck[start + k]
    start += NUM_SLOTS
    for i in range(NUM_CARDS - start):
        s.pile[i] = deck[start + i]
        s.pile_by[i] = NOBODY
    s.pile_top = 0
    s.pile_size = NUM_CARDS - start
    for observer in range(n + 1):
        for seat in range(n):
            for card in range(NUM_TYPES):
                s.at_most[observer, seat, card] = COPIES[card]
    s.chance = NO_CHANCE
    begin_turn(s)


# --- cards on the move, and what players learn from it (K) ----------------------------------------------------------


@jit
def enter_hand(s, seat, card, witness):
    """A card enters the hand of `seat`, seen by the seat and by `witness`."""
    s.hand[seat, card] += 1
    s.hand_size[seat] += 1
    for observer in range(s.num_players + 1):
        if witness == ALL or observer == witness:
            s.at_least[observer, seat, card] += observer != seat
            s.at_most[observer, seat, card] += s.at_most[observer, seat, card] < COPIES[card]
        else:  # it may be of any type; without branches, the compiler takes all types at once
            at_most = s.at_most[observer, seat]
            for other in range(NUM_TYPES):
                at_most[other] += at_most[other] < MOST_COPIES[other]


@jit
def leave_hand(s, seat, card, witness):
    """A card leaves the hand of `seat`, seen by the seat and by `witness`."""
    s.hand[seat, card] -= 1
    s.hand_size[seat] -= 1
    for observer in range(s.num_players + 1):
        if witness == ALL or observer == witness:
            s.at_least[observer, seat, card] -= s.at_least[observer, seat, card] > 0
            s.at_most[observer, seat, card] -= 1
        else:  # it may have been any card
            at_least = s.at_least[observer, seat]
            for other in range(NUM_TYPES):
                at_least[other] -= at_least[other] > 0


@jit
def hear_of_none(s, seat, card):
    """Everyone hears that `seat` holds no card of this type (A3)."""
    for observer in range(s.num_players + 1):
        s.at_most[observer, seat, card] = 0


@jit
def pile_place(s, depth):
    """Where in the ring the card lies that has `depth` cards of the pile above it."""
    place = s.pile_top + depth
    return place if place < NUM_CARDS else place - NUM_CARDS


@jit
def take_top_card(s):
    """The top card leaves the Draw Pile; the last one begins the last round (E3)."""
    card = s.pile[s.pile_top]
    if s.pile_by[s.pile_top] != NOBODY:
        s.put_back[s.pile_by[s.pile_top]] -= 1
    s.pile_top = pile_place(s, 1)
    s.pile_size -= 1
    if s.pile_size == 0 and s.turns_left < 0:
        s.turns_left = s.num_players
    return card


@jit
def draw_card(s, seat):
    """T1. Whoever put the card under the pile has counted and knows it."""
    witness = s.pile_by[s.pile_top]
    enter_hand(s, seat, take_top_card(s), witness)


@jit
def put_under_pile(s, seat, card):
    """T7: to the very bottom, so that the last one put there lies lowest."""
    leave_hand(s, seat, card, NOBODY)
    place = pile_place(s, s.pile_size)
    s.pile[place] = card
    s.pile_by[place] = seat
    s.put_back[seat] += 1
    s.pile_size += 1


@jit
def set_slot_known(s, k, known):
    for seat in range(MAX_PLAYERS):
        s.slot_known[seat, k] = known


@jit
def refill_slot(s, k):
    """T4: face down and unseen, though whoever put the card under the pile knows it. Without a pile it stays empty."""
    set_slot_known(s, k, 0)
    if s.pile_size == 0:
        s.slot[k] = -1
        return
    if s.pile_by[s.pile_top] >= 0:
        s.slot_known[s.pile_by[s.pile_top], k] = 1
    s.slot[k] = take_top_card(s)


# --- a turn ---------------------------------------------------------------------------------------------------------


@jit
def begin_turn(s):
    s.turn = s.player
    if s.turns_left < 0:  # E3: no draw in the last round
        draw_card(s, s.player)  # T1
    s.phase = PLAY
    for k in range(NUM_SLOTS):
        if s.slot[k] >= 0:
            s.phase = FLIP


@jit
def flip_slot(s, k):
    """T2."""
    s.flipped = k
    set_slot_known(s, k, 1)
    s.phase = PLAY


@jit
def end_turn(s):
    """T5; T7: a hand above the limit is cut first."""
    s.flipped = -1
    s.player = s.turn
    if s.hand_size[s.turn] > HAND_LIMIT:
        s.phase = DISCARD
    else:
        pass_turn(s)


@jit
def discard_card(s, card):
    """T7."""
    put_under_pile(s, s.player, card)
    if s.hand_size[s.player] <= HAND_LIMIT:
        pass_turn(s)


@jit
def pass_turn(s):
    """T8, over the players who lose this turn (A1); E3-E5."""
    s.turns += 1
    while s.turns_left != 0:
        s.player = left_of(s, s.player)
        if s.turns_left > 0:
            s.turns_left -= 1
        if s.skips[s.player] == 0:
            if s.turns >= s.max_turns:
                s.end = TRUNCATED  # E5
            else:
                begin_turn(s)
            return
        s.skips[s.player] -= 1
    end_last_round(s)


# --- plays ----------------------------------------------------------------------------------------------------------


@jit
def open_card(s):
    """The flipped card as long as it was not used, else -1."""
    if s.flipped < 0:
        return -1
    return s.slot[s.flipped]


@jit
def play_from_hand(s, card):
    """T6."""
    leave_hand(s, s.player, card, ALL)
    s.discards[card] += 1


@jit
def play_from_bank(s):
    """T4, T6: the flipped card goes straight from its slot to the discards, and the slot is refilled."""
    k = s.flipped
    s.discards[s.slot[k]] += 1
    s.flipped = -1
    refill_slot(s, k)


@jit
def play_one(s, card, from_bank):
    if from_bank:
        play_from_bank(s)
    else:
        play_from_hand(s, card)


@jit
def play_two(s, card, partner, from_bank):
    """Two cards, both from hand or one of them the flipped one."""
    if not from_bank or open_card(s) != card:
        play_from_hand(s, card)
    if not from_bank or open_card(s) == card:
        play_from_hand(s, partner)
    if from_bank:
        play_from_bank(s)


@jit
def play_set(s, i, from_bank):
    """M2."""
    play_two(s, SET_ICON[i], SET_CATEGORY[i], from_bank)
    s.tokens[s.player, SET_TOKEN[i]] += 1
    count_points(s)
    finish_play(s)


@jit
def play_action_card(s, card, from_bank):
    play_one(s, card, from_bank)
    s.played = card
    if card == PAY:
        begin_passing(s)
    elif card == BARRIER:
        s.phase = TOKEN_GIVE
    else:
        s.phase = OPPONENT


@jit
def play_torch(s, category, from_bank):
    play_two(s, TORCH, category, from_bank)
    s.played = TORCH
    s.torch_with = category
    s.phase = OPPONENT


@jit
def finish_play(s):
    """The turn goes on."""
    s.played = -1
    s.torch_with = -1
    s.target = -1
    s.offered = -1
    s.given = -1
    s.player = s.turn
    s.phase = PLAY


@jit
def choose_opponent(s, steps):
    s.target = seat_after(s, s.player, steps)
    if s.played == AHEAD:
        lose_next_turn(s)
    elif s.played == SHARE:
        s.phase = CARD_ASK
    elif s.played == FAVOR:
        s.phase = CARD_GIVE
    elif s.played == BARRIER or s.torch_with == WILD:
        s.phase = TOKEN_TAKE
    else:
        pass_the_torch(s, s.torch_with - CATEGORY)


@jit
def lose_next_turn(s):
    """A1."""
    s.skips[s.target] += 1
    finish_play(s)


@jit
def begin_passing(s):
    """A2: the acting player chooses first, or the next one clockwise who has a card."""
    s.phase = CARD_PASS
    while s.hand_size[s.player] == 0:
        s.player = left_of(s, s.player)


@jit
def choose_to_pass(s, card):
    """A2: the card stays in the hand, unseen, until all have chosen."""
    s.chosen[s.player] = card
    s.player = left_of(s, s.player)
    while s.player != s.turn and s.hand_size[s.player] == 0:
        s.player = left_of(s, s.player)
    if s.player == s.turn:
        pay_it_forward(s)


@jit
def pay_it_forward(s):
    """A2: all chosen cards move to the right at once; giver and receiver see the card."""
    for seat in range(s.num_players):
        if s.chosen[seat] >= 0:
            leave_hand(s, seat, s.chosen[seat], right_of(s, seat))
    for seat in range(s.num_players):
        if s.chosen[seat] >= 0:
            enter_hand(s, right_of(s, seat), s.chosen[seat], seat)
    s.chosen[:] = -1
    finish_play(s)


@jit
def share_the_love(s, card):
    """A3."""
    asked = s.target
    if s.hand[asked, card] > 0:
        leave_hand(s, asked, card, ALL)
        enter_hand(s, s.player, card, ALL)
        finish_play(s)
    else:
        hear_of_none(s, asked, card)
        finish_play(s)
        end_turn(s)


@jit
def give_card(s, card):
    """A4: the first half."""
    leave_hand(s, s.player, card, s.target)
    enter_hand(s, s.target, card, s.player)
    s.given = card
    s.player = s.target
    s.phase = CARD_RETURN


@jit
def return_the_favor(s, card):
    """A4: the second half."""
    leave_hand(s, s.player, card, s.turn)
    enter_hand(s, s.turn, card, s.player)
    finish_play(s)


@jit
def offer_token(s, category):
    """A5: the first part."""
    s.offered = category
    s.phase = OPPONENT


@jit
def break_the_barrier(s, category):
    """A5."""
    s.tokens[s.player, s.offered] -= 1
    s.tokens[s.target, s.offered] += 1
    s.tokens[s.target, category] -= 1
    s.tokens[s.player, category] += 1
    count_points(s)
    finish_play(s)


@jit
def pass_the_torch(s, category):
    """A6."""
    s.tokens[s.target, category] -= 1
    s.tokens[s.player, category] += 1
    count_points(s)
    finish_play(s)


@jit
def take_token(s, category):
    if s.played == BARRIER:
        break_the_barrier(s, category)
    else:
        pass_the_torch(s, category)


# --- points and the end ---------------------------------------------------------------------------------------------


@jit
def token_count(s, seat):
    count = 0
    for category in range(NUM_CATEGORIES):
        count += s.tokens[seat, category]
    return count


@jit
def points_with(s, seat, more, less):
    """P1-P3: the seat's points with a token of category `more` more and one of `less` less, -1 for none."""
    total, categories = 0, 0
    for category in range(NUM_CATEGORIES):
        count = s.tokens[seat, category] + (category == more) - (category == less)
        total += count + count * (count >= 2)  # P1, P2
        categories += count > 0
    return total + 5 * (categories == NUM_CATEGORIES)  # P3


@jit
def points(s, seat):
    return points_with(s, seat, -1, -1)


@jit
def count_points(s):
    """E1: after tokens moved; whoever has the points to win wins at once, the player in turn first."""
    s.score[s.turn] = points(s, s.turn)
    if s.target >= 0:
        s.score[s.target] = points(s, s.target)
    if s.score[s.turn] >= s.goal:
        win(s, s.turn)
    elif s.target >= 0 and s.score[s.target] >= s.goal:
        win(s, s.target)


@jit
def win(s, seat):
    s.winner[seat] = 1
    rank_by_score(s)
    s.end = TERMINATED


@jit
def end_last_round(s):
    """E4."""
    most = 0
    for seat in range(s.num_players):
        most = max(most, s.score[seat])
    for seat in range(s.num_players):
        s.winner[seat] = s.score[seat] == most
    rank_by_score(s)
    s.end = TERMINATED


# --- decisions ------------------------------------------------------------------------------------------------------


@jit
def can_lose_turn(s, seat, last_round):
    """A1: in the last round only a player whose turn is still to come, and not already lost."""
    if not last_round:
        return True
    if s.turns_left >= 0 and steps_to(s, s.turn, seat) > s.turns_left:
        return False
    return s.skips[seat] == 0


@jit
def anyone_can_lose_turn(s, from_bank):
    """A1. The refill for a flipped card can itself begin the last round, before the player is chosen."""
    last_round = s.turns_left >= 0 or (from_bank and s.pile_size == 1)
    for steps in range(1, s.num_players):
        if can_lose_turn(s, seat_after(s, s.turn, steps), last_round):
            return True
    return False


@jit
def has_token(s, seat, category):
    """Whether the seat has a token of the category that a Category card stands for; Wild stands for any."""
    if category == WILD:
        return token_count(s, seat) > 0
    return s.tokens[seat, category - CATEGORY] > 0


@jit
def any_opponent_has_token(s, category):
    for steps in range(1, s.num_players):
        if has_token(s, seat_after(s, s.turn, steps), category):
            return True
    return False


@jit
def can_play(s, card, from_bank):
    """Whether an Action card can do what it says, once it has left the hand or the bank."""
    cards_left = s.hand_size[s.turn]
    if not from_bank:
        cards_left -= 1
    if card == AHEAD:
        return anyone_can_lose_turn(s, from_bank)
    if card == PAY:
        for steps in range(1, s.num_players):
            cards_left += s.hand_size[seat_after(s, s.turn, steps)]
        return cards_left > 0
    if card == FAVOR:
        return cards_left > 0
    if card == BARRIER:
        return has_token(s, s.turn, WILD) and any_opponent_has_token(s, WILD)
    return True


@jit
def can_target(s, seat):
    """Whether the play in progress can be carried out with this opponent."""
    if s.played == AHEAD:
        return can_lose_turn(s, seat, s.turns_left >= 0)
    if s.played == BARRIER:
        return has_token(s, seat, WILD)
    if s.played == TORCH:
        return has_token(s, seat, s.torch_with)
    return True


@jit
def legal_plays(s, mask):
    """T3, T4, M1, A1-A6."""
    hand = s.hand[s.player]
    flipped = open_card(s)
    mask[END_TURN] = 1
    count = 1
    for i in range(NUM_SETS):  # without branches, which the processor could not foresee
        icon, category = SET_ICON[i], SET_CATEGORY[i]
        has_icon, has_category = hand[icon] > 0, hand[category] > 0
        from_hand = has_icon & has_category
        with_bank = ((flipped == icon) & has_category) | ((flipped == category) & has_icon)
        mask[PLAY_SET + i] = from_hand
        mask[BANK_SET + i] = with_bank
        count += from_hand
        count += with_bank
    for card in range(AHEAD, TORCH):
        if hand[card] > 0 and can_play(s, card, False):
            mask[PLAY_CARD + card - AHEAD] = 1
            count += 1
        if flipped == card and can_play(s, card, True):
            mask[BANK_CARD + card - AHEAD] = 1
            count += 1
    if hand[TORCH] > 0 or flipped == TORCH:
        count += legal_torches(s, mask)
    return count


@jit
def legal_torches(s, mask):
    """A6."""
    hand = s.hand[s.player]
    flipped = open_card(s)
    count = 0
    for category in range(CATEGORY, WILD + 1):
        if any_opponent_has_token(s, category):
            if hand[TORCH] > 0 and hand[category] > 0:
                mask[PLAY_TORCH + category - CATEGORY] = 1
                count += 1
            if (flipped == TORCH and hand[category] > 0) or (flipped == category and hand[TORCH] > 0):
                mask[BANK_TORCH + category - CATEGORY] = 1
                count += 1
    return count


@jit
def legal_actions(s, mask):
    mask[:] = 0
    count = 0
    if s.phase == FLIP:
        for k in range(NUM_SLOTS):
            if s.slot[k] >= 0:
                mask[SLOT_1 + k] = 1
                count += 1
    elif s.phase == PLAY:
        count = legal_plays(s, mask)
    elif s.phase == OPPONENT:
        for steps in range(1, s.num_players):
            if can_target(s, seat_after(s, s.player, steps)):
                mask[OPPONENT_1 + steps - 1] = 1
                count += 1
    elif s.phase == CARD_ASK:
        for card in range(NUM_TYPES):
            if card != ICON_YOU:  # A3
                mask[CARD + card] = 1
                count += 1
    elif s.phase == TOKEN_GIVE or s.phase == TOKEN_TAKE:
        owner = s.player if s.phase == TOKEN_GIVE else s.target
        for category in range(NUM_CATEGORIES):
            if s.tokens[owner, category] > 0:
                mask[TOKEN + category] = 1
                count += 1
    else:  # a card of one's hand to give, return, pass or put under the pile
        for card in range(NUM_TYPES):
            if s.hand[s.player, card] > 0:
                mask[CARD + card] = 1
                count += 1
    return count


@jit
def apply_action(s, action):
    if s.phase == FLIP:
        flip_slot(s, action - SLOT_1)
    elif s.phase == PLAY:
        apply_play(s, action)
    elif s.phase == OPPONENT:
        choose_opponent(s, action - OPPONENT_1 + 1)
    elif s.phase == CARD_GIVE:
        give_card(s, action - CARD)
    elif s.phase == CARD_ASK:
        share_the_love(s, action - CARD)
    elif s.phase == CARD_RETURN:
        return_the_favor(s, action - CARD)
    elif s.phase == CARD_PASS:
        choose_to_pass(s, action - CARD)
    elif s.phase == TOKEN_GIVE:
        offer_token(s, action - TOKEN)
    elif s.phase == TOKEN_TAKE:
        take_token(s, action - TOKEN)
    else:
        discard_card(s, action - CARD)


@jit
def apply_play(s, action):
    from_bank = BANK_SET <= action < PLAY_CARD or action >= BANK_CARD
    if action == END_TURN:
        end_turn(s)
    elif action < PLAY_CARD:
        play_set(s, action - (BANK_SET if from_bank else PLAY_SET), from_bank)
    else:
        card = AHEAD + action - (BANK_CARD if from_bank else PLAY_CARD)
        if card < TORCH:
            play_action_card(s, card, from_bank)
        else:
            play_torch(s, CATEGORY + card - TORCH, from_bank)
