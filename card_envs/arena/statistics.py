"""Means with 95% intervals from dependent games."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MIN_DEALS = 10  #: from fewer, which may be alike by chance, nothing is called sure


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

    @property
    def is_above_zero(self) -> bool:
        """Whether the interval lies above 0 and rests on enough deals for a verdict."""
        return self.samples >= MIN_DEALS and self.low > 0

    @property
    def is_below_zero(self) -> bool:
        return self.samples >= MIN_DEALS and self.high < 0

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
    return float(sum(term / degrees**k for k, term in enumerate(terms)))


def estimate(by_deal: npt.NDArray[np.float64], span: float = 2.0) -> Estimate:
    """The mean over deals.

    Games of one deal depend on each other, deals do not: so the games of a deal are averaged first, and the interval
    comes from the spread between deals (Student's t, so that few deals don't look surer than they are).

    Deals that are all alike have no spread, and yet prove nothing: of D such deals at most a share 1 - .05^(1/D) is
    otherwise with 95% certainty (about 3/D, the "rule of three"), and that share may change the mean by `span` each.

    Args:
        by_deal: float64, (D,), one average per deal; the interval of fewer than 2 is infinite.
        span: how far two values can be apart.
    """
    deals = len(by_deal)
    if deals < 2:
        return Estimate(float(by_deal[0]) if deals else math.nan, math.inf, deals)
    spread = float(by_deal.std(ddof=1))
    if spread <= 1e-12 * span:
        return Estimate(float(by_deal.mean()), span * (1.0 - 0.05 ** (1.0 / deals)), deals)
    return Estimate(float(by_deal.mean()), t95(deals - 1) * spread / math.sqrt(deals), deals)
