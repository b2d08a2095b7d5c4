"""The Icarus Club: a trick-taking game for 3-5 players in which the second most wins."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.errors import CardEnvsError, unknown_name
from card_envs.games.game import Game, Rules, check_deck, check_seat
from card_envs.games.icarus_club import heuristic, observation, rules, state
from card_envs.games.icarus_club.text import render


class IcarusClub(Game):
    name = "icarus_club_v0"
    title = "The Icarus Club"
    min_players, max_players, default_players = 3, 5, 4
    phases = state.PHASES
    chance_kinds = state.CHANCE_KINDS
    rules = Rules(
        draw_chance=rules.draw_chance,
        apply_chance=rules.apply_chance,
        legal_actions=rules.legal_actions,
        apply_action=rules.apply_action,
        observe=observation.observe,
        resample=observation.resample,
        heuristic=heuristic.heuristic,
    )

    def _build(self) -> None:
        self.state_dtype = state.STATE
        self.action_names = state.ACTION_NAMES
        self.layout = state.layout(self.num_players)
        self.max_chance_values = state.NUM_CARDS
        self.initial = np.zeros(1, state.STATE)
        table = self.initial[0]
        table.num_players = self.num_players
        table.num_piles = state.cards_per_hand(self.num_players)
        table.chance = state.FIRST_PLAYER
        table.suit_out = -1
        table.where = state.OUT
        table.played = -1
        table.chosen = -1

    def chance_to_json(self, kind: int, value: npt.NDArray[np.int16]) -> Any:
        if kind == state.FIRST_PLAYER:
            return int(value[0])
        if kind == state.SUIT_OUT:
            return state.SUITS[value[0]]
        return [state.CARD_NAMES[card] for card in value]

    def chance_from_json(self, table: Any, value: Any) -> npt.NDArray[np.int16]:
        if table.chance == state.FIRST_PLAYER:
            return np.array([check_seat(value, self.num_players)], np.int16)
        if table.chance == state.SUIT_OUT:
            if value not in state.SUITS:
                raise CardEnvsError(unknown_name("suit", value, state.SUITS))
            return np.array([state.SUITS.index(value)], np.int16)
        check_deck(value, [name for name in state.CARD_NAMES if not self._left_out(table, name)])
        return np.array([state.CARD_NAMES.index(card) for card in value], np.int16)

    @staticmethod
    def _left_out(table: Any, card: str) -> bool:
        return table.suit_out >= 0 and card.startswith(state.SUITS[table.suit_out])

    def render_text(self, table: Any, seat: int | None = None) -> str:
        return render(table, seat)


GAME = IcarusClub
