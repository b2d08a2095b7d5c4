"""The pool of opponents: drawn by their shares, snapshots kept in turn, and games that begin late."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason="training needs the extra 'train'")

import torch

from card_envs.games import make_game
from card_envs.kernels import batch
from card_envs.policies.game_batch import CALLER
from card_envs.training.self_play import SelfPlayBatch
from card_envs.training.settings import Config
from tests.policies.models import small_model


@pytest.fixture(scope="module")
def game():
    return make_game("icarus_club", 3)


def tables(game, num_envs=8, **changes) -> SelfPlayBatch:
    config = Config(n_envs=num_envs, batch_size=num_envs, **changes)
    learner = SelfPlayBatch(game, config)
    learner.seed(0)
    return learner


def test_seats_are_drawn_by_the_shares(game):
    shares = {"self": 0.3, "snapshots": 0.3, "random": 0.3, "heuristic": 0.1, "none.zip": 0.0}
    learner = tables(game, 3000, opponents=shares, max_snapshots=3)
    learner.use_network(small_model(game).policy)
    rows = np.arange(3000)
    learner.tables.start(rows)
    learner._deal(rows, (learner.observation, learner.action_mask))
    drivers = learner.tables.drivers[:, :3]
    assert ((drivers == CALLER).sum(axis=1) == 1).all()  # one learner at every table
    np.testing.assert_array_equal((drivers == CALLER).argmax(axis=1), learner.seats)
    names = {driver: policy.name for driver, policy in learner.tables.policies.items()}
    assert sorted(names.values()) == ["self", "snapshot-0", "snapshot-1", "snapshot-2"]
    names |= {batch.RANDOM: "random", batch.HEURISTIC: "heuristic"}
    others = [names[driver] for driver in drivers[drivers != CALLER].tolist()]
    expected = {"self": 0.3, "random": 0.3, "heuristic": 0.1, "snapshot-0": 0.1, "snapshot-1": 0.1, "snapshot-2": 0.1}
    assert set(others) == set(expected)
    for name, share in expected.items():
        assert others.count(name) / 6000 == pytest.approx(share, abs=5 * (share / 6000) ** 0.5)
    assert np.bincount(learner.seats) / 3000 == pytest.approx(1 / 3, abs=0.05)


def test_snapshots_are_replaced_in_turn_and_keep_their_weights(game):
    learner = tables(game, opponents={"self": 0.5, "snapshots": 0.5}, max_snapshots=2)
    network = small_model(game).policy
    learner.use_network(network)

    def weight(policy) -> float:
        return policy.network.action_net.bias[0].item()

    def grow_to(value: float) -> None:
        with torch.no_grad():
            network.action_net.bias[0] = value
        learner.take_snapshot(network)

    seen = []
    for value in (1.0, 2.0, 3.0, 4.0):
        grow_to(value)
        seen.append([weight(snapshot) for snapshot in learner.snapshots])
    assert seen[0][0] == 1.0
    assert seen[0][1] not in (1.0, 2.0)
    assert seen[1:] == [[1.0, 2.0], [3.0, 2.0], [3.0, 4.0]]
    own = next(policy for policy in learner.tables.policies.values() if policy.name == "self")
    assert own.network is network  # itself as it is now
    assert learner.snapshots_taken == 4


@pytest.mark.parametrize("opponents", [{"self": 1.0}, {"random": 1.0, "snapshots": 0.0}])
def test_pool_without_snapshots_takes_none(opponents, game):
    learner = tables(game, opponents=opponents)
    learner.use_network(small_model(game).policy)
    learner.take_snapshot(None)
    assert learner.snapshots == []
    assert learner.snapshots_taken == 0


@pytest.mark.parametrize("policy", ["random", "heuristic"])
def test_late_start_begins_its_share_of_the_games_late(policy, game):
    learner = tables(game, 1000, opponents={"random": 1.0}, late_start={"share": 0.4, "from": 0.6, "policy": policy})
    learner.use_network(small_model(game).policy)
    skipped = []
    skip = learner.tables.fast_forward

    def spy(rows, decisions, driver):
        skipped.append((rows, decisions, driver))
        skip(rows, decisions, driver)

    learner.tables.fast_forward = spy
    learner.reset()
    assert learner.typical_length == pytest.approx(153, abs=10)
    rows, decisions, driver = skipped[0]
    assert sum(len(again) for again, _, _ in skipped[1:]) < 50  # games in which the learner had no choice left
    assert driver == (batch.HEURISTIC if policy == "heuristic" else batch.RANDOM)
    assert len(rows) / 1000 == pytest.approx(0.4, abs=0.08)
    assert decisions.min() >= int(0.6 * learner.typical_length)
    assert decisions.max() < learner.typical_length
    assert decisions.mean() == pytest.approx(0.8 * learner.typical_length, rel=0.05)
    assert learner.running.all()  # none was played to its end


def test_late_start_of_nothing_skips_nothing(game):
    learner = tables(game, 8, opponents={"random": 1.0}, late_start={"share": 0.0})
    learner.use_network(small_model(game).policy)
    learner.tables.fast_forward = None
    learner.reset()
    assert learner.running.all()
