"""Many games at once, every seat with somebody who answers for it.

Random and heuristic seats are answered inside a compiled loop, all seats of any other policy in one call over all games
that wait for it. The training views, the tournament and the recorder are built on this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.errors import CardEnvsError, IllegalActionError
from card_envs.games.game import Game
from card_envs.games.table import illegal_message
from card_envs.kernels import batch
from card_envs.kernels.rng import uniform_rows
from card_envs.policies.base import BuiltInPolicy, Decisions, Policy, policy_label

ASKED = batch.OUTSIDE  #: the driver number of a seat that the caller of `advance` answers for


class Tables:
    """`num_tables` games of one kind.

    Args:
        game: what is played.
        num_tables: how many at once, B.
        policies: who may sit at them; `driver_of[i]` is the number that stands for `policies[i]` in `drivers`.
        skip_forced: decisions with one legal option are taken without asking anybody.
        log_actions: keep every action in `log`.

    Attributes:
        states: state records, (B,).
        drivers: int8, (B, max players), who answers for each seat; `ASKED` for the caller.
        rngs: uint64, (B, 2), generators for the policies' choices, apart from those of the games' chance.
        counts: int64, (B,), decisions taken by policies since the table was started.
        log: int16, (B, L), the actions at each table, `counts` of them; L grows as needed, and is 0 without
            `log_actions`.
    """

    def __init__(
        self,
        game: Game,
        num_tables: int,
        policies: Sequence[Policy] = (),
        *,
        skip_forced: bool = False,
        log_actions: bool = False,
    ) -> None:
        self.game = game
        self.kernels = batch.for_game(game)
        self.skip_forced = skip_forced
        self.states: npt.NDArray[Any] = np.repeat(game.initial, num_tables)
        self.drivers = np.zeros((num_tables, game.max_players), np.int8)
        self.rngs = np.zeros((num_tables, 2), np.uint64)
        self.counts = np.zeros(num_tables, np.int64)
        self.log = np.zeros((num_tables, 256 if log_actions else 0), np.int16)
        self._mask = np.zeros(game.num_actions, np.int8)
        self._value = np.zeros(game.max_chance_values, np.int16)
        self.set_policies(policies)

    def set_policies(self, policies: Sequence[Policy]) -> None:
        """Replaces the policies; `drivers` must be filled in anew where their numbers changed."""
        self.policies: dict[int, Policy] = {}
        self.driver_of: list[int] = []
        for policy in policies:
            if isinstance(policy, BuiltInPolicy):
                driver = policy.driver
            else:
                driver = ASKED + 1 + len(self.policies)
                self.policies[driver] = policy
            self.driver_of.append(driver)
        highest = np.iinfo(self.drivers.dtype).max
        if max(self.driver_of, default=0) > highest:
            raise CardEnvsError(
                f"{len(self.policies)} policies that are not built in; at most {highest - ASKED} can sit"
            )

    def start(self, rows: npt.NDArray[np.int64]) -> None:
        """Deals fresh games at `rows`, from the generators in their states."""
        self.kernels.start(self.states, rows, self.game.initial, self._value)
        self.counts[rows] = 0

    def advance(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Plays the games at `rows` on until each has ended or asks the caller.

        Returns:
            bool, (len(rows),): whether a seat of the caller's must act there (else the game has ended).
        """
        asked = np.zeros(len(rows), bool)
        waiting = np.arange(len(rows))
        who = np.empty(len(rows), np.int8)
        while len(waiting):
            pending = rows[waiting]
            part = who[: len(waiting)]
            self.kernels.advance(
                self.states,
                pending,
                self.drivers,
                self.skip_forced,
                self.rngs,
                self._mask,
                self._value,
                self.counts,
                self.log,
                part,
            )
            asked[waiting[part == ASKED]] = True
            for driver, policy in self.policies.items():
                mine = pending[part == driver]
                if len(mine):
                    self.act(mine, policy.act(self.decisions(mine)), policy_label(policy))
            if (part == batch.LOG_FULL).any():
                self.log = np.concatenate([self.log, np.zeros_like(self.log)], axis=1)
            waiting = waiting[(part > ASKED) | (part == batch.LOG_FULL)]
        return asked

    def decisions(self, rows: npt.NDArray[np.int64]) -> Decisions:
        """What waits for an answer at `rows`."""
        observation = np.empty((len(rows), self.game.layout.size), np.float32)
        action_mask = np.empty((len(rows), self.game.num_actions), np.int8)
        self.kernels.ask(self.states, rows, self.game.layout.at, observation, action_mask)
        uniform = np.empty(len(rows))
        uniform_rows(self.rngs, rows, uniform)
        return Decisions(observation, action_mask, uniform, self.states, rows, self.rngs)

    def act(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64], name: str) -> None:
        """Carries out one action at each row.

        Raises:
            IllegalActionError: naming who tried what; the tables before that one have moved, that one has not.
        """
        try:
            actions = np.asarray(actions)
        except ValueError:  # a list of lists of different lengths
            actions = np.empty(0, object)
        if actions.shape != rows.shape or not np.issubdtype(actions.dtype, np.integer):
            raise IllegalActionError(
                f"policy {name!r} answered {len(rows)} decisions with {actions.dtype} of shape {actions.shape}; "
                f"expected are whole numbers of shape {rows.shape}"
            )
        refused = self.kernels.act(
            self.states, rows, actions.astype(np.int64), self._mask, self._value, self.counts, self.log
        )
        if refused >= 0:
            message = illegal_message(self.game, self.states[rows[refused]], int(actions[refused]), self._mask)
            raise IllegalActionError(f"policy {name!r}: {message}")

    def skip(self, rows: npt.NDArray[np.int64], decisions: npt.NDArray[np.int64], driver: int) -> None:
        """Plays the first `decisions[i]` decisions at `rows[i]` by a built-in driver, never to the end."""
        self.kernels.skip(self.states, rows, decisions, driver, self.rngs, self._mask, self._value)

    def value_actions(
        self, rows: npt.NDArray[np.int64], playouts: int, driver: int, out: npt.NDArray[np.float64]
    ) -> None:
        """Values every legal action at `rows` by playouts of a built-in driver; see `Kernels.value_actions`."""
        self.kernels.value_actions(self.states, rows, playouts, driver, self.rngs, self._mask, self._value, out)

    def returns(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Every seat's return of the ended games at `rows`, float64, (len(rows), players)."""
        out = np.empty((len(rows), self.game.num_players))
        self.kernels.returns(self.states, rows, out)
        return out

    def observe(self, rows: npt.NDArray[np.int64], seats: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """What `seats[i]` may know at `rows[i]`, a fresh float32, (len(rows), O)."""
        out = np.empty((len(rows), self.game.layout.size), np.float32)
        self.kernels.observe_rows(self.states, rows, seats, self.game.layout.at, out)
        return out
