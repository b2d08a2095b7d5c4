"""Policies by name: what is refused and how, and what the built-in ones do."""

from __future__ import annotations

import numpy as np
import pytest

from card_envs.errors import CardEnvsError
from card_envs.games import list_games, make_game, player_counts
from card_envs.policies import BuiltInPolicy, GameBatch, make_policy
from card_envs.policies.base import policy_label
from card_envs.policies.game_batch import CALLER

TABLES = [(name, n) for name in list_games() for n in player_counts(name)]


@pytest.fixture(scope="module")
def game():
    return make_game("icarus_club", 3)


def refused(name, game) -> str:
    with pytest.raises(CardEnvsError) as caught:
        make_policy(name, game)
    return str(caught.value)


def asking(game, count: int, decisions: int) -> GameBatch:
    """Tables that wait for the caller after some random decisions."""
    tables = GameBatch(game, count)
    tables.states["rng"][:, 0] = np.arange(1, count + 1)
    tables.rngs[:, 0] = np.arange(1, count + 1)
    rows = np.arange(count)
    tables.start(rows)
    tables.drivers[:] = CALLER
    tables.fast_forward(rows, np.full(count, decisions), 0)
    return tables


# --- names


@pytest.mark.parametrize(("name", "near"), [("hueristic", "heuristic"), ("Random", "random"), ("rando", "random")])
def test_unknown_policy_names_the_nearest_and_all(name, near, game):
    message = refused(name, game)
    assert f"unknown policy {name!r}; did you mean {near!r}?" in message
    assert "heuristic, mc:N, random, search:N" in message
    assert ".zip" in message


def test_unknown_policy_far_from_all_names_all(game):
    assert refused("qwxyz", game) == (
        "unknown policy 'qwxyz' (known: agent, heuristic, mc:N, random, search:N); or the path of a trained model, "
        "ending in .safetensors or .zip, or module:attribute"
    )


@pytest.mark.parametrize("thing", [None, 7, True, BuiltInPolicy, ["random"], b"random"])
def test_thing_that_is_no_policy_is_refused(thing, game):
    assert "method 'act'" in refused(thing, game)


def test_policy_is_returned_as_it_is(game):
    policy = make_policy("random", game)
    assert make_policy(policy, game) is policy
    assert policy_label(policy) == "random"


def test_missing_model_file_is_named(game, tmp_path):
    assert refused(str(tmp_path / "no.zip"), game) == f"there is no model file {str(tmp_path / 'no.zip')!r}"
    (tmp_path / "folder.zip").mkdir()
    assert "there is no model file" in refused(str(tmp_path / "folder.zip"), game)


# --- the built-in ones


@pytest.mark.parametrize(("name", "num_players"), TABLES)
def test_built_in_policies_answer_alike_inside_kernels_and_out(name, num_players):
    game = make_game(name, num_players)
    for kind in ("random", "heuristic"):
        policy = make_policy(kind, game)
        one, other = asking(game, 40, 10), asking(game, 40, 10)
        rows = np.arange(40)
        decisions = one.decisions(rows)
        actions = policy.act(decisions)
        assert actions.dtype == np.int64
        assert (decisions.action_mask[rows, actions] == 1).all()
        assert (policy.act(other.decisions(rows)) == actions).all()


def test_random_policy_chooses_every_legal_action_alike(game):
    tables = asking(game, 40, 60)
    options = tables.decisions(np.arange(40)).action_mask.sum(axis=1)
    tables.states = np.repeat(tables.states[options.argmax()][None], 6000)
    tables.rngs = np.random.default_rng(0).integers(1, 2**63, (6000, 2), np.uint64)
    decisions = tables.decisions(np.arange(6000))
    counts = np.bincount(make_policy("random", game).act(decisions), minlength=game.num_actions)
    legal = decisions.action_mask[0] == 1
    assert counts[~legal].sum() == 0
    expected = 6000 / legal.sum()
    assert legal.sum() > 2
    assert ((counts[legal] - expected) ** 2 / expected).sum() < legal.sum() - 1 + 5 * np.sqrt(2 * (legal.sum() - 1))
