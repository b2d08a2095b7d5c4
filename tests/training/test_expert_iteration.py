"""Expert iteration: labels are what they say, and a run that was stopped anywhere ends with the same agent."""

from __future__ import annotations

import csv
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("torch", reason="training needs the extra 'train'")

from card_envs.cli import main
from card_envs.errors import CardEnvsError
from card_envs.games import make_game
from card_envs.kernels.rng import seed_words
from card_envs.policies import make_policy
from card_envs.policies.game_batch import GameBatch
from card_envs.policies.search import LookAheadPolicy
from card_envs.training.expert_iteration import expert_of, gain
from card_envs.training.labels import ARRAYS, Labels, label
from card_envs.training.recipe import Recipe
from card_envs.training.settings import parse_settings
from tests.variants import each_game

GAME = make_game("micons", 3)
RECIPE = """
env_kwargs: {num_players: 3}
net_arch: [8]
width: 4
batch_size: 64
eval_games: 60
rounds:
- {positions: 300, expert: "mc:8", epochs: 2}
- {positions: 200, expert: "search:8:agent", players: {heuristic: 0.5, agent: 0.5}, use_rounds: 2, epochs: 2}
"""


def labelled(game, count=60, expert="mc:6:random", seed=0, from_=0.0):
    players = {make_policy("random", game): 0.5, make_policy("heuristic", game): 0.5}
    look_ahead = LookAheadPolicy(expert, game, threads=1)
    return label(game, count, look_ahead, players, from_, np.random.SeedSequence(seed))


# --- labels


@each_game
@pytest.mark.parametrize("expert", ["mc:6:random", "search:6:random"])
def test_labels_are_decisions_with_a_choice_and_values_in_range(game, expert):
    labels = labelled(game, expert=expert)
    assert (labels.mask.sum(axis=1) > 1).all()
    assert (labels.mask[np.arange(len(labels)), labels.advice] == 1).all()
    np.testing.assert_allclose(labels.visits.sum(axis=1), 1.0, atol=1e-5)
    assert (labels.visits[labels.mask == 0] == 0).all()
    assert (labels.value[labels.mask == 0] == 0).all()
    assert labels.value.min() >= game.min_return - 1e-6
    assert labels.value.max() <= game.max_return + 1e-6


@each_game
def test_labels_are_observed_as_the_seat_to_act_observes(game):
    labels = labelled(game)
    tables = GameBatch(game, len(labels))
    tables.states[:] = labels.states
    asked = tables.decisions(np.arange(len(labels)))
    features = labels.observe(game)
    np.testing.assert_array_equal(features[:, : game.layout.size], asked.observation)
    np.testing.assert_array_equal(labels.mask, asked.action_mask)
    advice, opinions = np.split(features[:, game.layout.size :], [game.num_actions], axis=1)
    np.testing.assert_array_equal(advice.argmax(axis=1), labels.advice)
    np.testing.assert_array_equal(advice.sum(axis=1), 1.0)
    np.testing.assert_array_equal(opinions, labels.opinions.reshape(len(labels), -1))


def test_positions_lie_in_the_part_of_their_games_that_was_asked_for():
    """Whatever a game's length, its end is among them: else a network never learns to finish long games."""
    turns = [labelled(GAME, 2000, "mc:1:random", from_=from_).states["turns"].mean() for from_ in (0.0, 0.9)]
    assert turns[1] > 1.5 * turns[0]
    ends = labelled(GAME, 500, "mc:20:random", from_=0.97)
    assert (np.abs(ends.value).max(axis=1) == 1.0).mean() > 0.2  # an action there is sure to win


def test_equal_seeds_give_equal_labels():
    once, again, other = labelled(GAME, seed=1), labelled(GAME, seed=1), labelled(GAME, seed=2)
    assert once.states.tobytes() == again.states.tobytes()
    assert once.value.tobytes() == again.value.tobytes()
    assert once.states.tobytes() != other.states.tobytes()


def test_values_are_those_of_the_look_ahead():
    """The mean over many labels of one position meets what many simulations say there, within 5 standard errors."""
    labels = labelled(GAME, 1)
    many, rows = GameBatch(GAME, 2000), np.arange(2000)
    many.states[:] = labels.states[0]
    words = seed_words(3, 2000)
    _, few = LookAheadPolicy("mc:10:random", GAME, threads=1).think(many.states, rows, words)
    _, sure = LookAheadPolicy("mc:20000:random", GAME, threads=1).think(many.states, rows[:1], seed_words(4, 2000))
    legal = labels.mask[0] == 1
    error = few.std(axis=0)[legal] / np.sqrt(2000) + 1.0 / np.sqrt(20_000 / legal.sum())
    assert (np.abs(few.mean(axis=0)[legal] - sure[0, legal]) <= 5 * error).all()


def test_file_of_labels_keeps_them(tmp_path):
    labels = labelled(GAME)
    labels.save(tmp_path / "a.npz", GAME)
    again = Labels.load(tmp_path / "a.npz", GAME)
    for name in ARRAYS:
        assert getattr(again, name).tobytes() == getattr(labels, name).tobytes(), name


def test_broken_or_foreign_file_of_labels_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    labelled(GAME).save(path, GAME)
    with pytest.raises(CardEnvsError, match=r"a\.npz holds labels of .*micons"):
        Labels.load(path, make_game("micons", 4))
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(CardEnvsError, match=r"a\.npz is no whole file of labels"):
        Labels.load(path, GAME)


