"""Icons: Women Who Play to Win: names, the state record and the observation's layout."""

from __future__ import annotations

import numpy as np

from card_envs.games.game import Layout, Segment
from card_envs.kernels.state import header, record_dtype

MAX_PLAYERS = 8
NUM_SLOTS = 9
NUM_CATEGORIES = 5
CARDS_DEALT = 4  # S1: to every player
HAND_LIMIT = 7  # T7

CATEGORIES = ("arts", "science", "leadership", "adventure", "human-rights")
ACTION_CARDS = (
    "ahead-of-your-time",
    "pay-it-forward",
    "share-the-love",
    "return-the-favor",
    "break-the-barrier",
    "pass-the-torch",
)

# The 18 types of cards. Cards of a type are interchangeable, so a card is its type everywhere below.
CARD_NAMES = (
    *(f"icon-{category}" for category in CATEGORIES),
    "icon-you",
    *(f"category-{category}" for category in CATEGORIES),
    "category-wild",
    *ACTION_CARDS,
)
NUM_TYPES = len(CARD_NAMES)
ICON = 0  # ICON + c is the Icon of category c
ICON_YOU = 5
CATEGORY = 6  # CATEGORY + c is the Category card of category c
WILD = 11
AHEAD, PAY, SHARE, FAVOR, BARRIER, TORCH = range(12, 18)

COPIES = np.array([8] * 5 + [1] + [5] * 6 + [4] * 6, np.int64)
MOST_COPIES = COPIES.astype(np.int8)  # for loops over counts, which are int8
NUM_CARDS = 95
DECK_NAMES = [name for name, copies in zip(CARD_NAMES, COPIES, strict=True) for _ in range(copies)]

# The 20 matching sets (M1): the Icon, the Category card, and the category that the token counts for (M2).
_C = range(NUM_CATEGORIES)
NUM_SETS = 20
SET_ICON = np.array([*(ICON + c for c in _C), *(ICON + c for c in _C), *[ICON_YOU] * 10], np.int64)
SET_CATEGORY = np.array([*(CATEGORY + c for c in _C), *[WILD] * 5, *(CATEGORY + c for c in _C), *[WILD] * 5], np.int64)
SET_TOKEN = np.array([*_C, *_C, *_C, *_C], np.int64)
WITH_WILD, YOU_WITH_CARD, YOU_WITH_WILD = 5, 10, 15  # where each kind of set begins; before them, Icon and its category

_SETS = tuple(
    f"set {CARD_NAMES[SET_ICON[i]]} {CARD_NAMES[SET_CATEGORY[i]]}"
    + (f" as {CATEGORIES[SET_TOKEN[i]]}" if i >= 15 else "")
    for i in range(NUM_SETS)
)
_ACTION_PLAYS = (*ACTION_CARDS[:5], *(f"{ACTION_CARDS[5]} {CARD_NAMES[CATEGORY + c]}" for c in range(6)))
ACTION_NAMES = (
    *(f"slot-{k}" for k in range(1, NUM_SLOTS + 1)),
    "end-turn",
    *_SETS,
    *(f"bank {play}" for play in _SETS),
    *_ACTION_PLAYS,
    *(f"bank {play}" for play in _ACTION_PLAYS),
    *(f"opponent-{k}" for k in range(1, MAX_PLAYERS)),
    *(f"card {card}" for card in CARD_NAMES),
    *(f"token {category}" for category in CATEGORIES),
)
SLOT_1 = 0
END_TURN = 9
PLAY_SET = 10  # PLAY_SET + i plays set i from hand
BANK_SET = 30
PLAY_CARD = 50  # PLAY_CARD + i plays the Action card AHEAD + i from hand
PLAY_TORCH = 55  # PLAY_TORCH + c plays Pass the Torch with the Category card CATEGORY + c from hand
BANK_CARD = 61
BANK_TORCH = 66
OPPONENT_1 = 72
CARD = 79  # CARD + t chooses a card of type t
TOKEN = 97  # TOKEN + c chooses a token of category c

PHASES = (
    "flip",
    "play",
    "opponent",
    "card-give",
    "card-ask",
    "card-return",
    "card-pass",
    "token-give",
    "token-take",
    "discard",
)
FLIP, PLAY, OPPONENT, CARD_GIVE, CARD_ASK, CARD_RETURN, CARD_PASS, TOKEN_GIVE, TOKEN_TAKE, DISCARD = range(10)

NO_CHANCE, FIRST_PLAYER, DECK = range(3)

MEMORIES = ("perfect", "none")
PERFECT, NO_MEMORY = range(2)

PRINTED_GOALS = {2: 20, 3: 20, 4: 16, 5: 12}  # E1
NO_GOAL = 1000  # E2: more points than there are in the game

