"""The rules of Micons. Clause numbers are those of `rules.md` beside this file."""

from __future__ import annotations

import numpy as np

from card_envs.games.micons.state import (
    ACCEPT,
    ACCEPTED,
    ACTIVE,
    BENEATH,
    CARDS_PER_HAND,
    DECK,
    DRAW,
    DRAWN,
    FIRST_PLAYER,
    IN_DECK,
    KEEP,
    NO_CHANCE,
    NO_VOTE,
    PLAY,
    REJECT,
    REJECTED,
    VOTE,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, shuffle
from card_envs.kernels.seats import left_of
from card_envs.kernels.state import RUNNING, TERMINATED, TRUNCATED, rank_by_score


@jit
def num_cards(s):
    return s.where.shape[0]


@jit
def has(traits, trait):
    return (traits >> trait) & 1 == 1


@jit
def trait_to_match(s):
    """T1."""
    return s.back[s.active]


@jit
def matches(s, card):
    """J1, J2."""
    return has(s.traits[card], trait_to_match(s))


@jit
def can_be_argued(s, card):
    """J3: once a turn."""
    return has(s.arguable[card], trait_to_match(s)) and not s.rejected[card]


@jit
def can_play(s, card):
    """The seat whose turn it is may put this card forward: a match, an arguable one or a luck card (T2, T3, J3)."""
    return matches(s, card) or can_be_argued(s, card) or s.luck[card] == 1


# --- chance ---------------------------------------------------------------------------------------------------------


@jit
def draw_chance(s, value):
    if s.chance == FIRST_PLAYER:  # S1
        value[0] = below(s.rng, s.num_players)
        return 1
    count = 0
    for card in range(num_cards(s)):
        if not s.dealt or s.where[card] == BENEATH:  # S1, X1
            value[count] = card
            count += 1
    shuffle(s.rng, value, count)
    return count


@jit
def apply_chance(s, value):
    if s.chance == FIRST_PLAYER:
        s.turn = value[0]
        s.chance = DECK
        return
    s.chance = NO_CHANCE
    if s.dealt:
        make_deck(s, value)
        draw_card(s)
    else:
        deal(s, value)
        next_decision(s)


@jit
def deal(s, cards):
    """S1: consecutive runs of five are the hands in seat order, then comes the active card, then the deck."""
    for seat in range(s.num_players):
        for i in range(CARDS_PER_HAND):
            gain_card(s, seat, cards[seat * CARDS_PER_HAND + i])
    dealt = s.num_players * CARDS_PER_HAND
    s.active = cards[dealt]
    s.where[s.active] = ACTIVE
    s.starter = s.active
    s.dealt = 1
    make_deck(s, cards[dealt + 1 :])


@jit
def make_deck(s, cards):
    """`cards` from the top to the bottom."""
    size = cards.shape[0]
    for i in range(size):
        s.deck[size - 1 - i] = cards[i]
        s.where[cards[i]] = IN_DECK
    s.deck_size = size


@jit
def gain_card(s, seat, card):
    s.where[card] = seat
    s.hand_size[seat] += 1
    s.score[seat] = -s.hand_size[seat]


# --- a turn ---------------------------------------------------------------------------------------------------------


@jit
def next_decision(s):
    """Asks the seat whose turn it is; who can neither play nor draw passes without being asked (X1)."""
    while s.end == RUNNING and not ask_to_play(s):
        pass_turn(s)


@jit
def ask_to_play(s):
    """Asks the seat whose turn it is for a card or to draw; False if it has neither."""
    s.phase = PLAY
    s.player = s.turn
    if s.deck_size > 0 or s.num_beneath > 0:
        return True
    for card in range(num_cards(s)):
        if s.where[card] == s.turn and can_play(s, card):
            return True
    return False


@jit
def put_forward(s, card):
    """T2, T3: a match and a luck card are played, any other card is argued for (J3)."""
    if matches(s, card) or s.luck[card]:
        play_card(s, card)
    else:
        argue(s, card)


@jit
def play_card(s, card):
    """T2: onto the active card, trait side up."""
    s.where[s.active] = BENEATH
    s.num_beneath += 1
    s.active = card
    s.where[card] = ACTIVE
    s.hand_size[s.turn] -= 1
    s.score[s.turn] = -s.hand_size[s.turn]
    s.passes = 0
    end_turn(s)


@jit
def draw(s):
    """T4; X1: from a new deck if this one is empty, and nothing at all if there is none to be had."""
    if s.deck_size > 0:
        draw_card(s)
    elif s.num_beneath > 0:
        s.num_beneath = 0
        s.chance = DECK
    else:
        pass_turn(s)
        next_decision(s)


@jit
def draw_card(s):
    """T4: a match is played at once; a luck card (and an arguable one, J3) may be played or kept."""
    s.deck_size -= 1
    card = np.int64(s.deck[s.deck_size])
    gain_card(s, s.turn, card)
    s.passes = 0
    if s.deck_size == 0:
        s.starter = -1  # every other card has been seen, so the first active card is known
    if matches(s, card):
        play_card(s, card)
    elif can_play(s, card):
        s.drawn = card
        s.phase = DRAWN
    else:
        end_turn(s)


@jit
def pass_turn(s):
    """X2: a turn without a card played or drawn."""
    s.passes += 1
    close_turn(s)


@jit
def end_turn(s):
    close_turn(s)
    next_decision(s)


@jit
def close_turn(s):
    s.turns += 1
    s.drawn = -1
    s.rejected[:] = 0
    if s.hand_size[s.turn] == 0 or s.passes >= s.num_players:  # T5, X2
        end_game(s)
    elif s.turns >= s.max_turns:  # X3
        s.end = TRUNCATED
    else:
        s.turn = left_of(s, s.turn)


@jit
def end_game(s):
    """The fewest cards win: none at all (T5), or equal players share (X2)."""
    fewest = s.hand_size[0]
    for seat in range(s.num_players):
        fewest = min(fewest, s.hand_size[seat])
    for seat in range(s.num_players):
        s.winner[seat] = s.hand_size[seat] == fewest
    rank_by_score(s)
    s.end = TERMINATED


# --- an argument ------------------------------------------------------------------------------------------------------


@jit
def argue(s, card):
    """J3: every other player answers, clockwise."""
    s.argued = card
    s.votes[:] = NO_VOTE
    s.phase = VOTE
    s.player = left_of(s, s.turn)


@jit
def vote(s, answer):
    s.votes[s.player] = answer
    s.player = left_of(s, s.player)
    if s.player == s.turn:
        judge(s)


@jit
def judge(s):
    """J3: as many must accept as reject. A rejected card goes back; a drawn one is kept, which ends the turn."""
    card = np.int64(s.argued)
    balance = 0
    for seat in range(s.num_players):
        if s.votes[seat] == ACCEPTED:
            balance += 1
        elif s.votes[seat] == REJECTED:
            balance -= 1
    s.argued = -1
    if balance >= 0:
        play_card(s, card)
    elif s.drawn >= 0:
        end_turn(s)
    else:
        s.rejected[card] = 1
        next_decision(s)


# --- decisions --------------------------------------------------------------------------------------------------------


@jit
def legal_actions(s, mask):
    mask[:] = 0
    words = num_cards(s)
    if s.phase == VOTE:
        mask[words + ACCEPT] = 1
        mask[words + REJECT] = 1
        return 2
    if s.phase == DRAWN:
        mask[s.drawn] = 1
        mask[words + KEEP] = 1
        return 2
    seat, trait, where, luck = s.player, trait_to_match(s), s.where, s.luck
    traits, arguable, rejected = s.traits, s.arguable, s.rejected
    count, matching = 0, 0
    for card in range(num_cards(s)):  # without branches: the compiler takes many cards at once
        own = where[card] == seat
        match = own & has(traits[card], trait)
        playable = match | (own & ((luck[card] == 1) | (has(arguable[card], trait) & (rejected[card] == 0))))
        mask[card] = playable
        count += playable
        matching += match
    may_draw = matching == 0  # T3, T4: neither a luck card nor an argument is ever forced
    mask[words + DRAW] = may_draw
    return count + may_draw


@jit
def apply_action(s, action):
    word = action - num_cards(s)
    if word < 0:
        put_forward(s, action)
    elif word == DRAW:
        draw(s)
    elif word == KEEP:
        end_turn(s)
    else:
        vote(s, ACCEPTED if word == ACCEPT else REJECTED)
