"""One learner at many tables as a Stable-Baselines3 `VecEnv`, over compiled kernels, in one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.envs.aec import checked_game, checked_seed, seat_spaces
from card_envs.envs.learner import LearnerBatch, Opponents
from card_envs.errors import CardEnvsError, shown
from card_envs.games.game import Game

try:
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn
except ImportError as error:
    raise CardEnvsError(f"this needs the extra 'train': pip install 'card-envs[train]' ({error})") from error


class CardVecEnv(VecEnv):
    """`num_envs` games with one learner each, for `MaskablePPO` and its kin.

    Observations are flat (float32, (B, O)); masks come through `env_method("action_masks")`. Games that end are dealt
    afresh in the same step, with `terminal_observation` and `TimeLimit.truncated` in that game's info, and `score`,
    `rank` and `seat` of the learner.

    Args:
        game: what is played.
        num_envs: how many games at once.
        opponents: who plays the other seats; see `LearnerBatch`.
        seat: the learner's seat; None draws it anew for each game.
        skip_forced: the learner's decisions with one legal option are taken without asking.
        seed: seeds all games; None takes fresh entropy.
        learner: instead of opponents, seat, skip_forced and num_threads, a view made elsewhere (training makes its
            own).
        num_threads: how many threads play; the games are the same to the bit whatever their number.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        opponents: Opponents = "random",
        seat: int | None = None,
        skip_forced: bool = True,
        seed: int | None = None,
        learner: LearnerBatch | None = None,
        num_threads: int = 1,
    ) -> None:
        self.game = checked_game(game)
        if learner is None:
            learner = LearnerBatch(game, num_envs, opponents, seat, skip_forced, num_threads)
        if not isinstance(learner, LearnerBatch):
            raise CardEnvsError(f"learner is {shown(learner)}; allowed: None or a LearnerBatch")
        self.learner = learner
        if self.learner.num_envs != num_envs:
            raise CardEnvsError(f"num_envs is {num_envs}, but the learner given has {self.learner.num_envs} games")
        self.render_mode = None
        super().__init__(num_envs, *seat_spaces(game))
        self.seed(seed)
        self._actions: npt.NDArray[np.int64] | None = None

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seeds all games, each with a stream of its own; takes effect at the next `reset`."""
        self.learner.seed(checked_seed(seed))
        self._seeds = [seed] * self.num_envs
        return self._seeds

    def reset(self) -> VecEnvObs:
        self.learner.reset()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        return self.learner.observation

    def step_async(self, actions: npt.NDArray[np.int64]) -> None:
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        if self._actions is None:
            raise CardEnvsError("step_wait() comes before step_async()")
        actions, self._actions = self._actions, None
        rewards, ended = self.learner.step(actions)
        dones = np.zeros(self.num_envs, bool)
        dones[ended.rows] = True
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i, row in enumerate(ended.rows.tolist()):
            infos[row] = {
                "terminal_observation": ended.observation[i],
                "TimeLimit.truncated": bool(ended.truncated[i]),
                "score": int(ended.score[i]),
                "rank": int(ended.rank[i]),
                "seat": int(ended.seat[i]),
            }
        return self.learner.observation, rewards, dones, infos

    def close(self) -> None:
        """Nothing is held that needs closing."""

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The masks of all games, a fresh int8 (B, A), 1 = legal."""
        return self.learner.action_mask.copy()

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        if method_name != "action_masks" or args or kwargs:
            raise AttributeError(f"the games of a CardVecEnv have the method 'action_masks' only, not {method_name!r}")
        masks = self.action_masks()
        return [masks[i] for i in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        return [getattr(self, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        raise AttributeError(f"the games of a CardVecEnv share all they have: {attr_name!r} can't be set for some")

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """False for all: use SB3's VecMonitor to log episodes."""
        return [False] * len(list(self._get_indices(indices)))
