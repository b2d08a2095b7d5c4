"""Policies that users bring: their own functions, objects and models, and a time limit for any of them."""

from __future__ import annotations

import importlib
import inspect
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from card_envs.errors import CardEnvsError, PolicyError, Terminated, describe, shown
from card_envs.games.game import Game
from card_envs.policies.base import Decisions, Policy, policy_label

START_LIMIT = 120.0  # seconds for a policy to load in its own process, compilation included


class FunctionPolicy:
    """A function that answers one decision, `function(observation, action_mask) -> action`, as a policy.

    Args:
        function: gets float32 (O,) and int8 (A,), returns the number of a legal action.
        name: how tables and messages call it.
    """

    slow = True

    def __init__(self, function: Callable[[Any, Any], Any], name: str) -> None:
        self.function = function
        self.name = name

    def act(self, decisions: Decisions) -> Any:
        return [
            self.function(observation, mask)
            for observation, mask in zip(decisions.observation, decisions.action_mask, strict=True)
        ]


class PredictPolicy:
    """An object with Stable-Baselines3's `predict`, such as a `MaskablePPO`, `PPO` or `DQN` model, as a policy.

    `action_masks` are handed over where `predict` takes them; a model without them may well choose illegal actions.
    """

    def __init__(self, model: Any, name: str) -> None:
        self.model = model
        self.name = name
        self.masked = "action_masks" in inspect.signature(model.predict).parameters

    def act(self, decisions: Decisions) -> Any:
        masks = {"action_masks": decisions.action_mask} if self.masked else {}
        return self.model.predict(decisions.observation, deterministic=True, **masks)[0]


def as_policy(thing: Any, name: str | None = None) -> Policy:
    """A policy from an object with `act`, an object with `predict`, or a function of one observation and its mask.

    Raises:
        CardEnvsError: it is none of these.
    """
    if not isinstance(thing, type):
        if callable(getattr(thing, "act", None)):
            policy: Policy = thing
            return policy
        if callable(getattr(thing, "predict", None)):
            return PredictPolicy(thing, name or type(thing).__name__)
        if callable(thing):
            return FunctionPolicy(thing, name or str(getattr(thing, "__name__", type(thing).__name__)))
    raise CardEnvsError(
        f"a policy is a name, an object with the method 'act' or 'predict', or a function of an observation and its "
        f"action mask, not {shown(thing)}"
    )


def import_policy(name: str, game: Game) -> Policy:
    """The policy that "module:attribute" names; the module may lie in the current folder.

    A class (with the game, if it takes an argument) or a function with one parameter, the game, is called and gives
    the policy; anything else is one itself, see `as_policy`.

    Raises:
        CardEnvsError: there is no such module or attribute, it is no policy, or its own code fails while it loads.
    """
    module_name, _, attribute = name.partition(":")
    if not module_name or module_name.startswith("."):
        raise CardEnvsError(f"policy {name!r}: what stands before ':' is a module's full name, such as my_module")
    try:
        with _current_folder_first():
            found: Any = importlib.import_module(module_name)
            for part in attribute.split("."):
                found = getattr(found, part)
            if isinstance(found, type):
                found = _made(found, game)
            elif inspect.isfunction(found) and len(inspect.signature(found).parameters) == 1:
                found = found(game)
            return as_policy(found, name)
    except CardEnvsError as error:
        raise CardEnvsError(f"policy {name!r}: {error}") from error
    except (KeyboardInterrupt, Terminated):
        raise
    except BaseException as error:  # whatever a stranger's module does while it loads, SystemExit included
        raise CardEnvsError(f"policy {name!r}: {describe(error)}") from error


def _made(policy_class: type, game: Game) -> Any:
    parameters = inspect.signature(policy_class)
    for arguments in ((game,), ()):
        try:
            parameters.bind(*arguments)
        except TypeError:
            continue
        return policy_class(*arguments)
    raise CardEnvsError(
        f"{policy_class.__name__} is made with the game as its only argument, or with none, but takes {parameters}"
    )


@contextmanager
def _current_folder_first() -> Iterator[None]:
    """Modules are looked for in the current folder first, as `python -m` does and a console script does not.

    It stays the last place to look, for what a policy imports only when it plays.
    """
    if sys.flags.safe_path:  # `python -P`: explicitly not
        yield
        return
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path.remove("")
        if "" not in sys.path:
            sys.path.append("")


class TimedPolicy:
    """A policy in a process of its own, which has `limit` seconds for every decision.

    It is asked one decision at a time, sees observation, mask and random number but not the state, and is started anew
    after a time-out or a crash.

    Args:
        policy: a name for `make_policy`, or a policy that can be pickled.
        game: what it plays.
        limit: seconds for a decision.
    """

    slow = True
    one_at_a_time = True

    def __init__(self, policy: str | Policy, game: Game, limit: float) -> None:
        self.policy = policy
        self.game = game
        self.limit = limit
        self.name = policy if isinstance(policy, str) else policy_label(policy)
        self._process: Any = None

    def act(self, decisions: Decisions) -> Any:
        if self._process is None:
            self._start()
        self._send((decisions.observation, decisions.action_mask, decisions.uniform))
        answer = self._receive(self.limit)
        if isinstance(answer, PolicyError):
            raise answer
        return answer

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None

    def __del__(self) -> None:
        self.close()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, child = context.Pipe()
        self._process = context.Process(target=_serve, args=(child, self.policy, self.game), daemon=True)
        self._process.start()
        child.close()
        started = self._receive(START_LIMIT, "to load")
        if started is not None:
            self.close()
            raise started

    def _send(self, message: Any) -> None:
        try:
            self._connection.send(message)
        except OSError:
            self.close()
            raise PolicyError(f"policy {self.name!r}: its process has died") from None

    def _receive(self, limit: float, purpose: str = "for a decision") -> Any:
        try:
            if self._connection.poll(limit):
                return self._connection.recv()
        except (EOFError, OSError):
            self.close()
            raise PolicyError(f"policy {self.name!r}: its process has died") from None
        self.close()
        raise PolicyError(f"policy {self.name!r} took longer than {limit:g} seconds {purpose}", "time-out")


def _serve(connection: Connection, policy: str | Policy, game: Game) -> None:
    """What the process of a `TimedPolicy` does: loads the policy, then answers."""
    from card_envs.policies import make_policy

    try:
        player = make_policy(policy, game)
    except CardEnvsError as error:
        connection.send(error)
        return
    connection.send(None)
    nothing, rows = game.initial[:0], np.zeros(1, np.int64)
    while True:
        try:
            observation, mask, uniform = connection.recv()
        except EOFError:
            return
        answer: Any
        try:
            answer = player.act(Decisions(observation, mask, uniform, nothing, rows, np.empty((0, 2), np.uint64)))
        except Exception as error:
            answer = PolicyError.raised(policy_label(player), error)
        connection.send(answer)
