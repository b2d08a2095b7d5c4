"""Decks of Micons: what a card is, and reading and checking a user's own (D1-D3)."""

from __future__ import annotations

import bisect
import functools
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from card_envs.errors import CardEnvsError, clipped, unknown_name
from card_envs.games.micons.state import TRAITS, WORDS, min_cards

SUPPLIED = Path(__file__).with_name("deck.json")
KEYS = ("name", "traits", "arguable", "luck", "back")
MAX_CARDS = 10_000  # far above any table; keeps card numbers within int16

_CARD = "a card is an object with the keys " + ", ".join(repr(key) for key in KEYS)


class Card(NamedTuple):
    """What is on a card.

    Attributes:
        name: the object's name, unique in its deck.
        traits: what the object plainly has.
        arguable: what a fair player could say that it has, and another could deny.
        luck: whether it is a luck card, which has no traits.
        back: the trait on its other side.
    """

    name: str
    traits: tuple[str, ...]
    arguable: tuple[str, ...]
    luck: bool
    back: str

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "traits": list(self.traits),
            "arguable": list(self.arguable),
            "luck": self.luck,
            "back": self.back,
        }


class _Located(NamedTuple):
    """A JSON value and where it stands, in words. An object is a list of pairs, so that a repeated key is seen."""

    value: Any
    place: str


class _Pairs(list[tuple[_Located, _Located]]):
    """The pairs of an object."""


def read_deck(source: str | os.PathLike[str] | Sequence[Any] | None, num_players: int) -> tuple[Card, ...]:
    """The cards of a deck in their order.

    Args:
        source: a JSON file's path, the cards as they stand in a record, or None for the supplied deck.
        num_players: seats that must get their cards from it.

    Raises:
        CardEnvsError: the deck is not one; the message names the line of the file (or the card's number, counted from
            1) and what is allowed.
    """
    if source is None:
        return _supplied()
    if isinstance(source, (str, os.PathLike)):
        return _read_file(Path(source), num_players)
    if isinstance(source, (list, tuple)):
        cards = [_locate_given(card, f"card {number}") for number, card in enumerate(source, 1)]
        try:
            return _check_deck(_Located(cards, "the list of cards"), num_players)
        except CardEnvsError as error:
            raise CardEnvsError(f"deck, {error}") from None
    found = _shown(_Located(source, "deck"))
    raise CardEnvsError(f"deck is {found}; allowed: the path of a JSON file or a list of cards")


@functools.cache
def _supplied() -> tuple[Card, ...]:
    return _read_file(SUPPLIED, 2)


