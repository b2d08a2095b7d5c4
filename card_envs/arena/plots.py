"""Where things stand in the plots of a report: scales and groups, in percent of the plot's width."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from card_envs.arena.statistics import Estimate


class Scale(NamedTuple):
    """A horizontal axis from `low` to `high`."""

    low: float
    high: float

    def at(self, value: float) -> str:
        """Where a value stands, as CSS writes it; what lies outside stands at the end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return f"{100 * share:.2f}%"

    @property
    def ticks(self) -> list[float]:
        """Two to six round numbers on it, 0 among them if it is on the scale."""
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
        return [round(k * step, 12) for k in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def scale_of(estimates: Iterable[Estimate]) -> Scale:
    """A scale that holds 0 and all means with their intervals, but for those that have no end."""
    values = [x for estimate in estimates for x in (estimate.mean, estimate.low, estimate.high) if math.isfinite(x)]
    low, high = min(0.0, *values), max(0.0, *values)
    margin = 0.05 * (high - low) or 1.0
    return Scale(low - margin, high + margin)


@dataclass(frozen=True)
class Bar:
    """A group of a histogram.

    Attributes:
        label: which numbers it holds.
        count: how many fell there.
        x: where its bar begins.
        width: how wide its bar is.
        middle: where its label stands.
    """

    label: str
    count: int
    x: str
    width: str
    middle: str


class Histogram:
    """How often whole numbers occur, in groups of equal width.

    Attributes:
        bars: the groups from left to right, empty ones among them.
        labelled: those, about six, whose label is shown.
        top: how many numbers the largest group holds.
    """

    def __init__(self, values: npt.NDArray[np.int64], most: int = 40) -> None:
        """`values` are int64, (n,), at least one of them; there are at most `most` groups."""
        first, last = int(values.min()), int(values.max())
        width = -(-(last - first + 1) // most)
        groups = (last - first) // width + 1
        counts = np.bincount((values - first) // width, minlength=groups).tolist()
        scale = Scale(first, first + groups * width)
        self.bars = [
            Bar(
                _numbers(first + k * width, width),
                count,
                scale.at(first + (k + 0.06) * width),
                f"{88 / groups:.2f}%",
                scale.at(first + (k + 0.5) * width),
            )
            for k, count in enumerate(counts)
        ]
        self.labelled = self.bars[:: max(1, -(-groups // 6))]
        self.top = max(counts)


def _numbers(first: int, width: int) -> str:
    return str(first) if width == 1 else f"{first}-{first + width - 1}"
