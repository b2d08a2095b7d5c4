"""Trained models as policies: only for the game they were made for, never an illegal action, true to their network."""

from __future__ import annotations

import json
import sys
import zipfile

import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason="trained models need the extra 'train'")

import torch
from sb3_contrib import MaskablePPO

from card_envs.arena.match import play_games, rotated
from card_envs.errors import CardEnvsError, PolicyError
from card_envs.games import make_game
from card_envs.policies import Decisions, make_policy
from card_envs.policies.trained import NetworkPolicy, load_policy, model_identity
from card_envs.training.settings import schedule
from tests.arena.helpers import games_of
from tests.policies.models import model_file, small_model
from tests.policies.test_policies import asking, refused


@pytest.fixture(scope="module")
def game():
    return make_game("icarus_club", 3)


@pytest.fixture(scope="module")
def path(game, tmp_path_factory):
    return model_file(tmp_path_factory.mktemp("runs") / "my-run", game)


@pytest.fixture(scope="module")
def decisions(game) -> Decisions:
    """Decisions all along a game: some have one option, some many."""
    parts = [asking(game, 60, count).decisions(np.arange(60)) for count in (0, 1, 5, 40, 90, 125)]
    joined = [np.concatenate([getattr(part, key) for part in parts]) for key in ("observation", "action_mask")]
    uniform = np.random.default_rng(0).random(360)
    return Decisions(joined[0], joined[1], uniform, parts[0].states, np.arange(360), parts[0].rngs)


def test_model_is_loaded_by_its_path_and_named_for_its_run(game, path):
    for name in (str(path), path):
        policy = make_policy(name, game)
        assert isinstance(policy, NetworkPolicy)
        assert policy.name == "my-run/model"
        assert policy.deterministic


def test_model_of_another_player_count_or_game_is_refused(path, game, tmp_path):
    message = refused(str(path), make_game("icarus_club", 4))
    assert "was trained with num_players = 3, but icarus_club_v0 is played with 4" in message
    other = small_model(game)
    for key, value in (("game", "another_v0"), ("observation_size", 7), ("max_turns", 50)):
        vars(other)["card_envs_game"] = model_identity(game) | {key: value}
        other.save(tmp_path / "other.zip")
        assert f"was trained with {key} = {value!r}, but icarus_club_v0 is played with " in refused(
            str(tmp_path / "other.zip"), game
        )


def archive(path, **members: bytes) -> str:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return str(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"\x00" * 5000, b"no zip at all"])
def test_file_that_is_no_zip_is_refused(content, game, tmp_path):
    (tmp_path / "x.zip").write_bytes(content)
    assert "x.zip is no whole Stable-Baselines3 model" in refused(str(tmp_path / "x.zip"), game)


def test_foreign_zips_are_refused_before_anything_in_them_is_loaded(game, tmp_path):
    path = tmp_path / "x.zip"
    assert "is no whole Stable-Baselines3 model" in refused(archive(path, readme=b"hello"), game)
    for data in (b"{", b"\xff\xfe", b"[" * 100_000):
        assert "is no whole Stable-Baselines3 model" in refused(archive(path, data=data), game)
    for data in (b"{}", b"[]", b"7", b"null", b'{"card_envs_game": 5}'):
        assert "does not say which game it plays" in refused(archive(path, data=data), game)


def test_model_whose_parts_are_broken_is_refused_in_one_line(game, tmp_path):
    identity = {"game": "icarus_club_v0", "num_players": 3, "observation_size": game.layout.size}
    data = json.dumps({"card_envs_game": identity}).encode()
    message = refused(archive(tmp_path / "x.zip", data=data), game)
    assert "can't be loaded as a model" in message
    broken = {"policy.pth": b"junk"}
    assert "can't be loaded" in refused(archive(tmp_path / "x.zip", data=data, **broken), game)


def test_model_that_was_saved_elsewhere_is_refused(game, tmp_path):
    model = small_model(game)
    del vars(model)["card_envs_game"]
    model.save(tmp_path / "plain.zip")
    assert "does not say which game it plays" in refused(str(tmp_path / "plain.zip"), game)


