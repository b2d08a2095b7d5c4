"""Means with 95% intervals from dependent games."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


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


def t95(degrees: int) -> float:
    """The 97.5% point of Student's t distribution.

    Exact for 1 and 2 degrees of freedom, else the expansion of Cornish and Fisher about the normal distribution's point
    (Abramowitz & Stegun 26.7.5), which is right to 0.2% there.
    """
    if degrees <= 2:
        return (12.706204736432095, 4.302652729911275)[degrees - 1]
    z = 1.959963984540054
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / degrees**k for k, term in enumerate(terms))


def estimate(by_deal: npt.NDArray[np.float64]) -> Estimate:
    """The mean over deals.

    Games of one deal depend on each other, deals do not: so the games of a deal are averaged first, and the interval
    comes from the spread between deals (Student's t, so that few deals don't look surer than they are).

    Args:
        by_deal: float64, (D,), one average per deal; D is at least 2.
    """
    deals = len(by_deal)
    return Estimate(float(by_deal.mean()), float(t95(deals - 1) * by_deal.std(ddof=1) / np.sqrt(deals)), deals)
