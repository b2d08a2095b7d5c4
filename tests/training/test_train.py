"""Training through its command line: the run folder, and runs that stop and go on as if nothing had happened."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason="training needs the extra 'train'")
pytest.importorskip("pydantic", reason="training needs the extra 'train'")

import torch
import yaml
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from card_envs.arena.report import text_table
from card_envs.arena.tournament import play_tournament
from card_envs.cli import main
from card_envs.cli.train import FRESH_DEALS
from card_envs.games import make_game
from card_envs.policies import make_policy
from card_envs.training.callbacks import RunCallback

torch.set_num_threads(1)  # nothing here is large enough for more

ROOT = Path(__file__).resolve().parents[2]
SETTINGS: dict[str, Any] = {
    "n_timesteps": 512,
    "n_envs": 8,
    "n_steps": 8,
    "batch_size": 32,
    "n_epochs": 2,
    "learning_rate": "lin_1e-2",
    "clip_range": "lin_0.3",
    "policy_kwargs": {"net_arch": [8]},
    "env_kwargs": {"num_players": 3},
    "opponents": {"self": 0.4, "snapshots": 0.4, "random": 0.2},
    "snapshot_freq": 100,
    "max_snapshots": 2,
    "late_start": {"share": 0.5, "from": 0.75, "policy": "random"},
    "eval_freq": 128,
    "eval_games": 6,
    "eval_opponents": ["random"],
}


def config_file(folder: Path, **changes: Any) -> Path:
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(SETTINGS | changes))
    return path


def train(config: Path, out: Path, *more: str) -> Path:
    assert main(["train", "icarus_club", "--config", str(config), "--out", str(out), "--seed", "7", *more]) == 0
    return out


def command(*arguments: str | Path, before: str = "") -> list[str]:
    # one thread, as in this process: sums are the same to the bit
    script = f"import sys, torch; torch.set_num_threads(1); {before}\nfrom card_envs.cli import main; sys.exit(main())"
    return [sys.executable, "-c", script, "train", "icarus_club", *map(str, arguments)]


def weights(path: Path) -> dict[str, Any]:
    """Everything that was learnt, the optimiser's moments included, as bytes by name."""
    with zipfile.ZipFile(path) as archive:
        network = torch.load(io.BytesIO(archive.read("policy.pth")))
        optimiser = torch.load(io.BytesIO(archive.read("policy.optimizer.pth")))
    content = {name: tensor.numpy().tobytes() for name, tensor in network.items()}
    for number, moments in optimiser["state"].items():
        content |= {f"{number}.{name}": tensor.numpy().tobytes() for name, tensor in moments.items()}
    assert len(content) > 20
    return content


def checkpoint_arrays(folder: Path) -> dict[str, Any]:
    with zipfile.ZipFile(folder / "checkpoint.zip") as archive:
        return dict(np.load(io.BytesIO(archive.read("arrays.npz"))))


def assert_same_run(one: Path, other: Path) -> None:
    assert weights(one / "final_model.zip") == weights(other / "final_model.zip")
    assert weights(one / "best_model.zip") == weights(other / "best_model.zip")
    arrays, others = checkpoint_arrays(one), checkpoint_arrays(other)
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)


def members(path: Path) -> dict[str, bytes]:
    """The files in a zip."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path: Path, content: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, member in content.items():
            archive.writestr(name, member)


def contents(folder: Path) -> dict[Path, bytes]:
    """All files of a run but the log, which a running process adds to."""
    return {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard shows of a run: (step, value) by tag; without the speed, which no two runs share."""
    log = EventAccumulator(str(folder / "tensorboard"))
    log.Reload()
    tags = set(log.Tags()["scalars"]) - {"time/fps"}
    return {tag: [(event.step, event.value) for event in log.Scalars(tag)] for tag in tags}


