"""Labels: positions from games, each with what a look-ahead thinks of every legal action.

A position is kept as its state record, from which the observation is made again whenever it is learnt: some hundred
bytes instead of some thousand. `label` fills `Labels`; a file of them is NumPy's `.npz` with the arrays of that class,
the states as bytes, and a JSON line that says what they belong to.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.errors import CardEnvsError
from card_envs.files import atomic_write
from card_envs.games.game import Game
from card_envs.kernels import batch
from card_envs.kernels.rng import seed_words
from card_envs.policies import Policy
from card_envs.policies.agent import layout_digest
from card_envs.policies.game_batch import CALLER, GameBatch
from card_envs.policies.search import LookAheadPolicy

ARRAYS = ("states", "mask", "advice", "opinions", "visits", "value")


@dataclass(frozen=True)
class Labels:
    """`k` decisions with more than one option.

    Attributes:
        states: state records, (k,).
        mask: int8, (k, A), 1 = legal.
        advice: int16, (k,), the hand-written player's choice.
        opinions: float16, (k, A, F), the numbers behind it, see `Rules.opinions`.
        visits: float32, (k, A), the part of the look-ahead's simulations that went through each action; sums to 1.
        value: float32, (k, A), the mean return in those simulations; where there were none, that of all simulations.
    """

    states: npt.NDArray[Any]
    mask: npt.NDArray[np.int8]
    advice: npt.NDArray[np.int16]
    opinions: npt.NDArray[np.float16]
    visits: npt.NDArray[np.float32]
    value: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, rows: Any) -> Labels:
        return Labels(*(getattr(self, name)[rows] for name in ARRAYS))

    @staticmethod
    def join(parts: list[Labels]) -> Labels:
        return Labels(*(np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS))

    def observe(self, game: Game) -> npt.NDArray[np.float32]:
        """What `OptionScorer` takes, float32, (k, O + A + A F).

        First what the seat to act may know, then a 1 at the advised action, then the opinions.
        """
        size, rows = game.layout.size, np.arange(len(self))
        out = np.zeros((len(self), size + game.num_actions * (1 + game.num_opinions)), np.float32)
        observation = np.empty((len(self), size), np.float32)
        seats = self.states["player"].astype(np.int64)
        batch.for_game(game).observe_rows(self.states, rows, seats, game.layout.at, observation)
        out[:, :size] = observation
        out[rows, size + self.advice.astype(np.int64)] = 1.0
        out[:, size + game.num_actions :] = self.opinions.reshape(len(self), -1)
        return out

    def save(self, path: Path, game: Game) -> None:
        """Writes them, whole or not at all."""
        arrays = {name: getattr(self, name) for name in ARRAYS[1:]}
        states = self.states.view(np.uint8).reshape(len(self), -1)
        with atomic_write(path, "wb") as file:
            np.savez_compressed(file, head=np.array(json.dumps(head_of(game))), states=states, **arrays)

    @staticmethod
    def load(path: Path, game: Game) -> Labels:
        """Reads a file.

        Raises:
            CardEnvsError: it is broken, or belongs to another game.
        """
        try:
            with np.load(path) as file:
                found = {name: file[name] for name in file.files}
            head = json.loads(str(found["head"]))
            states = np.ascontiguousarray(found["states"]).view(game.state_dtype).reshape(-1)
            labels = Labels(states, *(found[name] for name in ARRAYS[1:]))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
            raise CardEnvsError(f"{path} is no whole file of labels: {error}") from None
        if head != head_of(game):
            raise CardEnvsError(f"{path} holds labels of {head}, not of {head_of(game)}")
        return labels


def head_of(game: Game) -> dict[str, Any]:
    """What labels belong to."""
    return {
        "game": game.name,
        "options": game.options_to_json(),
        "layout": layout_digest(game),
        "state_bytes": game.state_dtype.itemsize,
        "opinions": game.num_opinions,
    }


def label(
    game: Game,
    count: int,
    expert: LookAheadPolicy,
    players: Mapping[Policy, float],
    from_: float,
    seed: np.random.SeedSequence,
) -> Labels:
    """Plays games to a random point each and lets the expert think there.

    Args:
        game: what is played.
        count: how many positions, all thought about on one thread.
        expert: who thinks.
        players: who plays up to there, with their shares: built-in policies and agents.
        from_: the point is drawn evenly between this part of the game and its end, whatever its length.
        seed: seeds everything.
    """
    tables = GameBatch(game, count, list(players), skip_forced=True)
    chance, choices, points = seed.spawn(3)
    tables.states["rng"], tables.rngs[:] = seed_words(chance, count), seed_words(choices, count)
    draw = np.random.default_rng(points)
    shares = np.array(list(players.values())) / sum(players.values())
    drivers = np.array(tables.driver_of, np.int8)
    waiting = np.arange(count)
    while len(waiting):
        tables.start(waiting)
        seated = drivers[draw.choice(len(drivers), (len(waiting), game.max_players), p=shares)]
        tables.drivers[waiting] = seated
        dealt, words = tables.states[waiting], tables.rngs[waiting]
        tables.advance(waiting)  # to the end, to learn how long it is; then the same game again
        tables.states[waiting], tables.rngs[waiting] = dealt, words
        part = draw.uniform(from_, 1.0, len(waiting))
        tables.fast_forward(waiting, (part * tables.counts[waiting]).astype(np.int64), tables.drivers)
        tables.drivers[waiting] = CALLER
        waiting = waiting[~tables.advance(waiting)]  # those that had no choice left
    rows = np.arange(count)
    mask = np.zeros((count, game.num_actions), np.int8)
    for row in rows:
        tables.kernels.legal(tables.states, row, mask[row])
    advice, opinions = np.zeros(count, np.int64), np.zeros((*mask.shape, game.num_opinions), np.float32)
    tables.kernels.opine(tables.states, rows, tables.rngs, np.zeros(game.num_actions, np.int8), advice, opinions)
    visits, value = expert.think(tables.states, rows, tables.rngs)
    total = visits.sum(axis=1, keepdims=True)
    mean = (visits * value).sum(axis=1, keepdims=True) / total
    value = np.where((visits == 0) & (mask == 1), mean, value)
    return Labels(
        tables.states.copy(),
        mask,
        advice.astype(np.int16),
        opinions.astype(np.float16),
        (visits / total).astype(np.float32),
        value.astype(np.float32),
    )
