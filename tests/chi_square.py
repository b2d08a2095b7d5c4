"""Tests of distributions without SciPy."""

from __future__ import annotations

import math

import numpy as np


def too_far(counts: np.ndarray, expected: np.ndarray | float, sigmas: float = 4.0) -> bool:
    """Whether chi-square rejects that `counts` were drawn with these expectations; 4 sigmas err once in 30,000."""
    counts = np.asarray(counts, float)
    degrees = counts.size - 1
    if degrees == 0:
        return False
    statistic = float(((counts - expected) ** 2 / expected).sum())
    spread = 2 / (9 * degrees)
    return statistic > degrees * (1 - spread + sigmas * math.sqrt(spread)) ** 3  # Wilson-Hilferty
