"""What happens during a run: a progress bar, snapshots, evaluations, checkpoints."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from tqdm import tqdm

from card_envs.arena.match import play_games, rotated
from card_envs.arena.statistics import Estimate, estimate
from card_envs.files import whole_file
from card_envs.policies import make_policy
from card_envs.policies.trained import NetworkPolicy
from training.checkpoint import save_checkpoint
from training.config import Config
from training.pool import SelfPlayTables


class RunCallback(BaseCallback):
    """Runs the schedule of a training run, always between an update and the next rollout.

    Args:
        learner: the games.
        config: when to do what.
        folder: where files go.
        progress: where the run stands; changed in place, kept in checkpoints.
        show_bar: whether to draw a progress bar.
    """

    def __init__(
        self, learner: SelfPlayTables, config: Config, folder: Path, progress: dict[str, Any], show_bar: bool = True
    ) -> None:
        super().__init__()
        self.learner, self.config, self.folder, self.progress, self.show_bar = learner, config, folder, progress, show_bar
        self.games: dict[str, list[float]] = defaultdict(list)

    def _on_training_start(self) -> None:
        self.bar = tqdm(
            total=self.config.n_timesteps,
            initial=self.num_timesteps,
            unit="steps",
            unit_scale=True,
            disable=None if self.show_bar else True,
            dynamic_ncols=True,
        )
        self.started, self.first_step = time.perf_counter(), self.num_timesteps

    def _on_rollout_start(self) -> None:
        steps, config = self.num_timesteps, self.config
        if steps >= self.progress["next_snapshot"]:
            self.learner.take_snapshot(self.model.policy)
            self.progress["next_snapshot"] += config.snapshot_freq
        if steps >= self.progress["next_eval"]:
            self.progress["next_eval"] += config.eval_freq
            self.evaluate()
            self.checkpoint()

    def _on_step(self) -> bool:
        self.bar.update(self.training_env.num_envs)
        for info in self.locals["infos"]:
            if "rank" in info:
                self.games["won"].append(float(info["rank"] == 1))
                self.games[f"won_seat_{info['seat']}"].append(float(info["rank"] == 1))
                self.games["score"].append(float(info["score"]))
        return True

    def _on_rollout_end(self) -> None:
        for name, values in self.games.items():
            self.logger.record(f"game/{name}", float(np.mean(values)))
        self.games.clear()
        self.logger.record("game/illegal_actions", self.learner.illegal_actions)

    def _on_training_end(self) -> None:
        self.evaluate()
        self.checkpoint()
        self.bar.close()

    def evaluate(self) -> None:
        """Plays the network against each fixed opponent and keeps the best model."""
        results = {name: self.play_against(name) for name in self.config.eval_opponents}
        seconds = time.perf_counter() - self.started
        speed = (self.num_timesteps - self.first_step) / seconds if seconds else 0.0
        text = " · ".join(f"{name} {result}" for name, result in results.items())
        self.bar.write(f"{self.num_timesteps:>10,} steps · return against {text} · {speed:,.0f} steps/s")
        for name, result in results.items():
            self.logger.record(f"eval/return_{name}", result.mean)
        self.logger.dump(self.num_timesteps)
        chosen = results[self.config.eval_opponents[0]]
        if self.progress["best"] is None or chosen.mean > self.progress["best"]:
            self.progress["best"] = chosen.mean
            self.progress["best_steps"] = self.num_timesteps
            with whole_file(self.folder / "best_model.zip", "wb") as file:
                self.model.save(file)

    def play_against(self, opponent: str) -> Estimate:
        """The mean return of one network seat among `opponent`s, every deal from every seat."""
        game = self.learner.game
        n = game.num_players
        self.model.policy.set_training_mode(False)
        policies = [NetworkPolicy(self.model.policy, "network"), make_policy(opponent, game)]
        deals = max(2, self.config.eval_games // n)
        returns = play_games(game, policies, rotated([0] + [1] * (n - 1), deals, seed=0, stream=1)).returns
        own = returns.reshape(deals, n, n)[:, np.arange(n), np.arange(n)]
        return estimate(own.mean(axis=1))

    def checkpoint(self) -> None:
        save_checkpoint(self.folder / "checkpoint.zip", self.model, self.learner, self.progress)
