"""Who plays a tournament's parts: this process, processes on this machine, or a Ray cluster.

A backend yields the results of parts in any order; the tournament does not depend on it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from card_envs.arena.schedule import Part, Player
from card_envs.errors import CardEnvsError

AHEAD = 2  # parts that wait for each worker, so that none is ever idle


class Backend(Protocol):
    """Plays parts."""

    def play(self, player: Player, parts: Iterator[Part]) -> Iterator[dict[str, Any]]:
        """The results of all parts, in any order."""
        ...


class Here:
    """Plays in this process, one part after the other."""

    def play(self, player: Player, parts: Iterator[Part]) -> Iterator[dict[str, Any]]:
        return map(player.play, parts)


class Processes:
    """Plays in processes on this machine.

    Args:
        workers: how many; the machine's cores by default.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or os.cpu_count() or 1

    def play(self, player: Player, parts: Iterator[Part]) -> Iterator[dict[str, Any]]:
        context = multiprocessing.get_context("spawn")  # a fork would copy locks that other threads hold
        waiting: set[Future[dict[str, Any]]] = set()
        with ProcessPoolExecutor(self.workers, context, _begin, (player,)) as pool:
            try:
                for part in parts:
                    waiting.add(pool.submit(_play, part))
                    if len(waiting) == AHEAD * self.workers:
                        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                        yield from (future.result() for future in done)
                yield from (future.result() for future in waiting)
            except BrokenProcessPool:
                raise CardEnvsError(
                    "a process that played games has died, perhaps for want of memory; what is saved can be resumed"
                ) from None
            except BaseException:  # stopped, or given up: whoever plays a part may be minutes from its end
                for process in list((pool._processes or {}).values()):
                    process.terminate()
                raise
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


_player: Player  # of this worker process


def _begin(player: Player) -> None:
    global _player
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the main process's business
    threading.Thread(target=_die_with_parent, daemon=True).start()
    _player = player
    _player.use_one_thread()


def _die_with_parent() -> None:
    """A main process that was killed can't end its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _play(part: Part) -> dict[str, Any]:
    return _player.play(part)
