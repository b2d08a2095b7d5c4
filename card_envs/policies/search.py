"""Policies that look ahead by playing on from what the seat to act can't tell from the truth.

They see the acting seat's `resample`d states and nothing else: what they choose depends on nothing that the seat can't
know. `mc:200` values every legal action by playouts, 200 in all; `search:200` grows a tree in 200 simulations
(`kernels/search.py`). `mc:200:random` and `search:200:heuristic` say who plays the rest of a simulated game; without a
word it is the game's `Game.playout_policy`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.errors import CardEnvsError
from card_envs.games.game import Game
from card_envs.kernels import batch, search
from card_envs.policies.base import Decisions

KINDS = ("mc", "search")
PLAYOUTS = {"random": batch.RANDOM, "heuristic": batch.HEURISTIC}
EXPLORATION = 0.7  # in units of the largest return of a game
MAX_SIMULATIONS = 1_000_000  # simulations of a decision
CHUNK = 8  # decisions that a thread takes at a time


class LookAheadPolicy:
    """`mc` and `search`.

    Args:
        name: "mc:N" or "search:N" with N simulations a decision, and perhaps ":random" or ":heuristic" for who plays
            them out.
        game: what it will play.
        threads: how many decisions are thought about at the same time; the machine's cores by default. The choices do
            not depend on it.

    Raises:
        CardEnvsError: the name is none of these.
    """

    slow = True

    def __init__(self, name: str, game: Game, threads: int | None = None) -> None:
        kind, _, rest = name.partition(":")
        number, _, playout = rest.partition(":")
        playout = playout or game.playout_policy
        allowed = number.isascii() and number.isdigit() and 1 <= int(number) <= MAX_SIMULATIONS
        if kind not in KINDS or not allowed or playout not in PLAYOUTS:
            raise CardEnvsError(
                f"policy {name!r} is not KIND:N or KIND:N:PLAYOUT with KIND {' or '.join(KINDS)}, N simulations from 1 "
                f"to {MAX_SIMULATIONS:,} and PLAYOUT {' or '.join(PLAYOUTS)}"
            )
        self.name = name
        self.game = game
        self.threads = threads or os.cpu_count() or 1
        self._simulations = int(number)
        self._driver = PLAYOUTS[playout]
        self._think: Callable[..., npt.NDArray[np.int64]] = self._flat if kind == "mc" else self._tree

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        """The action with the best mean return (`mc`) or the most simulations (`search`) for each decision."""
        actions = decisions.action_mask.argmax(axis=1)
        open_ = np.flatnonzero(decisions.action_mask.sum(axis=1) > 1)
        parts = np.array_split(open_, max(1, -(-len(open_) // CHUNK)))

        def fill(part: npt.NDArray[np.int64]) -> None:
            actions[part] = self._think(decisions, part)

        if self.threads == 1 or len(parts) == 1:
            for part in parts:
                fill(part)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(fill, parts))
        return actions

    def _flat(self, decisions: Decisions, part: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        mask = decisions.action_mask[part]
        value = np.empty(mask.shape)
        playouts = np.maximum(1, self._simulations // mask.sum(axis=1, dtype=np.int64))
        batch.for_game(self.game).value_actions(
            decisions.states,
            decisions.rows[part],
            playouts,
            self.game.playout_length,
            self._driver,
            decisions.rngs,
            *self._scratch(),
            value,
        )
        return np.asarray(np.where(mask == 1, value, -np.inf).argmax(axis=1))

    def _tree(self, decisions: Decisions, part: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        shape = decisions.action_mask[part].shape
        visits, value = np.empty(shape, np.int64), np.empty(shape)
        search.for_game(self.game)(
            decisions.states,
            decisions.rows[part],
            self._simulations,
            EXPLORATION * max(abs(self.game.min_return), abs(self.game.max_return)),
            self.game.playout_length,
            self._driver,
            decisions.rngs,
            *self._scratch(),
            visits,
            value,
        )
        best = visits == visits.max(axis=1, keepdims=True)
        return np.asarray(np.where(best, value, -np.inf).argmax(axis=1))

    def _scratch(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        return np.zeros(self.game.num_actions, np.int8), np.zeros(self.game.max_chance_values, np.int16)
