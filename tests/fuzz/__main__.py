"""Thousands of damaged files for the commands that read them.

Every input must be accepted, with exit code 0, or refused with exit code 2 and one line on stderr: no traceback, no
hang, no gigabytes, and a refused folder unchanged to the byte. What is not so is told with the seed that repeats it and
kept under --keep. The exit code is 1 if there was any.

Training ends where learning would begin. One input in 500 is given to a process of its own, too, as users do.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from card_envs.cli.common import positive, whole
from card_envs.progress import progress_bar
from tests.fuzz.judge import TIME_LIMIT
from tests.fuzz.kinds import KINDS
from tests.fuzz.workers import Worker

AT_ONCE = 25  # inputs that a worker gets at a time
SILENCE = 3 * TIME_LIMIT  # seconds after which a worker is believed to hang in compiled code


def prepare(kinds: list[str], samples: Path) -> None:
    for name in kinds:
        (samples / name).mkdir()
        with contextlib.redirect_stdout(io.StringIO()):
            KINDS[name].prepare(samples / name)


def fuzz(args: argparse.Namespace, samples: Path) -> tuple[dict[str, Counter[Any]], list[str]]:
    """Counts of exit codes by kind, and a line for every fault."""
    counts: dict[str, Counter[Any]] = {name: Counter() for name in args.kind}
    given: dict[str, int] = defaultdict(int)
    faults: list[str] = []
    start = time.monotonic()
    workers = [Worker(samples, args.keep) for _ in range(args.workers)]

    def next_job() -> tuple[str, list[int]] | None:
        name = min(args.kind, key=lambda name: given[name])  # all kinds alike
        count = min(AT_ONCE, args.inputs - given[name])
        if count <= 0 or time.monotonic() - start > args.seconds:
            return None
        first = args.seed + given[name]
        given[name] += count
        return name, list(range(first, first + count))

    def settle(worker: Worker, code: int | str | None, fault: str) -> None:
        assert worker.job
        name, seeds = worker.job
        seed, worker.heard = seeds.pop(0), time.monotonic()
        counts[name]["fault" if fault else code] += 1
        if fault:
            again = f"python -m tests.fuzz --kind {name} --seed {seed} --inputs 1"
            faults.append(f"{name}, seed {seed}: {fault}\n    {args.keep / f'{name}-{seed}'} · again: {again}")
            bar.write(faults[-1])
        bar.update(1)
        if not seeds:
            worker.job = None

    total = None if args.inputs == sys.maxsize else args.inputs * len(args.kind)
    with progress_bar(total, "inputs") as bar:
        busy = True
        while busy:
            for number, worker in enumerate(workers):
                if worker.job and time.monotonic() - worker.heard > SILENCE:
                    worker.stop()
                if worker.job and not worker.process.is_alive() and not worker.connection.poll():
                    kind, rest = worker.job
                    died = f"the process died: exit code {worker.process.exitcode}"
                    settle(worker, None, died if worker.process.exitcode != -9 else "a hang, or too much memory")
                    workers[number] = worker = Worker(samples, args.keep)
                    if rest:
                        worker.give(kind, rest)
                if not worker.job and (job := next_job()):
                    worker.give(*job)
            busy = any(worker.job for worker in workers)
            for connection in wait([worker.connection for worker in workers if worker.job], timeout=1.0):
                worker = next(worker for worker in workers if worker.connection is connection)
                with contextlib.suppress(EOFError, ConnectionResetError):  # it died, which is seen above
                    settle(worker, *worker.connection.recv())
    for worker in workers:
        worker.stop()
    return counts, faults


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", nargs="+", choices=list(KINDS), default=list(KINDS), help="default: all")
    parser.add_argument("--seconds", type=positive, default=600.0, help="after which nothing new begins (default: 600)")
    parser.add_argument("--inputs", type=whole(1), default=sys.maxsize, help="of each kind (default: as many as come)")
    parser.add_argument("--seed", type=whole(0), default=0, help="of the first input of each kind (default: 0)")
    parser.add_argument("--workers", type=whole(1), default=os.cpu_count(), help="processes (default: %(default)s)")
    parser.add_argument(
        "--keep", type=Path, default=Path("fuzz_faults"), help="folder for bad ends (default: %(default)s)"
    )
    args = parser.parse_args()
    shared_memory = Path("/dev/shm")  # files that live for milliseconds need no disk
    with tempfile.TemporaryDirectory(dir=shared_memory if shared_memory.is_dir() else None, prefix="fuzz-") as folder:
        samples = Path(folder)
        print("making samples", file=sys.stderr, flush=True)
        prepare(args.kind, samples)
        start = time.monotonic()
        counts, faults = fuzz(args, samples)
        seconds = time.monotonic() - start
    for name, count in counts.items():
        codes = ", ".join(f"{number:,} × {code}" for code, number in count.most_common())
        print(f"{name:<12} {count.total():>8,} inputs from seed {args.seed}: exit codes {codes}")
    print(f"{seconds:,.0f} seconds, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
