"""A tournament's parts on a Ray cluster. Importing this needs the extra `ray`.

A part whose node dies is played again elsewhere: it is the same games, so nothing is lost and nothing changes. The
nodes need this package (and the modules of policies of your own) installed, as Ray's workers do in general.
"""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Iterator
from typing import Any

from card_envs.arena.schedule import Part, Player
from card_envs.errors import CardEnvsError

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
try:
    import ray
except ImportError as error:
    raise CardEnvsError(f"Ray clusters need the extra 'ray': pip install 'card-envs[ray]' ({error})") from error

AHEAD = 2  # parts that wait for each processor of the cluster
FOR_EVER = -1  # how often Ray tries again when a node or a process has died


class RayCluster:
    """Plays on a Ray cluster.

    Args:
        address: of a running cluster ("auto", "host:port", "ray://host:port"); None starts one on this machine.
    """

    def __init__(self, address: str | None = None) -> None:
        self.address = address

    def play(self, player: Player, parts: Iterator[Part]) -> Iterator[dict[str, Any]]:
        """The results of all parts, in any order."""
        if not ray.is_initialized():
            try:
                if self.address is None:  # Ray's own default would join whatever cluster it finds here
                    ray.init("local", include_dashboard=False)
                else:
                    ray.init(self.address)
            except (ConnectionError, ValueError) as error:
                raise CardEnvsError(f"no Ray cluster answers at {self.address!r}: {error}") from error
        task = ray.remote(max_retries=FOR_EVER, retry_exceptions=False)(_play)
        player_ref, key = ray.put(player), uuid.uuid4().hex
        ahead = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting = [task.remote(player_ref, key, part) for part in itertools.islice(parts, ahead)]
        try:
            while waiting:
                done, waiting = ray.wait(waiting)
                yield from ray.get(done)
                waiting += [task.remote(player_ref, key, part) for part in itertools.islice(parts, len(done))]
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, CardEnvsError):
                raise error.cause from error
            raise
        finally:
            for ref in waiting:
                ray.cancel(ref, force=True)


def _play(player: Player, key: str, part: Part) -> dict[str, Any]:
    """What a worker does. Ray hands over a fresh copy of the player each time; its policies are worth keeping.

    The key stands for one call of `RayCluster.play`: policies of the same name may differ from one to the next.
    """
    if key not in _kept:
        _kept.clear()
        player.use_one_thread()
        _kept[key] = player
    return _kept[key].play(part)


_kept: dict[str, Player] = {}  # the player that this worker process used last, by its key
