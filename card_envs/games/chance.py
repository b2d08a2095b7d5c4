"""Kinds of chance events: what a game says about its chance, and all that records and game trees need of it.

A game names its events once, in the order of their numbers in `s.chance`::

    chances = (Seat("first-player"), Draw("suit-out", SUITS), Deck("deck", CARD_NAMES))

In a state, `s.chance` is 0 where none is due, else 1 + the position of the event in `Game.chances`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.errors import CardEnvsError, unknown_name


@dataclass(frozen=True)
class Chance:
    """A chance event: one number below `outcomes`, all alike, or a shuffle.

    Attributes:
        name: as it stands in records.
    """

    name: str

    def outcomes(self, num_players: int) -> int:
        """How many equally likely numbers it draws one of; 0 for a shuffle."""
        raise NotImplementedError

    def to_json(self, value: npt.NDArray[np.int16]) -> Any:
        """A value, int16, as it is written in a record."""
        raise NotImplementedError

    def from_json(self, value: Any, due: npt.NDArray[np.int16], num_players: int) -> npt.NDArray[np.int16]:
        """A value as it stands in a record, int16.

        Args:
            value: what was read.
            due: some value that could be drawn here; a shuffle must bring the same cards.
            num_players: seats at the table.

        Raises:
            CardEnvsError: it can't be drawn here; the message says what was expected.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Seat(Chance):
    """A seat, say of who begins; a number in records."""

    def outcomes(self, num_players: int) -> int:
        return num_players

    def to_json(self, value: npt.NDArray[np.int16]) -> int:
        return int(value[0])

    def from_json(self, value: Any, due: npt.NDArray[np.int16], num_players: int) -> npt.NDArray[np.int16]:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < num_players:
            raise CardEnvsError(f"a seat is a whole number from 0 to {num_players - 1}, not {value!r}")
        return np.array([value], np.int16)


@dataclass(frozen=True)
class Draw(Chance):
    """One of several things: a suit, a card, the face of a die; its name in records.

    Attributes:
        names: of the outcomes, by number.
    """

    names: Sequence[str]

    def outcomes(self, num_players: int) -> int:
        return len(self.names)

    def to_json(self, value: npt.NDArray[np.int16]) -> str:
        return self.names[int(value[0])]

    def from_json(self, value: Any, due: npt.NDArray[np.int16], num_players: int) -> npt.NDArray[np.int16]:
        if value not in self.names:
            raise CardEnvsError(unknown_name(self.name, value, self.names))
        return np.array([self.names.index(value)], np.int16)


@dataclass(frozen=True)
class Deck(Chance):
    """A shuffle of cards; the list of their names in records, in the order in which they then lie.

    Attributes:
        names: of the cards, by number.
    """

    names: Sequence[str]

    def outcomes(self, num_players: int) -> int:
        return 0

    def to_json(self, value: npt.NDArray[np.int16]) -> list[str]:
        return [self.names[card] for card in value]

    def from_json(self, value: Any, due: npt.NDArray[np.int16], num_players: int) -> npt.NDArray[np.int16]:
        check_deck(value, self.to_json(np.sort(due)))
        return np.array([self.names.index(card) for card in value], np.int16)


def check_deck(value: Any, expected: Sequence[str]) -> None:
    """Checks that `value` is a list of card names, the same cards as `expected` in any order.

    Raises:
        CardEnvsError: naming the first card that is missing, too many or unknown.
    """
    if not isinstance(value, list) or not all(isinstance(card, str) for card in value):
        raise CardEnvsError(f"a deck is a list of {len(expected)} card names, not {str(value)[:60]!r}")
    counts: dict[str, int] = {}
    for card in expected:
        counts[card] = counts.get(card, 0) + 1
    for card in value:
        if counts.get(card, 0) == 0:
            kind = "is in the deck too often" if card in expected else "does not belong to the deck"
            raise CardEnvsError(f"card {card!r} {kind}; expected {len(expected)} cards")
        counts[card] -= 1
    missing = [card for card, count in counts.items() if count]
    if missing:
        raise CardEnvsError(f"the deck has {len(value)} cards, expected {len(expected)}; {missing[0]!r} is missing")
