"""The rules of Ice Points. Clause numbers are those of `rules.md` beside this file."""

from __future__ import annotations

import numpy as np

from card_envs.games.ice_points.state import (
    ACE,
    CENTRE,
    DECK,
    EXCHANGE,
    EXCHANGE_1,
    EXCHANGE_GETS,
    EXCHANGE_GIVES,
    FIRST_SET,
    FOR_THE_START,
    JACK,
    LARGE,
    MEDIUM,
    NO_CHANCE,
    NO_PARTNER,
    NOTHING_FITS,
    NUM_CARDS,
    NUM_EXCHANGES,
    NUM_PASSES,
    NUM_RANKS,
    NUM_SIZES,
    NUM_SUITS,
    OPEN,
    PAID,
    PAY,
    PAYS,
    PIECE_SETS,
    QUEEN,
    SIX,
    SKIPPED,
    SMALL,
    TAKE,
    TAKES,
    TOO_FEW_POINTS,
    TOOK,
    TOOK_ALL,
)
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import shuffle
from card_envs.kernels.seats import left_of, right_of, seat_after
from card_envs.kernels.state import TERMINATED, rank_by_score


@jit
def rank_of(card):
    return card // NUM_SUITS


# --- chance ---------------------------------------------------------------------------------------------------------


@jit
def draw_chance(s, value):
    for card in range(NUM_CARDS):
        value[card] = card
    shuffle(s.rng, value, NUM_CARDS)
    return NUM_CARDS


@jit
def apply_chance(s, value):
    """S1, E1: the shuffled deck is laid out; the game begins, or goes on with the next player in turn."""
    for i in range(NUM_CARDS):
        s.deck[i] = value[i]
    s.drawn = 0
    s.chance = NO_CHANCE
    if s.passes == 0:
        draw_for_the_start(s)
    play_on(s)


@jit
def draw_for_the_start(s):
    """S2: the highest card begins; those who tie draw again while there are cards enough. S3: the cards are spent."""
    n = s.num_players
    ranks = np.zeros(n, np.int64)
    tied = np.ones(n, np.int64)
    count = n
    while 1 < count <= NUM_CARDS - s.drawn:
        highest = NUM_RANKS
        for seat in range(n):
            if tied[seat]:
                draw_card(s, seat, FOR_THE_START)
                ranks[seat] = rank_of(s.card)
                highest = min(highest, ranks[seat])  # the smaller number is the higher rank
        count = 0
        for seat in range(n):
            if ranks[seat] != highest:
                tied[seat] = 0
            count += tied[seat]
    s.player = 0
    while not tied[s.player]:
        s.player = left_of(s, s.player)


# --- pieces ---------------------------------------------------------------------------------------------------------


@jit
def points_of(pieces):
    """The points of some pieces, given as a number of each size."""
    return np.int64(pieces[SMALL]) + 2 * np.int64(pieces[MEDIUM]) + 3 * np.int64(pieces[LARGE])


@jit
def holds(pieces, wanted):
    """Whether `wanted` can be picked out of `pieces`."""
    return pieces[SMALL] >= wanted[SMALL] and pieces[MEDIUM] >= wanted[MEDIUM] and pieces[LARGE] >= wanted[LARGE]


@jit
def can_make(pieces, amount):
    """Whether some of the pieces add up to exactly `amount`."""
    for piece_set in range(FIRST_SET[amount], FIRST_SET[amount + 1]):
        if holds(pieces, PIECE_SETS[piece_set]):
            return True
    return False


@jit
def move_pieces(s, giver, taker, moved):
    for size in range(NUM_SIZES):
        s.pieces[giver, size] -= moved[size]
        s.pieces[taker, size] += moved[size]
    count_points(s, giver)
    count_points(s, taker)


@jit
def count_points(s, owner):
    if owner != CENTRE:
        s.score[owner] = points_of(s.pieces[owner])


@jit
def partner_of(s, seat, partner):
    """Whose pieces `partner` means for this seat: 0 is the centre, k is opponent-k."""
    return CENTRE if partner == 0 else seat_after(s, seat, partner)


@jit
def can_exchange(s, seat, kind, partner):
    """T4: the seat has the larger piece and the partner the smaller ones."""
    return s.pieces[seat, EXCHANGE_GIVES[kind]] > 0 and holds(
        s.pieces[partner_of(s, seat, partner)], EXCHANGE_GETS[kind]
    )


@jit
def finds_exchange(s, seat):
    for partner in range(s.num_players):
        for kind in range(NUM_EXCHANGES):
            if can_exchange(s, seat, kind, partner):
                return True
    return False


# --- a turn ---------------------------------------------------------------------------------------------------------


@jit
def play_on(s):
    """T1: cards are drawn and resolved in turn until a player has something to choose or the deck is used up."""
    while s.drawn < NUM_CARDS:
        draw_card(s, s.player, OPEN)
        if asks_player(s):
            return
        end_turn(s)
    end_pass(s)


@jit
def draw_card(s, seat, outcome):
    s.card = s.deck[s.drawn]
    s.drawn += 1
    s.log_seat[s.logged] = seat
    s.log_card[s.logged] = s.card
    s.log_outcome[s.logged] = outcome
    s.log_exchange[s.logged] = -1
    s.logged += 1


