"""A tournament on a Ray cluster is the same tournament, whatever happens to the nodes."""

import os

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray = pytest.importorskip("ray")

from ray.cluster_utils import Cluster  # noqa: E402

from card_envs.arena.cluster import RayCluster  # noqa: E402
from card_envs.arena.report import text_table  # noqa: E402
from card_envs.arena.tournament import RESULTS, play_tournament  # noqa: E402
from card_envs.errors import CardEnvsError  # noqa: E402
from card_envs.games import make_game  # noqa: E402

MEMORY = 100_000_000


@pytest.fixture
def cluster():
    """Three nodes on this machine."""
    cluster = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 1,
            "include_dashboard": False,
            "object_store_memory": MEMORY,
            "_system_config": {"memory_monitor_refresh_ms": 0},  # other programs here may need memory, too
        },
    )
    for _ in range(2):
        cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


POLICIES = ["random", "heuristic", "mc:40"]


@pytest.mark.parametrize("node_dies", [False, True])
def test_result_is_that_of_this_machine_also_with_a_node_killed(cluster, tmp_path, node_dies):
    game = make_game("icarus_club", 3)
    games, ended = 120, 0

    def progress(count):
        nonlocal ended
        before, ended = ended, ended + count
        if node_dies and before < 150 <= ended:
            cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)

    here = play_tournament(game, POLICIES, games, seed=3, records=1)
    result = play_tournament(
        game, POLICIES, games, seed=3, records=1, backend=RayCluster(), folder=tmp_path, progress=progress
    )
    assert ended == result.num_games == here.num_games
    assert text_table(result) == text_table(here)
    assert result.records == here.records
    assert len([node for node in ray.nodes() if node["Alive"]]) == (2 if node_dies else 3)
    assert (tmp_path / RESULTS).read_bytes().count(b"\n") == 1 + len(list(result.plan.parts(0)))


class Firm:
    """Always the first or always the last legal action, under one name."""

    name = "firm"

    def __init__(self, last):
        self.last = last

    def act(self, decisions):
        mask = decisions.action_mask
        return mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1) if self.last else mask.argmax(axis=1)


def test_policies_of_one_name_are_not_mistaken_for_each_other(cluster):
    """Workers keep what they play with; the next tournament brings its own."""
    game = make_game("icarus_club", 3)
    tables = []
    for last in (False, True):
        there = play_tournament(game, ["random", Firm(last)], 30, backend=RayCluster())
        here = play_tournament(game, ["random", Firm(last)], 30)
        tables.append(text_table(there))
        assert tables[-1] == text_table(here)
    assert tables[0] != tables[1]


def test_wrong_answer_on_a_node_is_the_same_error(cluster):
    with pytest.raises(CardEnvsError, match="policy"):
        play_tournament(
            make_game("icarus_club", 3), ["random", "tests.bridges.test_ray:lost"], 30, backend=RayCluster()
        )


def lost(observation, action_mask):
    """A policy that always errs."""
    return -1
