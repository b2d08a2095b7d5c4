"""The Icarus Club: a trick-taking game for 3-5 players in which the second most wins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from card_envs.errors import CardEnvsError
from card_envs.games.chance import Deck, Draw, Seat
from card_envs.games.game import Game, Option, Rules, whole_number
from card_envs.games.icarus_club import heuristic, observation, resample, rules, state
from card_envs.games.icarus_club.text import render


def _rounds(value: Any) -> int | None:
    return None if value is None else whole_number(1, state.MAX_PLAYERS)(value)


class IcarusClub(Game):
    """The Icarus Club. With fewer `suits`, `ranks` or `rounds` than printed it is a variant of ours, for analysis."""

    name = "icarus_club_v0"
    title = "The Icarus Club"
    min_players, max_players, default_players = 3, 5, 4
    num_opinions = heuristic.NUM_OPINIONS
    phases = state.PHASES
    chances = (Seat("first-player"), Draw("suit-out", state.SUITS), Deck("deck", state.CARD_NAMES))
    option_table: ClassVar = {
        "suits": Option(
            state.NUM_SUITS, whole_number(1, state.NUM_SUITS), f"a whole number from 1 to {state.NUM_SUITS}"
        ),
        "ranks": Option(
            state.NUM_RANKS, whole_number(1, state.NUM_RANKS), f"a whole number from 1 to {state.NUM_RANKS}"
        ),
        "rounds": Option(
            None, _rounds, "a whole number from 1 to the number of players, or None for that number", {None: 0}
        ),
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

    @classmethod
    def variants(cls) -> Iterator[dict[str, Any]]:
        yield from super().variants()
        yield {"suits": 3, "ranks": 5, "rounds": 2}

    def _build(self) -> None:
        suits, ranks = self.options["suits"], self.options["ranks"]
        piles = state.cards_per_hand(self.num_players, suits, ranks)
        if piles == 0:
            raise CardEnvsError(
                f"{self.name}: {suits} suits of {ranks} ranks are too few cards; "
                f"{self.num_players} players need {self.num_players + 1} at least"
            )
        rounds = self.num_players if self.options["rounds"] is None else self.options["rounds"]
        if rounds > self.num_players:
            allowed = self.option_table["rounds"].allowed
            raise CardEnvsError(f"{self.name}: rounds is {rounds} with {self.num_players} players; allowed: {allowed}")
        self.state_dtype = state.STATE
        self.action_names = state.ACTION_NAMES
        self.layout = state.layout(self.num_players)
        self.max_chance_values = state.NUM_CARDS
        leaves_suit_out = state.leaves_suit_out(self.num_players, suits)
        self.max_chance_events = 1 + rounds * (1 + leaves_suit_out)
        self.max_decisions = rounds * (piles * self.num_players + 2 * (piles - 1))
        self.initial = np.zeros(1, state.STATE)
        table = self.initial[0]
        table.num_suits, table.num_ranks, table.num_rounds = suits, ranks, rounds
        table.leaves_suit_out = leaves_suit_out
        table.num_piles = piles
        table.chance = state.FIRST_PLAYER
        table.suit_out = -1
        table.where = state.OUT
        table.played = -1
        table.chosen = -1

    def deck_runs(self, num_cards: int) -> list[int]:
        """S2: hands have no order, the lane has, and nor has what is left over (S3)."""
        piles = int(self.initial[0].num_piles)
        left_over = num_cards - piles * (self.num_players + 1)
        return [piles] * self.num_players + [1] * piles + [left_over] * (left_over > 0)

    def render_text(self, table: Any, seat: int | None = None) -> str:
        return render(table, seat)


GAME = IcarusClub
