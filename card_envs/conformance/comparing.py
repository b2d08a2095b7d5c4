"""Comparing what an environment tells, and saying where it differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.games.game import Game

Array = npt.NDArray[Any]
TOLERANCE = 1e-9


def demand(kept: bool, name: str, message: str) -> None:
    if not kept:
        raise AssertionError(f"{name}: {message}")


def frozen(value: Any) -> Any:
    """A copy of a nest of dicts, lists and arrays."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [frozen(item) for item in value]
    return value


def difference(a: Any, b: Any, names: Sequence[str] = ()) -> str:
    """Where two values differ, "" if they don't; numbers must agree in value, arrays also in dtype."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{a.dtype}{a.shape} and {b.dtype}{b.shape}"
        if a.tobytes() == b.tobytes():
            return ""
        places = np.argwhere(a != b)
        return f"place {', '.join(map(str, places[0]))}" if len(places) else ""
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return f"keys {sorted(map(str, a))} and {sorted(map(str, b))}"
        pairs = [(str(key), a[key], b[key]) for key in a]
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return f"lengths {len(a)} and {len(b)}"
        pairs = [(names[i] if names else str(i), *pair) for i, pair in enumerate(zip(a, b, strict=True))]
    elif isinstance(a, bytes):
        return "" if a == b else "bytes"
    else:
        return "" if bool(a == b) else f"{_short(a)} and {_short(b)}"
    for key, left, right in pairs:
        where = difference(left, right)
        if where:
            return f"{key}: {where}"
    return ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def place(game: Game, index: int) -> str:
    """The name of a place of an observation."""
    for segment in game.layout.segments:
        if segment.start <= index < segment.start + segment.size:
            return f"place {index}, {segment.name}[{index - segment.start}]"
    return f"place {index}"
