"""Many games at once, every seat with somebody who answers for it.

Seats of random and heuristic players and of agents are answered inside a compiled loop, all seats of any other policy
in one call over all games that wait for it. The training views, the tournament and the recorder are built on this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from card_envs.errors import CardEnvsError, IllegalActionError, PolicyError
from card_envs.games.game import Game
from card_envs.games.recorded_game import illegal_message
from card_envs.kernels import batch
from card_envs.kernels.rng import uniform_rows
from card_envs.kernels.state import TERMINATED
from card_envs.policies.agent import Agent, networks_of
from card_envs.policies.base import BuiltInPolicy, Decisions, Policy, policy_label
from card_envs.policies.threads import Threads

TO_THE_END = 1_000_000  # decisions: longer than any game
CALLER = batch.CALLER  #: the driver number of a seat that the caller of `advance` answers for

#: observations, float32, (B, O), and masks, int8, (B, A), by table
Views = tuple[npt.NDArray[np.float32], npt.NDArray[np.int8]]
_Scalar = TypeVar("_Scalar", bound=np.generic)
_ALIGNMENT = 64  # bytes; JAX copies what begins elsewhere


def aligned_empty(shape: tuple[int, ...], dtype: type[_Scalar]) -> npt.NDArray[_Scalar]:
    """As `np.empty`, but it begins at a multiple of 64 bytes."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


class Fault(NamedTuple):
    """What a policy did wrong.

    Attributes:
        row: the table.
        seat: where the policy sat.
        policy: its name.
        kind: "illegal action", "wrong shape", "exception" or "time-out".
        message: what happened, in full.
    """

    row: int
    seat: int
    policy: str
    kind: str
    message: str


