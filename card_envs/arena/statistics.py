"""Means with 95% intervals from dependent games."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Z95 = 1.959963984540054  # the normal distribution's 97.5% point


@dataclass(frozen=True)
class Estimate:
    """A mean and the half width of its 95% interval.

    Attributes:
        mean: the mean.
        half_width: the interval is mean ± half_width.
        samples: how many independent samples it rests on.
    """

    mean: float
    half_width: float
    samples: int

    @property
    def low(self) -> float:
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        return self.mean + self.half_width

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ± {self.half_width:.3f}"


def estimate(by_deal: npt.NDArray[np.float64]) -> Estimate:
    """The mean over deals.

    Games of one deal depend on each other, deals do not: so the games of a deal are averaged first, and the interval
    comes from the spread between deals (normal approximation).

    Args:
        by_deal: float64, (D,), one average per deal; D is at least 2.
    """
    deals = len(by_deal)
    return Estimate(float(by_deal.mean()), float(Z95 * by_deal.std(ddof=1) / np.sqrt(deals)), deals)
