"""Icons: Women Who Play to Win: set collection with a memory and cards against each other, for 2-8 players."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from card_envs.games.chance import Deck, Seat
from card_envs.games.game import Game, Option, Rules, one_of, whole_number
from card_envs.games.icons import evaluate, heuristic, observation, resample, rules, state
from card_envs.games.icons.text import render


def _points_to_win(value: Any) -> int | str | None:
    if value is None or (isinstance(value, str) and value == "printed"):
        return value
    return whole_number(1)(value)


class Icons(Game):
    name = "icons_v0"
    title = "Icons: Women Who Play to Win"
    min_players, max_players, default_players = 2, state.MAX_PLAYERS, 4
    num_opinions = heuristic.NUM_OPINIONS
    playout_policy, playout_length = "heuristic", 16
    phases = state.PHASES
    chances = (Seat("first-player"), Deck("deck", state.CARD_NAMES))
    hidden_phases = ("card-give", "card-return", "card-pass", "discard")  # A4, A2, T7
    option_table: ClassVar = {
        "points_to_win": Option(
            "printed", _points_to_win, '"printed", a whole number from 1, or None', {"printed": 0, None: -1}
        ),
        "max_turns": Option(1000, whole_number(1, 10**9), "a whole number from 1 to 1000000000"),
        "memory": Option("perfect", one_of(*state.MEMORIES), '"perfect" or "none"'),
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
        evaluate=evaluate.evaluate,
    )

    @classmethod
    def variants(cls) -> Iterator[dict[str, Any]]:
        yield from super().variants()
        yield {"memory": "none"}

    def _build(self) -> None:
        self.state_dtype = state.STATE
        self.action_names = state.ACTION_NAMES
        self.layout = state.layout(self.num_players)
        self.max_chance_values = state.NUM_CARDS
        self.max_chance_events = 2
        # Every play uses up a card for good and asks for 3 parts or for a card of each player (A2). A turn adds a flip
        # and its end; cards put under the pile (T7) were dealt or drawn, one in a turn.
        plays = state.NUM_CARDS * (1 + max(3, self.num_players))
        self.max_decisions = plays + 3 * self.options["max_turns"] + state.CARDS_DEALT * self.num_players
        self.initial = np.zeros(1, state.STATE)
        table = self.initial[0]
        table.goal = self._goal()
        table.max_turns = self.options["max_turns"]
        table.memory = state.MEMORIES.index(self.options["memory"])
        table.chance = state.FIRST_PLAYER
        table.turns_left = -1
        table.slot = -1
        table.pile_by = -1
        for part in ("flipped", "played", "torch_with", "target", "offered", "given", "chosen"):
            table[part] = -1

    def _goal(self) -> int:
        """E1, E2."""
        goal = self.options["points_to_win"]
        if goal == "printed":
            return state.PRINTED_GOALS.get(self.num_players, state.NO_GOAL)
        return state.NO_GOAL if goal is None else min(goal, state.NO_GOAL)

    def render_text(self, table: Any, seat: int | None = None) -> str:
        return render(table, seat)


GAME = Icons
