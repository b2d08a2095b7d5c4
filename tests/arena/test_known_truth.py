"""The arena measures what is known beforehand, in a game whose odds can be reckoned by hand (tests/lots.py)."""

import numpy as np
import pytest

from card_envs.arena.ratings import SCALE
from card_envs.arena.tournament import play_tournament
from tests.arena.test_match import Answering
from tests.lots import FEW, MANY, Lots


def always(action, name):
    return Answering(lambda decisions: np.full(len(decisions.rows), action), name)


def edge(n, mine, others):
    """The mean return of a seat with `mine` lots among seats with `others`."""
    return (n * mine / (mine + (n - 1) * others) - 1) / (n - 1)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_rigged_policy_is_measured_at_its_edge(n):
    inside, total = 0, 0
    for seed in range(40):
        result = play_tournament(Lots(n), ["heuristic", always(FEW, "few")], games=600, seed=seed)
        for payoff, truth in ((result.payoff(0, 1), edge(n, 2, 1)), (result.payoff(1, 0), edge(n, 1, 2))):
            inside += payoff.low <= truth <= payoff.high
            total += 1
            assert payoff.mean == pytest.approx(truth, abs=0.2)
        assert result.win_share(0).mean == pytest.approx(2 / (2 + n - 1), abs=0.1)
    assert inside / total >= 0.86  # of 95%


def test_rating_is_the_logarithm_of_the_lots():
    """Twice the lots are 400 log10(2) = 120 points, and mixed tables say the same as the others."""
    policies = ["heuristic", always(FEW, "few"), always(FEW, "few, too")]
    many, few, too = play_tournament(Lots(4), policies, games=8000, seed=1).ratings()
    assert many.mean - few.mean == pytest.approx(SCALE * np.log(2), abs=12)
    assert many.mean - few.mean == pytest.approx(SCALE * np.log(2), abs=2 * (many.half_width + few.half_width))
    assert abs(few.mean - too.mean) < few.half_width + too.half_width
    assert many.half_width < 10


def test_mixed_tables_measure_the_mixed_edge():
    """Two seats with 2 lots and two with 1: a third of the wins for each of the former."""
    result = play_tournament(Lots(4), ["heuristic", always(FEW, "few")], games=12000, seed=2)
    assert result.in_mixed(0).mean == pytest.approx((4 / 3 - 1) / 3, abs=0.03)
    assert result.in_mixed(0).low <= (4 / 3 - 1) / 3 <= result.in_mixed(0).high


def test_difference_is_that_of_the_edges():
    result = play_tournament(Lots(3), ["heuristic", always(FEW, "few"), always(MANY, "many")], games=3000, seed=3)
    # among the two others: heuristic and many have edge(2, 1) and 0, few has edge(1, 2) twice
    assert result.difference(0, 2).low <= 0 <= result.difference(0, 2).high
    truth = edge(3, 2, 1) / 2 - edge(3, 1, 2)
    assert result.difference(0, 1).low <= truth <= result.difference(0, 1).high