def _read_file(path: Path, num_players: int) -> tuple[Card, ...]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
        json.loads(text, parse_int=_number)
        return _check_deck(_locate(text), num_players)
    except OSError as error:
        raise CardEnvsError(f"deck file {path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise CardEnvsError(f"deck file {path}, line {line}: this is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise CardEnvsError(f"deck file {path}, line {error.lineno}: broken JSON: {error.msg}") from error
    except RecursionError as error:
        raise CardEnvsError(f"deck file {path}, line 1: lists within lists without end; {_CARD}") from error
    except CardEnvsError as error:
        raise CardEnvsError(f"deck file {path}, {error}") from None


def _number(digits: str) -> int:
    """A deck has no numbers; the first digits are for the message, and Python refuses to read thousands of them."""
    return int(digits[:60])


# --- where things stand ---------------------------------------------------------------------------------------------


def _locate(text: str) -> _Located:
    """Reads a JSON text, known to be free of errors, with the line of every value."""
    scalar = json.JSONDecoder(parse_int=_number).raw_decode
    line_ends = [at for at, character in enumerate(text) if character == "\n"]

    def skip(at: int, characters: str = " \t\r\n,:") -> int:
        while at < len(text) and text[at] in characters:
            at += 1
        return at

    def value(at: int) -> tuple[_Located, int]:
        line = f"line {bisect.bisect_left(line_ends, at) + 1}"
        if text[at] == "{":
            pairs = _Pairs()
            at = skip(at + 1)
            while text[at] != "}":
                key, at = value(at)
                content, at = value(skip(at))
                pairs.append((key, content))
                at = skip(at)
            return _Located(pairs, line), at + 1
        if text[at] == "[":
            items = []
            at = skip(at + 1)
            while text[at] != "]":
                item, at = value(at)
                items.append(item)
                at = skip(at)
            return _Located(items, line), at + 1
        content, end = scalar(text, at)
        return _Located(content, line), end

    return value(skip(0))[0]


def _locate_given(value: Any, place: str) -> _Located:
    """A Python value in the same form; everything in it stands at `place`."""
    if isinstance(value, Card):
        value = value.to_json()
    if isinstance(value, dict):
        pairs = ((_Located(key, place), _locate_given(content, place)) for key, content in value.items())
        return _Located(_Pairs(pairs), place)
    if isinstance(value, (list, tuple)):
        return _Located([_locate_given(item, place) for item in value], place)
    return _Located(value, place)


# --- checks ---------------------------------------------------------------------------------------------------------


def _wrong(located: _Located, message: str) -> CardEnvsError:
    return CardEnvsError(f"{located.place}: {message}")


def _check_deck(deck: _Located, num_players: int) -> tuple[Card, ...]:
    if type(deck.value) is not list:
        raise _wrong(deck, f"a deck is a list of cards, not {_shown(deck)}")
    cards: list[Card] = []
    places: dict[str, str] = {}
    for located in deck.value:
        card = _check_card(located)
        name_at = _fields(located)["name"]
        if card.name in places:
            raise _wrong(name_at, f"the name {clipped(card.name)!r} is taken at {places[card.name]}; names are unique")
        places[card.name] = name_at.place
        cards.append(card)
    needed = min_cards(num_players)
    if not needed <= len(cards) <= MAX_CARDS:
        last = deck.value[-1] if deck.value else deck
        raise _wrong(
            last, f"the deck ends with {len(cards)} cards; {num_players} players need {needed} to {MAX_CARDS} cards"
        )
    return tuple(cards)


def _fields(located: _Located) -> dict[str, _Located]:
    return {key.value: content for key, content in located.value}


def _check_card(card: _Located) -> Card:
    if not isinstance(card.value, _Pairs):
        raise _wrong(card, f"{_CARD}, not {_shown(card)}")
    seen: set[str] = set()
    for key, _ in card.value:
        if key.value not in KEYS:
            raise _wrong(key, unknown_name("key", key.value, KEYS))
        if key.value in seen:
            raise _wrong(key, f"the key {key.value!r} stands twice in one card")
        seen.add(key.value)
    fields = _fields(card)
    for name in KEYS:
        if name not in fields:
            raise _wrong(card, f"the key {name!r} is missing; {_CARD}")
    name = _typed(fields["name"], str, "'name' is a text")
    if not name or name != name.strip() or not name.isprintable():
        raise _wrong(
            fields["name"], f"the name {clipped(name)!r} is blank or has blanks at its ends; 'name' is a plain word"
        )
    if name in WORDS:
        raise _wrong(fields["name"], f"the name {name!r} is an action's; a card can't be called {', '.join(WORDS)}")
    luck = _typed(fields["luck"], bool, "'luck' is true or false")
    traits = _traits(fields, "traits")
    arguable = _traits(fields, "arguable")
    for trait in fields["arguable"].value:
        if trait.value in traits:
            raise _wrong(
                trait, f"{clipped(name)!r} has {trait.value!r} both plainly and arguably; one of the two is allowed"
            )
    if luck and (traits or arguable):
        raise _wrong(fields["luck"], f"the luck card {clipped(name)!r} has traits; allowed: none")
    return Card(name, traits, arguable, luck, _trait(fields["back"], "'back' is one trait"))


def _traits(fields: dict[str, _Located], key: str) -> tuple[str, ...]:
    listed = _typed(fields[key], list, f"{key!r} is a list of traits")
    traits: list[str] = []
    for located in listed:
        trait = _trait(located, f"{key!r} is a list of traits")
        if trait in traits:
            raise _wrong(located, f"{trait!r} stands twice in {key!r}; once is allowed")
        traits.append(trait)
    return tuple(traits)


def _trait(located: _Located, allowed: str) -> str:
    trait = _typed(located, str, allowed)
    if trait not in TRAITS:
        raise _wrong(located, unknown_name("trait", trait, TRAITS))
    return str(trait)


def _typed(located: _Located, kind: Callable[..., Any], allowed: str) -> Any:
    if type(located.value) is not kind:
        raise _wrong(located, f"{allowed}, not {_shown(located)}")
    return located.value


def _shown(located: _Located) -> str:
    """A value of the wrong type in a few words."""
    if isinstance(located.value, _Pairs):
        return "an object"
    if isinstance(located.value, list):
        return "a list"
    try:
        return json.dumps(located.value, default=repr)[:60]
    except ValueError:  # Python refuses to write thousands of digits
        return "a number of thousands of digits"