def refused(capsys, *arguments: str | Path) -> str:
    """The one line that the command says to bad input."""
    capsys.readouterr()
    assert main(["train", "icarus_club", *map(str, arguments)]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    return said.err[7:-1]


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Path:
    """A run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("straight")
    return train(config_file(folder), folder / "run")


# --- the run folder


def test_run_folder_is_complete(straight):
    assert {path.name for path in straight.iterdir()} == {
        "best_model.zip",
        "checkpoint.zip",
        "config.yaml",
        "curve.csv",
        "curve.png",
        "final_model.zip",
        "run.json",
        "table.txt",
        "tensorboard",
    }
    config = yaml.safe_load((straight / "config.yaml").read_text())
    assert {key: config[key] for key in SETTINGS} == SETTINGS
    assert config["gamma"] == 1.0  # resolved: what was not given, too
    described = json.loads((straight / "run.json").read_text())
    assert described["game"] == "icarus_club_v0"
    assert described["options"] == {"num_players": 3}
    assert described["seed"] == 7
    assert described["command"].startswith("card-envs train icarus_club --config ")
    assert {"python", "card-envs", "numpy", "torch", "sb3-contrib"} <= described["versions"].keys()
    game = make_game("icarus_club", 3)
    for name in ("best_model", "final_model"):
        assert make_policy(str(straight / f"{name}.zip"), game).name == f"run/{name}"


def test_log_holds_losses_evaluations_and_games(straight):

    log = EventAccumulator(str(straight / "tensorboard"))
    log.Reload()
    tags = set(log.Tags()["scalars"])
    assert {"eval/return_random", "train/loss", "train/learning_rate", "game/return", "game/won", "game/score"} <= tags
    assert "game/illegal_actions" in tags
    assert [event.step for event in log.Scalars("eval/return_random")] == [128, 256, 384, 512]
    rates = [event.value for event in log.Scalars("train/learning_rate")]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > 5 * rates[-1]
    assert {event.value for event in log.Scalars("game/illegal_actions")} == {0.0}


def test_same_seed_gives_the_same_run_and_another_seed_another(straight, tmp_path):
    config = config_file(tmp_path)
    assert_same_run(straight, train(config, tmp_path / "again"))
    assert main(["train", "icarus_club", "--config", str(config), "--out", str(tmp_path / "other"), "--seed", "8"]) == 0
    assert weights(tmp_path / "other" / "final_model.zip") != weights(straight / "final_model.zip")


@pytest.mark.parametrize(
    "changes", [{"eval_freq": 10_000}, {"eval_games": 30, "eval_opponents": ["heuristic", "random"]}]
)
def test_evaluation_does_not_change_training(changes, straight, tmp_path):
    other = train(config_file(tmp_path, **changes), tmp_path / "run")
    assert weights(other / "final_model.zip") == weights(straight / "final_model.zip")


@pytest.mark.parametrize(
    "changes",
    [
        {"late_start": {"share": 0.0}},
        {"opponents": {"self": 1.0}},
        {"opponents": {"random": 1.0, "snapshots": 0.0}},
        {"n_steps": 16},
    ],
    ids=str,
)
def test_settings_do_change_training(changes, straight, tmp_path):
    other = train(config_file(tmp_path, **changes), tmp_path / "run")
    assert weights(other / "final_model.zip") != weights(straight / "final_model.zip")


def test_options_of_the_command_line_go_before_the_file(tmp_path):
    config = config_file(tmp_path, eval_freq=10_000)
    train(config, tmp_path / "run", "--num-players", "4", "--total-timesteps", "64")
    written = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert written["env_kwargs"] == {"num_players": 4}
    assert written["n_timesteps"] == 64
    assert json.loads((tmp_path / "run" / "run.json").read_text())["options"] == {"num_players": 4}


def test_runs_without_a_folder_get_one_each(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "strftime", lambda form: "20240101-000000")
    config = config_file(tmp_path)
    for _ in range(3):
        assert main(["train", "icarus_club", "--config", str(config), "--total-timesteps", "64"]) == 0
    stem = "icarus_club-20240101-000000"
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {stem, f"{stem}-2", f"{stem}-3"}


def test_best_model_is_that_of_the_best_evaluation(straight):
    with zipfile.ZipFile(straight / "checkpoint.zip") as archive:
        progress = json.loads(archive.read("values.json"))["progress"]

    log = EventAccumulator(str(straight / "tensorboard"))
    log.Reload()
    evaluations = {event.step: event.value for event in log.Scalars("eval/return_random")}
    assert progress["best"] == pytest.approx(max(evaluations.values()), abs=1e-6)
    assert progress["best_steps"] == max(evaluations, key=lambda step: (round(evaluations[step], 6), -step))
    with zipfile.ZipFile(straight / "best_model.zip") as archive:
        assert json.loads(archive.read("data"))["num_timesteps"] == progress["best_steps"]


def test_snapshots_are_taken_when_they_are_due(straight):
    with zipfile.ZipFile(straight / "checkpoint.zip") as archive:
        values = json.loads(archive.read("values.json"))
    # rollouts begin every 64 steps: at 128, 256, 320 and 448 one of the multiples of 100 has passed
    assert values["learner"]["snapshots_taken"] == 4
    assert values["progress"]["next_snapshot"] == 500


def last_table(printed: str) -> list[str]:
    """The lines of the payoffs at a run's end, without the title and the line of what they are."""
    said = printed.partition("best model at ")[2].splitlines()
    start = next(i for i, line in enumerate(said) if line.startswith("mean return of the row's")) + 1
    return said[start : start + 4]


def test_run_ends_with_a_table_of_its_best_model_among_each_built_in_policy(tmp_path, capsys):
    """The same figures as the tournament's, with intervals, over `eval_games` games a pair on other deals than the
    evaluations'."""
    out = train(config_file(tmp_path, eval_games=9, n_timesteps=64), tmp_path / "run")
    printed = capsys.readouterr().out
    game = make_game("icarus_club", 3)
    policies = [make_policy(name, game) for name in (str(out / "best_model.zip"), "random", "heuristic")]
    expected = text_table(play_tournament(game, policies, games=9, seed=FRESH_DEALS))
    assert printed.endswith(f"{expected}\n")
    assert "63 games: 3 deals, each from 3 seats, in 7 line-ups" in printed
    table = last_table(printed)
    assert sorted(table[0].split()) == ["heuristic", "random", "run/best_model"]
    assert sum(line.count(" ± ") for line in table) == 6
    assert play_tournament(game, policies, games=9, seed=0).payoff(1, 2) != play_tournament(
        game, policies, games=9, seed=FRESH_DEALS
    ).payoff(1, 2)


# --- what a run says


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("100", " · 128 steps (100 asked for; updates come every n_envs * n_steps = 64) · 8 games at once · "),
        ("1", " · 64 steps (1 asked for; "),
        ("128", " · 128 steps · 8 games at once · "),
    ],
)
def test_first_line_says_how_many_steps_whole_rollouts_make(asked, said, tmp_path, capsys):
    config = config_file(tmp_path, eval_freq=10_000)
    out = train(config, tmp_path / "run", "--total-timesteps", asked)
    assert said in capsys.readouterr().out.partition("\n")[0]
    assert main(["train", "icarus_club", "--resume", str(out), "--total-timesteps", "200"]) == 0
    assert " · 256 steps (200 asked for; " in capsys.readouterr().out.partition("\n")[0]


