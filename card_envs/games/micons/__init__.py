"""Micons: a shedding game for 2-4 players, in which what an object is like decides what may be played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from card_envs.errors import CardEnvsError
from card_envs.games.chance import Deck, Seat
from card_envs.games.game import Game, Option, Rules, one_of, whole_number
from card_envs.games.micons import deck, heuristic, observation, resample, rules, state
from card_envs.games.micons.text import render


def _bits(traits: tuple[str, ...]) -> int:
    return sum(1 << state.TRAITS.index(trait) for trait in traits)


class Micons(Game):
    """Micons. The option `deck`, once read, is the list of cards that a record holds; `cards` are the same, checked."""

    name = "micons_v0"
    title = "Micons"
    min_players, max_players, default_players = 2, state.MAX_PLAYERS, 3
    num_opinions = heuristic.NUM_OPINIONS
    playout_policy = "heuristic"
    phases = state.PHASES
    option_table: ClassVar = {
        "judging": Option("table", one_of(*state.JUDGING), "one of " + ", ".join(state.JUDGING)),
        "max_turns": Option(1000, whole_number(1, 1_000_000), "a whole number from 1 to 1000000"),
        "deck": Option(None, lambda value: value, "the path of a JSON file or a list of cards", {None: ""}),
    }
    rules = Rules(
        draw_chance=rules.draw_chance,
        apply_chance=rules.apply_chance,
        legal_actions=rules.legal_actions,
        apply_action=rules.apply_action,
        observe=observation.observe,
        resample=resample.resample,
        heuristic=heuristic.heuristic,
        opinions=heuristic.opinions,
    )

    cards: tuple[deck.Card, ...]

    def _build(self) -> None:
        try:
            self.cards = deck.read_deck(self.options["deck"], self.num_players)
        except CardEnvsError as error:
            raise CardEnvsError(f"{self.name}: {error}") from None
        self.options["deck"] = [card.to_json() for card in self.cards]
        names = tuple(card.name for card in self.cards)
        self.chances = (Seat("first-player"), Deck("deck", names))
        self.state_dtype = state.state_dtype(len(names))
        self.action_names = names + state.WORDS
        self.layout = state.layout(self.num_players, len(names))
        self.max_chance_values = len(names)
        turns = self.options["max_turns"]
        self.max_chance_events = 2 + turns  # X1: a turn makes a new deck at most once
        # A turn is a card or to draw, and what to do with the card drawn. With votes, each card in question and each
        # one rejected before (J3) asks all others.
        votes = (len(names) + 1) * self.num_players if self.options["judging"] == "vote" else 0
        self.max_decisions = turns * (2 + votes)
        self.initial = np.zeros(1, self.state_dtype)
        table = self.initial[0]
        table.judging = state.JUDGING.index(self.options["judging"])
        table.max_turns = self.options["max_turns"]
        for i, card in enumerate(self.cards):
            plain, arguable = _bits(card.traits), _bits(card.arguable)
            table.traits[i] = plain | arguable if self.options["judging"] == "table" else plain  # J1, J2
            table.arguable[i] = arguable if self.options["judging"] == "vote" else 0  # J3
            table.luck[i] = card.luck
            table.back[i] = state.TRAITS.index(card.back)
        table.chance = state.FIRST_PLAYER
        table.where = state.IN_DECK
        table.starter = -1
        table.drawn = -1
        table.argued = -1

    @classmethod
    def from_record(cls, options: Mapping[str, Any]) -> Game:
        """As for every game; the deck is a list of cards, for a record must not name files of whoever reads it."""
        if not isinstance(options.get("deck", []), list):
            found = str(options["deck"])[:60]
            raise CardEnvsError(f"{cls.name}: deck is {found!r}; a record's deck is a list of cards")
        return cls(**options)

    @classmethod
    def variants(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"judging": "strict"}
        yield {"judging": "vote"}

    def __repr__(self) -> str:
        supplied = self.cards == deck.read_deck(None, self.num_players)
        options = {**super().options_to_json(), "deck": "supplied" if supplied else f"{len(self.cards)} cards"}
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in options.items())})"

    def options_to_json(self) -> dict[str, Any]:
        """As for every game, and always the deck, card by card, so that a record needs no file."""
        return {**super().options_to_json(), "deck": [card.to_json() for card in self.cards]}

    def render_text(self, table: Any, seat: int | None = None) -> str:
        return render(table, [card.name for card in self.cards], seat)


GAME = Micons
