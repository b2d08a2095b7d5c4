"""What a table of Icons promises to each seat, for searches that don't play on to the end.

The chance to win grows with points, with the way to tokens of all categories, and with the cards in hand, the more the
nearer the end is. The weights are rounded from a logistic regression on games of heuristic players.
"""

from __future__ import annotations

import math

import numpy as np

from card_envs.games.icons.heuristic import CARD_WORTH, PROMISE
from card_envs.games.icons.state import MAX_PLAYERS, NUM_CATEGORIES, NUM_TYPES
from card_envs.kernels.jit import jit

PER_PROMISE, PER_CARD = 1.3, 1.7  # points
EARLY, LATE = 0.15, 0.4  # what a point is worth, in logits


@jit
def evaluate(s, out):
    n = s.num_players
    strength = np.empty(MAX_PLAYERS)
    most, highest = 0, 0.0
    for p in range(n):
        categories = 0
        for category in range(NUM_CATEGORIES):
            categories += s.tokens[p, category] > 0
        hand = 0.0
        for card in range(NUM_TYPES):
            hand += s.hand[p, card] * CARD_WORTH[card]
        strength[p] = s.score[p] + PER_PROMISE * PROMISE[categories] + PER_CARD * hand
        most = max(most, s.score[p])
        highest = max(highest, strength[p])
    per_point = EARLY + (LATE - EARLY) * min(1.0, most / min(s.goal, 20))
    total = 0.0
    for p in range(n):
        strength[p] = math.exp(per_point * (strength[p] - highest))
        total += strength[p]
    for p in range(n):
        out[p] = (n * strength[p] / total - 1.0) / (n - 1.0)
