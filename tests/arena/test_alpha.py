"""alpha-rank over a tournament's payoffs, as OpenSpiel computes it."""

from __future__ import annotations

import numpy as np
import pytest

from card_envs.arena.alpha import EPSILON, alpha_rank

pytest.importorskip("open_spiel.python.egt.alpharank")

ROCK_PAPER_SCISSORS = np.array([[0.0, -0.3, 0.3], [0.3, 0.0, -0.3], [-0.3, 0.3, 0.0]])


@pytest.mark.parametrize("num_players", [2, 4, 8])
def test_policies_that_beat_each_other_in_a_circle_share_alike(num_players):
    np.testing.assert_allclose(alpha_rank(ROCK_PAPER_SCISSORS, num_players), [1 / 3] * 3, atol=1e-9)


@pytest.mark.parametrize("num_players", [2, 4, 8])
@pytest.mark.parametrize("best", [0, 1, 2])
def test_policy_that_is_better_in_any_company_holds_all_seats(num_players, best):
    order = np.roll([0, 1, 2], -best)
    payoffs = np.array([[0.0, 0.2, 0.3], [-0.1, 0.0, 0.2], [-0.2, -0.1, 0.0]])[np.ix_(order.argsort(), order.argsort())]
    expected = np.zeros(3)
    expected[int(payoffs.sum(axis=1).argmax())] = 1
    np.testing.assert_allclose(alpha_rank(payoffs, num_players), expected, atol=10 * EPSILON)


def test_policies_without_a_difference_share_alike():
    np.testing.assert_allclose(alpha_rank(np.zeros((4, 4)), 3), [0.25] * 4, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_masses_are_those_of_the_chain_that_is_described(seed):
    """The chain, step by step from the description: one of the two populations tries one other policy."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(2, 5)), int(rng.integers(2, 9))
    payoffs = rng.choice([-0.2, -0.1, 0.0, 0.1, 0.2, 0.3], size=(m, m))
    np.fill_diagonal(payoffs, 0)
    keep = lambda gain: 0.5 if gain == 0 else 1 - EPSILON if gain > 0 else EPSILON  # noqa: E731
    chain = np.zeros((m, m, m, m))
    for alone in range(m):
        for around in range(m):
            for other in range(m):
                gain = payoffs[other, around] - payoffs[alone, around]
                chain[alone, around, other, around] += keep(gain) / (2 * (m - 1)) if other != alone else 0
                gain = -payoffs[alone, other] + payoffs[alone, around]
                chain[alone, around, alone, other] += keep(gain) / (2 * (m - 1)) if other != around else 0
            chain[alone, around, alone, around] = 1 - chain[alone, around].sum()
    steps = chain.reshape(m * m, m * m)
    stationary = np.linalg.lstsq(
        np.vstack([steps.T - np.eye(m * m), np.ones(m * m)]), np.eye(m * m + 1)[-1], rcond=None
    )[0].reshape(m, m)
    expected = (stationary.sum(axis=1) + (n - 1) * stationary.sum(axis=0)) / n
    np.testing.assert_allclose(alpha_rank(payoffs, n), expected, atol=1e-6)
