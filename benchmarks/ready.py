"""An environment that does nothing but return arrays that were made beforehand: the ceiling for training speed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

from card_envs.envs.aec import seat_spaces
from card_envs.envs.sb3 import CardVecEnv
from card_envs.games.game import Game


class ReadyVecEnv(VecEnv):
    """Observations, masks, rewards and ends of random play, recorded beforehand and given out whatever is played."""

    def __init__(self, game: Game, num_envs: int, length: int = 64) -> None:
        self.render_mode = None
        super().__init__(num_envs, *seat_spaces(game))
        source, rng = CardVecEnv(game, num_envs, seed=0), np.random.default_rng(0)
        observation = source.reset()
        self._steps: list[tuple[VecEnvObs, list[Any], VecEnvStepReturn]] = []
        for _ in range(length):
            masks = source.action_masks()
            result = source.step((rng.random(masks.shape) * masks).argmax(axis=1))
            self._steps.append((observation, list(masks), result))
            observation = result[0]
        self._at = 0

    def reset(self) -> VecEnvObs:
        self.reset_infos = [{} for _ in range(self.num_envs)]
        return self._steps[self._at][0]

    def step_async(self, actions: npt.NDArray[np.int64]) -> None:
        self._at = (self._at + 1) % len(self._steps)

    def step_wait(self) -> VecEnvStepReturn:
        observation, _, (_, rewards, dones, infos) = self._steps[self._at]
        return observation, rewards, dones, infos

    def close(self) -> None:
        """Nothing is held that needs closing."""

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        return self._steps[self._at][1]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        return [getattr(self, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        raise AttributeError(attr_name)

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        return [False] * self.num_envs
