"""One learner as a Gymnasium environment: `gymnasium.make("card_envs/IcarusClub-v0", opponents="heuristic")`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from card_envs.envs.aec import (
    ILLEGAL_ACTION,
    RENDER_MODES,
    checked_choice,
    checked_options,
    checked_seed,
    seat_spaces,
    table_text,
)
from card_envs.envs.learner import LearnerBatch, Opponents
from card_envs.errors import CardEnvsError, IllegalActionError, RenderModeError, shown
from card_envs.games import make_game
from card_envs.games.recorded_game import illegal_message


class SingleAgentEnv(gymnasium.Env[npt.NDArray[np.float32], np.int64]):
    """One learner among policies, in one game at a time.

    Observation: Box float32 (O,) in [0, 1]. Action: Discrete(A). The mask, int8 (A,) with 1 = legal, comes from
    `action_masks()` (the name that sb3-contrib looks for) and in `info["action_mask"]`.

    Args:
        game: its id, "icarus_club_v0".
        num_players: seats at the table; None takes the game's default.
        opponents: who plays the other seats; see `LearnerBatch`.
        seat: the learner's seat; None draws it anew for each game.
        skip_forced: decisions with one legal option are taken without asking.
        illegal_action: "terminate" (reward -1 and the end of the game) or "raise" (the game stays as it was).
        render_mode: None, "ansi" (`render` returns the table as the learner sees it) or "human" (`reset` and `step`
            print it).
        options: the game's own options.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # noqa: RUF012 - Gymnasium's own declaration

    def __init__(
        self,
        game: str,
        num_players: int | None = None,
        opponents: Opponents = "random",
        seat: int | None = None,
        skip_forced: bool = True,
        illegal_action: str = "terminate",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.game = make_game(game, num_players, **options)
        try:
            self.render_mode = checked_choice("render_mode", render_mode, (None, *RENDER_MODES))
        except CardEnvsError as error:
            raise RenderModeError(str(error)) from None
        self.illegal_action = checked_choice("illegal_action", illegal_action, ILLEGAL_ACTION)
        self.observation_space, self.action_space = seat_spaces(self.game)
        self.observation_layout = self.game.layout
        self._learner = LearnerBatch(self.game, 1, opponents, seat, skip_forced)
        self._started, self._over = False, True
        self._offender = -1  # the learner's seat, where it has ended the game by an illegal action

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Deals a new game and plays on to the learner's first decision.

        Args:
            seed: a whole number from 0; None goes on with the generators' streams, which the first reset without a
                seed takes from fresh entropy.
            options: ignored.
        """
        seed = checked_seed(seed)
        checked_options(options)
        super().reset(seed=seed)
        if seed is not None:
            self._learner.seed(seed)
        self._learner.reset()
        self._started, self._over, self._offender = True, False, -1
        if self.render_mode == "human":
            self.render()
        return self._learner.observation[0].copy(), self._info()

    def step(self, action: Any) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """The learner acts and the others play on to its next decision or the end."""
        if self._over:
            raise IllegalActionError(f"{self.game.name}: step({shown(action)}) comes outside a game: call reset()")
        if isinstance(action, bool) or not np.issubdtype(np.asarray(action).dtype, np.integer) or np.size(action) != 1:
            raise IllegalActionError(
                f"{self.game.name}: an action is a whole number from 0 to {self.game.num_actions - 1}, "
                f"not {shown(action)}"
            )
        action = int(np.asarray(action).item())
        mask = self._learner.action_mask[0]
        legal = 0 <= action < len(mask) and mask[action]
        if not legal and self.illegal_action == "raise":
            self._learner.illegal_actions += 1
            raise IllegalActionError(illegal_message(self.game, self._learner.tables.states[0], action, mask))
        rewards, ended = self._learner.step_without_deal(np.array([action]))
        self._offender = -1 if legal else int(self._learner.seats[0])
        self._over = len(ended.rows) > 0
        if self.render_mode == "human":
            self.render()
        if not self._over:
            return self._learner.observation[0].copy(), 0.0, False, False, self._info()
        truncated = bool(ended.truncated[0])
        info = self._info() | {"score": int(ended.score[0]), "rank": int(ended.rank[0])}
        return ended.observation[0], float(rewards[0]), not truncated, truncated, info

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The mask of the present decision, a fresh int8 (A,), 1 = legal; all ones after the end."""
        return np.array(self._learner.action_mask[0])

    @property
    def num_illegal_actions(self) -> int:
        """How many illegal actions were tried since the environment was made."""
        return self._learner.illegal_actions

    def render(self) -> str | None:
        """The table as the learner sees it."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode: pass render_mode='ansi' to make()")
            return None
        if not self._started:
            raise CardEnvsError(f"{self.game.name}: call reset() first")
        state, seat = self._learner.tables.states[0], int(self._learner.seats[0])
        text = table_text(self.game, state, seat, self._offender)
        if self.render_mode == "ansi":
            return text
        print(text)
        return None

    def _info(self) -> dict[str, Any]:
        table, seat = self._learner.tables.states[0], int(self._learner.seats[0])
        return {"action_mask": self.action_masks(), "seat": seat, "score": int(table.score[seat]), "rank": 0}
