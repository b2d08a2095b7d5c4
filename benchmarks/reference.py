"""Makes the reference results: `python -m benchmarks.reference` writes `benchmarks/results/`.

`reference.toml` lists what is played: tournaments of the built-in policies, and how the search grows stronger with its
simulations, alone among heuristics. It takes half an hour or more on two cores; stopped, it goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.throughput import PACKAGES
from card_envs.arena.backends import Processes
from card_envs.arena.match import play_one_among
from card_envs.arena.report import as_json, text_table
from card_envs.arena.statistics import estimate
from card_envs.arena.tournament import RESULTS, make_plan, num_games, run_plan
from card_envs.cli.common import run, whole
from card_envs.files import atomic_write
from card_envs.games import make_game
from card_envs.machine import machine
from card_envs.policies import make_policy

PLAYED = Path(__file__).resolve().with_name("reference.toml")
RESULTS_FOLDER = Path(__file__).resolve().parent / "results"
POLICIES = ("random", "heuristic", "search:200")
SIMULATIONS = (50, 200, 800)


def reference(args: argparse.Namespace) -> None:
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    pages = [f"{machine(PACKAGES)} · seed {args.seed}", ""]
    played = tomllib.loads(PLAYED.read_text("utf-8"))
    for one in played["tournaments"]:
        pages += ["```", tournament(folder, **one, seed=args.seed), "```", ""]
    rows = [row for one in played["growth"] for row in growth(folder, **one, seed=args.seed)]
    pages += [
        "One seat with a search among heuristics: mean return with its 95% interval, by simulations a decision.",
        "",
        "| game | players | simulations | deals | mean return | win share |",
        "|---|---|---|---|---|---|",
    ]
    pages += [
        f"| {r['game']} | {r['players']} | {r['simulations']} | {r['deals']} "
        f"| {r['mean']:+.3f} ± {r['half_width']:.3f} | {r['win_share']:.1%} |"
        for r in rows
    ]
    with atomic_write(folder / "README.md") as file:
        file.write("# Reference results\n\nMade by `python -m benchmarks.reference`.\n\n" + "\n".join(pages) + "\n")
    print(f"{folder / 'README.md'}")


def tournament(folder: Path, game: str, players: int, games: int, seed: int) -> str:
    """Plays one tournament, or goes on with it, unless its results are there; returns its table."""
    path, table, part = (folder / f"{game}-{players}.{kind}" for kind in ("json", "txt", "part"))
    if not path.exists():
        plan = make_plan(make_game(game, players), POLICIES, games, seed=seed)
        with tqdm(total=num_games(plan), unit="games", desc=f"{game} {players}", disable=None) as bar:
            result = run_plan(
                plan,
                folder=part,
                resume=(part / RESULTS).exists(),
                backend=Processes(),
                progress=lambda count: bar.update(count),
            )
        with atomic_write(table) as file:
            file.write(text_table(result) + "\n")
        with atomic_write(path) as file:
            json.dump({"machine": machine(PACKAGES), **as_json(result)}, file, indent=2)
        (part / RESULTS).unlink()
        part.rmdir()
    return table.read_text("utf-8").rstrip()


def growth(folder: Path, game: str, players: int, deals: int, seed: int) -> list[dict[str, Any]]:
    """One searching seat among heuristics, for each number of simulations, unless the results are there."""
    path = folder / f"{game}-{players}-growth.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text("utf-8")) if path.exists() else []
    table = make_game(game, players)
    for simulations in SIMULATIONS[len(rows) :]:
        search, heuristic = make_policy(f"search:{simulations}", table), make_policy("heuristic", table)
        returns, wins = play_one_among(table, search, heuristic, deals, seed=seed)
        own = estimate(returns)
        rows.append(
            {
                "game": table.name,
                "players": players,
                "simulations": simulations,
                "deals": deals,
                "mean": own.mean,
                "half_width": own.half_width,
                "win_share": float(wins.mean()),
            }
        )
        print(f"{game} {players}: search:{simulations} among heuristics {own}", file=sys.stderr)
        with atomic_write(path) as file:
            json.dump(rows, file, indent=2)
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reference", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", default=str(RESULTS_FOLDER), metavar="DIR", help="default: benchmarks/results")
    parser.add_argument("--seed", type=whole(0), default=0, help="default: %(default)s")
    return run(reference, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