STATE = record_dtype(
    [
        *header(MAX_PLAYERS),
        # options
        ("goal", np.int16),  # the points to win, NO_GOAL for none
        ("max_turns", np.int32),
        ("memory", np.int8),  # position in MEMORIES
        # cards; a card is its type, -1 is none
        ("hand", np.int8, (MAX_PLAYERS, NUM_TYPES)),  # counts
        ("hand_size", np.int8, (MAX_PLAYERS,)),
        ("slot", np.int8, (NUM_SLOTS,)),
        ("flipped", np.int8),  # the slot that lies open, -1 for none
        ("discards", np.int8, (NUM_TYPES,)),  # counts
        ("pile", np.int8, (NUM_CARDS,)),  # a ring: its top lies at pile_top, the next card down one further
        ("pile_by", np.int8, (NUM_CARDS,)),  # who put that card under the pile (T7), -1 for a card of the deal
        ("pile_top", np.int16),
        ("pile_size", np.int16),
        ("put_back", np.int8, (MAX_PLAYERS,)),  # how many cards in the pile each seat put there
        ("tokens", np.int8, (MAX_PLAYERS, NUM_CATEGORIES)),
        # the turn
        ("turn", np.int8),  # whose turn it is
        ("turns", np.int32),  # completed
        ("turns_left", np.int8),  # turns of the last round still to come, lost ones included; -1 before it begins
        ("skips", np.int8, (MAX_PLAYERS,)),  # turns to lose
        # the play that is being asked in parts
        ("played", np.int8),  # its Action card
        ("torch_with", np.int8),  # A6: the Category card
        ("target", np.int8),  # the chosen player
        ("offered", np.int8),  # A5: the category of one's own token
        ("given", np.int8),  # A4: the card given
        ("chosen", np.int8, (MAX_PLAYERS,)),  # A2: every seat's chosen card
        # What players know (K). Observers: the seats and, at position num_players, the public, who sees what all see.
        # A seat as an observer of itself means nothing, but its at_least stays 0.
        ("slot_known", np.int8, (MAX_PLAYERS, NUM_SLOTS)),  # 1 = this seat knows the slot's card
        ("at_least", np.int8, (MAX_PLAYERS + 1, MAX_PLAYERS, NUM_TYPES)),  # by observer: cards this hand surely holds
        ("at_most", np.int8, (MAX_PLAYERS + 1, MAX_PLAYERS, NUM_TYPES)),  # by observer: cards it can hold at most
    ]
)

MAX_HAND = 14  # hands are shown up to this size
MAX_SCORE = 40  # scores are shown up to this
MAX_LEAD = 20
MAX_GAIN = 8  # the most points that one token can bring: 1, and 2 for a pair or 5 for all categories
MAX_CHANGE = 8
MAX_TOKENS = 9  # of one category: its Icons and YOU
MAX_SKIPS = 4
MAX_PILE = NUM_CARDS - NUM_SLOTS

# Widths of the descriptions of an option.
SLOT_OPTION = 5
SET_OPTION = 6
TORCH_OPTION = 3
OPPONENT_OPTION = 7
CARD_OPTION = 10
TOKEN_OPTION = 4

# What a card is, as numbers: an Icon; a Category card; one that goes with any other; how it takes tokens; how it upsets
# other players' turns and hands.
IS_ICON, IS_CATEGORY, GOES_WITH_ANY, TAKES, UPSETS = range(5)
NUM_KINDS = 5
CARD_KIND = np.zeros((NUM_TYPES, NUM_KINDS), np.float32)
CARD_KIND[: ICON_YOU + 1, IS_ICON] = 1.0
CARD_KIND[CATEGORY : WILD + 1, IS_CATEGORY] = 1.0
CARD_KIND[[ICON_YOU, WILD], GOES_WITH_ANY] = 1.0
CARD_KIND[[BARRIER, TORCH], TAKES] = 0.5, 1.0
CARD_KIND[[PAY, FAVOR, SHARE, AHEAD], UPSETS] = 0.25, 0.5, 0.75, 1.0


