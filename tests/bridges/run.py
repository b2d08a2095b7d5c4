"""Runs the program of every page docs/bridges/NAME.md in an environment of its own, for every game and player count.

    python3 -m tests.bridges.run [NAME ...] [--games GAME ...] [--players N ...] [--jobs 2]
    python3 -m tests.bridges.run --write-table

A page's environment is `.venv-bridges/NAME`: this package with the page's extra, at the versions in
`docs/bridges/constraints/NAME.txt`; every `NAME-VERSION.txt` beside it makes one more. There the program runs, then
`tests/bridges/test_NAME.py`, if there is one. What was seen goes to `docs/bridges/results.json`, page by page;
`--write-table` writes the README's table from that. A run limited to some games or player counts is a trial and is not
kept. Needs nothing but Python's standard library.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from types import FrameType
from typing import Any

from tests.bridges.pages import (
    PAGES,
    README,
    ROOT,
    BridgeError,
    Page,
    all_names,
    read_page,
    read_results,
    with_table,
    write_results,
    write_whole,
)

ENVIRONMENTS = ROOT / ".venv-bridges"
#: every game with its player counts
GAMES = {
    "icarus_club": range(3, 6),
    "icons": range(2, 9),
    "micons": range(2, 5),
    "ice_points": range(5, 9),
}
PROGRAM_SECONDS, TESTS_SECONDS, INSTALL_SECONDS = 600, 900, 3600
SHOWN_LINES = 15  # of what a failed process printed

VERSIONS = """
import importlib.metadata, json, platform, sys
print(json.dumps([platform.python_version()] + [importlib.metadata.version(name) for name in sys.argv[1:]]))
"""


class Processes:
    """Starts processes in groups of their own, so that a late or interrupted one goes with all its children."""

    def __init__(self) -> None:
        self._running: set[int] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(
        self, command: Sequence[object], folder: Path, seconds: float, output: Path, **environment: str
    ) -> tuple[int | None, str]:
        """Runs a command; returns its exit code, None if it took too long, and what it wrote to its standard output.

        `output` keeps all that it wrote, errors last.
        """
        errors = output.with_suffix(".errors")
        with open(output, "wb") as out, open(errors, "wb") as err:  # files: a left-over child can't hold them up
            with self._lock:
                if self._stopped:
                    raise KeyboardInterrupt
                process = subprocess.Popen(
                    [str(part) for part in command],
                    cwd=folder,
                    env=os.environ | environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
                self._running.add(process.pid)
            try:
                code: int | None = process.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                if process.returncode is None:  # too late, or interrupted
                    self._kill(process.pid)
                    process.wait()
                with self._lock:
                    self._running.discard(process.pid)
        written = output.read_text("utf-8", "replace")
        with open(output, "ab") as out:
            out.write(errors.read_bytes())
        errors.unlink()
        return code, written

    def stop(self) -> None:
        """Ends all that runs, and starts nothing more."""
        with self._lock:
            self._stopped = True
            for group in self._running:
                self._kill(group)

    @staticmethod
    def _kill(group: int) -> None:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:  # it ended meanwhile
            return


@dataclass(frozen=True)
class Environment:
    """An environment of a page: its name and interpreter, the versions in it, and what to set for its processes."""

    name: str
    python: Path
    python_version: str
    libraries: dict[str, str]
    variables: dict[str, str]


def requirements(extras: Sequence[str]) -> list[str]:
    """What pyproject.toml wants for the plain package and these extras, those that they include in turn."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted, due, optional = list(project["dependencies"]), list(extras), project["optional-dependencies"]
    for extra in due:
        if extra not in optional:
            raise BridgeError(f"pyproject.toml has no extra {extra!r}; it has {', '.join(optional)}")
        for requirement in optional[extra]:
            included = re.match(rf"{project['name']}\[(.*)\]$", requirement)
            due += [name.strip() for name in included[1].split(",")] if included else []
            wanted += [] if included else [requirement]
    return wanted


