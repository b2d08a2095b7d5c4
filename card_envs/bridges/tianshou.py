"""One learner at many tables as a Tianshou vector environment (Tianshou 2).

Tianshou's `PettingZooEnv` takes our environments as they are, but steps one game at a time in Python, and its n-step
returns look at the *next seat's* observation. Here all games run in compiled kernels, and the next observation of a
transition is the learner's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.envs.aec import seat_spaces
from card_envs.envs.learner import LearnerBatch, Opponents
from card_envs.errors import CardEnvsError, IllegalActionError
from card_envs.games import make_game

try:
    from tianshou.data import Batch
    from tianshou.env import BaseVectorEnv
except ImportError as error:
    raise CardEnvsError(f"Tianshou needs the extra 'tianshou': pip install 'card-envs[tianshou]' ({error})") from error

#: observations, rewards, terminated, truncated, infos
Step = tuple[Batch, npt.NDArray[np.float32], npt.NDArray[np.bool_], npt.NDArray[np.bool_], npt.NDArray[np.object_]]


class LearnerVectorEnv(BaseVectorEnv):
    """`num_envs` games with one learner each, in one process, for Tianshou's collectors.

    Observations are `Batch(obs=float32 (k, O) in [0, 1], mask=bool (k, A), True = legal)`, which Tianshou's Q-learning
    policies read as they are. Infos are dicts with `seat`, and `score` and `rank` of the learner once a game has ended
    (0 before). A game that has ended stays as it is, its mask all True, until it is reset.

    Args:
        game: its id, "icarus_club_v0".
        num_envs: how many games at once, B.
        num_players, opponents, seat, skip_forced, options: as for `SingleAgentEnv`.
    """

    is_async = False

    def __init__(
        self,
        game: str,
        num_envs: int,
        num_players: int | None = None,
        opponents: Opponents = "random",
        seat: int | None = None,
        skip_forced: bool = True,
        **options: Any,
    ) -> None:
        # without super().__init__(), which would make one worker a game
        self.game = make_game(game, num_players, **options)
        self._learner = LearnerBatch(self.game, num_envs, opponents, seat, skip_forced)
        self.env_num = self._learner.num_envs
        self.is_closed = False
        observation_space, self._action_space = seat_spaces(self.game)
        self._spaces = {"observation_space": observation_space, "action_space": self._action_space}

    def get_env_attr(self, key: str, id: int | list[int] | npt.NDArray[np.int64] | None = None) -> list[Any]:
        """`observation_space` (of `obs`, without the mask) or `action_space`, once for each game."""
        if key not in self._spaces:
            raise AttributeError(f"the games of a LearnerVectorEnv have {', '.join(self._spaces)}, not {key!r}")
        return [self._spaces[key]] * len(self._rows(id))

    def set_env_attr(self, key: str, value: Any, id: int | list[int] | npt.NDArray[np.int64] | None = None) -> None:
        raise AttributeError(f"the games of a LearnerVectorEnv share all they have: {key!r} can't be set for some")

    def seed(self, seed: int | list[int] | None = None) -> list[Any]:
        """Seeds chance and policies of all games; takes effect at the next `reset`."""
        self._learner.seed(None if seed is None else np.random.SeedSequence(seed))
        return [seed] * self.env_num

    def reset(
        self, env_id: int | list[int] | npt.NDArray[np.int64] | None = None, seed: int | list[int] | None = None
    ) -> tuple[Batch, npt.NDArray[np.object_]]:
        """Deals fresh games (all by default) and plays each on to the learner's first decision."""
        if seed is not None:
            self.seed(seed)
        if env_id is None:
            self._learner.reset()
        else:
            self._require_start("reset of some games")
            self._learner.reset(self._rows(env_id))
        rows = self._rows(env_id)
        return self._observe(rows, self._learner.observation), self._infos(rows)

    def step(self, action: Any, id: int | list[int] | npt.NDArray[np.int64] | None = None) -> Step:
        """The learner acts in these games (all by default); an illegal action ends a game with reward -1.

        Args:
            action: whole numbers, (k,).
            id: which games; those that have ended must be reset first.
        """
        self._require_start("step")
        learner, rows = self._learner, self._rows(id)
        if not learner.running[rows].all():
            over = rows[~learner.running[rows]].tolist()
            raise IllegalActionError(f"{self.game.name}: a step comes after the end of games {over}: reset them first")
        chosen = np.asarray(action)
        if chosen.shape != rows.shape or not np.issubdtype(chosen.dtype, np.integer):
            raise IllegalActionError(
                f"actions are {chosen.dtype} of shape {chosen.shape}; expected whole numbers of shape {rows.shape}"
            )
        actions = np.zeros(self.env_num, np.int64)
        actions[rows] = chosen
        rewards, ended = learner.step_without_deal(actions, rows)
        observation = learner.observation.copy()
        observation[ended.rows] = ended.observation
        terminated, truncated = np.zeros(self.env_num, bool), np.zeros(self.env_num, bool)
        terminated[ended.rows], truncated[ended.rows] = ~ended.truncated, ended.truncated
        infos = self._infos(rows)
        for place, row in enumerate(ended.rows):
            info = infos[np.flatnonzero(rows == row)[0]]
            info["score"], info["rank"] = int(ended.score[place]), int(ended.rank[place])
        return self._observe(rows, observation), rewards[rows], terminated[rows], truncated[rows], infos

    def render(self, **kwargs: Any) -> list[Any]:
        raise CardEnvsError("a LearnerVectorEnv has no pictures; render one game of card_envs.make(GAME)")

    def close(self) -> None:
        self.is_closed = True

    def _rows(self, id: int | list[int] | npt.NDArray[np.int64] | None) -> npt.NDArray[np.int64]:
        return np.arange(self.env_num) if id is None else np.atleast_1d(np.asarray(id, np.int64))

    def _require_start(self, what: str) -> None:
        if not len(self._learner.running):
            raise CardEnvsError(f"{self.game.name}: a {what} comes before reset()")

    def _observe(self, rows: npt.NDArray[np.int64], observation: npt.NDArray[np.float32]) -> Batch:
        return Batch(obs=observation[rows], mask=self._learner.action_mask[rows].astype(bool))

    def _infos(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.object_]:
        return np.array([{"seat": int(seat), "score": 0, "rank": 0} for seat in self._learner.seats[rows]], object)
