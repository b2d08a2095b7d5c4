"""Plays policies against each other: `python -m benchmarks.tournament icarus_club random heuristic --games 4000`.

Every policy sits alone among every other, on the same deals, each from every seat. Prints the table; with `--out DIR`
also writes `table.txt`, `pairs.csv`, `standings.png` and, with `--records K`, `games.jsonl`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from card_envs.arena.records import write_records
from card_envs.arena.report import text_table, write_csv, write_picture
from card_envs.arena.tournament import num_games, play_tournament
from card_envs.cli import add_game_arguments, options_of, run, whole
from card_envs.files import whole_file
from card_envs.games import make_game
from card_envs.policies import make_policy


def tournament(args: argparse.Namespace) -> None:
    game = make_game(args.game, args.num_players, **options_of(args))
    policies = [make_policy(name, game) for name in args.policies]
    total, start = num_games(game, len(policies), args.games), time.perf_counter()
    with tqdm(total=total, unit="games", disable=None, dynamic_ncols=True) as bar:
        result = play_tournament(game, policies, args.games, args.seed, args.records, lambda count: bar.update(count))
    result.seconds = time.perf_counter() - start
    text = text_table(result)
    print(text)
    print(f"{total / result.seconds:,.0f} games/s")
    if args.out:
        folder = Path(args.out)
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(folder / "table.txt") as file:
            file.write(text + "\n")
        write_csv(result, folder / "pairs.csv")
        write_picture(result, folder / "standings.png")
        written = ["table.txt", "pairs.csv", "standings.png"]
        if args.records:
            write_records(folder / "games.jsonl", result.records)
            written.append("games.jsonl")
        print(f"{folder}: {', '.join(written)}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tournament",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_game_arguments(parser)
    parser.add_argument(
        "policies", nargs="+", metavar="POLICY", help="random, heuristic, or a model's .zip; two or more"
    )
    parser.add_argument(
        "--games", type=whole(1, 10_000_000), default=4000, help="games for each ordered pair (default: %(default)s)"
    )
    parser.add_argument("--seed", type=whole(0), default=0, help="default: %(default)s")
    parser.add_argument("--out", metavar="DIR", help="where to write the table, the CSV and the picture")
    parser.add_argument(
        "--records", type=whole(0), default=0, metavar="K", help="games of each pair to save as records"
    )
    return run(tournament, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
