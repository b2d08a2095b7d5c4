"""Chances as a seat of The Icarus Club can reckon them: from the cards that it has not seen, and who did not follow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from card_envs.games.icarus_club.state import MAX_PLAYERS, NUM_CARDS, NUM_RANKS, OUT
from card_envs.kernels.jit import jit


@jit
def may_follow(s, seat, suit):
    """How many other players may hold the suit."""
    count = 0
    for other in range(s.num_players):
        count += (other != seat) & (s.void[other, suit] == 0)
    return count


@jit
def is_unseen(s, seat, card):
    return (s.where[card] < s.num_players) & (s.where[card] != seat)


def _lets_stand() -> npt.NDArray[np.float64]:
    holders = np.arange(MAX_PLAYERS)[:, None, None]
    unseen = np.arange(NUM_RANKS + 1)[None, :, None]
    above = np.minimum(np.arange(NUM_RANKS + 1)[None, None, :], unseen)
    holds = 1.0 - (1.0 - 1.0 / np.maximum(holders, 1)) ** unseen
    return np.asarray(1.0 - holds * above / np.maximum(unseen, 1))


# LETS_STAND[holders, unseen, above]: the chance that one player does not beat a card. Each of the suit's `unseen` cards
# lies with any of `holders` players; who has some plays any of them; `above` of them are higher.
LETS_STAND = _lets_stand()
# The chance that none of the holders beats it, in 1/1024: whole numbers add up faster.
UNIT = 1024
STAYS_BEST = np.rint(UNIT * LETS_STAND ** np.arange(MAX_PLAYERS)[:, None, None]).astype(np.int32)

# COUNTED[seat, where]: OWN for a card in the seat's hand, UNSEEN for one in another's: one sum counts both.
OWN, UNSEEN = 1, 256

COUNTED = np.zeros((MAX_PLAYERS, OUT + 1), np.int64)
COUNTED[:, :MAX_PLAYERS] = np.where(np.eye(MAX_PLAYERS), OWN, UNSEEN)


@jit
def count_cards(s, seat, suit):
    """How many cards of the suit the seat holds, and how many it has not seen."""
    where = s.where[suit * NUM_RANKS : (suit + 1) * NUM_RANKS]
    counted = COUNTED[seat]
    total = 0
    for i in range(NUM_RANKS):
        total += counted[np.uint8(where[i])]  # unsigned: no test for an index from the end
    return total % UNSEEN, total // UNSEEN


# Of the cards of one suit, as the bits of a number: how many there are, and the lowest.
HOW_MANY = np.array([cards.bit_count() for cards in range(1 << NUM_RANKS)], np.int64)
LOWEST = np.array([(cards & -cards).bit_length() - 1 for cards in range(1 << NUM_RANKS)], np.int64)


@jit
def known_cards(s, seat):
    """The seat's cards and those that it has not seen, each as the bits of one number."""
    own, unseen = np.int64(0), np.int64(0)
    for card in range(NUM_CARDS):
        own |= np.int64(s.where[card] == seat) << card
        unseen |= np.int64((s.where[card] < s.num_players) & (s.where[card] != seat)) << card
    return own, unseen


@jit
def cards_of(cards, suit):
    """Those of one suit, from bit 0, out of all."""
    return (cards >> (suit * NUM_RANKS)) & ((1 << NUM_RANKS) - 1)


@jit
def sum_of_chances(cards, unseen, holders):
    """Over `cards` of a suit, in 1/1024, the sum of their chances to win a trick; others are as in `LETS_STAND`."""
    best = STAYS_BEST[holders, HOW_MANY[unseen]]
    total = 0
    while cards != 0:
        total += best[HOW_MANY[unseen >> LOWEST[cards]]]
        cards &= cards - 1
    return total
