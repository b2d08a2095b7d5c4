"""One game at a time, from Python: moves by name or id, every chance event seen and, if wanted, handed in.

Records, replay and tests use this; loops over many games use `kernels.batch` directly.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.errors import CardEnvsError, IllegalActionError
from card_envs.games.game import Game
from card_envs.kernels import batch
from card_envs.kernels.rng import seed_words
from card_envs.kernels.state import RUNNING, TRUNCATED

Event = list[Any]  #: ["chance", KIND, VALUE] or ["player_i", ACTION NAME]


class RecordedGame:
    """One game with its history.

    Args:
        game: what is played.
        seed: seeds the game's chance; None takes fresh entropy.
        explicit_chance: chance events wait for `apply_chance` instead of being drawn.

    Attributes:
        states: the game's state as an array of length 1, for kernels.
        events: what has happened, in the form of a game record.
    """

    def __init__(
        self, game: Game, seed: int | np.random.SeedSequence | None = None, *, explicit_chance: bool = False
    ) -> None:
        self.game = game
        self.kernels = batch.for_game(game)
        self.explicit_chance = explicit_chance
        self.states: npt.NDArray[Any] = game.initial.copy()
        self.states["rng"] = seed_words(seed, 1)
        self.events: list[Event] = []
        self._outcome = np.zeros(game.max_chance_values, np.int16)
        self._mask = np.zeros(game.num_actions, np.int8)
        self.draw_chance()

    @property
    def state(self) -> Any:
        """The state record, not a copy."""
        return self.states[0]

    @property
    def over(self) -> bool:
        return bool(self.state.end != RUNNING)

    @property
    def truncated(self) -> bool:
        return bool(self.state.end == TRUNCATED)

    @property
    def player(self) -> int:
        """The seat to act."""
        return int(self.state.player)

    @property
    def phase(self) -> str:
        return self.game.phases[int(self.state.phase)]

    @property
    def chance(self) -> str:
        """The kind of chance event that is due, "" for none."""
        return self.game.chance_kinds[int(self.state.chance)]

    def action_mask(self) -> npt.NDArray[np.int8]:
        """A fresh int8 (A,) with 1 for what the seat to act may do; zeros after the end or while chance is due."""
        self.kernels.legal(self.states, 0, self._mask)
        return self._mask.copy()

    def legal_actions(self) -> list[str]:
        return [self.game.action_names[action] for action in np.flatnonzero(self.action_mask())]

    def observe(self, seat: int) -> npt.NDArray[np.float32]:
        """What `seat` may know, a fresh float32 (O,)."""
        out = np.empty(self.game.layout.size, np.float32)
        self.kernels.observe(self.states, 0, seat, self.game.layout.at, out)
        return out

    def apply_chance(self, kind: str, value: Any) -> None:
        """Carries out the due chance event with a value as it stands in a record.

        Raises:
            CardEnvsError: another event is due, or the value is not possible; nothing has changed.
        """
        if not self.chance:
            due = "the game has ended" if self.over else f"player_{self.player} is to {self.phase}"
            raise CardEnvsError(f"no chance event is due: {due}")
        if kind != self.chance:
            raise CardEnvsError(f"chance event {kind!r} is not due, expected {self.chance!r}")
        values = self.game.chance_from_json(self.state, value)
        event = ["chance", kind, self.game.chance_to_json(int(self.state.chance), values)]
        self.kernels.apply_chance(self.states, 0, values)
        self.events.append(event)

    def play(self, action: str | int) -> None:
        """The seat to act does `action` (a name or an id), then chance is drawn unless it is explicit.

        Raises:
            IllegalActionError: not possible here; the message says what is, and nothing has changed.
        """
        action_id = self._checked(action)
        self.events.append([f"player_{self.player}", self.game.action_names[action_id]])
        self.kernels.apply(self.states, 0, action_id)
        self.draw_chance()

    def returns(self) -> npt.NDArray[np.float64]:
        """Every seat's return, float64 (players,); zeros while the game runs."""
        out = np.zeros((1, self.game.num_players))
        self.kernels.returns(self.states, np.zeros(1, np.int64), out)
        return out.ravel()

    def render(self, seat: int | None = None) -> str:
        """The table as text: everything, or what `seat` may know."""
        return self.game.render_text(self.state, seat)

    def _checked(self, action: str | int) -> int:
        if self.over:
            raise IllegalActionError(f"{action!r} comes after the end of the game")
        if self.chance:
            raise IllegalActionError(f"{action!r} comes before the chance event {self.chance!r}")
        mask = self.action_mask()
        action_id = self._id(action)
        if not 0 <= action_id < len(mask) or not mask[action_id]:
            raise IllegalActionError(illegal_message(self.game, self.state, action, mask))
        return action_id

    def _id(self, action: Any) -> int:
        """The id of an action given by name or id, -1 for anything else; nothing is rounded to an id."""
        if isinstance(action, str):
            return self.game.action_ids.get(action, -1)
        try:
            return -1 if isinstance(action, (bool, np.bool_)) else operator.index(action)
        except TypeError:
            return -1

    def draw_chance(self) -> None:
        """Draws every chance event that is due; does nothing where chance is explicit."""
        while self.state.chance and not self.explicit_chance:
            kind = int(self.state.chance)
            count = self.kernels.chance(self.states, 0, self._outcome)
            self.events.append(
                ["chance", self.game.chance_kinds[kind], self.game.chance_to_json(kind, self._outcome[:count])]
            )


def illegal_message(game: Game, state: Any, action: object, mask: npt.NDArray[np.int8]) -> str:
    """What is wrong with an action: its name, the phase, and the legal ones."""
    name: object = action
    if isinstance(action, (int, np.integer)) and not isinstance(action, bool) and 0 <= action < game.num_actions:
        name = game.action_names[int(action)]
    legal = ", ".join(game.action_names[i] for i in np.flatnonzero(mask))
    phase = game.phases[state.phase]
    return f"{game.name}: player_{state.player} can't do {name!r} in phase {phase!r}; legal actions: {legal}"