@jit
def asks_player(s):
    """T1: does what the card says, and tells whether its player has to choose something for it."""
    rank = rank_of(s.card)
    if rank == ACE:
        take_centre(s)
        return False
    if rank == SIX:
        note_outcome(s, SKIPPED)
        return False
    if TAKES[rank] > 0:
        return asks_taking(s, TAKES[rank])
    return asks_payment(s, PAYS[rank])


@jit
def take_centre(s):
    """T1: an ace."""
    if points_of(s.pieces[CENTRE]) == 0:
        note_outcome(s, NOTHING_FITS)
    else:
        everything = s.pieces[CENTRE].copy()
        note_outcome(s, TOOK_ALL)
        note_pieces(s, everything)
        move_pieces(s, CENTRE, s.player, everything)


@jit
def asks_taking(s, amount):
    """T3."""
    if not can_make(s.pieces[CENTRE], amount):
        note_outcome(s, NOTHING_FITS)
        return False
    s.phase = TAKE
    return True


@jit
def asks_payment(s, amount):
    """T2; T4: an exchange comes first where it is needed and possible; T5: else nothing is paid."""
    if points_of(s.pieces[s.player]) < amount:
        note_outcome(s, TOO_FEW_POINTS)
        return False
    if can_make(s.pieces[s.player], amount):
        s.phase = PAY
        return True
    if finds_exchange(s, s.player):
        s.phase = EXCHANGE
        return True
    note_outcome(s, NO_PARTNER)
    return False


@jit
def pay(s, pieces):
    """T1: to a neighbour with a queen or a jack, else to the centre; T2."""
    rank = rank_of(s.card)
    if rank == QUEEN:
        taker = left_of(s, s.player)
    elif rank == JACK:
        taker = right_of(s, s.player)
    else:
        taker = CENTRE
    note_outcome(s, PAID)
    note_pieces(s, pieces)
    move_pieces(s, s.player, taker, pieces)
    end_turn(s)


@jit
def take_from_centre(s, pieces):
    """T3."""
    note_outcome(s, TOOK)
    note_pieces(s, pieces)
    move_pieces(s, CENTRE, s.player, pieces)
    end_turn(s)


@jit
def exchange(s, kind, partner):
    """T4: the partner need not agree; then the payment is asked."""
    owner = partner_of(s, s.player, partner)
    s.log_exchange[s.logged - 1] = kind
    s.log_partner[s.logged - 1] = owner
    s.pieces[s.player, EXCHANGE_GIVES[kind]] -= 1
    s.pieces[owner, EXCHANGE_GIVES[kind]] += 1
    move_pieces(s, owner, s.player, EXCHANGE_GETS[kind])
    s.phase = PAY


@jit
def end_turn(s):
    """T1; T6: a player without pieces has turns like everyone else."""
    s.card = -1
    s.player = left_of(s, s.player)


@jit
def note_outcome(s, outcome):
    s.log_outcome[s.logged - 1] = outcome


@jit
def note_pieces(s, pieces):
    for size in range(NUM_SIZES):
        s.log_pieces[s.logged - 1, size] = pieces[size]


# --- end of a pass and of the game -----------------------------------------------------------------------------------


@jit
def end_pass(s):
    """E1, E2."""
    s.passes += 1
    if s.passes < NUM_PASSES:
        s.chance = DECK
    else:
        end_game(s)


@jit
def end_game(s):
    """E2: the most points win; what lies in the centre counts for no one."""
    most = 0
    for seat in range(s.num_players):
        most = max(most, s.score[seat])
    for seat in range(s.num_players):
        s.winner[seat] = s.score[seat] == most
    rank_by_score(s)
    s.end = TERMINATED


# --- decisions -------------------------------------------------------------------------------------------------------


@jit
def amount_due(s):
    """The points that the card being resolved makes its player pay or take."""
    rank = rank_of(s.card)
    return PAYS[rank] + TAKES[rank]


@jit
def legal_actions(s, mask):
    mask[:] = 0
    count = 0
    if s.phase == EXCHANGE:
        for partner in range(s.num_players):
            for kind in range(NUM_EXCHANGES):
                if can_exchange(s, s.player, kind, partner):
                    mask[EXCHANGE_1 + partner * NUM_EXCHANGES + kind] = 1
                    count += 1
        return count
    owner = s.player if s.phase == PAY else CENTRE
    amount = amount_due(s)
    for piece_set in range(FIRST_SET[amount], FIRST_SET[amount + 1]):
        if holds(s.pieces[owner], PIECE_SETS[piece_set]):
            mask[piece_set] = 1
            count += 1
    return count


@jit
def apply_action(s, action):
    if s.phase == EXCHANGE:
        partner, kind = divmod(action - EXCHANGE_1, NUM_EXCHANGES)
        exchange(s, kind, partner)
    elif s.phase == PAY:
        pay(s, PIECE_SETS[action])
        play_on(s)
    else:
        take_from_centre(s, PIECE_SETS[action])
        play_on(s)
