"""Processes that try inputs, so that a crash or a hang is one input's and not the end."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import time
from multiprocessing.connection import Connection
from pathlib import Path

from tests.fuzz.judge import attempt
from tests.fuzz.kinds import KINDS

ONE_PROCESS_IN = 500
ADDRESS_SPACE = 4 * 2**30  # bytes that a worker may have beyond what it has at its start


class Worker:
    """A process that tries inputs, and can be killed."""

    def __init__(self, samples: Path, keep: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, samples, keep), daemon=True)
        self.process.start()
        theirs.close()
        self.job: tuple[str, list[int]] | None = None
        self.heard = time.monotonic()

    def give(self, kind: str, seeds: list[int]) -> None:
        self.job, self.heard = (kind, seeds), time.monotonic()
        self.connection.send(self.job)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


def work(connection: Connection, samples: Path, keep: Path) -> None:
    """Tries what it is given, input by input."""
    with contextlib.suppress(ImportError):  # the kinds that train are left out then
        import sb3_contrib  # noqa: F401
        import torch

        torch.set_num_threads(1)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE,) * 2)
    while True:
        name, seeds = connection.recv()
        for seed in seeds:
            is_sample = seed % ONE_PROCESS_IN == 0
            verdict = attempt(KINDS[name], samples / name, seed, keep=keep / f"{name}-{seed}", process=is_sample)
            connection.send((verdict.code, verdict.fault))
