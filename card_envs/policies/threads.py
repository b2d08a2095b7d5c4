"""Kernels on several threads: they release the interpreter lock, and every game is a row of its own.

Whoever splits rows among threads gets the same results whatever their number: a game's chance and its policies draw
from generators of that game, and nothing is summed over games.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np

from card_envs.errors import CardEnvsError, shown

# Handing a part to another thread costs some 30 µs there and back: less work than this is not worth it.
WORTH_A_THREAD = 150e-6  # seconds of work in a part
PARTS = 4  # of a thread at most, so that whoever is done early takes over


class Threads:
    """Splits work on rows among threads wherever there is enough of it.

    The threads themselves are shared by all objects of this class in the process.

    Args:
        num_threads: how many may work at the same time, the calling one included.

    Raises:
        CardEnvsError: that is no whole number from 1.
    """

    def __init__(self, num_threads: int) -> None:
        if isinstance(num_threads, bool) or not isinstance(num_threads, (int, np.integer)) or num_threads < 1:
            raise CardEnvsError(f"num_threads is {shown(num_threads)}; allowed: a whole number from 1")
        self.num_threads = int(num_threads)
        self._seconds: dict[str, float] = {}  # a row took when last seen, by kind of work

    def run(self, kind: str, count: int, work: Callable[[slice], None]) -> None:
        """Calls `work(part)` with parts of 0 … count - 1 that together are all of it, at the same time on all threads.

        Args:
            kind: names the work; how long it took decides how the next of its kind is split.
            count: how many rows.
            work: needs scratch of its own in each call.
        """
        if self.num_threads == 1 or count == 0:
            work(slice(0, count))
            return
        spent: list[float] = []
        size = self._rows_of_a_part(kind, count)
        parts = iter([slice(first, min(first + size, count)) for first in range(0, count, size)])

        def take_parts() -> None:
            for part in parts:  # whoever comes takes the next
                before = time.thread_time()
                work(part)
                spent.append(time.thread_time() - before)

        number = min(self.num_threads, -(-count // size)) - 1
        helpers = [_pool(self.num_threads).submit(take_parts) for _ in range(number)]
        try:
            take_parts()
        finally:
            wait([helper for helper in helpers if not helper.cancel()])
        for helper in helpers:
            if not helper.cancelled():
                helper.result()
        self._seconds[kind] = sum(spent) / count

    def _rows_of_a_part(self, kind: str, count: int) -> int:
        worth = self._seconds.get(kind, 0.0) * count / WORTH_A_THREAD
        if worth < 2:
            return count
        parts = min(int(worth), PARTS * self.num_threads)
        if parts > self.num_threads:
            parts -= parts % self.num_threads
        return -(-count // parts)


@functools.cache
def _pool(num_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(num_threads - 1, thread_name_prefix="card_envs")


# A child process has none of its parent's threads, so it must not wait for them.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def available_cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
