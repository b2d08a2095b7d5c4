"""What remembering is worth in Icons, for every player count: `python -m benchmarks.icons_memory`.

The hand-written player without its memory, see `Forgetful`, alone among random players; and the hand-written player
alone among such: shares of wins with 95% intervals, every deal from every seat. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from benchmarks.heuristics import alone, share
from card_envs.cli.common import run, whole
from card_envs.games import make_game, player_counts
from card_envs.games.game import Game
from card_envs.games.icons.state import COPIES, NUM_SLOTS
from card_envs.policies import Decisions, make_policy


class Forgetful:
    """The hand-written player of Icons without its memory: it knows of the bank and of other hands only what lies open.

    Alone among random players it does what good players without a memory do; the hand-written player, alone among such,
    shows what remembering is worth.
    """

    name = "forgetful"

    def __init__(self, game: Game) -> None:
        self.heuristic = make_policy("heuristic", game)

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        states, rows = decisions.states[decisions.rows], np.arange(len(decisions.rows))
        seats, flipped = states["player"], states["flipped"]
        states["slot_known"][rows, seats] = np.arange(NUM_SLOTS) == flipped[:, None]
        states["at_least"][rows, seats] = 0
        states["at_most"][rows, seats] = COPIES
        rngs = decisions.rngs[decisions.rows]
        actions = self.heuristic.act(replace(decisions, states=states, rows=rows, rngs=rngs))
        decisions.rngs[decisions.rows] = rngs
        return actions


def memory(args: argparse.Namespace) -> None:
    rows = []
    for n in tqdm(player_counts("icons"), unit="tables", disable=None, dynamic_ncols=True):
        game = make_game("icons", n)
        forgetful, heuristic, random = Forgetful(game), make_policy("heuristic", game), make_policy("random", game)
        without = share(alone(game, forgetful, random, args.num_games)[1])
        among_such = share(alone(game, heuristic, forgetful, args.num_games)[1])
        rows.append(f"| {n} | {without} | {among_such} | {1 / n:.1%} |")
    print("| Icons, players | without memory, among random: share of wins | heuristic among such | fair |")
    print("|---|---|---|---|")
    print("\n".join(rows))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.icons_memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--num-games", type=whole(1, 10_000_000), default=10_000, help="games for each figure (default: %(default)s)"
    )
    return run(memory, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
