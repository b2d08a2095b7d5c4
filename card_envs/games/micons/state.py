"""Micons: names, the state record and the observation's layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from card_envs.games.game import Layout, Segment
from card_envs.kernels.state import header, record_dtype

TRAITS = (
    "yellow",
    "brown",
    "blue",
    "red",
    "green",
    "gray",
    "pink",
    "orange",
    "round",
    "triangular",
    "square",
    "smells-good",
    "smells-bad",
    "cold",
    "hot",
    "bright",
    "loud",
    "sharp",
    "salty",
    "sweet",
)
NUM_TRAITS = len(TRAITS)
MAX_PLAYERS = 4
CARDS_PER_HAND = 5

# After the cards, which come in the order of the deck's file, these are the actions.
WORDS = ("draw", "keep", "accept", "reject")
DRAW, KEEP, ACCEPT, REJECT = range(4)

PHASES = ("play", "drawn", "vote")
PLAY, DRAWN, VOTE = range(3)

NO_CHANCE, FIRST_PLAYER, DECK = range(3)

JUDGING = ("table", "strict", "vote")
TABLE, STRICT, BY_VOTE = range(3)

# Where a card is: in front of seat p (value p), or one of these.
IN_DECK = 4
ACTIVE = 5
BENEATH = 6  # beneath the active card

NO_VOTE, ACCEPTED, REJECTED = range(3)  # a seat's answer in the vote that runs

MAX_COUNT = 8  # hands are shown card by card up to here
CARD_OPTION = 5  # numbers of the observation about each card that may be played


def min_cards(num_players: int) -> int:
    """D3: the hands, the active card and one more for the deck."""
    return CARDS_PER_HAND * num_players + 2


def state_dtype(num_cards: int) -> np.dtype[Any]:
    """One game with a deck of this many cards; what is on the cards is part of it."""
    return record_dtype(
        [
            *header(MAX_PLAYERS),
            ("judging", np.int8),  # position in JUDGING
            ("max_turns", np.int32),
            ("traits", np.uint32, (num_cards,)),  # bit t: the object has trait t without an argument (J1, J2)
            ("arguable", np.uint32, (num_cards,)),  # bit t: it may be argued to have trait t (J3)
            ("luck", np.int8, (num_cards,)),
            ("back", np.int8, (num_cards,)),  # the trait on the card's other side
            ("where", np.int8, (num_cards,)),
            ("deck", np.int16, (num_cards,)),  # the first `deck_size` entries from the bottom to the top
            ("deck_size", np.int16),
            ("active", np.int16),
            ("starter", np.int16),  # the first active card while nobody has seen its object, then -1
            ("num_beneath", np.int16),
            ("hand_size", np.int16, (MAX_PLAYERS,)),
            ("dealt", np.int8),
            ("turn", np.int8),  # the seat whose turn it is
            ("turns", np.int32),  # completed
            ("passes", np.int32),  # turns in a row in which no card was played or drawn
            ("drawn", np.int16),  # the card drawn in this turn, -1 for none
            ("argued", np.int16),  # the card argued for, -1 for none
            ("rejected", np.int8, (num_cards,)),  # 1 = argued for in this turn without success
            ("votes", np.int8, (MAX_PLAYERS,)),  # NO_VOTE, ACCEPTED or REJECTED
        ]
    )


def layout(num_players: int, num_cards: int) -> Layout:
    """The observation's parts. Seats come relative to the observer: itself first, then the others clockwise."""
    n, cards = num_players, num_cards
    return Layout(
        [
            Segment("phase", (3,), "one-hot: " + ", ".join(PHASES)),
            Segment("to_act", (n,), "one-hot: the seat to act"),
            Segment("turn", (n,), "one-hot: the seat whose turn it is"),
            Segment("hands", (n, cards), "1 = card in front of this seat"),
            Segment("unseen", (cards,), "1 = card that nobody has seen since the deck was shuffled"),
            Segment(
                "active_card",
                (cards,),
                "one-hot: the active card; zeros while nobody has seen its object. A card in none of `hands`, `unseen` "
                "and `active_card` lies beneath the active card",
            ),
            Segment("active_trait", (NUM_TRAITS,), "one-hot: the trait to match"),
            Segment("top_trait", (NUM_TRAITS,), "one-hot: the trait on the deck's top card; zeros without a deck"),
            Segment("top_match", (1,), "share with the trait to match among the cards that may be the deck's top card"),
            Segment(
                "starter_trait", (NUM_TRAITS,), "one-hot: the trait of the first active card until its object is known"
            ),
            Segment("hand_traits", (n, NUM_TRAITS), "1 = this seat has a card with the trait, no argument needed"),
            Segment("can_match", (n,), "1 = this seat has a card with the trait to match, no argument needed"),
            Segment(
                "card_options",
                (cards, CARD_OPTION),
                "each card that the observer may play: 1; 1 = it has the trait to match, 0.5 = by an argument, 0 = luck"
                " card; share of the observer's other cards that have the trait on its back; 1 = the next player could "
                "match that; share of the players after that one who could",
                first_action=0,
            ),
            Segment(
                "in_question",
                (cards,),
                "1 = the card that was drawn and may be played, or is argued for; 0.5 = argued for in vain this turn",
            ),
            Segment("was_drawn", (1,), "1 = the card in question was drawn in this turn"),
            Segment("can_follow", (n,), "1 = this seat has a card with the trait on the back of the card in question"),
            Segment("votes", (n, 2), "one-hot per seat: accept, reject in the vote that runs"),
            Segment("hand_count", (n, MAX_COUNT), f"one-hot per seat: 1 … {MAX_COUNT} cards left, the last for more"),
            Segment("hand_size", (n,), "cards left / cards in all"),
            Segment("deck_size", (1,), "cards in the deck / cards in all"),
            Segment("beneath_size", (1,), "cards beneath the active card / cards in all"),
            Segment("passes", (1,), "turns in a row without a card played or drawn / players"),
            Segment("turns", (1,), "turns completed / max_turns"),
        ]
    )
