"""The training view: one learner among itself, earlier versions of itself and built-in policies."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.arena.match import play_games, rotated
from card_envs.envs.learner import LearnerBatch
from card_envs.games.game import Game
from card_envs.kernels import batch
from card_envs.kernels.rng import uniform_rows
from card_envs.policies import Policy, make_policy
from card_envs.policies.threads import available_cores
from card_envs.policies.trained import NetworkPolicy
from card_envs.training.settings import Config

_KEPT = ("snapshots_taken", "typical_length", "illegal_actions")


class SelfPlayBatch(LearnerBatch):
    """Games in which every other seat is drawn from a pool; some begin late.

    Attributes:
        snapshots: earlier versions of the network; a new one replaces the oldest.
    """

    def __init__(self, game: Game, config: Config) -> None:
        skip_forced = bool(config.env_kwargs.get("skip_forced", True))
        # the network's own threads wait meanwhile
        super().__init__(game, config.n_envs, skip_forced=skip_forced, num_threads=available_cores())
        self.config = config
        self.snapshots: list[NetworkPolicy] = []
        self.snapshots_taken = 0
        self.typical_length = 0.0

    def use_network(self, network: Any) -> None:
        """Fills the pool; snapshots are the network as it is now until `take_snapshot` replaces them."""
        self.snapshots = [
            NetworkPolicy(copy.deepcopy(network), f"snapshot-{k}", deterministic=False)
            for k in range(self.config.max_snapshots if self.config.opponents.get("snapshots") else 0)
        ]
        policies: list[Policy] = []
        shares: list[float] = []
        for name, share in self.config.opponents.items():
            if share == 0:
                continue
            if name == "self":
                chosen: list[Policy] = [NetworkPolicy(network, "self", deterministic=False)]
            elif name == "snapshots":
                chosen = list(self.snapshots)
            else:
                chosen = [make_policy(name, self.game)]
            policies += chosen
            shares += [share / len(chosen)] * len(chosen)
        self.set_policies(policies, shares)

    def take_snapshot(self, network: Any) -> None:
        """The network's weights replace the oldest snapshot."""
        if self.snapshots:
            slot = self.snapshots[self.snapshots_taken % len(self.snapshots)]
            slot.network.load_state_dict(network.state_dict())
            self.snapshots_taken += 1

    def progress(self) -> dict[str, Any]:
        """The values beside its arrays that a checkpoint keeps."""
        return {name: getattr(self, name) for name in _KEPT}

    def restore(self, progress: dict[str, Any]) -> None:
        """Puts `progress` back."""
        for name in _KEPT:
            setattr(self, name, progress[name])

    def measure_length(self) -> None:
        """Sets how long games are, for late starts: the mean over 1,000 games of `late_start.policy`."""
        policy = make_policy(self.config.late_start.policy, self.game)
        n = self.game.num_players
        games = rotated([0] * n, max(1, 1000 // n), seed=0, stream=0)
        self.typical_length = float(
            play_games(self.game, [policy], games, num_threads=available_cores()).decisions.mean()
        )

    def _before_play(self, rows: npt.NDArray[np.int64]) -> None:
        """Late starts: all but the end of a typical game is played by `late_start.policy`."""
        late_start = self.config.late_start
        if late_start.share == 0.0:
            return
        if not self.typical_length:
            self.measure_length()
        draws = np.empty((2, len(rows)))
        uniform_rows(self.tables.rngs, rows, draws[0])
        uniform_rows(self.tables.rngs, rows, draws[1])
        late = draws[0] < late_start.share
        begin = late_start.from_ + (1.0 - late_start.from_) * draws[1][late]
        decisions = (begin * self.typical_length).astype(np.int64)
        driver = batch.HEURISTIC if late_start.policy == "heuristic" else batch.RANDOM
        self.tables.fast_forward(rows[late], decisions, driver)