def test_truncated_and_damaged_model_files_are_refused(game, path, tmp_path):
    content = path.read_bytes()
    for name, broken in {
        "half": content[: len(content) // 2],
        "tail": content[:-30],
        "bytes": content[: len(content) // 2] + b"\x00" * 64 + content[len(content) // 2 + 64 :],
    }.items():
        (tmp_path / f"{name}.zip").write_bytes(broken)
        with pytest.raises(CardEnvsError, match=rf"{name}\.zip (is no whole|can't be loaded)"):
            make_policy(str(tmp_path / f"{name}.zip"), game)


def test_saved_model_holds_no_rollout(path):
    assert torch.is_tensor(next(iter(load_policy(str(path), make_game("icarus_club", 3)).network.parameters())))
    model = small_model(make_game("icarus_club", 3))
    model.learn(16)
    assert model._last_obs is not None
    assert MaskablePPO.load(path, device="cpu")._last_obs is None


@pytest.mark.parametrize("deterministic", [True, False])
def test_every_action_is_legal(game, path, decisions, deterministic):
    policy = load_policy(str(path), game, deterministic)
    actions = policy.act(decisions)
    assert actions.shape == (360,)
    assert actions.dtype == np.int64
    assert (decisions.action_mask[np.arange(360), actions] == 1).all()
    games = games_of(game, 20, seed=0, num_policies=2)
    play_games(game, [policy, make_policy("random", game)], games)  # an illegal action would raise


def test_deterministic_answers_are_those_of_the_model(game, path, decisions):
    model = MaskablePPO.load(path, device="cpu")
    expected, _ = model.predict(decisions.observation, deterministic=True, action_masks=decisions.action_mask)
    np.testing.assert_array_equal(load_policy(str(path), game).act(decisions), expected)
    assert len(np.unique(expected)) > 10


def test_deterministic_answers_do_not_depend_on_chance(game, path, decisions):
    policy = load_policy(str(path), game)
    other = Decisions(
        decisions.observation,
        decisions.action_mask,
        1.0 - decisions.uniform,
        decisions.states,
        decisions.rows,
        decisions.rngs,
    )
    np.testing.assert_array_equal(policy.act(decisions), policy.act(other))


def test_sampled_answers_follow_the_probabilities_of_the_model(game, path, decisions):
    policy = load_policy(str(path), game, deterministic=False)
    counts = decisions.action_mask.sum(axis=1)
    for row in (int(counts.argmax()), int(np.flatnonzero(counts == 3)[0])):
        draws = 20_000
        many = Decisions(
            np.repeat(decisions.observation[row : row + 1], draws, axis=0),
            np.repeat(decisions.action_mask[row : row + 1], draws, axis=0),
            (np.arange(draws) + 0.5) / draws,  # every quantile once
            decisions.states,
            np.arange(draws),
            decisions.rngs,
        )
        found = np.bincount(policy.act(many), minlength=game.num_actions) / draws
        with torch.no_grad():
            distribution = policy.network.get_distribution(
                torch.as_tensor(decisions.observation[row : row + 1]), decisions.action_mask[row : row + 1]
            )
        expected = distribution.distribution.probs[0].numpy()
        np.testing.assert_allclose(found, expected, atol=2 / draws + 1e-6)
        assert (found > 0).sum() > 1


def test_the_ends_of_the_random_numbers_give_legal_actions(game, path, decisions):
    policy = load_policy(str(path), game, deterministic=False)
    for number in (0.0, np.nextafter(1.0, 0.0)):
        edge = Decisions(
            decisions.observation,
            decisions.action_mask,
            np.full(360, number),
            decisions.states,
            decisions.rows,
            decisions.rngs,
        )
        assert (decisions.action_mask[np.arange(360), policy.act(edge)] == 1).all()


def test_same_random_numbers_give_the_same_games(game, path):
    policy = load_policy(str(path), game, deterministic=False)
    games = games_of(game, 10, seed=3)
    torch.manual_seed(0)
    one = play_games(game, [policy], games, log_actions=True)
    torch.manual_seed(1)
    other = play_games(game, [policy], games, log_actions=True)
    assert [a.tolist() for a in one.actions] == [a.tolist() for a in other.actions]


def test_model_with_a_schedule_is_loaded_without_the_training_package(game, tmp_path, monkeypatch):
    path = model_file(tmp_path / "run", game, learning_rate=schedule("lin_3e-4"), clip_range=schedule("lin_0.2"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "training"]:
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails
    assert make_policy(path, game).name == "run/model"


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_network_that_answers_no_number_is_named_as_such(value, deterministic):
    """Not as one that has tried an illegal action."""
    game = make_game("icarus_club", 3)
    policy = NetworkPolicy(small_model(game).policy, "broken", deterministic)
    with torch.no_grad():
        policy.network.action_net.bias.fill_(value)
    with pytest.raises(PolicyError, match=r"^policy 'broken': its network answers NaN or infinity"):
        play_games(game, [policy], rotated([0, 0, 0], 2, seed=0, stream=0))
    lost = play_games(game, [policy], rotated([0, 0, 0], 2, seed=0, stream=0), faults="loss").faults
    assert {fault.kind for fault in lost} == {"exception"}
    assert "NaN" in lost[0].message
