"""What happens during a run: a progress bar, snapshots, evaluations, checkpoints."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from card_envs.arena.match import play_games, rotated
from card_envs.arena.statistics import Estimate, estimate
from card_envs.cli.common import Stopped
from card_envs.cli.progress import progress_bar
from card_envs.policies import make_policy
from card_envs.policies.trained import NetworkPolicy
from card_envs.training.checkpoint import save_checkpoint, save_model
from card_envs.training.self_play import SelfPlayBatch
from card_envs.training.settings import Config


class RunCallback(BaseCallback):
    """Runs the schedule of a training run, always between an update and the next rollout.

    A checkpoint is written at the beginning, after every evaluation, at the end, and when the run is asked to stop.
    Nothing here draws a random number that training would draw: a run learns the same whenever it is evaluated.

    Args:
        learner: the games.
        config: when to do what.
        folder: where files go.
        progress: where the run stands; changed in place, kept in checkpoints.
    """

    def __init__(self, learner: SelfPlayBatch, config: Config, folder: Path, progress: dict[str, Any]) -> None:
        super().__init__()
        self.learner = learner
        self.config = config
        self.folder = folder
        self.progress = progress
        self.asked_to_stop = False
        self.games: dict[str, list[float]] = defaultdict(list)

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """SIGINT and SIGTERM stop the run after its present rollout, with a checkpoint; a second one at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def restore() -> None:
            for number, handler in previous.items():
                signal.signal(number, handler)

        def ask(number: int, frame: Any) -> None:
            self.asked_to_stop = True
            restore()

        try:
            for number in previous:
                signal.signal(number, ask)
            yield
        finally:
            restore()

    def _on_training_start(self) -> None:
        self.bar = progress_bar(self.config.n_timesteps, "steps", initial=self.num_timesteps)
        self.started, self.first_step = time.perf_counter(), self.num_timesteps
        if self.num_timesteps == 0:
            if self.config.pretrain.positions:
                self.evaluate()
            self.checkpoint()

    def _on_rollout_start(self) -> None:
        self._stop_if_asked()
        if self.num_timesteps >= self.progress["next_snapshot"]:
            self.learner.take_snapshot(self.model.policy)
            self.progress["next_snapshot"] += self.config.snapshot_freq
        if self.num_timesteps >= self.progress["next_eval"]:
            self.progress["next_eval"] += self.config.eval_freq
            self.evaluate()
            self.checkpoint()
            self._stop_if_asked()

    def _on_step(self) -> bool:
        self.bar.update(self.training_env.num_envs)
        for info, reward in zip(self.locals["infos"], self.locals["rewards"], strict=True):
            if "seat" in info:
                self.games["return"].append(float(reward))
                self.games["won"].append(float(reward > 0))
                self.games[f"won_seat_{info['seat']}"].append(float(reward > 0))
                self.games["score"].append(float(info["score"]))
        return True

    def _on_rollout_end(self) -> None:
        for name, values in self.games.items():
            self.logger.record(f"game/{name}", float(np.mean(values)))
        self.games.clear()
        self.logger.record("game/illegal_actions", self.learner.illegal_actions)

    def _on_training_end(self) -> None:
        self.evaluate()
        save_model(self.folder / "final_model.zip", self.model)
        self.checkpoint()
        self.bar.close()

    def _stop_if_asked(self) -> None:
        if self.asked_to_stop:
            self.checkpoint()
            self.bar.close()
            raise Stopped(f"stopped at {self.num_timesteps:,} steps; --resume {self.folder} goes on")

    def evaluate(self) -> None:
        """Plays the network against each fixed opponent and keeps the best model."""
        results = {name: self.play_against(name) for name in self.config.eval_opponents}
        seconds = time.perf_counter() - self.started
        speed = (self.num_timesteps - self.first_step) / seconds if seconds else 0.0
        text = " · ".join(f"{name} {result}" for name, result in results.items())
        self.bar.write(f"{self.num_timesteps:>10,} steps · return against {text} · {speed:,.0f} steps/s")
        sys.stdout.flush()
        for name, result in results.items():
            self.logger.record(f"eval/return_{name}", result.mean)
        self.logger.dump(self.num_timesteps)
        chosen = results[self.config.eval_opponents[0]]
        if self.progress["best"] is None or chosen.mean > self.progress["best"]:
            self.progress["best"] = chosen.mean
            self.progress["best_steps"] = self.num_timesteps
            save_model(self.folder / "best_model.zip", self.model)

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