@pytest.mark.parametrize(("games", "deals"), [(1, 2), (8, 2), (29, 9), (30, 10)])
def test_evaluation_from_few_deals_has_no_interval_and_says_how_many_it_takes(games, deals, tmp_path, capsys):
    train(config_file(tmp_path, eval_games=games), tmp_path / "run", "--total-timesteps", "64")
    said = capsys.readouterr().out.partition("best model at ")[0]
    few = (
        f"an evaluation plays {deals} deals, each from every seat: too few for an interval, which needs eval_games: 30"
    )
    assert said.count(few) == (deals < 10)
    assert ("±" in said) == (deals >= 10)
    assert "64 steps · return against random " in said


# --- the log


def test_log_has_one_value_a_step(straight):
    shown = curves(straight)
    rollouts = list(range(64, 513, 64))
    assert shown.keys() >= {"train/loss", "train/entropy_loss", "train/clip_range"}
    for tag, curve in shown.items():
        # what an update tells is logged after the rollout that follows it, evaluated or not
        due = {"eval": [128, 256, 384, 512], "train": rollouts[1:], "game": rollouts}[tag.partition("/")[0]]
        steps = [step for step, _ in curve]
        if tag == "game/illegal_actions" or not tag.startswith("game/"):
            assert steps == due, tag
        else:  # a rollout in which no game has ended
            assert sorted(set(steps)) == steps
            assert set(steps) <= set(due)


