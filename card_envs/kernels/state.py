"""What the states of all games have in common: the fields they begin with, and what follows from those alone.

A state is a NumPy record that begins with these fields:

| field | dtype | meaning |
|---|---|---|
| `rng` | uint64 (2,) | the generator of this game's chance, see `kernels/rng.py` |
| `num_players` | int8 | seats at the table |
| `player` | int8 | the seat to act |
| `phase` | int8 | position in `Game.phases` of what is asked |
| `chance` | int8 | 0, or the position in `Game.chance_kinds` of the chance event that is due first |
| `end` | int8 | `RUNNING`, `TERMINATED` by the rules or `TRUNCATED` by `max_turns` |
| `winner` | int8 (max players,) | 1 for every winner, once the game has ended |
| `rank` | int8 (max players,) | the place of every seat from 1, once the game has terminated |
| `score` | int16 (max players,) | the running score, at the end the final one |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from card_envs.kernels.jit import jit

RUNNING, TERMINATED, TRUNCATED = range(3)


def record_dtype(fields: Sequence[tuple[Any, ...]]) -> np.dtype[Any]:
    """A record type whose fields are attributes both in compiled code and in plain Python.

    Fields are aligned, and the gaps before some of them are fields too (`gap_31`, ...): NumPy copies no byte that
    belongs to no field, so records that are equal would differ in such bytes.

    Raises:
        ValueError: a field has the name of one of NumPy's own attributes ("round", "take", ...), which would hide it.
    """
    placed: list[tuple[Any, ...]] = []
    end, widest = 0, 1
    for field in fields:
        if hasattr(np.record, field[0]):
            raise ValueError(
                f"a record's field can't be called {field[0]!r}: NumPy's scalars have an attribute of that name"
            )
        kind = np.dtype([field], align=True)
        if end % kind.alignment:
            placed.append((f"gap_{end}", np.uint8, (-end % kind.alignment,)))
        placed.append(field)
        end += -end % kind.alignment + kind.itemsize
        widest = max(widest, kind.alignment)
    if end % widest:
        placed.append((f"gap_{end}", np.uint8, (-end % widest,)))
    return np.dtype((np.record, np.dtype(placed, align=True)))


def header(max_players: int) -> list[tuple[Any, ...]]:
    """The fields that every game's state begins with; see the module's table."""
    return [
        ("rng", np.uint64, (2,)),
        ("num_players", np.int8),
        ("player", np.int8),
        ("phase", np.int8),
        ("chance", np.int8),
        ("end", np.int8),
        ("winner", np.int8, (max_players,)),
        ("rank", np.int8, (max_players,)),
        ("score", np.int16, (max_players,)),
    ]


@jit
def rank_by_score(s):
    """Gives every winner rank 1 and the others 1 + the number of seats placed strictly better, by `score`."""
    n = s.num_players
    winners = 0
    for p in range(n):
        winners += s.winner[p]
    for p in range(n):
        better = 0
        for q in range(n):
            if s.winner[q] > s.winner[p] or (s.winner[q] == s.winner[p] and s.score[q] > s.score[p]):
                better += 1
        s.rank[p] = 1 if winners == 0 or s.winner[p] else 1 + better


@jit
def returns(s, out):
    """Writes every seat's return of an ended game into `out`.

    (n/|W| - 1)/(n - 1) for each of the |W| winners, -1/(n - 1) for the others; all 0 when nobody or everybody won,
    when the game was truncated, or while it runs.
    """
    n = s.num_players
    winners = 0
    for p in range(n):
        winners += s.winner[p]
    for p in range(n):
        if s.end != TERMINATED or winners == 0 or winners == n:
            out[p] = 0.0
        elif s.winner[p]:
            out[p] = (n / winners - 1.0) / (n - 1.0)
        else:
            out[p] = -1.0 / (n - 1.0)
