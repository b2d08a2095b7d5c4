"""One learner at many tables as a Gymnasium `VectorEnv`.

`gymnasium.make_vec("card_envs/IcarusClub-v0", num_envs=1024)` makes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from card_envs.envs.aec import checked_choice, checked_options, checked_seed, seat_spaces
from card_envs.envs.learner import FinishedEpisodes, LearnerBatch, Opponents
from card_envs.errors import CardEnvsError
from card_envs.games import make_game
from card_envs.policies.game_batch import aligned_empty

_Scalar = TypeVar("_Scalar", bound=np.generic)
_MODES = tuple(mode.value for mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP))


#: observations, rewards, terminations, truncations, infos
VectorStep = tuple[
    npt.NDArray[np.float32], npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]
]


def aligned_copy(array: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
    """A contiguous copy that begins at a multiple of 64 bytes."""
    copy = aligned_empty(array.shape, array.dtype.type)
    copy[...] = array
    return copy


class CardVectorEnv(gymnasium.vector.VectorEnv):
    """`num_envs` games with one learner each, over compiled kernels, in one process.

    Observations: float32, (B, O) in [0, 1]. Masks: `infos["action_mask"]`, int8, (B, A), 1 = legal, and
    `action_masks()`. Each is one contiguous array of its own that nobody writes to afterwards, and begins at a multiple
    of 64 bytes: DLPack hands it to PyTorch and JAX without a copy. An illegal action ends its game with reward -1.

    Args:
        game: its id, "icarus_club_v0".
        num_envs: how many games at once, B.
        num_players, opponents, seat, skip_forced, options: as for `SingleAgentEnv`.
        autoreset_mode: `SAME_STEP` (default: a game that ends is dealt afresh in that step; its last view lies in
            `infos["final_obs"]`, its `score`, `rank` and `seat` in `infos["final_info"]`) or `NEXT_STEP` (the step
            after the end ignores the action and returns the new game's first observation).
        num_threads: how many threads play; the games are the same to the bit whatever their number. More than 1 pays
            from some hundred games on, or with opponents that think; little work is done by the calling thread alone.
    """

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        num_players: int | None = None,
        opponents: Opponents = "random",
        seat: int | None = None,
        skip_forced: bool = True,
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
        render_mode: str | None = None,
        num_threads: int = 1,
        **options: Any,
    ) -> None:
        self.game = make_game(game, num_players, **options)
        self._learner = LearnerBatch(self.game, num_envs, opponents, seat, skip_forced, num_threads)
        self.num_envs = self._learner.num_envs
        self.render_mode = checked_choice("render_mode", render_mode, (None,))
        mode = autoreset_mode.value if isinstance(autoreset_mode, AutoresetMode) else autoreset_mode
        self.autoreset_mode = AutoresetMode(checked_choice("autoreset_mode", mode, _MODES))
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = seat_spaces(self.game)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_layout = self.game.layout

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Deals all games and plays each on to the learner's first decision.

        Args:
            seed: a whole number from 0 for all games together; or a sequence of B, one for each game, which then plays
                what a `SingleAgentEnv` with that seed plays, and goes on with its stream where None stands; None goes
                on with all streams, which the first reset without a seed takes from fresh entropy.
            options: ignored.
        """
        checked_options(options)
        if isinstance(seed, np.ndarray):
            seed = seed.tolist()
        if isinstance(seed, Sequence) and not isinstance(seed, (str, bytes)):
            self._seed_each(seed)
        else:
            seed = checked_seed(seed)
            super().reset(seed=seed)
            if seed is not None:
                self._learner.seed(seed)
        self._learner.reset()
        return self._learner.observation, self._infos()

    def step(self, actions: npt.NDArray[np.int64]) -> VectorStep:
        """The learner acts in every game."""
        learner = self._learner
        infos: dict[str, Any] = {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            rewards, ended = learner.step(actions)
            if len(ended.rows):
                infos |= self._final(ended)
        else:
            finished = np.flatnonzero(~learner.running)
            rewards, ended = learner.step_without_deal(actions)
            if len(finished):
                learner.reset(finished)
        terminations, truncations = np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        terminations[ended.rows], truncations[ended.rows] = ~ended.truncated, ended.truncated
        observation = learner.observation
        if self.autoreset_mode == AutoresetMode.NEXT_STEP and len(ended.rows):
            observation = aligned_copy(observation)
            observation[ended.rows] = ended.observation
            infos |= self._rows("score", ended.score, ended) | self._rows("rank", ended.rank, ended)
            infos |= self._rows("seat", ended.seat, ended)
        return observation, rewards.astype(np.float64), terminations, truncations, infos | self._infos()

    def _seed_each(self, seeds: Sequence[Any] | npt.NDArray[Any]) -> None:
        if len(seeds) != self.num_envs:
            raise CardEnvsError(
                f"seed has {len(seeds)} entries; allowed: one seed for all, or {self.num_envs}, one a game"
            )
        for row, seed in enumerate([checked_seed(seed) for seed in seeds]):
            if seed is not None:
                self._learner.seed(seed, np.array([row]))

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The masks of all games, a fresh int8 (B, A), 1 = legal; all ones where a game has ended."""
        return aligned_copy(self._learner.action_mask)

    @property
    def num_illegal_actions(self) -> int:
        """How many illegal actions were tried since the environment was made."""
        return self._learner.illegal_actions

    def _infos(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks(), "_action_mask": np.ones(self.num_envs, bool)}

    def _rows(self, name: str, values: npt.NDArray[np.int64], ended: FinishedEpisodes) -> dict[str, Any]:
        """A value of the games that ended, with Gymnasium's mask of where it is present."""
        if not len(ended.rows):
            return {}
        full, present = np.zeros(self.num_envs, values.dtype), np.zeros(self.num_envs, bool)
        full[ended.rows], present[ended.rows] = values, True
        return {name: full, f"_{name}": present}

    def _final(self, ended: FinishedEpisodes) -> dict[str, Any]:
        present = np.zeros(self.num_envs, bool)
        present[ended.rows] = True
        final_obs = np.full(self.num_envs, None, object)
        for i, row in enumerate(ended.rows):
            final_obs[row] = ended.observation[i]
        final_info = self._rows("score", ended.score, ended) | self._rows("rank", ended.rank, ended)
        final_info |= self._rows("seat", ended.seat, ended)
        return {"final_obs": final_obs, "_final_obs": present, "final_info": final_info, "_final_info": present.copy()}
