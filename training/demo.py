"""`make demo`: trains a small Icons agent by self-play, then plays it against the built-in policies.

Writes the run, the table, the report with some games to read, and the picture to `runs/demo` (or `--out DIR`).
"""

from __future__ import annotations

import argparse
import itertools
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from card_envs.cli import main as card_envs
from card_envs.cli.common import run
from card_envs.cli.train import FRESH_DEALS
from card_envs.games import list_games, short_name
from card_envs.training.run import read_run, start
from card_envs.training.settings import CONFIGS, load_config

GAME = "icons"


def free_folder(path: Path) -> Path:
    """`path`, or `path-2`, ... if it exists."""
    return next(
        folder
        for folder in (path if k == 1 else path.with_name(f"{path.name}-{k}") for k in itertools.count(1))
        if not folder.exists()
    )


def command() -> str:
    """`card-envs` as the reader can type it."""
    script, here = Path(sys.executable).with_name("card-envs"), Path.cwd()
    return str(script.relative_to(here) if script.is_relative_to(here) else script)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python training/demo.py", description=__doc__)
    parser.add_argument("--out", default="runs/demo", metavar="DIR", help="default: runs/demo, or the next free name")
    parser.add_argument("--config", default=str(CONFIGS / "demo.yaml"), metavar="FILE", help="default: %(default)s")
    args, began = parser.parse_args(argv), time.perf_counter()
    folder = free_folder(Path(args.out))
    typed = shlex.join(["card-envs", "train", GAME, "--config", args.config, "--out", str(folder)])
    code = run(lambda args: start(GAME, load_config(args.config), out=folder, command=typed), args)
    if code:
        return code
    print("\nThe trained agent and the built-in policies, each alone among each other:\n", flush=True)
    policies = [str(folder / "best_model.zip"), "heuristic", "random"]
    num_players = read_run(folder)[0].num_players
    out = ["--games", "2000", "--seed", str(FRESH_DEALS), "--out", str(folder / "tournament"), "--records", "3"]
    code = card_envs(["tournament", GAME, "--num-players", str(num_players), *policies, *out])
    if not code:
        print(f"\nLook at:        {folder / 'tournament' / 'report.html'}")
        print(f"Watch a game:   {command()} replay {folder / 'tournament' / 'games.jsonl'}")
        others = [game for game in map(short_name, list_games()) if game != GAME]
        for k, game in enumerate(others):
            print(f"{'' if k else 'Train others:':<16}{command()} train {game}")
        print(f"                (settings: {CONFIGS.name}/*.yaml; each run ends with its table)")
        print(f"The whole demo took {time.perf_counter() - began:.0f} seconds.")
    return code


if __name__ == "__main__":
    sys.exit(main())
