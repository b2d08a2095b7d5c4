"""`make demo`: trains a small Icarus Club agent by self-play, then plays it against the built-in policies.

Writes the run, the table, the picture and some game records to `runs/demo` (or `--out DIR`).
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import tournament
from training import train
from training.config import CONFIGS


def free_folder(path: Path) -> Path:
    """`path`, or `path-2`, ... if it exists."""
    return next(
        folder
        for folder in (path if k == 1 else path.with_name(f"{path.name}-{k}") for k in itertools.count(1))
        if not folder.exists()
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m training.demo", description=__doc__)
    parser.add_argument("--out", default="runs/demo", metavar="DIR", help="default: runs/demo, or the next free name")
    folder, start = free_folder(Path(parser.parse_args(argv).out)), time.perf_counter()
    code = train.main(["icarus_club", "--config", str(CONFIGS / "demo.yaml"), "--out", str(folder)])
    if code:
        return code
    print("\nThe trained agent and the built-in policies, each alone among each other:\n", flush=True)
    policies = [str(folder / "best_model.zip"), "heuristic", "random"]
    out = ["--games", "4000", "--out", str(folder / "tournament"), "--records", "5"]
    code = tournament.main(["icarus_club", *policies, *out])
    if not code:
        print(f"\nWatch a game: python -m card_envs replay {folder / 'tournament' / 'games.jsonl'}")
        print(f"The whole demo took {time.perf_counter() - start:.0f} seconds.")
    return code


if __name__ == "__main__":
    sys.exit(main())