def environment_key(page: Page, constraints: Path) -> str:
    """A hash of everything that decides what is installed for a page."""
    wanted = [*requirements(page.extras), constraints.read_text("utf-8"), str(page.tests.is_file())]
    parts = [sys.version, str(ROOT), *wanted]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def make_environment(page: Page, name: str, processes: Processes, logs: Path) -> Environment:
    """Installs an environment of a page, unless it stands there as it should be.

    Raises:
        BridgeError: the installation failed.
    """
    folder, constraints = ENVIRONMENTS / name, page.environments[name]
    python, stamp, key = folder / "bin" / "python", folder / "installed", environment_key(page, constraints)
    if not stamp.is_file() or stamp.read_text("utf-8") != key:
        started = time.monotonic()
        shutil.rmtree(folder, ignore_errors=True)
        extras = f"[{','.join(page.extras)}]" if page.extras else ""
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", constraints]
        wanted = ["-e", f".{extras}", *(["pytest"] if page.tests.is_file() else [])]
        for command in ([sys.executable, "-m", "venv", folder], [*pip, *wanted]):
            log = logs / f"{name}-install.txt"
            if processes.run(command, ROOT, INSTALL_SECONDS, log)[0] != 0:
                raise BridgeError(f"{name}: the environment can't be installed\n{tail(log)}")
        stamp.write_text(key, "utf-8")
        print(f"{name}: environment installed in {time.monotonic() - started:.0f} s", flush=True)
    log = logs / f"{name}-versions.txt"
    asked = [python, "-c", VERSIONS, "numba", "numpy", *page.libraries]
    code, written = processes.run(asked, ROOT, PROGRAM_SECONDS, log)
    if code != 0:
        raise BridgeError(f"{name}: 'Library' names what is not installed\n{tail(log)}")
    python_version, numba, numpy, *versions = json.loads(written)
    variables = {
        # compiled kernels are good for one pair of versions, so environments share them where they agree
        "NUMBA_CACHE_DIR": str(ENVIRONMENTS / f"kernels-numba{numba}-numpy{numpy}"),
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
    }
    libraries = dict(zip(page.libraries, versions, strict=True))
    return Environment(name, python, python_version, libraries, variables)


