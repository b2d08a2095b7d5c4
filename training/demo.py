"""`make demo`: trains a small Icons agent by self-play, then plays it against the built-in policies.

Writes the run, the table, the report with some games to read, and the picture to `runs/demo` (or `--out DIR`).
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import tournament
from card_envs.cli import run
from training import train
from training.config import CONFIGS

GAME = "icons"
OTHERS = ("icarus_club", "micons", "ice_points")


def free_folder(path: Path) -> Path:
    """`path`, or `path-2`, ... if it exists."""
    return next(
        folder
        for folder in (path if k == 1 else path.with_name(f"{path.name}-{k}") for k in itertools.count(1))
        if not folder.exists()
    )


def python() -> str:
    """The interpreter as the reader can type it."""
    executable, here = Path(sys.executable), Path.cwd()
    return str(executable.relative_to(here) if executable.is_relative_to(here) else executable)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m training.demo", description=__doc__)
    parser.add_argument("--out", default="runs/demo", metavar="DIR", help="default: runs/demo, or the next free name")
    parser.add_argument("--config", default=str(CONFIGS / "demo.yaml"), metavar="FILE", help="default: %(default)s")
    args, start = parser.parse_args(argv), time.perf_counter()
    folder = free_folder(Path(args.out))
    code = run(train.train, train.parse([GAME, "--config", args.config, "--out", str(folder)]))
    if code:
        return code
    print("\nThe trained agent and the built-in policies, each alone among each other:\n", flush=True)
    policies = [str(folder / "best_model.zip"), "heuristic", "random"]
    num_players = train.read_run(folder)[0].num_players
    out = ["--games", "2000", "--seed", str(train.FRESH_DEALS), "--out", str(folder / "tournament"), "--records", "3"]
    code = tournament.main([GAME, "--num-players", str(num_players), *policies, *out])
    if not code:
        print(f"\nLook at:        {folder / 'tournament' / 'report.html'}")
        print(f"Watch a game:   {python()} -m card_envs replay {folder / 'tournament' / 'games.jsonl'}")
        for k, game in enumerate(OTHERS):
            print(f"{'' if k else 'Train others:':<16}{python()} -m training.train {game}")
        print(f"                (settings: {CONFIGS.name}/*.yaml; each run ends with its table)")
        print(f"The whole demo took {time.perf_counter() - start:.0f} seconds.")
    return code


if __name__ == "__main__":
    sys.exit(main())
