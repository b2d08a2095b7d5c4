"""How strong the hand-written players are, for every game and player count: `python -m benchmarks.heuristics`.

One alone among random players and one random player alone among them: mean return and share of wins with 95% intervals,
every deal from every seat. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tqdm import tqdm

from card_envs.arena.match import play_one_among
from card_envs.arena.statistics import Estimate, estimate
from card_envs.cli.common import run, whole
from card_envs.games import game_class, list_games, make_game, player_counts
from card_envs.games.game import Game
from card_envs.policies import Policy, make_policy


def alone(game: Game, one: Policy, others: Policy, games: int, seed: int = 0) -> tuple[Estimate, Estimate]:
    """One player among others: its mean return, and its share of wins, a shared one counted in parts."""
    returns, wins = play_one_among(game, one, others, max(2, -(-games // game.num_players)), seed=seed)
    return estimate(returns), estimate(wins)


def share(wins: Estimate) -> str:
    return f"{wins.mean:.1%} ± {wins.half_width:.1%}"


def heuristics(args: argparse.Namespace) -> None:
    chosen = [game_class(name).name for name in args.games or list_games()]
    counts = [(name, n) for name in chosen for n in player_counts(name)]
    rows = []
    with tqdm(total=len(counts), unit="tables", disable=None, dynamic_ncols=True) as bar:
        for name, n in counts:
            game = make_game(name, n)
            heuristic, random = make_policy("heuristic", game), make_policy("random", game)
            gain, wins = alone(game, heuristic, random, args.num_games)
            loss, _ = alone(game, random, heuristic, args.num_games)
            rows.append(f"| {game.title.partition(':')[0]} | {n} | {gain} | {share(wins)} | {1 / n:.1%} | {loss} |")
            bar.update()
    print("| game | players | heuristic among random: mean return | share of wins | fair | random among heuristic |")
    print("|---|---|---|---|---|---|")
    print("\n".join(rows))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.heuristics",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("games", nargs="*", metavar="GAME", help="default: all")
    parser.add_argument(
        "--num-games", type=whole(1, 10_000_000), default=10_000, help="games for each figure (default: %(default)s)"
    )
    return run(heuristics, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
