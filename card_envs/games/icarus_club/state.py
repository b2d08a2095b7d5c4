"""The Icarus Club: names, the state record and the observation's layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from card_envs.games.game import Layout, Segment
from card_envs.kernels.state import header, record_dtype

SUITS = ("roulette", "craps", "poker", "blackjack", "slots")
NUM_SUITS, NUM_RANKS = 5, 11
NUM_CARDS = NUM_SUITS * NUM_RANKS
MAX_PLAYERS = 5
MAX_PILES = 11

CARD_NAMES = tuple(f"{suit}-{rank}" for suit in SUITS for rank in range(1, NUM_RANKS + 1))
PILE_NAMES = tuple(f"lane-{k}" for k in range(1, MAX_PILES))
ACTION_NAMES = CARD_NAMES + PILE_NAMES
LANE_1 = NUM_CARDS  # the action `lane-1`; the others follow

PHASES = ("play", "overwrite-card", "overwrite-pile")
PLAY, OVERWRITE_CARD, OVERWRITE_PILE = range(3)

NO_CHANCE, FIRST_PLAYER, SUIT_OUT, DECK = range(4)

# Where a card is: in the hand of seat p (value p), or one of these.
TAKEN = 5  # taken by seat p in this round: TAKEN + p
TRICK = 10
LANE = 11
DISCARDED = 12
OUT = 13  # of the suit left out (S1), or the card left over (S3)

STATE = record_dtype(
    [
        *header(MAX_PLAYERS),
        # options
        ("num_suits", np.int8),  # V1: the first ones
        ("num_ranks", np.int8),  # V1: the lowest ones
        ("num_rounds", np.int8),  # R4, V4
        ("leaves_suit_out", np.int8),  # 1 = one suit is set aside in every round (S1, V2)
        ("rounds", np.int8),  # completed
        ("start", np.int8),  # who leads this trick
        ("suit_out", np.int8),  # of a round with three players, else -1
        ("where", np.int8, (NUM_CARDS,)),
        ("pile", np.int8, (NUM_CARDS,)),  # for a card in the lane: its pile, counted from the left at the deal
        ("pile_top", np.int8, (MAX_PILES,)),
        ("pile_size", np.int8, (MAX_PILES,)),
        ("num_piles", np.int8),  # at the deal: 11, with five players 9, in reduced games less
        ("pile_now", np.int8),  # the leftmost pile that remains = tricks completed in this round
        ("played", np.int8, (MAX_PLAYERS,)),  # every seat's card in this trick, -1 for none
        ("chosen", np.int8),  # the card chosen for an overwrite, -1 for none
        ("void", np.int8, (MAX_PLAYERS, NUM_SUITS)),  # 1 = did not follow this suit in this round, so holds none
        ("earnings", np.int8, (MAX_PLAYERS,)),  # cards taken in this round
    ]
)

# Differences between players decide this game, so they are shown at a resolution of one card up to these bounds.
MAX_STANDING = 20
MAX_LEAD = 12
MAX_SCORE = 135  # five rounds of 27 cards: who has more than half of a round's cards has the most and scores 0


CARD_OPTION, PILE_OPTION = 7, 7  # numbers that describe an option


def leaves_suit_out(num_players: int, num_suits: int = NUM_SUITS) -> bool:
    """S1, V2: whether one suit is set aside in every round."""
    return num_players == 3 and num_suits == NUM_SUITS


def cards_per_hand(num_players: int, num_suits: int = NUM_SUITS, num_ranks: int = NUM_RANKS) -> int:
    """S2, V3: tricks in a round = cards in a hand = piles in the lane; 0 where the cards don't suffice."""
    suits_dealt = num_suits - leaves_suit_out(num_players, num_suits)
    return suits_dealt * num_ranks // (num_players + 1)


def deck_cards(table: Any) -> list[int]:
    """The cards that are dealt in this round, in the order of their numbers."""
    suits = [suit for suit in range(table.num_suits) if suit != table.suit_out]
    return [suit * NUM_RANKS + rank for suit in suits for rank in range(table.num_ranks)]


def layout(num_players: int) -> Layout:
    """The observation's parts. Seats come relative to the observer: itself first, then the others clockwise.

    Reduced games have the same: what they lack stays 0.
    """
    n, piles = num_players, cards_per_hand(num_players)
    return Layout(
        [
            Segment("phase", (3,), "one-hot: " + ", ".join(PHASES)),
            Segment("to_act", (n,), "one-hot: the seat to act"),
            Segment("round_number", (n,), "one-hot: the round being played"),
            Segment(
                "tricks_left", (piles,), "one-hot: 1 … piles that remain in the lane, the current trick's included"
            ),
            Segment("hand", (NUM_CARDS,), "1 = card in the observer's hand"),
            Segment("unseen", (NUM_CARDS,), "1 = card in another player's hand as far as the observer knows"),
            Segment("suit_held", (NUM_SUITS,), "own cards of each suit / 11"),
            Segment("suit_unseen", (NUM_SUITS,), "unseen cards of each suit / 11"),
            Segment("suit_ahead", (NUM_SUITS,), "cards in later piles, by the suit of the top card / 22"),
            Segment(
                "suit_chance",
                (NUM_SUITS,),
                "the chance that a random own card wins a later trick of its suit; "
                "while a trick is played only for suits that a later pile has",
            ),
            Segment("void", (n - 1, NUM_SUITS), "1 = this opponent was seen not to hold the suit in this round"),
            Segment("lane_suit", (piles, NUM_SUITS), "one-hot per remaining pile from the left: suit of its top card"),
            Segment("lane_depth", (piles,), "cards in that pile / piles at the deal"),
            Segment("trick_suit", (n, NUM_SUITS), "one-hot per seat: suit of its card in the current trick"),
            Segment("trick_rank", (n,), "rank of that card / 11"),
            Segment("trick_start", (n,), "one-hot: the seat that leads this trick; once it is won, its winner"),
            Segment("trick_winner", (n,), "one-hot: the seat that wins the trick as it stands; zeros for nobody"),
            Segment("stake", (piles,), "one-hot: 1 … cards in the leftmost pile, which the winner of this trick takes"),
            Segment("chosen_suit", (NUM_SUITS,), "one-hot: suit of the card chosen for an overwrite"),
            Segment("earnings", (n,), "cards taken in this round / 55"),
            Segment("score", (n,), f"sum of the completed rounds / {MAX_SCORE}"),
            Segment("lead", (n - 1, 2 * MAX_LEAD + 1), "one-hot per opponent: own earnings minus theirs, cut at ±12"),
            Segment(
                "standing",
                (n - 1, 2 * MAX_STANDING + 1),
                "one-hot per opponent: own sum minus theirs if the round ended now (R2), cut at ±20",
            ),
            Segment(
                "card_options",
                (NUM_CARDS, CARD_OPTION),
                "each card that the observer may choose: 1; rank / 11; `suit_held`, `suit_ahead`, `suit_chance` of its "
                "suit; unseen higher cards of its suit / 10; the chance that it wins this trick, 0 once that is won",
                first_action=0,
            ),
            Segment(
                "pile_options",
                (MAX_PILES - 1, PILE_OPTION),
                "each pile that the observer may choose: 1; its cards / 11; tricks until it is played for / 10; "
                "`suit_held`, `suit_chance` of its top card's suit; the same of the chosen card's suit",
                first_action=LANE_1,
            ),
        ]
    )
