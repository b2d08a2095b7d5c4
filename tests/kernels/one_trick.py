"""Run as a script: plays one trick of The Icarus Club with compiled kernels and prints what happened as JSON.

Everybody follows to craps-11, with 2, 3 and 4: player_2 wins (T3).
"""

from __future__ import annotations

import json
import logging

import card_envs
from card_envs.games.icarus_club import IcarusClub
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels import jit

logging.basicConfig(format="%(levelname)s %(message)s")
hands = [
    [f"craps-{2 + k}", *(f"{suit}-{r}" for r in range(1, 11))] for k, suit in enumerate(["poker", "slots", "roulette"])
]
rest = [f"craps-{r}" for r in (1, *range(5, 11))]
table = RecordedGame(IcarusClub(3), explicit_chance=True)
table.apply_chance("first-player", 0)
table.apply_chance("suit-out", "blackjack")
table.apply_chance("deck", [*hands[0], *hands[1], *hands[2], "craps-11", *rest, "poker-11", "slots-11", "roulette-11"])
for action in ("craps-2", "craps-3", "craps-4"):
    table.play(action)
used = [table.kernels.apply_chance, table.kernels.apply, table.kernels.legal]
print(
    json.dumps(
        {
            "package": card_envs.__file__,
            "winner": table.player,
            "found": sum(sum(kernel.stats.cache_hits.values()) for kernel in used),
            "compiled": sum(sum(kernel.stats.cache_misses.values()) for kernel in used),
            "not kept": len(jit._uncached),
        }
    )
)