class GameBatch:
    """`num_tables` games of one kind.

    Args:
        game: what is played.
        num_tables: how many at once, B.
        policies: who may sit at them; `driver_of[i]` is the number that stands for `policies[i]` in `drivers`.
        skip_forced: decisions with one legal option are taken without asking anybody.
        log_actions: keep every action in `log`.
        forfeits: a policy's wrong answer loses its game, which all others win, instead of raising an error.
        num_threads: how many threads play; the games are the same to the bit whatever their number. Little work is done
            by the calling thread alone.

    Attributes:
        states: state records, (B,).
        drivers: int8, (B, max players), who answers for each seat; `CALLER` for the caller.
        rngs: uint64, (B, 2), generators for the policies' choices, apart from those of the games' chance.
        counts: int64, (B,), decisions taken by policies since the table was started.
        log: int16, (B, L), the actions at each table, `counts` of them; L grows as needed, and is 0 without
            `log_actions`.
        faults: the wrong answers so far, with `forfeits`.
        losers: int64, (B,), the seat that lost the game by a wrong answer, else -1.
    """

    def __init__(
        self,
        game: Game,
        num_tables: int,
        policies: Sequence[Policy] = (),
        *,
        skip_forced: bool = False,
        log_actions: bool = False,
        forfeits: bool = False,
        num_threads: int = 1,
    ) -> None:
        self.game = game
        self.kernels = batch.for_game(game)
        self.skip_forced = skip_forced
        self.forfeits = forfeits
        self.threads = Threads(num_threads)
        self.faults: list[Fault] = []
        self.states: npt.NDArray[Any] = np.repeat(game.initial, num_tables)
        self.drivers = np.zeros((num_tables, game.max_players), np.int8)
        self.rngs = np.zeros((num_tables, 2), np.uint64)
        self.counts = np.zeros(num_tables, np.int64)
        self.losers = np.full(num_tables, -1)
        self.log = np.zeros((num_tables, 256 if log_actions else 0), np.int16)
        self.set_policies(policies)

    def set_policies(self, policies: Sequence[Policy]) -> None:
        """Replaces the policies; `drivers` must be filled in anew where their numbers changed."""
        self.policies: dict[int, Policy] = {}
        self.driver_of: list[int] = []
        agents: list[Agent] = []
        for policy in policies:
            if isinstance(policy, BuiltInPolicy):
                driver = policy.driver
            elif isinstance(policy, Agent):
                agents.append(policy)
                driver = -len(agents)
            else:
                driver = CALLER + 1 + len(self.policies)
                self.policies[driver] = policy
            self.driver_of.append(driver)
        self.networks = networks_of(agents, self.game)
        highest = np.iinfo(self.drivers.dtype).max
        if max(self.driver_of, default=0) > highest:
            raise CardEnvsError(
                f"{len(self.policies)} policies that are not built in; at most {highest - CALLER} can sit"
            )

    def start(self, rows: npt.NDArray[np.int64]) -> None:
        """Deals fresh games at `rows`, from the generators in their states."""

        def work(part: slice) -> None:
            self.kernels.start(self.states, rows[part], self.game.initial, self._scratch()[1])

        self.threads.run("start", len(rows), work)
        self.counts[rows] = 0
        self.losers[rows] = -1

    def advance(
        self,
        rows: npt.NDArray[np.int64],
        *,
        actions: npt.NDArray[np.int64] | None = None,
        name: str = "the caller",
        views: Views | None = None,
    ) -> npt.NDArray[np.bool_]:
        """Plays the games at `rows` on until each has ended or asks the caller.

        Args:
            rows: int64, (k,), each game once.
            actions: int64, (k,), what the caller does at `rows` before that; all of it must be legal.
            name: what the caller is called should it not be.
            views: where a game asks the caller, what that seat may know and do is written into the game's row.

        Returns:
            bool, (k,): whether a seat of the caller's must act there (else the game has ended).

        Raises:
            PolicyError: a policy gave a wrong answer.
            IllegalActionError: one of `actions` is illegal; other games have moved or not.
        """
        asked = np.zeros(len(rows), bool)
        waiting = np.arange(len(rows))
        while len(waiting):
            pending = rows[waiting]
            who = np.empty(len(pending), np.int8)
            self._play(pending, who, actions, name, views)
            actions = None
            asked[waiting[who == CALLER]] = True
            for driver, policy in self.policies.items():
                mine = pending[who == driver]
                if len(mine):
                    self._ask(policy, mine)
            if (who == batch.LOG_FULL).any():
                self.log = np.concatenate([self.log, np.zeros_like(self.log)], axis=1)
            waiting = waiting[(who > CALLER) | (who == batch.LOG_FULL)]
        return asked

    def _play(
        self,
        rows: npt.NDArray[np.int64],
        who: npt.NDArray[np.int8],
        actions: npt.NDArray[np.int64] | None,
        name: str,
        views: Views | None,
    ) -> None:
        """Plays on by built-in policies alone; whatever is done for a game is done in one go, on one thread."""

        def work(part: slice) -> None:
            mine, (mask, outcome) = rows[part], self._scratch()
            if actions is not None:
                refused = self.kernels.act(self.states, mine, actions[part], mask, outcome, self.counts, self.log)
                if refused >= 0:
                    raise self._illegal(mine[refused], actions[part][refused], name)
            self.kernels.advance(
                self.states,
                mine,
                self.drivers,
                self.skip_forced,
                self.rngs,
                mask,
                outcome,
                self.counts,
                self.log,
                who[part],
                self.networks,
            )
            if views is not None:
                asked = mine[who[part] == CALLER]
                self.kernels.ask(self.states, asked, self.game.layout.at, asked, *views)

        self.threads.run("play", len(rows), work)

    def _scratch(self) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int16]]:
        """What kernels write a mask and the value of a chance event into."""
        return np.zeros(self.game.num_actions, np.int8), np.zeros(self.game.max_chance_values, np.int16)

    def decisions(self, rows: npt.NDArray[np.int64]) -> Decisions:
        """What waits for an answer at `rows`, in fresh arrays."""
        observation = np.empty((len(rows), self.game.layout.size), np.float32)
        action_mask = np.empty((len(rows), self.game.num_actions), np.int8)
        places, at = np.arange(len(rows)), self.game.layout.at

        def work(part: slice) -> None:
            self.kernels.ask(self.states, rows[part], at, places[part], observation, action_mask)

        self.threads.run("decisions", len(rows), work)
        return Decisions(observation, action_mask, self.draw(rows), self.states, rows, self.rngs)

    def draw(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """One random number in [0, 1) from each game's generator for policies, float64, (len(rows),)."""
        uniform = np.empty(len(rows))
        uniform_rows(self.rngs, rows, uniform)
        return uniform

    def _ask(self, policy: Policy, rows: npt.NDArray[np.int64]) -> None:
        """Lets a policy decide at `rows`; what is wrong with its answers is an error or, with `forfeits`, its loss."""
        name = policy_label(policy)
        if len(rows) > 1 and getattr(policy, "one_at_a_time", False):
            for i in range(len(rows)):
                self._ask(policy, rows[i : i + 1])
            return
        try:
            try:
                answer = policy.act(self.decisions(rows))
            except PolicyError:
                raise
            except Exception as error:
                raise PolicyError.raised(name, error) from error
            actions = self._read(answer, len(rows), name)
        except PolicyError as error:
            if not self.forfeits:
                raise
            if len(rows) == 1:
                self._forfeit(rows[0], name, error.kind, str(error))
            else:  # which of them was it?
                for i in range(len(rows)):
                    self._ask(policy, rows[i : i + 1])
            return
        while (refused := self._carry_out(rows, actions)) >= 0:
            fault = self._illegal(rows[refused], actions[refused], name)
            if not self.forfeits:
                raise fault
            self._forfeit(rows[refused], name, "illegal action", str(fault))
            rows, actions = rows[refused + 1 :], actions[refused + 1 :]

    def _read(self, answer: Any, count: int, name: str) -> npt.NDArray[np.int64]:
        try:
            actions = np.asarray(answer)
        except ValueError:  # a list of lists of different lengths
            actions = np.empty(0, object)
        if actions.shape != (count,) or not np.issubdtype(actions.dtype, np.integer):
            raise PolicyError(
                f"policy {name!r} answered {count} decisions with {actions.dtype} of shape {actions.shape}; "
                f"expected whole numbers of shape {(count,)}",
                "wrong shape",
            )
        return actions.astype(np.int64)

    def act(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64], name: str) -> None:
        """Carries out one action at each row.

        Raises:
            PolicyError: the actions are not whole numbers, one for each row.
            IllegalActionError: naming who tried what; the tables before that one have moved, that one has not.
        """
        actions = self._read(actions, len(rows), name)
        refused = self._carry_out(rows, actions)
        if refused >= 0:
            raise self._illegal(rows[refused], actions[refused], name)

    def _carry_out(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> int:
        """Stops at the first illegal action; returns its position in `rows`, else -1."""
        return int(self.kernels.act(self.states, rows, actions, *self._scratch(), self.counts, self.log))

    def _illegal(self, row: int, action: int, name: str) -> IllegalActionError:
        """What to say of the action that `_carry_out` has just refused."""
        mask = self._scratch()[0]
        self.kernels.legal(self.states, row, mask)
        message = illegal_message(self.game, self.states[row], int(action), mask)
        return IllegalActionError(f"policy {name!r}: {message}")

    def _forfeit(self, row: int, name: str, kind: str, message: str) -> None:
        """Ends the game at `row`: the seat to act has lost, all others have won."""
        s, n = self.states[row], self.game.num_players
        seat = int(s.player)
        s.winner[:n] = 1
        s.winner[seat] = 0
        s.rank[:n] = 1
        s.rank[seat] = n
        s.end = TERMINATED
        self.losers[row] = seat
        self.faults.append(Fault(int(row), seat, name, kind, message))

    def fast_forward(
        self, rows: npt.NDArray[np.int64], decisions: npt.NDArray[np.int64], drivers: int | npt.NDArray[np.int8]
    ) -> None:
        """Plays the first `decisions[i]` decisions at `rows[i]` by drivers inside the kernels, never to the end.

        `drivers`, int8, (B, max players), says who answers for each seat; a number alone stands for all of them.
        """
        everybody = np.full_like(self.drivers, drivers) if isinstance(drivers, int) else drivers

        def work(part: slice) -> None:
            self.kernels.fast_forward(
                self.states, rows[part], decisions[part], everybody, self.rngs, *self._scratch(), self.networks
            )

        self.threads.run("fast_forward", len(rows), work)

    def value_actions(
        self, rows: npt.NDArray[np.int64], playouts: int, driver: int, out: npt.NDArray[np.float64]
    ) -> None:
        """Values every legal action at `rows` by playouts of a built-in driver; see the kernel of this name."""
        counts = np.full(len(rows), playouts)

        def work(part: slice) -> None:
            self.kernels.value_actions(
                self.states,
                rows[part],
                counts[part],
                TO_THE_END,
                driver,
                self.rngs,
                *self._scratch(),
                out[part],
                self.networks,
            )

        self.threads.run("value_actions", len(rows), work)

    def returns(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Every seat's return of the ended games at `rows`, float64, (len(rows), players).

        Who lost by a wrong answer is paid the least that the game can pay; the others share what it lost.
        """
        game, out = self.game, np.empty((len(rows), self.game.num_players))
        self.kernels.returns(self.states, rows, out)
        for i in np.flatnonzero(self.losers[rows] >= 0):
            out[i] = -game.min_return / (game.num_players - 1) if game.zero_sum else 0.0
            out[i, self.losers[rows[i]]] = game.min_return
        return out

    def observe(self, rows: npt.NDArray[np.int64], seats: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """What `seats[i]` may know at `rows[i]`, a fresh float32, (len(rows), O)."""
        out = np.empty((len(rows), self.game.layout.size), np.float32)

        def work(part: slice) -> None:
            self.kernels.observe_rows(self.states, rows[part], seats[part], self.game.layout.at, out[part])

        self.threads.run("observe", len(rows), work)
        return out
