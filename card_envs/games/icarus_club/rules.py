"""The rules of The Icarus Club. Clause numbers are those of `rules.md` beside this file."""

from __future__ import annotations

from card_envs.games.icarus_club.state import (
    DECK,
    DISCARDED,
    FIRST_PLAYER,
    LANE,
    LANE_1,
    NO_CHANCE,
    NUM_CARDS,
    NUM_RANKS,
    NUM_SUITS,
    OUT,
    OVERWRITE_CARD,
    OVERWRITE_PILE,
    PLAY,
    SUIT_OUT,
    TAKEN,
    TRICK,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, shuffle
from card_envs.kernels.seats import left_of
from card_envs.kernels.state import TERMINATED, rank_by_score


@jit
def suit_of(card):
    return card // NUM_RANKS


@jit
def rank_of(card):
    return card % NUM_RANKS + 1


# --- chance ---------------------------------------------------------------------------------------------------------


@jit
def draw_chance(s, value):
    if s.chance == FIRST_PLAYER:  # S4
        value[0] = below(s.rng, s.num_players)
        return 1
    if s.chance == SUIT_OUT:  # S1
        value[0] = below(s.rng, NUM_SUITS)
        return 1
    count = 0
    for suit in range(s.num_suits):
        if suit != s.suit_out:
            for rank in range(s.num_ranks):
                value[count] = suit * NUM_RANKS + rank
                count += 1
    shuffle(s.rng, value, count)
    return count


@jit
def apply_chance(s, value):
    if s.chance == FIRST_PLAYER:
        s.start = value[0]
        begin_round(s)
    elif s.chance == SUIT_OUT:
        s.suit_out = value[0]
        s.chance = DECK
    else:
        deal(s, value)


@jit
def begin_round(s):
    s.suit_out = -1
    s.chance = SUIT_OUT if s.leaves_suit_out else DECK  # S1, V2


@jit
def deal(s, deck):
    """S2: consecutive runs of the deck are the hands in seat order, then the lane, then what is left over."""
    s.where[:] = OUT  # the suit left out, the cards left over (S3) and those that are not in the game (V1)
    s.pile[:] = 0
    s.void[:] = 0
    s.earnings[:] = 0
    hand = s.num_piles
    for seat in range(s.num_players):
        for i in range(hand):
            s.where[deck[seat * hand + i]] = seat
    for pile in range(s.num_piles):
        card = deck[s.num_players * hand + pile]
        s.where[card] = LANE
        s.pile[card] = pile
        s.pile_top[pile] = card
        s.pile_size[pile] = 1
    s.pile_now = 0
    s.chance = NO_CHANCE
    begin_trick(s)


# --- a trick ---------------------------------------------------------------------------------------------------------


@jit
def begin_trick(s):
    s.played[:] = -1
    s.chosen = -1
    s.phase = PLAY
    s.player = s.start


@jit
def follow_suit(s):
    """T1: the suit to follow is that of the top card of the leftmost pile."""
    return suit_of(s.pile_top[s.pile_now])


@jit
def holds_suit(s, seat, suit):
    for card in range(suit * NUM_RANKS, (suit + 1) * NUM_RANKS):
        if s.where[card] == seat:
            return True
    return False


@jit
def trick_winner(s):
    """T3: the seat with the highest played card of the suit, -1 for nobody (T6). The Follow Card does not compete."""
    suit = follow_suit(s)
    winner, best = -1, -1
    for seat in range(s.num_players):
        card = s.played[seat]
        if card >= 0 and suit_of(card) == suit and card > best:
            winner, best = seat, card
    return winner


@jit
def play_card(s, card):
    """T2."""
    seat = s.player
    s.where[card] = TRICK
    s.played[seat] = card
    if suit_of(card) != follow_suit(s):
        s.void[seat, follow_suit(s)] = 1
    s.player = left_of(s, seat)
    if s.player == s.start:
        end_trick(s)


@jit
def end_trick(s):
    winner = trick_winner(s)
    if winner < 0:
        discard_trick(s)
    else:
        win_trick(s, winner)


@jit
def discard_trick(s):
    """T6; T7: who led leads again."""
    move_pile(s, DISCARDED)
    move_played(s, DISCARDED)
    next_trick(s)


@jit
def win_trick(s, winner):
    """T4, T7. The played cards stay on the table until one of them is chosen for the lane."""
    s.earnings[winner] += s.pile_size[s.pile_now]
    move_pile(s, TAKEN + winner)
    s.start = winner
    s.player = winner
    if s.pile_now == s.num_piles - 1:  # T5: the last trick has no overwrite
        take_played(s)
        next_trick(s)
    else:
        s.phase = OVERWRITE_CARD


@jit
def take_played(s):
    """T4: the winner takes the played cards that are still on the table."""
    for seat in range(s.num_players):
        if s.where[s.played[seat]] == TRICK:
            s.earnings[s.start] += 1
    move_played(s, TAKEN + s.start)


@jit
def move_pile(s, place):
    """The leftmost pile, the Follow Card and all beneath it, goes to `place`."""
    for card in range(NUM_CARDS):
        if s.where[card] == LANE and s.pile[card] == s.pile_now:
            s.where[card] = place


@jit
def move_played(s, place):
    for seat in range(s.num_players):
        if s.where[s.played[seat]] == TRICK:
            s.where[s.played[seat]] = place


@jit
def overwrite_lane(s, pile):
    """T5: the chosen card goes on top of the pile; whoever wins that pile takes it then."""
    card = s.chosen
    s.where[card] = LANE
    s.pile[card] = pile
    s.pile_top[pile] = card
    s.pile_size[pile] += 1
    take_played(s)
    next_trick(s)


@jit
def next_trick(s):
    s.pile_now += 1
    if s.pile_now == s.num_piles:
        end_round(s)
    else:
        begin_trick(s)


# --- end of a round and of the game ----------------------------------------------------------------------------------


@jit
def most_earnings(s):
    most = s.earnings[0]
    for seat in range(1, s.num_players):
        most = max(most, s.earnings[seat])
    return most


@jit
def sum_after_round(s, seat, most):
    """R2: what the seat has if the round ends with these earnings, of which `most` are the highest."""
    return s.score[seat] + (s.earnings[seat] if s.earnings[seat] != most else 0)


@jit
def end_round(s):
    """R1-R4, V4. Here `s.start` is who would have led the next trick."""
    most = most_earnings(s)
    for seat in range(s.num_players):
        s.score[seat] = sum_after_round(s, seat, most)
    while s.earnings[s.start] != most:
        s.start = left_of(s, s.start)  # R3
    s.rounds += 1
    if s.rounds == s.num_rounds:
        end_game(s)
    else:
        begin_round(s)


@jit
def end_game(s):
    n = s.num_players
    highest, second = -1, -1
    for seat in range(n):
        highest = max(highest, s.score[seat])
    for seat in range(n):
        if s.score[seat] != highest:
            second = max(second, s.score[seat])
    ejected = 0
    for seat in range(n):
        s.winner[seat] = s.score[seat] == second  # G2; G3: nobody has -1
        ejected += s.score[seat] == highest
    rank_by_score(s)
    for seat in range(n):
        if s.score[seat] == highest and second >= 0:
            s.rank[seat] = n - ejected + 1  # G1: the ejected share the last place
        elif second >= 0 and not s.winner[seat]:
            s.rank[seat] -= ejected
    s.end = TERMINATED


# --- decisions -------------------------------------------------------------------------------------------------------


@jit
def legal_actions(s, mask):
    mask[:] = 0
    count = 0
    if s.phase == PLAY:
        where, seat, suit = s.where, s.player, follow_suit(s)
        first, last = 0, NUM_CARDS
        if holds_suit(s, seat, suit):  # T2
            first, last = suit * NUM_RANKS, (suit + 1) * NUM_RANKS
        for card in range(first, last):
            mask[card] = where[card] == seat
            count += mask[card]
    elif s.phase == OVERWRITE_CARD:
        for seat in range(s.num_players):  # T5: a card that another player played
            if seat != s.player:
                mask[s.played[seat]] = 1
                count += 1
    else:
        count = s.num_piles - s.pile_now - 1  # T5: a remaining pile
        for k in range(count):
            mask[LANE_1 + k] = 1
    return count


@jit
def apply_action(s, action):
    if s.phase == PLAY:
        play_card(s, action)
    elif s.phase == OVERWRITE_CARD:
        s.chosen = action
        s.phase = OVERWRITE_PILE
    else:
        overwrite_lane(s, s.pile_now + 1 + action - LANE_1)
