"""Play policies against each other.

Every policy sits alone among every other, and all at mixed tables, on the same deals, each from every seat. Prints the
table. With `--out DIR` everything is saved as it goes, so that a tournament that was stopped goes on with `--resume`,
and at the end there are `report.html`, `table.txt`, `pairs.csv`, `results.json`, `standings.png` and, with
`--records K`, `games.jsonl`.

A policy is `random`, `heuristic`, `mc:N` or `search:N` (look-ahead with N simulations a decision), a trained model's
.safetensors or .zip, FILE.safetensors:N (`search:N` guided by that model), or `module:attribute` of your own.
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

from card_envs.arena.backends import Backend, Here, Processes
from card_envs.arena.html import write_html
from card_envs.arena.records import write_records
from card_envs.arena.report import text_table, write_csv, write_json, write_picture
from card_envs.arena.statistics import MIN_DEALS
from card_envs.arena.tournament import FAULTS, MAX_GAMES, Tournament, make_plan, num_games, run_plan
from card_envs.cli.common import add_game_arguments, options_of, positive, whole
from card_envs.errors import CardEnvsError
from card_envs.files import atomic_write, resumable
from card_envs.games import make_game
from card_envs.progress import progress_bar


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_game_arguments(parser)
    parser.add_argument("policies", nargs="+", metavar="POLICY", help="two or more")
    parser.add_argument(
        "--games", type=whole(1, MAX_GAMES), default=4000, help="games of every line-up (default: %(default)s)"
    )
    parser.add_argument(
        "--until-ci",
        type=positive,
        metavar="X",
        help=f"play rounds of --games, {MIN_DEALS} deals or more, until no mean return's interval exceeds ± X",
    )
    parser.add_argument("--seed", type=whole(0), default=0, help="default: %(default)s")
    parser.add_argument("--out", metavar="DIR", help="where to write results and report")
    parser.add_argument("--resume", action="store_true", help="go on with the same tournament in --out")
    parser.add_argument(
        "--records", type=whole(0, MAX_GAMES), default=0, metavar="K", help="games of every line-up to save as records"
    )
    parser.add_argument("--workers", type=whole(1), metavar="N", help="processes (default: the machine's cores)")
    parser.add_argument("--backend", choices=["local", "ray"], default="local", help="default: %(default)s")
    parser.add_argument("--address", help="of a Ray cluster (default: one is started on this machine)")
    parser.add_argument(
        "--on-fault",
        choices=FAULTS,
        default="error",
        help="a wrong answer (illegal action, exception, wrong shape, time-out) stops everything, or loses that game "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--time-limit", type=positive, metavar="S", help="seconds a decision for policies of your own and models"
    )


def main(args: argparse.Namespace) -> None:
    game = make_game(args.game, args.num_players, **options_of(args))
    plan = make_plan(
        game,
        args.policies,
        args.games,
        seed=args.seed,
        records=args.records,
        until_ci=args.until_ci,
        faults=args.on_fault,
        time_limit=args.time_limit,
    )
    total = None if args.until_ci else num_games(plan)
    with progress_bar(total, "games") as bar:
        result = run_plan(
            plan,
            folder=args.out,
            resume=args.resume,
            backend=backend_of(args),
            progress=lambda count: bar.update(count),
        )
    text = text_table(result)
    print(text)
    if args.out is not None:
        folder = Path(args.out)
        with resumable(folder):
            written = write_all(result, folder, text)
        print(f"{folder}: {', '.join(written)}")


def write_all(result: Tournament, folder: Path, text: str) -> list[str]:
    """Writes everything that is made of a tournament's results; returns the names of the files."""
    with atomic_write(folder / "table.txt") as file:
        file.write(text + "\n")
    write_csv(result, folder / "pairs.csv")
    write_json(result, folder / "results.json")
    written = ["report.html", "table.txt", "pairs.csv", "results.json"]
    if importlib.util.find_spec("matplotlib"):
        write_picture(result, folder / "standings.png")
        written.append("standings.png")
    else:
        print("no standings.png without matplotlib: pip install 'card-envs[train]'")
    if result.plan.records:
        write_records(folder / "games.jsonl", result.records)
        written.append("games.jsonl")
    write_html(result, folder)  # last, since it links to the others
    return written


def backend_of(args: argparse.Namespace) -> Backend:
    """Who plays.

    Raises:
        CardEnvsError: arguments that don't go together, or Ray is not installed.
    """
    if args.backend == "ray":
        if args.workers:
            raise CardEnvsError("--workers goes with --backend local; a Ray cluster knows its own")
        from card_envs.arena.cluster import RayCluster

        return RayCluster(args.address)
    if args.address:
        raise CardEnvsError("--address goes with --backend ray")
    return Here() if args.workers == 1 else Processes(args.workers)
