"""Run as a script: a hash of everything that random games do, to compare compiled code with the interpreter.

Usage: python -m tests.kernels.playing DECISIONS
"""

from __future__ import annotations

import hashlib
import json
import sys

import numba
import numpy as np

from card_envs.games import list_games, make_game, player_counts
from card_envs.games.game import Game
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels.rng import below, seed_words


def digest(game: Game, decisions: int) -> str:
    """A hash over states, masks, observations of all seats, other deals and the heuristic's choices."""
    seen = hashlib.sha256()
    rng = seed_words(4, 1)[0]
    seed = 0
    table = RecordedGame(game, seed=seed)
    choice, row = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for _ in range(decisions):
        if table.over:
            seen.update(table.returns().tobytes())
            seed += 1
            table = RecordedGame(game, seed=seed)
        mask = table.action_mask()
        for seat in range(game.num_players):
            seen.update(table.observe(seat).tobytes())
        other = table.states.copy()
        table.kernels.resample(other, 0, int(below(rng, game.num_players)), rng)
        legal = np.flatnonzero(mask)
        action = int(legal[below(rng, len(legal))])
        table.kernels.decide(table.states, row, 1, rng.reshape(1, 2), mask.copy(), choice, None)
        for part in (table.states, mask, other, choice):
            seen.update(part.tobytes())
        table.play(action)
    seen.update(json.dumps(table.events).encode())
    return seen.hexdigest()


def digests(decisions: int) -> dict[str, str]:
    """The hashes of all games that can be made, by name and player count."""
    found = {}
    for name in list_games():
        for n in player_counts(name):
            found[f"{name} {n}"] = digest(make_game(name, n), decisions)
    return found


if __name__ == "__main__":
    print(json.dumps({"compiled": not numba.config.DISABLE_JIT, "games": digests(int(sys.argv[1]))}))
