"""Positions of The Icarus Club made by hand, for its tests."""

from __future__ import annotations

from typing import Any

from card_envs.games.icarus_club import IcarusClub, state
from card_envs.games.recorded_game import RecordedGame

CARD = {name: i for i, name in enumerate(state.CARD_NAMES)}


def late(
    num_players: int,
    hands: list[str],
    lane: list[str],
    *,
    start: int = 0,
    rounds: int = 0,
    earnings: list[int] | None = None,
    score: list[int] | None = None,
) -> RecordedGame:
    """The start of a trick late in a round.

    Args:
        num_players: seats.
        hands: every seat's cards, "slots-1 craps-2".
        lane: the piles that remain, from the left; each from its bottom to its top card.
        start: who leads.
        rounds: rounds completed.
        earnings: what the seats took in this round already.
        score: what they have from the rounds before.
    """
    assert all(len(hand.split()) == len(lane) for hand in hands), "a hand has a card for every trick"
    table = RecordedGame(IcarusClub(num_players), seed=0, explicit_chance=True)
    s = table.state
    s.chance, s.rounds, s.start, s.player = state.NO_CHANCE, rounds, start, start
    s.where = state.DISCARDED
    s.pile_now = s.num_piles - len(lane)
    if num_players == 3:
        used = {name.rsplit("-", 1)[0] for cards in (*hands, *lane) for name in cards.split()}
        s.suit_out = min(set(range(5)) - {state.SUITS.index(suit) for suit in used})
    for seat, hand in enumerate(hands):
        for name in hand.split():
            assert s.where[CARD[name]] == state.DISCARDED
            s.where[CARD[name]] = seat
    for k, pile in enumerate(lane, int(s.pile_now)):
        for name in pile.split():
            assert s.where[CARD[name]] == state.DISCARDED
            s.where[CARD[name]] = state.LANE
            s.pile[CARD[name]] = k
            s.pile_top[k] = CARD[name]
            s.pile_size[k] += 1
    for seat in range(num_players):
        s.earnings[seat] = earnings[seat] if earnings else 0
        s.score[seat] = score[seat] if score else 0
    return table


def last_trick(num_players: int, earnings: list[int], **given: Any) -> RecordedGame:
    """The last trick of a round in which nobody can win a card, so that `earnings` stay what they are."""
    hands = [f"craps-{seat + 1}" for seat in range(num_players)]
    return late(num_players, hands, ["slots-11"], earnings=earnings, **given)


def play(table: RecordedGame, actions: str) -> RecordedGame:
    for action in actions.split():
        table.play(action)
    return table


def place(table: RecordedGame, card: str) -> int:
    return int(table.state.where[CARD[card]])


def hand(table: RecordedGame, seat: int) -> list[str]:
    return [name for name in state.CARD_NAMES if place(table, name) == seat]
