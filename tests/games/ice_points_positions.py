"""Positions of Ice Points made by hand, for its tests."""

from __future__ import annotations

from typing import Any

from numba import njit

from card_envs.games.ice_points import IcePoints, rules, state
from card_envs.games.recorded_game import RecordedGame

CARD = {name: i for i, name in enumerate(state.CARD_NAMES)}


def counts(pieces: str) -> list[int]:
    """ "LLMS" as numbers of small, medium and large pieces."""
    assert set(pieces) <= set("LMS")
    return [pieces.count(size) for size in state.SIZES]


@njit
def resume(states):
    rules.play_on(states[0])


def deck_of(first: str = "", last: str = "") -> list[str]:
    """A deck that begins and ends with these cards; the others lie between, from ace to 2."""
    begin, end = first.split(), last.split()
    return begin + [name for name in state.CARD_NAMES if name not in begin + end] + end


def position(
    cards: str,
    num_players: int = 5,
    pieces: dict[int, str] | None = None,
    centre: str = "",
    *,
    others: str | None = None,
    start: int = 0,
    passes: int = 1,
    last: bool = False,
) -> RecordedGame:
    """A table just before `cards` are drawn, resolved up to the first decision, chance event or end.

    Args:
        cards: the next cards of the deck, "KS 7D".
        num_players: seats.
        pieces: seats' pieces, "LLM"; who is not named has `others`.
        centre: the pieces in the centre.
        others: None for a full set.
        start: who draws the first of the cards.
        passes: passes completed.
        last: the cards are the last ones of the pass.
    """
    table = RecordedGame(IcePoints(num_players), seed=0, explicit_chance=True)
    s = table.state
    s.chance, s.passes, s.player = state.NO_CHANCE, passes, start
    s.deck = [CARD[name] for name in (deck_of(last=cards) if last else deck_of(cards))]
    s.drawn = state.NUM_CARDS - len(cards.split()) if last else 0
    for seat in range(num_players):
        given = (pieces or {}).get(seat, others)
        if given is not None:
            s.pieces[seat] = counts(given)
            s.score[seat] = points(given)
    s.pieces[state.CENTRE] = counts(centre)
    resume(table.states)
    return table


def points(pieces: str) -> int:
    return sum("SML".index(size) + 1 for size in pieces)


def owned(table: RecordedGame, owner: int) -> str:
    """The pieces of a seat, or of the centre, large ones first: "LLM"."""
    small, medium, large = (int(count) for count in table.state.pieces[owner])
    return "L" * large + "M" * medium + "S" * small


def in_centre(table: RecordedGame) -> str:
    return owned(table, state.CENTRE)


def last_event(table: RecordedGame) -> Any:
    """The newest entry of the log: what became of the card drawn last."""
    return table.game.events(table.state)[-1]


def event(table: RecordedGame, i: int) -> Any:
    return table.game.events(table.state)[i]