def test_log_of_a_run_that_was_killed_again_and_again_is_that_of_one_that_was_not(straight, tmp_path):
    """Before any checkpoint, between an evaluation's log and its checkpoint, in mid-rollout."""
    out = tmp_path / "run"
    arguments: list[str | Path] = ["--config", config_file(tmp_path), "--out", out, "--seed", "7"]
    kill = (
        "import os, card_envs.training.callbacks as c; calls = iter(range(99)); real = {0}\n"
        "def die(*given):\n if next(calls) == {1}: os._exit(9)\n return real(*given)\n{0} = die"
    )
    moments = {"save_checkpoint": 0, "RunCallback.checkpoint": 1, "RunCallback._on_step": 12}
    for moment, call in moments.items():
        killed = command(*arguments, before=kill.format(f"c.{moment}", call))
        assert subprocess.run(killed, cwd=ROOT, timeout=120, stdout=subprocess.DEVNULL).returncode == 9
        arguments = ["--resume", out]
    assert main(["train", "icarus_club", "--resume", str(out)]) == 0
    assert_same_run(straight, out)
    assert curves(out) == curves(straight)


# --- stopped and resumed


def test_run_that_goes_on_with_more_steps_equals_one_that_was_never_stopped(tmp_path):
    constant = {"learning_rate": 1e-2, "clip_range": 0.2}  # a schedule knows its end
    long = train(config_file(tmp_path, **constant), tmp_path / "long")
    short = train(config_file(tmp_path, **constant), tmp_path / "short", "--total-timesteps", "256")
    assert weights(short / "final_model.zip") != weights(long / "final_model.zip")
    assert main(["train", "icarus_club", "--resume", str(short), "--total-timesteps", "512"]) == 0
    assert weights(short / "final_model.zip") == weights(long / "final_model.zip")
    assert yaml.safe_load((short / "config.yaml").read_text())["n_timesteps"] == 512
    resumed = json.loads((short / "run.json").read_text())["resumed"]
    assert len(resumed) == 1
    assert "--total-timesteps 512" in resumed[0]["command"]