def layout(num_players: int) -> Layout:
    """The observation's parts. Seats come relative to the observer: itself first, then the others clockwise.

    What follows "memory:" has to be remembered; with the option `memory="none"` it is zero, but for what lies open at
    the moment. The parts with "options" describe what the observer may choose now, and are zeros for all else.
    """
    n = num_players
    card = f"of the {NUM_TYPES} types"
    kind = "Icon, Category card, goes with any, takes tokens, upsets others"
    return Layout(
        [
            # written whole every time
            Segment("hand", (NUM_TYPES,), "cards of each type in the observer's hand / copies in the game"),
            Segment("discards", (NUM_TYPES,), "cards of each type played / copies"),
            Segment("pile_size", (1,), f"cards in the Draw Pile / {MAX_PILE}"),
            Segment("turns", (1,), "completed turns / max_turns"),
            Segment("hand_size", (n,), f"cards in hand / {MAX_HAND}, cut at 1"),
            Segment("score", (n,), f"points / {MAX_SCORE}, cut at 1"),
            Segment("skips", (n,), f"turns to lose / {MAX_SKIPS}, cut at 1"),
            Segment("missing", (n,), "points missing to win / points to win; zeros if there is no such number"),
            Segment("lead", (n - 1,), f"own points minus this opponent's, -{MAX_LEAD} … {MAX_LEAD} as 0 … 1"),
            Segment("tokens", (n, NUM_CATEGORIES), f"tokens of each category / {MAX_TOKENS}"),
            Segment("gain", (NUM_CATEGORIES,), f"points that an own token of the category would bring / {MAX_GAIN}"),
            Segment(
                "best_set",
                (NUM_TYPES,),
                f"points of the best set that a card of the type would make with one in hand / {MAX_GAIN}",
            ),
            # ... or, what has to be remembered, never
            Segment(
                "unseen",
                (NUM_TYPES,),
                "memory: cards of each type of which the observer does not know where they are / copies",
            ),
            Segment("at_least", (n - 1, NUM_TYPES), "memory: cards that this opponent surely holds / copies"),
            Segment("at_most", (n - 1, NUM_TYPES), "memory: cards that this opponent can hold at most / copies"),
            # zeros but for a few places
            Segment("phase", (len(PHASES),), "one-hot: " + ", ".join(PHASES)),
            Segment("to_act", (n,), "one-hot: the seat to act"),
            Segment("in_turn", (n,), "one-hot: the seat whose turn it is"),
            Segment("last_round", (1,), "1 = the last round has begun"),
            Segment("turn_to_come", (n,), "1 = in the last round this seat's turn is still to come, and not lost"),
            Segment("flipped_slot", (NUM_SLOTS,), "one-hot: the bank slot that lies open"),
            Segment("flipped_card", (NUM_TYPES,), f"one-hot {card}: the card in it"),
            Segment("slot_empty", (NUM_SLOTS,), "1 = no card lies in this bank slot"),
            Segment(
                "slot_card", (NUM_SLOTS, NUM_TYPES), f"memory: one-hot {card} per bank slot, zeros where not known"
            ),
            Segment(
                "pile_own",
                (MAX_PILE,),
                f"memory: (type + 1) / {NUM_TYPES} of the observer's own cards under the pile, by place from the top",
            ),
            Segment("played", (len(ACTION_CARDS),), "one-hot: the Action card being carried out"),
            Segment("torch_with", (6,), "one-hot: the Category card played with Pass the Torch"),
            Segment("target", (n,), "one-hot: the player chosen for it"),
            Segment("offered", (NUM_CATEGORIES,), "one-hot: the token offered in Break the Barrier"),
            Segment(
                "chosen",
                (NUM_TYPES,),
                "one-hot: the card that the observer has chosen to pass; memory: or the one given in Return the Favor, "
                "which only the two see",
            ),
            Segment("has_chosen", (n,), "1 = this seat has chosen its card to pass"),
            Segment(
                "slot_options",
                (NUM_SLOTS, SLOT_OPTION),
                f"each slot to flip: 1; memory: 1 = its card is known, points of the best set with it / {MAX_GAIN}, "
                "how it takes tokens, how it upsets others",
                first_action=SLOT_1,
            ),
            *(
                Segment(
                    name,
                    (NUM_SETS, SET_OPTION),
                    f"each set to play {where}: 1; its points / {MAX_GAIN}; 1 = it wins; cards in hand like its Icon, "
                    "and like its Category card, / copies; 1 = with Wild",
                    first_action=first,
                )
                for name, where, first in (
                    ("set_options", "from hand", PLAY_SET),
                    ("bank_set_options", "with the bank", BANK_SET),
                )
            ),
            *(
                Segment(
                    name,
                    (6, TORCH_OPTION),
                    f"Pass the Torch with each Category card, {where}: 1; the most points that it brings / {MAX_GAIN}; "
                    f"the most points that it costs an opponent / {MAX_GAIN}",
                    first_action=first,
                )
                for name, where, first in (
                    ("torch_options", "from hand", PLAY_TORCH),
                    ("bank_torch_options", "with the bank", BANK_TORCH),
                )
            ),
            Segment(
                "opponent_options",
                (n - 1, OPPONENT_OPTION),
                "each opponent to choose: 1; its `score`, `missing`, `hand_size`, `skips`; by the best token there, "
                f"the change of one's own points and of theirs, -{MAX_CHANGE} … {MAX_CHANGE} as 0 … 1",
                first_action=OPPONENT_1,
            ),
            Segment(
                "card_options",
                (NUM_TYPES, CARD_OPTION),
                f"each card to choose: 1; held / copies; points of the best set with it / {MAX_GAIN}; its kind ({kind})"
                "; memory: what the chosen player surely holds of it, and can hold at most, / copies",
                first_action=CARD,
            ),
            Segment(
                "token_options",
                (NUM_CATEGORIES, TOKEN_OPTION),
                f"each token to choose: 1; own tokens of the category / {MAX_TOKENS}; the change of one's own points "
                f"and of the other player's, -{MAX_CHANGE} … {MAX_CHANGE} as 0 … 1",
                first_action=TOKEN,
            ),
        ]
    )