def test_gain_is_the_expected_value_over_an_even_choice():
    value = np.array([[0.5, -0.5, 0.0], [0.3, 0.0, 0.1]], np.float32)
    mask = np.array([[1, 1, 0], [1, 0, 1]], np.int8)
    labels = Labels(np.zeros(2), mask, np.zeros(2, np.int16), np.zeros((2, 3, 0), np.float16), value, value)
    assert gain(labels, np.array([0, 2])) == pytest.approx((0.5 - 0.1) / 2)


# --- settings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounds": []}, "rounds"),
        ({"rounds": [{"positions": 1, "expert": "mc:1:agent"}]}, "the first of the rounds asks for an agent"),
        ({"rounds": [{"positions": 1, "expert": "mc:1", "players": {"agent": 1}}]}, "the first of the rounds asks"),
        ({"rounds": [{"positions": 1, "expert": "mc:1", "epoch": 1}]}, "unknown key 'epoch'"),
        ({"n_timesteps": 5}, "unknown key 'n_timesteps'"),
    ],
)
def test_wrong_recipes_get_one_clear_line(change, message):
    with pytest.raises(CardEnvsError, match=message) as caught:
        parse_settings({"rounds": [{"positions": 1, "expert": "mc:1"}]} | change, "x.yaml", Recipe)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "settings", [{"expert": "mcc:5"}, {"expert": "mc:0"}, {"expert": "mc:5", "players": {"search:5": 1.0}}]
)
def test_unknown_experts_and_players_are_refused_before_anything_is_written(tmp_path, capsys, settings):
    (tmp_path / "r.yaml").write_text(f"rounds: [{{positions: 10, {str(settings)[1:-1]}}}]")
    assert main(["train", "micons", "--recipe", str(tmp_path / "r.yaml"), "--out", str(tmp_path / "run")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_unknown_recipe_is_answered_with_those_that_ship(capsys):
    assert main(["train", "micons", "--recipe", "quik"]) == 2
    assert "did you mean 'quick'" in capsys.readouterr().err


def test_agent_guides_its_expert():
    assert expert_of(GAME, "search:5", None).name == "search:5"
    with pytest.raises(CardEnvsError, match="PLAYOUT random or heuristic"):
        LookAheadPolicy("mc:5:agent", GAME)


# --- runs


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expert")
    (folder / "recipe.yaml").write_text(RECIPE)
    command = ["train", "micons", "--recipe", str(folder / "recipe.yaml"), "--seed", "5", "--out", str(folder / "run")]
    assert main(command) == 0
    return folder


def test_run_folder_holds_what_its_page_says(run):
    names = {path.name for path in (run / "run").iterdir()}
    rounds = {"round-1.safetensors", "round-2.safetensors"}
    assert names >= {"config.yaml", "run.json", "labels", "agent.safetensors", "curve.csv", "table.txt", *rounds}
    rows = list(csv.DictReader((run / "run" / "curve.csv").open()))
    assert [float(row["round"]) for row in rows] == [1, 2]
    assert float(rows[1]["positions"]) == 500
    assert "agent" in (run / "run" / "table.txt").read_text()


def test_finished_run_says_so(run, capsys):
    assert main(["train", "micons", "--resume", str(run / "run")]) == 2
    assert "has finished its 2 rounds" in capsys.readouterr().err


@pytest.mark.parametrize(
    "lost",
    [
        ["table.txt"],
        ["table.txt", "agent.safetensors"],
        ["table.txt", "round-2.safetensors", "agent.safetensors"],
        ["table.txt", "round-2.safetensors", "labels/2-00000.npz"],
        ["table.txt", "round-1.safetensors", "round-2.safetensors", "agent.safetensors", "curve.csv"],
    ],
)
def test_run_that_was_stopped_goes_on_to_the_same_agent(run, tmp_path, lost):
    """Whatever a run had not written yet when it was stopped is made again, to the byte."""
    again = tmp_path / "run"
    shutil.copytree(run / "run", again)
    for name in lost:
        (again / name).unlink()
    assert main(["train", "micons", "--resume", str(again)]) == 0
    for name in ("round-1.safetensors", "round-2.safetensors", "agent.safetensors"):
        assert (again / name).read_bytes() == (run / "run" / name).read_bytes(), name


def test_killed_run_goes_on_to_the_same_agent(run, tmp_path):
    """Killed without a warning, wherever it is by then."""
    command = [sys.executable, "-m", "card_envs", "train", "micons"]
    start = [*command, "--recipe", str(run / "recipe.yaml"), "--seed", "5", "--out", str(tmp_path / "run")]
    process = subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (tmp_path / "run" / "labels").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert main(["train", "micons", "--resume", str(tmp_path / "run")]) in (0, 2)
    assert (tmp_path / "run" / "agent.safetensors").read_bytes() == (run / "run" / "agent.safetensors").read_bytes()


def test_exported_agent_says_where_it_comes_from(run, tmp_path, capsys):
    from card_envs.policies.agent import read_card

    assert main(["export", str(run / "run"), str(tmp_path / "mine.safetensors")]) == 0
    card = read_card(tmp_path / "mine.safetensors")
    assert card["seed"] == 5
    assert card["settings"]["net_arch"] == [8]
    assert any("agent" in line for line in card["strength"])
    assert main(["export", str(run / "run"), str(tmp_path / "mine.zip")]) == 2
    assert "ends in .safetensors" in capsys.readouterr().err
