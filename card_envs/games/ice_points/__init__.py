"""Ice Points: a game of luck for 5-8 players who draw cards and pay or take pieces in three sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from card_envs.games.chance import Deck
from card_envs.games.game import Game, Rules
from card_envs.games.ice_points import heuristic, observation, resample, rules, state, text


class IcePoints(Game):
    name = "ice_points_v0"
    title = "Ice Points"
    min_players, max_players, default_players = 5, state.MAX_PLAYERS, 5
    phases = state.PHASES
    chances = (Deck("deck", state.CARD_NAMES),)
    rules = Rules(
        draw_chance=rules.draw_chance,
        apply_chance=rules.apply_chance,
        legal_actions=rules.legal_actions,
        apply_action=rules.apply_action,
        observe=observation.observe,
        resample=resample.resample,
        heuristic=heuristic.heuristic,
    )

    def _build(self) -> None:
        self.state_dtype = state.STATE
        self.action_names = state.action_names(self.num_players)
        self.layout = state.layout(self.num_players)
        self.max_chance_values = state.NUM_CARDS
        self.max_chance_events = state.NUM_PASSES
        self.max_decisions = 2 * state.LOG_LENGTH  # for every card an exchange and a payment
        self.initial = np.zeros(1, state.STATE)
        table = self.initial[0]
        table.chance = state.DECK
        table.card = -1
        table.pieces[: self.num_players] = state.PIECES_PER_SIZE
        table.score[: self.num_players] = state.POINTS_PER_SET

    def render_text(self, table: Any, seat: int | None = None) -> str:
        return text.render(table, seat)

    def events(self, table: Any) -> list[text.Event]:
        """Which card was drawn by whom and what happened, from the game's first card on."""
        return text.events(table)

    def event_log(self, state: Any) -> list[str]:
        """`events` in words: most cards do something without anybody being asked."""
        return [str(event) for event in self.events(state)]


GAME = IcePoints
