"""Ice Points: names, the state record and the observation's layout."""

from __future__ import annotations

import numpy as np

from card_envs.games.game import Layout, Segment
from card_envs.kernels.state import header, record_dtype

MAX_PLAYERS = 8

# Cards lie rank by rank, the highest first, so that a smaller number is a higher rank.
RANKS = ("A", "K", "Q", "J", "10", "9", "8", "7", "6", "5", "4", "3", "2")
ACE, KING, QUEEN, JACK, TEN, NINE, EIGHT, SEVEN, SIX, FIVE, FOUR, THREE, TWO = range(13)
SUITS = ("S", "H", "D", "C")
NUM_RANKS, NUM_SUITS = 13, 4
NUM_CARDS = NUM_RANKS * NUM_SUITS
NUM_PASSES = 2
CARD_NAMES = tuple(f"{rank}{suit}" for rank in RANKS for suit in SUITS)

#: Points to pay and to take, by rank (T1).
PAYS = np.array([0, 3, 3, 3, 5, 5, 5, 5, 0, 0, 0, 0, 0], np.int64)
TAKES = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 4, 3, 2], np.int64)
MIN_AMOUNT, MAX_AMOUNT = 2, 5

# A piece of size i is worth i + 1 points.
SIZES = ("S", "M", "L")
SMALL, MEDIUM, LARGE = range(3)
NUM_SIZES = 3
PIECES_PER_SIZE = 5  # in a player's set
POINTS_PER_SET = 30

# What a payment or a taking can consist of, by amount: the sets of 2 points, then those of 3, 4 and 5.
PIECE_SET_NAMES = (
    *("M", "S+S"),
    *("L", "M+S", "S+S+S"),
    *("L+S", "M+M", "M+S+S", "S+S+S+S"),
    *("L+M", "L+S+S", "M+M+S", "M+S+S+S", "S+S+S+S+S"),
)
NUM_PIECE_SETS = len(PIECE_SET_NAMES)
PIECE_SETS = np.array([[name.count(size) for size in SIZES] for name in PIECE_SET_NAMES], np.int8)
#: The sets of an amount are those from FIRST_SET[amount] to FIRST_SET[amount + 1] - 1.
FIRST_SET = np.array([0, 0, 0, 2, 5, 9, NUM_PIECE_SETS], np.int64)

# Exchanges (T4): one piece of this size for these smaller ones.
EXCHANGE_NAMES = ("L for M+S", "L for S+S+S", "M for S+S")
NUM_EXCHANGES = 3
EXCHANGE_GIVES = np.array([LARGE, LARGE, MEDIUM], np.int64)
EXCHANGE_GETS = np.array([[1, 1, 0], [3, 0, 0], [2, 0, 0]], np.int8)

EXCHANGE_1 = NUM_PIECE_SETS  # the action `L for M+S with centre`; the others follow, three for each partner


def action_names(num_players: int) -> tuple[str, ...]:
    partners = ["centre"] + [f"opponent-{k}" for k in range(1, num_players)]
    return PIECE_SET_NAMES + tuple(f"{exchange} with {partner}" for partner in partners for exchange in EXCHANGE_NAMES)


PHASES = ("pay", "take", "exchange")
PAY, TAKE, EXCHANGE = range(3)

NO_CHANCE, DECK = range(2)

# What came of a card that was drawn.
OPEN = 0  # its player is still deciding
FOR_THE_START = 1  # S2
SKIPPED = 2
PAID = 3
TOOK = 4
TOOK_ALL = 5
TOO_FEW_POINTS = 6  # T5
NO_PARTNER = 7  # T5: no exact payment, and nobody to exchange with
NOTHING_FITS = 8  # T3: no pieces of the centre make the amount; or an ace and an empty centre

CENTRE = MAX_PLAYERS  # the centre's row in `pieces`
LOG_LENGTH = NUM_PASSES * NUM_CARDS

