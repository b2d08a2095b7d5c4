"""What happens during a run: a progress bar, snapshots, evaluations, checkpoints."""

from __future__ import annotations

import os
import signal
import socket
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
from stable_baselines3.common.logger import TensorBoardOutputFormat
from torch.utils.tensorboard import SummaryWriter

from card_envs.arena.match import play_one_among
from card_envs.arena.statistics import MIN_DEALS, Estimate, estimate
from card_envs.errors import CardEnvsError, Stopped
from card_envs.policies import make_policy
from card_envs.policies.threads import available_cores
from card_envs.policies.trained import NetworkPolicy, answers_nan
from card_envs.progress import progress_bar
from card_envs.training.checkpoint import Progress, save_checkpoint, save_model
from card_envs.training.curve import add_to_curve, columns_of, seconds_before
from card_envs.training.self_play import SelfPlayBatch
from card_envs.training.settings import Config


class RunCallback(BaseCallback):
    """Runs the schedule of a training run, always between an update and the next rollout.

    A checkpoint is written at the beginning, after every evaluation, at the end, and when the run is asked to stop:
    always after all that is logged at its step, so what the log holds of later steps is what a resumed run does again.
    Nothing here draws a random number that training would draw: a run learns the same whenever it is evaluated.

    Args:
        learner: the games.
        config: when to do what.
        folder: where files go.
        progress: where the run stands; changed in place, kept in checkpoints.
    """

    def __init__(self, learner: SelfPlayBatch, config: Config, folder: Path, progress: Progress) -> None:
        super().__init__()
        self.learner = learner
        self.config = config
        self.folder = folder
        self.progress = progress
        self.deals = max(2, config.eval_games // learner.game.num_players)
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
        self.bar = progress_bar(self.config.last_step(self.num_timesteps), "steps", initial=self.num_timesteps)
        self.started, self.first_step = time.perf_counter(), self.num_timesteps
        self.seconds_before = seconds_before(self.folder, "steps", self.num_timesteps + 1)
        if self.deals < MIN_DEALS:
            self.bar.write(
                f"an evaluation plays {self.deals} deals, each from every seat: too few for an interval, which needs "
                f"eval_games: {MIN_DEALS * self.learner.game.num_players} or more"
            )
        for name, value in self.progress.unlogged.items():
            self.logger.record(name, value)
        if self.num_timesteps == 0:
            self.checkpoint()
            if self.config.pretrain.positions:
                self.evaluate()
                self.checkpoint()

    def _on_rollout_start(self) -> None:
        self.check_network()
        if self.num_timesteps >= self.progress.next_snapshot:
            self.learner.take_snapshot(self.model.policy)
            self.progress.next_snapshot += self.config.snapshot_freq
        if self.num_timesteps >= self.progress.next_eval:
            self.progress.next_eval += self.config.eval_freq
            self.evaluate()
            self.checkpoint()
        if self.asked_to_stop:
            self.checkpoint()
            self.bar.close()
            raise Stopped(f"stopped at {self.num_timesteps:,} steps; --resume {self.folder} goes on")

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
        self.check_network()
        self.evaluate()
        save_model(self.folder / "final_model.zip", self.model)
        self.checkpoint()
        self.bar.close()

    def check_network(self) -> None:
        """Ends a run whose network has blown up, before anything is saved of it.

        Raises:
            CardEnvsError: saying what to lower.
        """
        if answers_nan(self.model.policy, self.learner.observation):
            self.bar.close()
            raise CardEnvsError(blown_up(self.config, self.num_timesteps, self.folder))

    def evaluate(self) -> None:
        """Plays the network against each fixed opponent and keeps the best model."""
        results = {name: self.play_against(name) for name in self.config.eval_opponents}
        seconds = time.perf_counter() - self.started
        speed = (self.num_timesteps - self.first_step) / seconds if seconds else 0.0
        text = " · ".join(
            f"{name} {result if self.deals >= MIN_DEALS else format(result.mean, '+.3f')}"
            for name, result in results.items()
        )
        self.bar.write(f"{self.num_timesteps:>10,} steps · return against {text} · {speed:,.0f} steps/s")
        sys.stdout.flush()
        values = {f"eval/return_{name}": result.mean for name, result in results.items()}
        for output in self.logger.output_formats:  # not by `dump`, which would take along what the next step is to log
            output.write(values, dict.fromkeys(values, ()), self.num_timesteps)
        spent = self.seconds_before + seconds
        add_to_curve(self.folder, {"steps": self.num_timesteps, "seconds": round(spent, 1), **columns_of(results)})
        chosen = results[self.config.eval_opponents[0]]
        if self.progress.best is None or chosen.mean > self.progress.best:
            self.progress.best = chosen.mean
            self.progress.best_steps = self.num_timesteps
            save_model(self.folder / "best_model.zip", self.model)

    def play_against(self, opponent: str) -> Estimate:
        """The mean return of one network seat among `opponent`s, every deal from every seat."""
        game = self.learner.game
        self.model.policy.set_training_mode(False)
        network, others = NetworkPolicy(self.model.policy, "network"), make_policy(opponent, game)
        returns, _ = play_one_among(game, network, others, self.deals, stream=1, num_threads=available_cores())
        return estimate(returns)

    def checkpoint(self) -> None:
        told, excluded = self.logger.name_to_value, self.logger.name_to_excluded
        self.progress.unlogged = {
            name: float(told[name]) for name in told if "tensorboard" not in (excluded[name] or ())
        }
        save_checkpoint(self.folder / "checkpoint.zip", self.model, self.learner, self.progress)


def blown_up(config: Config, steps: int, folder: Path) -> str:
    """The message for a network that answers NaN, or would after the update that was tried."""
    last = f"the checkpoint in {folder} is from before" if steps else "nothing was saved"
    return (
        f"after {steps:,} steps learning makes the network answer NaN (not a number): its weights grow out of bounds; "
        f"lower learning_rate ({config.learning_rate}); {last}"
    )


class PurgingTensorBoard(TensorBoardOutputFormat):
    """SB3's log for TensorBoard in a folder that a run goes on in: what stands there from `first_step` on is void.

    TensorBoard reads a folder's files in the order of their names, which begin with the second and the process. So a
    file of another process that is as new as this one's is waited for, which takes less than a second.
    """

    def __init__(self, folder: Path, first_step: int) -> None:
        newest = max((path.name for path in folder.glob("events.out.tfevents.*")), default="")
        own = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}."
        if newest > own and not newest.startswith(own):
            time.sleep(1.0)
        self.writer = SummaryWriter(log_dir=str(folder), purge_step=first_step)
        self._is_closed = False