def test_killed_run_goes_on_as_if_nothing_had_happened(straight, tmp_path):
    out = tmp_path / "run"
    slowly = (  # so that the kill comes in mid-run on any machine
        "import time; from card_envs.training.callbacks import RunCallback; end = RunCallback._on_rollout_end; "
        "RunCallback._on_rollout_end = lambda self: (end(self), time.sleep(0.3))"
    )
    process = subprocess.Popen(
        command("--config", config_file(tmp_path), "--out", out, "--seed", "7", before=slowly),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (out / "best_model.zip").exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (out / "final_model.zip").exists()
    (out / ".checkpoint.zip.abc.tmp").write_bytes(b"half")  # as if killed in mid-writing
    assert main(["train", "icarus_club", "--resume", str(out)]) == 0
    assert_same_run(straight, out)
    assert not list(out.glob(".*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_run_that_is_stopped_after_every_rollout_equals_one_that_was_not(
    number, straight, tmp_path, monkeypatch, capsys
):
    end = RunCallback._on_rollout_end

    def end_and_stop(self):
        end(self)
        os.kill(os.getpid(), number)

    monkeypatch.setattr(RunCallback, "_on_rollout_end", end_and_stop)
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    out = tmp_path / "run"
    assert (
        main(["train", "icarus_club", "--config", str(config_file(tmp_path)), "--out", str(out), "--seed", "7"]) == 130
    )
    said = capsys.readouterr()
    assert said.err == f"stopped at 64 steps; --resume {out} goes on\n"
    assert not list(out.glob(".*"))
    codes = [main(["train", "icarus_club", "--resume", str(out)]) for _ in range(6)]
    assert codes == [130] * 6
    assert "alone among" not in said.out + capsys.readouterr().out  # the table is for runs that reach their end
    assert main(["train", "icarus_club", "--resume", str(out)]) == 0
    assert "run/best_model" in last_table(capsys.readouterr().out)[0]
    assert_same_run(straight, out)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers


def test_second_interrupt_stops_at_once(straight, tmp_path, monkeypatch, capsys):
    step = RunCallback._on_step
    asked = []

    def step_and_stop(self):
        if self.num_timesteps > 200:
            asked.append(self.num_timesteps)
            os.kill(os.getpid(), signal.SIGINT)
        return step(self)

    monkeypatch.setattr(RunCallback, "_on_step", step_and_stop)
    out = tmp_path / "run"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        assert (
            main(["train", "icarus_club", "--config", str(config_file(tmp_path)), "--out", str(out), "--seed", "7"])
            == 130
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "stopped\n"
    assert len(asked) == 2
    monkeypatch.undo()
    assert main(["train", "icarus_club", "--resume", str(out)]) == 0
    assert_same_run(straight, out)


def test_run_that_was_killed_before_its_first_checkpoint_begins_again(straight, tmp_path):
    out = train(config_file(tmp_path), tmp_path / "run")
    for name in ("checkpoint.zip", "best_model.zip", "final_model.zip"):
        (out / name).unlink()
    assert main(["train", "icarus_club", "--resume", str(out)]) == 0
    assert_same_run(straight, out)


def test_folder_with_settings_in_old_spelling_goes_on(straight, tmp_path):
    """A run folder of an older version, whose `config.yaml` and checkpoint say `late_from` and `warm_positions`."""
    out = train(config_file(tmp_path), tmp_path / "run", "--total-timesteps", "256")
    old = yaml.safe_load((out / "config.yaml").read_text())
    late, pretrain = old.pop("late_start"), old.pop("pretrain")
    old |= {"late_start": late["share"], "late_from": late["from"], "late_policy": late["policy"]}
    old |= {f"warm_{key}": value for key, value in pretrain.items()}
    (out / "config.yaml").write_text(yaml.safe_dump(old))
    content = members(out / "checkpoint.zip")
    values = json.loads(content["values.json"])
    del values["sha256"]
    values["config"] = {key: value for key, value in old.items() if key != "n_timesteps"}
    pack(out / "checkpoint.zip", content | {"values.json": json.dumps(values).encode()})
    assert main(["train", "icarus_club", "--resume", str(out), "--total-timesteps", "512"]) == 0
    assert yaml.safe_load((out / "config.yaml").read_text())["late_start"] == late


# --- what can't be resumed


@pytest.fixture
def finished(straight, tmp_path) -> Path:
    """A copy of the finished run."""
    import shutil

    return Path(shutil.copytree(straight, tmp_path / "copy"))


def test_finished_run_says_how_to_go_on(finished, capsys):
    before = {path: path.read_bytes() for path in finished.glob("*.*")}
    assert refused(capsys, "--resume", finished) == (
        f"{finished} has finished its 512 steps; --total-timesteps N with a larger N goes on"
    )
    assert "has finished its 512 steps" in refused(capsys, "--resume", finished, "--total-timesteps", "100")
    assert {path: path.read_bytes() for path in finished.glob("*.*")} == before


def test_folder_that_is_no_run_is_refused(tmp_path, capsys):
    assert "is no run folder: it has no config.yaml" in refused(capsys, "--resume", tmp_path)
    assert "is no run folder" in refused(capsys, "--resume", tmp_path / "missing")
    config_file(tmp_path).rename(tmp_path / "config.yaml")
    assert "is no run folder: it has no run.json" in refused(capsys, "--resume", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"config.yaml"}


def test_missing_and_broken_checkpoints_are_refused(finished, capsys):
    checkpoint = finished / "checkpoint.zip"
    content = checkpoint.read_bytes()
    checkpoint.unlink()
    assert refused(capsys, "--resume", finished) == f"there is no checkpoint {checkpoint}: nothing to resume"
    middle = len(content) // 2
    for broken in (b"", b"no zip", content[:middle], content[:middle] + b"\x00" * 99 + content[middle + 99 :]):
        checkpoint.write_bytes(broken)
        assert f"{checkpoint} is no whole checkpoint: " in refused(capsys, "--resume", finished)
    checkpoint.write_bytes((finished / "best_model.zip").read_bytes())
    assert f"{checkpoint} is no whole checkpoint: " in refused(capsys, "--resume", finished)


def test_broken_description_is_refused(finished, capsys):
    for text in ("", "{", "[]", "{}", '{"game": "icarus_club_v0", "options": {}, "seed": "x"}'):
        (finished / "run.json").write_text(text)
        assert f"{finished / 'run.json'} is broken: " in refused(capsys, "--resume", finished)
    (finished / "run.json").write_text('{"game": "chess", "options": {"num_players": 3}, "seed": 1}')
    assert "unknown game 'chess'" in refused(capsys, "--resume", finished)


@pytest.mark.parametrize(
    "more",
    [["--seed", "7"], ["--num-players", "3"], ["--config", "x.yaml"], ["--out", "elsewhere"]],
    ids=lambda m: m[0],
)
def test_resumed_run_keeps_its_settings(more, finished, capsys):
    assert "only --total-timesteps may be given beside it" in refused(capsys, "--resume", finished, *more)


def test_settings_edited_in_a_run_folder_are_refused(finished, capsys):
    text = (finished / "config.yaml").read_text()
    for key, old, new in (
        ("n_envs", " 8", " 16"),
        ("learning_rate", " lin_1e-2", " 0.5"),
        ("late_start", "\n  share: 0.5", "\n  share: 0.1"),
    ):
        (finished / "config.yaml").write_text(text.replace(f"{key}:{old}\n", f"{key}:{new}\n"))
        message = refused(capsys, "--resume", finished, "--total-timesteps", "600")
        assert f"was written with {key} = " in message
        assert "a run goes on with its own" in message
    described = json.loads((finished / "run.json").read_text())
    (finished / "config.yaml").write_text(text)
    (finished / "run.json").write_text(json.dumps(described | {"options": {"num_players": 4}}))
    assert "num_players = 3" in refused(capsys, "--resume", finished)


def test_folder_belongs_to_one_process_at_a_time(straight, finished, tmp_path, capsys):
    """Of two runs that are started into one folder, or resumed from one, the second is told so and changes nothing."""
    config = config_file(tmp_path)
    out = tmp_path / "run"
    slowly = (
        "import time; from card_envs.training.callbacks import RunCallback; end = RunCallback._on_rollout_end; "
        "RunCallback._on_rollout_end = lambda self: (end(self), time.sleep(60))"
    )
    arguments = ["--config", config, "--out", out, "--seed", "7"]
    process = subprocess.Popen(command(*arguments, before=slowly), cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        while not (out / "checkpoint.zip").exists():
            assert process.poll() is None
            time.sleep(0.01)
        before = contents(out)
        in_use = f"{out} is in use by another process: wait until that has ended"
        assert refused(capsys, *arguments) == in_use
        assert refused(capsys, "--resume", out) == in_use
        assert contents(out) == before
    finally:
        process.kill()
        process.wait()
    assert main(["train", "icarus_club", "--resume", str(out)]) == 0
    assert_same_run(straight, out)


# --- bad input


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"opponents": {"hueristic": 1.0}}, "unknown policy 'hueristic'; did you mean 'heuristic'?"),
        ({"opponents": {"missing.zip": 1.0}}, "there is no model file 'missing.zip'"),
        ({"eval_opponents": ["self"]}, "unknown policy 'self'"),
        ({"eval_opponents": ["random", "snapshots"]}, "unknown policy 'snapshots'"),
        ({"env_kwargs": {"num_player": 3}}, "env_kwargs: unknown key 'num_player'; did you mean 'num_players'?"),
        ({"env_kwargs": {"self": 3}}, "env_kwargs: unknown key 'self'"),
        ({"env_kwargs": {"num_players": 9}}, "num_players is 9; allowed: a whole number from 3 to 5"),
        ({"env_kwargs": {1: 2}}, "env_kwargs: unknown key 1"),
        ({"batch_size": 48}, "batch_size is 48; allowed: a divisor of n_steps * n_envs = 64"),
    ],
    ids=str,
)
def test_configuration_that_can_not_be_run_leaves_no_folder(changes, expected, tmp_path, capsys):
    config = config_file(tmp_path, **changes)
    assert expected in refused(capsys, "--config", config, "--out", tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.yaml"]


def test_folder_that_holds_something_is_never_written_into(tmp_path, capsys):
    config = config_file(tmp_path)
    message = refused(capsys, "--config", config, "--out", tmp_path)
    assert message == f"{tmp_path} is not an empty folder: name another one, or --resume {tmp_path}"
    assert refused(capsys, "--config", config, "--out", config) == f"{config} is a file; a run needs a folder"
    assert "the name of the run folder is empty" in refused(capsys, "--config", config, "--out", "")
    assert "names no run folder" in refused(capsys, "--resume", "")
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.yaml"]


def test_full_disk_leaves_the_last_whole_files_and_the_run_goes_on(straight, tmp_path):
    # the first checkpoint still fits, the one with the optimiser's moments does not
    size = (straight / "checkpoint.zip").stat().st_size - 2000
    limit = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({size}, {size}))"
    out = tmp_path / "run"
    done = subprocess.run(
        command("--config", config_file(tmp_path), "--out", out, "--seed", "7", before=limit),
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    written = f"{out / 'checkpoint.zip'} can't be written: File too large"
    assert done.stderr == f"error: {written}; --resume goes on from what is saved\n"
    assert not list(out.glob(".*"))
    with zipfile.ZipFile(out / "checkpoint.zip") as archive:
        assert archive.testzip() is None
    assert main(["train", "icarus_club", "--resume", str(out)]) == 0
    assert_same_run(straight, out)