STATE = record_dtype(
    [
        *header(MAX_PLAYERS),
        ("passes", np.int8),  # completed
        ("deck", np.int8, (NUM_CARDS,)),  # the cards of this pass in the order in which they are drawn
        ("drawn", np.int8),  # how many of them have been drawn
        ("card", np.int8),  # the card being resolved, -1 for none
        ("pieces", np.int8, (MAX_PLAYERS + 1, NUM_SIZES)),  # of every seat and of the centre, by size
        # The log: one entry per card drawn.
        ("logged", np.int16),
        ("log_seat", np.int8, (LOG_LENGTH,)),
        ("log_card", np.int8, (LOG_LENGTH,)),
        ("log_outcome", np.int8, (LOG_LENGTH,)),
        ("log_exchange", np.int8, (LOG_LENGTH,)),  # which exchange came before the payment, -1 for none
        ("log_partner", np.int8, (LOG_LENGTH,)),  # with whom: a seat or CENTRE
        ("log_pieces", np.int8, (LOG_LENGTH, NUM_SIZES)),  # the pieces paid or taken
    ]
)

MANY_PIECES = 6  # numbers of pieces are shown one by one up to this; more never changes what can be paid or taken
MANY_POINTS = 60
MOST_DRAWS = 20  # with five players: of 104 cards each has drawn one for the start, and one card is being resolved
MAX_LEAD = 15  # differences between players are shown at a resolution of one point up to this


def layout(num_players: int) -> Layout:
    """The observation's parts. Seats come relative to the observer: itself first, then the others clockwise."""
    n = num_players
    return Layout(
        [
            Segment("phase", (3,), "one-hot: " + ", ".join(PHASES) + "; zeros after the end"),
            Segment("to_act", (n,), "one-hot: the seat to act; zeros after the end"),
            Segment("card", (NUM_RANKS,), "one-hot: rank of the card being resolved, " + " ".join(RANKS)),
            Segment("amount", (4,), "one-hot: points to pay or to take, 2 … 5"),
            Segment("pass_number", (2,), "one-hot: the pass of the deck being played"),
            Segment("cards_left", (1,), "cards still to be drawn in this pass / 52"),
            Segment("ranks_left", (NUM_RANKS,), "such cards by rank / 4"),
            Segment("draws_left", (n,), f"cards that each seat will still draw to the end of the game / {MOST_DRAWS}"),
            Segment("draws_left_here", (n,), f"cards that each seat will still draw in this pass / {MOST_DRAWS}"),
            Segment("last_draws", (n,), "1 = the seat draws no more in this game"),
            Segment("pieces", (n, 3), f"pieces of each seat: small, medium, large / {PIECES_PER_SIZE * n}"),
            Segment("piece_count", (n, 3, MANY_PIECES + 1), "the same one-hot: 0 … 5, 6 or more"),
            Segment("centre", (3,), f"pieces in the centre: small, medium, large / {PIECES_PER_SIZE * n}"),
            Segment("centre_count", (3, MANY_PIECES + 1), "the same one-hot: 0 … 5, 6 or more"),
            Segment("centre_points", (1,), f"points in the centre / {POINTS_PER_SET * n}"),
            Segment("centre_makes", (4,), "1 = pieces of the centre make exactly 2 … 5 points"),
            Segment("owns", (n, 2), "1 = the seat owns at least 3, at least 5 points"),
            Segment("makes", (n, 2), "1 = the seat's pieces make exactly 3, exactly 5 points"),
            Segment("points", (n,), f"points of each seat / {MANY_POINTS}, cut at 1"),
            Segment("leads", (n,), "1 = nobody has more points than the seat"),
            Segment(
                "lead", (n - 1, 2 * MAX_LEAD + 1), f"one-hot per opponent: own points minus theirs, cut at ±{MAX_LEAD}"
            ),
            Segment("far_lead", (n - 1,), f"the same from 0 for -{MANY_POINTS} to 1 for +{MANY_POINTS}, cut there"),
        ]
    )
