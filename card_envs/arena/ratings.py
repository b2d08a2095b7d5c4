"""Ratings for games of many players, from who won against whom.

The model is Luce's choice axiom, which is Plackett and Luce's model of the first place: a seat wins with a probability
in proportion to its policy's strength exp(rating). Only winning counts in these games, so places further down are left
out; a win shared by k seats counts 1/k for each, a game that nobody won not at all.

Ratings are the maximum of the likelihood over *all* games at once, so they don't depend on an order of games, as those
of running systems (Elo, TrueSkill, OpenSkill) do. Their intervals come from the spread between deals (the sandwich
estimator with deals as clusters), since games of one deal depend on each other.

Sources: Luce, "Individual Choice Behavior" (1959); Hunter, "MM algorithms for generalized Bradley-Terry models" (2004);
Liang & Zeger, "Longitudinal data analysis using generalized linear models" (1986) for the intervals.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from card_envs.arena.statistics import Estimate, t95

SCALE = 400.0 / np.log(10.0)  # as Elo's: 400 points are ten times the chance to win
PRIOR = 1.0  # one game that all win alike, so that a policy without a win has a rating, too
STEPS = 100


def luce_ratings(
    seats: npt.NDArray[np.int64], wins: npt.NDArray[np.float64], deals: npt.NDArray[np.int64], policies: int
) -> list[Estimate]:
    """One rating for each policy, their mean 0, in points of `SCALE`.

    Args:
        seats: int64, (G, players): which policy sat where.
        wins: float64, (G, players): shares of the win, which sum to 1 in a game, or to 0 where nobody won.
        deals: int64, (G,): games with the same number depend on each other.
        policies: how many there are, m.
    """
    theta = np.zeros(policies)
    for _ in range(STEPS):
        gradient, hessian, _ = _derivatives(theta, seats, wins)
        step = np.linalg.solve(hessian, gradient.sum(axis=0))
        theta += np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-10:
            break
    theta -= theta.mean()
    gradient, hessian, prior = _derivatives(theta, seats, wins)
    _, cluster = np.unique(deals, return_inverse=True)
    count = int(cluster.max()) + 1
    by_deal = np.zeros((count, policies))
    np.add.at(by_deal, cluster, gradient[:-1])
    bread = np.linalg.inv(hessian)
    covariance = bread @ (by_deal.T @ by_deal + prior) @ bread * count / (count - 1)
    half = t95(count - 1) * np.sqrt(np.diag(covariance))
    return [Estimate(float(SCALE * r), float(SCALE * h), count) for r, h in zip(theta, half, strict=True)]


def _derivatives(
    theta: npt.NDArray[np.float64], seats: npt.NDArray[np.int64], wins: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Of the log-likelihood: every game's gradient, the prior's last; minus the Hessian; the prior's part in that.

    Ratings that all differ by the same say the same, so the Hessian is singular in that direction, in which there is no
    gradient either. Any curvature added there makes it regular.
    """
    games, policies = len(seats), len(theta)
    strength = np.exp(theta[seats])
    chance = strength / strength.sum(axis=1, keepdims=True) * wins.sum(axis=1, keepdims=True)
    expected = np.zeros((games + 1, policies))
    gradient = np.zeros((games + 1, policies))
    row = np.arange(games)
    for seat in range(seats.shape[1]):
        expected[row, seats[:, seat]] += chance[:, seat]
        gradient[row, seats[:, seat]] += wins[:, seat] - chance[:, seat]
    even = np.exp(theta) / np.exp(theta).sum()
    gradient[-1] = PRIOR * (1 / policies - even)
    prior = PRIOR * (np.diag(even) - np.outer(even, even))
    hessian = np.diag(expected.sum(axis=0)) - expected.T @ expected + prior + games / policies
    return gradient, hessian, prior