def tail(log: Path) -> str:
    """The last lines of what a process wrote."""
    lines = log.read_text("utf-8", "replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-SHOWN_LINES:])


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def in_turn(games: dict[str, Sequence[int]]) -> list[tuple[str, int]]:
    """All games and player counts, neighbours being different games: at first each game's kernels are compiled."""
    columns = zip_longest(*([(game, players) for players in counts] for game, counts in games.items()))
    return [pair for column in columns for pair in column if pair is not None]


def run_program(
    page: Page, environment: Environment, game: str, players: int, processes: Processes, logs: Path
) -> dict[str, Any]:
    """The page's program on one game: what is kept of it."""
    log = logs / f"{environment.name}-{game}-{players}.txt"
    with tempfile.TemporaryDirectory(prefix=f"{page.name}-", ignore_cleanup_errors=True) as folder:
        program = Path(folder) / f"{page.name}_example.py"
        program.write_text(page.program, "utf-8")
        started = time.monotonic()
        command = [environment.python, program.name, game, str(players)]
        code, written = processes.run(command, Path(folder), PROGRAM_SECONDS, log, **environment.variables)
        seconds = time.monotonic() - started
    said, failure = last_line(written), ""
    if code is None:
        failure = f"not done after {PROGRAM_SECONDS} s"
    elif code != 0:
        failure = last_line(log.read_text("utf-8", "replace")) or f"exit code {code}"
    elif not said:
        failure = "it printed nothing"
    return {"game": game, "players": players, "seconds": round(seconds, 1), "said": said, "failure": failure}


def run_tests(page: Page, environment: Environment, processes: Processes, logs: Path) -> dict[str, Any]:
    """The page's tests: what pytest says of them, and whether all is well."""
    log = logs / f"{environment.name}-tests.txt"
    started = time.monotonic()
    command = [environment.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", page.tests.relative_to(ROOT)]
    code, written = processes.run(command, ROOT, TESTS_SECONDS, log, **environment.variables)
    counts = re.findall(r"\d+ (?:passed|failed|skipped|errors?|xfailed)", last_line(written))
    summary = ", ".join(counts) if code is not None else f"not done after {TESTS_SECONDS} s"
    print(f"{environment.name}: tests: {summary}, {time.monotonic() - started:.0f} s", flush=True)
    if code != 0:
        print(f"  FAILED: all they wrote is in {log.relative_to(ROOT)}\n{tail(log)}", flush=True)
    return {"ok": code == 0, "summary": summary, "seconds": round(time.monotonic() - started, 1)}


def run_environment(
    page: Page,
    environment: Environment,
    games: dict[str, Sequence[int]],
    with_tests: bool,
    jobs: int,
    processes: Processes,
    logs: Path,
) -> dict[str, Any]:
    """The page's program on these games, and its tests, in one of its environments: what is kept of it."""
    runs = in_turn(games)
    done: dict[tuple[str, int], dict[str, Any]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(run_program, page, environment, *run, processes, logs) for run in runs]
        try:
            for future in as_completed(futures):
                run = future.result()
                done[run["game"], run["players"]] = run
                head = f"{environment.name} {len(done)}/{len(runs)}: {run['game']} with {run['players']}"
                failed = f"FAILED: {run['failure']}" if run["failure"] else run["said"]
                print(f"{head}, {run['seconds']:.0f} s: {failed}", flush=True)
                if run["failure"]:
                    log = logs / f"{environment.name}-{run['game']}-{run['players']}.txt"
                    print(f"  all it wrote is in {log.relative_to(ROOT)}\n{tail(log)}", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.stop()
            raise
    return {
        "python": environment.python_version,
        "libraries": environment.libraries,
        "programs": [done[game, players] for game, counts in games.items() for players in counts],
        "tests": run_tests(page, environment, processes, logs) if with_tests and page.tests.is_file() else None,
    }


def run_page(
    page: Page, games: dict[str, Sequence[int]], with_tests: bool, jobs: int, processes: Processes, logs: Path
) -> tuple[dict[str, Any], int]:
    """A page in all its environments: what is kept of it, and how many things failed."""
    environments = []
    for name in page.environments:
        environment = make_environment(page, name, processes, logs)
        environments.append(run_environment(page, environment, games, with_tests, jobs, processes, logs))
    failed = sum(bool(run["failure"]) for environment in environments for run in environment["programs"])
    failed += sum(environment["tests"] is not None and not environment["tests"]["ok"] for environment in environments)
    page_itself = {"title": page.title, "works": page.works, "does_not": page.does_not}
    return page_itself | {"environments": environments}, failed


def selected_games(names: Sequence[str], players: Sequence[int]) -> dict[str, Sequence[int]]:
    """The games and player counts that were asked for; all, where nothing was said."""
    chosen = {game: [n for n in counts if not players or n in players] for game, counts in GAMES.items()}
    return {game: counts for game, counts in chosen.items() if counts and (not names or game in names)}


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m tests.bridges.run", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="pages; all by default")
    parser.add_argument("--games", nargs="+", choices=list(GAMES), default=[], help="a trial on these only, not kept")
    parser.add_argument("--players", nargs="+", type=int, default=[], help="a trial with these counts only, not kept")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time (2)")
    parser.add_argument("--write-table", action="store_true", help="only write README.md's table from results.json")
    return parser.parse_args(argv)


def interrupted(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    asked = arguments(argv)
    if asked.write_table:
        write_whole(README, with_table(README.read_text("utf-8"), read_results()))
        return 0
    games = selected_games(asked.games, asked.players)
    if not games:
        raise BridgeError(f"no game is played with {asked.players} players; there are {GAMES}")
    unknown = set(asked.names) - set(all_names())
    if unknown:
        raise BridgeError(f"there is no page {', '.join(sorted(unknown))}; there are {', '.join(all_names())}")
    logs = ENVIRONMENTS / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    trial = bool(asked.games or asked.players)
    processes = Processes()
    signal.signal(signal.SIGTERM, interrupted)
    failures: dict[str, int] = {}
    for name in asked.names or all_names():
        started = time.monotonic()
        try:
            page = read_page(PAGES / f"{name}.md")
            kept, failures[name] = run_page(page, games, not trial, asked.jobs, processes, logs)
        except BridgeError as error:
            print(f"FAILED: {error}", flush=True)
            failures[name] = 1
            continue
        if not trial:
            write_results({name: kept})
        outcome = f"{failures[name]} FAILED" if failures[name] else "all passed"
        print(f"{name}: {outcome}, {time.monotonic() - started:.0f} s in all", flush=True)
    failed = [f"{name} ({count})" for name, count in failures.items() if count]
    print(f"failed: {', '.join(failed)}" if failed else f"{len(failures)} pages passed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted: results of finished pages are kept")
    except BridgeError as error:
        sys.exit(f"error: {error}")
