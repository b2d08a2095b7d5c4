"""What a policy is: it answers many decisions at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from card_envs.errors import PolicyError
from card_envs.games.game import Game
from card_envs.kernels import batch


@dataclass(frozen=True)
class Decisions:
    """`k` decisions that wait for an answer, at tables of one game.

    Attributes:
        observation: float32, (k, O), each what the seat to act may know.
        action_mask: int8, (k, A), 1 = legal; at least one 1 a row.
        uniform: float64, (k,) in [0, 1), one random number a decision: a policy that draws its actions from these alone
            plays the same games again under the same seed.
        states: the tables' state records, (B,). They hold the hidden cards: only for policies that resample them.
        rows: int64, (k,), where in `states` the decisions wait.
        rngs: uint64, (B, 2), the tables' generators for policies.
    """

    observation: npt.NDArray[np.float32]
    action_mask: npt.NDArray[np.int8]
    uniform: npt.NDArray[np.float64]
    states: npt.NDArray[Any]
    rows: npt.NDArray[np.int64]
    rngs: npt.NDArray[np.uint64]


class Policy(Protocol):
    """Anything that plays: whatever has `act`.

    A policy may also have these attributes; they are optional, so the protocol can't declare them:

    | attribute | default | meaning |
    |---|---|---|
    | `name: str` | its class's name | what tables and messages call it |
    | `slow: bool` | False | a decision takes so long that tournaments hand out few games at a time |
    | `one_at_a_time: bool` | False | `act` is called with one decision each time, never with many |
    """

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        """One legal action for each decision, int64, (k,)."""
        ...


def policy_label(policy: Policy) -> str:
    """What tables and messages call a policy."""
    return str(getattr(policy, "name", type(policy).__name__))


def choose_actions(
    logits: npt.NDArray[np.float32], decisions: Decisions, deterministic: bool, name: str
) -> npt.NDArray[np.int64]:
    """One legal action for each decision from the logits of all actions, int64, (k,).

    Args:
        logits: float32, (k, A); those of illegal actions don't count.
        decisions: what is asked.
        deterministic: the most probable action; else one drawn with the decision's own random number.
        name: what messages call the policy.

    Raises:
        PolicyError: no action is the most probable one, since a logit is NaN or infinite.
    """
    logits = np.where(decisions.action_mask == 1, logits, -np.inf)
    if not np.isfinite(logits.max(axis=1)).all():
        raise PolicyError(
            f"policy {name!r}: its network answers NaN or infinity instead of a number for each action: its weights "
            "grew out of bounds when it learnt; train it anew with a lower learning rate"
        )
    if deterministic:
        return np.asarray(logits.argmax(axis=1), np.int64)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=np.float64).cumsum(axis=1)
    points = decisions.uniform * weights[:, -1]
    return np.asarray((weights > points[:, None]).argmax(axis=1), np.int64)


class BuiltInPolicy:
    """A policy that is compiled with the game: "random" (every legal action alike) or "heuristic" (hand-written).

    Attributes:
        driver: its number inside kernels, which answer for it without asking.
    """

    def __init__(self, name: str, game: Game) -> None:
        self.name = name
        self.driver = {"random": batch.RANDOM, "heuristic": batch.HEURISTIC}[name]
        self._decide = batch.for_game(game).decide
        self._mask = np.zeros(game.num_actions, np.int8)

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        actions = np.zeros(len(decisions.rows), np.int64)
        self._decide(decisions.states, decisions.rows, self.driver, decisions.rngs, self._mask, actions, None)
        return actions
