"""Positions of Micons made by hand, for its tests.

They use a deck whose cards say what they are: `blue-red` is plainly blue with red on its back, `maybe-blue-red`
arguably blue, and `luck-red` a luck card.
"""

from __future__ import annotations

from typing import Any

from card_envs.games.micons import Micons, state
from card_envs.games.recorded_game import RecordedGame

NAMES = (
    *("blue-blue", "blue-red", "blue-hot", "blue-loud"),
    *("red-blue", "red-red", "red-hot", "red-loud"),
    *("hot-blue", "hot-red", "hot-hot", "hot-loud"),
    *("maybe-blue-blue", "maybe-blue-red", "maybe-red-blue", "maybe-red-red", "maybe-hot-blue", "maybe-hot-red"),
    *("luck-blue", "luck-red", "luck-hot", "luck-loud"),
)
CARD = {name: i for i, name in enumerate(NAMES)}


def card(name: str) -> dict[str, Any]:
    front, back = name.rsplit("-", 1)
    trait = front.removeprefix("maybe-")
    plain, maybe = front == trait and front != "luck", front != trait
    return {
        "name": name,
        "traits": [trait] if plain else [],
        "arguable": [trait] if maybe else [],
        "luck": front == "luck",
        "back": back,
    }


DECK = [card(name) for name in NAMES]


def position(
    hands: list[str],
    active: str,
    deck: str = "",
    *,
    rest: str = "beneath",
    judging: str = "table",
    turn: int = 0,
    **options: Any,
) -> RecordedGame:
    """The beginning of a turn.

    Args:
        hands: every seat's cards, "blue-red luck-hot".
        active: the active card.
        deck: the deck from its top to its bottom.
        rest: where the other cards are: "beneath" the active one, at the bottom of the "deck", or with the "last" seat.
        judging: how arguable traits are judged.
        turn: whose turn it is.
        options: more options of the game.
    """
    table = RecordedGame(Micons(len(hands), judging=judging, deck=DECK, **options), seed=0, explicit_chance=True)
    s = table.state
    s.chance, s.dealt, s.turn, s.player, s.phase = state.NO_CHANCE, 1, turn, turn, state.PLAY
    placed = [name for cards in (*hands, active, deck) for name in cards.split()]
    assert len(set(placed)) == len(placed), "a card lies in one place"
    others = [name for name in NAMES if name not in placed]
    last = len(hands) - 1
    for seat, cards in enumerate(hands):
        for name in cards.split() + others * (rest == "last" and seat == last):
            s.where[CARD[name]] = seat
            s.hand_size[seat] += 1
            s.score[seat] -= 1
    s.active = CARD[active]
    s.where[s.active] = state.ACTIVE
    pile = deck.split() + others * (rest == "deck")
    for i, name in enumerate(reversed(pile)):
        s.deck[i] = CARD[name]
        s.where[CARD[name]] = state.IN_DECK
    s.deck_size = len(pile)
    if rest == "beneath":
        for name in others:
            s.where[CARD[name]] = state.BENEATH
        s.num_beneath = len(others)
    return table


def play(table: RecordedGame, actions: str) -> RecordedGame:
    for action in actions.split():
        table.play(action)
    return table


def cards_at(table: RecordedGame, place: int) -> set[str]:
    return {name for name, i in CARD.items() if table.state.where[i] == place}


def deck(table: RecordedGame) -> list[str]:
    """From the top to the bottom."""
    s = table.state
    return [NAMES[s.deck[i]] for i in range(int(s.deck_size) - 1, -1, -1)]


def active(table: RecordedGame) -> str:
    return NAMES[table.state.active]


def part(table: RecordedGame, seat: int, segment: str) -> Any:
    """One segment of what a seat observes, in its own shape."""
    return table.game.layout.split(table.observe(seat))[segment]


def options(table: RecordedGame) -> dict[str, list[float]]:
    """What the seat to act observes about every card that it may play."""
    rows = part(table, table.player, "card_options")
    return {NAMES[i]: row.tolist() for i, row in enumerate(rows) if row.any()}
