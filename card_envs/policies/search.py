"""Policies that look ahead by playing on from what the seat to act can't tell from the truth.

They see the acting seat's `resample`d states and nothing else: what they choose depends on nothing that the seat can't
know. `mc:200` values every legal action by playouts, 200 in all; `search:200` grows a tree in 200 simulations
(`kernels/search.py`). `mc:200:random` and `search:200:heuristic` say who plays the rest of a simulated game; without a
word it is the game's `Game.playout_policy`. `agent:200` is `search:200` with an agent's probabilities as its guide.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.errors import CardEnvsError
from card_envs.games.game import Game
from card_envs.kernels import batch, search
from card_envs.policies.agent import Agent, networks_of
from card_envs.policies.base import Decisions

KINDS = ("mc", "search")
PLAYOUTS = {"random": batch.RANDOM, "heuristic": batch.HEURISTIC}
EXPLORATION = 0.7  # in units of the largest return of a game
MAX_SIMULATIONS = 1_000_000  # simulations of a decision
CHUNK = 8  # decisions that a thread takes at a time


class LookAheadPolicy:
    """`mc` and `search`.

    Args:
        name: "mc:N" or "search:N" with N simulations a decision, and perhaps ":random", ":heuristic" or, with an agent,
            ":agent" for who plays them out.
        game: what it will play.
        threads: how many decisions are thought about at the same time; the machine's cores by default. The choices do
            not depend on it.
        agent: guides `search`.
        label: what tables and messages call it, if not by that name.

    Raises:
        CardEnvsError: the name is none of these.
    """

    slow = True

    def __init__(
        self, name: str, game: Game, threads: int | None = None, agent: Agent | None = None, label: str | None = None
    ) -> None:
        kind, _, rest = name.partition(":")
        number, _, playout = rest.partition(":")
        playout = playout or game.playout_policy
        drivers = PLAYOUTS if agent is None else {**PLAYOUTS, "agent": -1}
        allowed = number.isascii() and number.isdigit() and 1 <= int(number) <= MAX_SIMULATIONS
        if kind not in KINDS or not allowed or playout not in drivers:
            raise CardEnvsError(
                f"policy {name!r} is not KIND:N or KIND:N:PLAYOUT with KIND {' or '.join(KINDS)}, N simulations from 1 "
                f"to {MAX_SIMULATIONS:,} and PLAYOUT {' or '.join(drivers)}"
            )
        self.name = label or name
        self.game = game
        self.threads = threads or os.cpu_count() or 1
        self._kind = kind
        self._simulations = int(number)
        self._driver = drivers[playout]
        self._guide = self._driver if agent is None else -1
        self._networks = None if agent is None else networks_of([agent], game)

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        """The action with the best mean return (`mc`) or the most simulations (`search`) for each decision."""
        actions: npt.NDArray[np.int64] = decisions.action_mask.argmax(axis=1)
        open_ = np.flatnonzero(decisions.action_mask.sum(axis=1) > 1)
        parts = np.array_split(open_, max(1, -(-len(open_) // CHUNK)))

        def fill(part: npt.NDArray[np.int64]) -> None:
            visits, value = self.think(decisions.states, decisions.rows[part], decisions.rngs)
            best = visits == visits.max(axis=1, keepdims=True)
            actions[part] = np.where(best, value, -np.inf).argmax(axis=1)

        if self.threads == 1 or len(parts) == 1:
            for part in parts:
                fill(part)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(fill, parts))
        return actions

    def think(
        self, states: npt.NDArray[Any], rows: npt.NDArray[np.int64], rngs: npt.NDArray[np.uint64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """What it thinks of every action of the seat to act at each row, on the calling thread alone.

        Returns:
            How many simulations went through each action, int64, (k, A), and that seat's mean return in them, float64,
            (k, A); 0 for illegal ones.
        """
        game, shape = self.game, (len(rows), self.game.num_actions)
        value = np.zeros(shape)
        mask, outcome = np.zeros(game.num_actions, np.int8), np.zeros(game.max_chance_values, np.int16)
        visits = np.zeros(shape, np.int64)
        if self._kind == "mc":
            kernels = batch.for_game(game)
            for i, row in enumerate(rows):
                options = kernels.legal(states, row, mask)
                visits[i] = max(1, self._simulations // options) * mask.astype(np.int64)
            playouts = visits.max(axis=1)
            length = game.playout_length
            kernels.value_actions(
                states, rows, playouts, length, self._driver, rngs, mask, outcome, value, self._networks
            )
        else:
            search.for_game(game)(
                states,
                rows,
                self._simulations,
                EXPLORATION * max(abs(game.min_return), abs(game.max_return)),
                game.playout_length,
                self._guide,
                self._driver,
                rngs,
                mask,
                outcome,
                visits,
                value,
                self._networks,
            )
        return visits, value
