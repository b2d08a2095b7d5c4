"""alpha-rank: which policies stay in the long run when everybody changes to what earns more.

Source: Omidshafiei et al., "alpha-Rank: Multi-Agent Evaluation by Evolution" (2019), as OpenSpiel computes it, which
needs the extra `openspiel`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

EPSILON = 1e-4  # how seldom somebody changes for the worse; masses are right to about this


def alpha_rank(payoffs: npt.NDArray[np.float64], num_players: int) -> npt.NDArray[np.float64] | None:
    """The share of all seats that each policy holds in the long run, float64, (m,); None without OpenSpiel.

    The model has two populations, one for the seat that sits alone and one for the n - 1 seats around it, which all
    play alike: exactly what a tournament's line-ups measure. Now and then one population tries another policy, and
    keeps it if that earns more. This is alpha-rank's Markov chain over the m * m pairs of policies in its limit of
    infinite alpha (OpenSpiel's `use_inf_alpha`: a change for the worse is kept with probability `EPSILON`, one that
    makes no difference with 1/2). The masses are the chain's stationary shares, the seat alone counted once and the
    others n - 1 times.

    Only the order of payoffs counts, and they are taken as exact: a difference that the games don't tell apart may
    decide.

    Args:
        payoffs: float64, (m, m): A's mean return alone among B's, 0 where A is B. Each of the B's earns
            -payoffs[A, B] / (n - 1), since returns sum to 0.
        num_players: n.
    """
    try:
        from open_spiel.python.egt import alpharank
    except ImportError:
        return None
    tables = [payoffs, -payoffs / (num_players - 1)]
    _, _, stationary, _, _ = alpharank.compute(tables, use_inf_alpha=True, inf_alpha_eps=EPSILON)
    pairs = stationary.reshape(payoffs.shape)  # by the policy alone and the one around it
    return np.asarray((pairs.sum(axis=1) + (num_players - 1) * pairs.sum(axis=0)) / num_players)
