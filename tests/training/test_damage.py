"""Run folders that are damaged, or that a kill has left: one line that says what is wrong, and nothing changed."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason="training needs the extra 'train'")
pytest.importorskip("pydantic", reason="training needs the extra 'train'")

from card_envs.cli import main
from card_envs.training import run
from card_envs.training.settings import Config
from tests.training.test_train import ROOT, command, config_file, contents, members, pack, train

WRONG: list[Any] = [None, -1, "x", {}, True, 0.5, float("nan"), 10**30]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory) -> Path:
    """A run that is half done."""
    folder = tmp_path_factory.mktemp("stopped")
    return train(config_file(folder), folder / "run", "--total-timesteps", "256")


@pytest.fixture
def attempt(stopped, tmp_path, monkeypatch, capsys):
    """Resumes a copy of the run with some files replaced: the message, or "goes on" where learning would begin."""
    begun: list[bool] = []
    monkeypatch.setattr(run, "learn", lambda *given, **more: begun.append(True))
    monkeypatch.setattr("card_envs.cli.train.last_table", lambda folder: "")
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    originals = contents(folder)

    def attempt(**files: bytes) -> str:
        for path, content in originals.items():
            path.write_bytes(content)
        for name, content in files.items():
            (folder / f"{name}.{'json' if name == 'run' else 'zip'}").write_bytes(content)
        before = contents(folder)
        begun.clear()
        capsys.readouterr()
        code = main(["train", "icarus_club", "--resume", str(folder), "--total-timesteps", "512"])
        said = capsys.readouterr().err
        assert contents(folder) == before
        if begun:
            assert code == 0, said
            return "goes on"
        assert code == 2
        assert said.startswith("error: ")
        assert said.count("\n") == 1
        assert len(said) < 1500
        return said

    return attempt


def packed(content: dict[str, bytes], tmp_path: Path) -> bytes:
    pack(tmp_path / "packed.zip", content)
    return (tmp_path / "packed.zip").read_bytes()


def without_sums(content: dict[str, bytes]) -> dict[str, bytes]:
    """As an older version wrote it, so that what is inside must be looked at."""
    values = json.loads(content["values.json"])
    del values["sha256"]
    return content | {"values.json": json.dumps(values).encode()}


def test_whole_copy_goes_on_with_sums_and_without(stopped, attempt, tmp_path):
    content = members(stopped / "checkpoint.zip")
    assert attempt(checkpoint=packed(content, tmp_path)) == "goes on"
    assert attempt(checkpoint=packed(without_sums(content), tmp_path)) == "goes on"


def test_members_of_a_checkpoint(stopped, attempt, tmp_path):
    content = members(stopped / "checkpoint.zip")
    assert set(content) == {"model.zip", "arrays.npz", "values.json"}
    for name, member in content.items():
        missing = {other: content[other] for other in content if other != name}
        assert f"it has no {name}" in attempt(checkpoint=packed(missing, tmp_path))
        for wrong in (b"", b"x", member[: len(member) // 2], b"null", *(c for n, c in content.items() if n != name)):
            for whole in (content, without_sums(content)):
                assert "checkpoint.zip" in attempt(checkpoint=packed(whole | {name: wrong}, tmp_path))


def test_members_of_its_model(stopped, attempt, tmp_path):
    content = without_sums(members(stopped / "checkpoint.zip"))
    inner = members_of(content["model.zip"], tmp_path)
    for name, member in inner.items():
        for damaged in (
            {other: inner[other] for other in inner if other != name},
            inner | {name: b""},
            inner | {name: member[: len(member) // 2]},
        ):
            said = attempt(checkpoint=packed(content | {"model.zip": packed(damaged, tmp_path)}, tmp_path))
            if name in ("data", "policy.pth", "policy.optimizer.pth"):
                assert "checkpoint.zip: its model can't be loaded: " in said


def test_value_of_the_model_that_can_not_be_read_is_not_left_out(stopped, attempt, tmp_path):
    """Stable-Baselines3 would warn and go on without it."""
    content = without_sums(members(stopped / "checkpoint.zip"))
    inner = members_of(content["model.zip"], tmp_path)
    data = json.loads(inner["data"])
    pickled = [key for key, value in data.items() if isinstance(value, dict) and ":serialized:" in value]
    assert len(pickled) > 5
    for key in pickled:
        for wrong in (7, "AAAA", data[key][":serialized:"][:-8]):
            damaged = data | {key: data[key] | {":serialized:": wrong}}
            model = packed(inner | {"data": json.dumps(damaged).encode()}, tmp_path)
            said = attempt(checkpoint=packed(content | {"model.zip": model}, tmp_path))
            assert "checkpoint.zip: its model can't be loaded: " in said


def members_of(content: bytes, tmp_path: Path) -> dict[str, bytes]:
    (tmp_path / "inner.zip").write_bytes(content)
    return members(tmp_path / "inner.zip")


def test_arrays_of_a_checkpoint(stopped, attempt, tmp_path):
    content = members(stopped / "checkpoint.zip")
    with np.load(io.BytesIO(content["arrays.npz"])) as file:
        arrays = dict(file)
    assert len(arrays) > 20

    def with_arrays(changed: dict[str, Any], sums: bool) -> str:
        out = io.BytesIO()
        np.savez(out, **changed)
        whole = content | {"arrays.npz": out.getvalue()}
        return attempt(checkpoint=packed(whole if sums else without_sums(whole), tmp_path))

    for name, array in arrays.items():
        missing = {other: arrays[other] for other in arrays if other != name}
        assert f"arrays.npz has no {name}" in with_arrays(missing, sums=False)
        for wrong in (array[:-1] if array.ndim else array[None], array.astype(np.complex64), np.zeros((0, 3))):
            assert f"{name} is " in with_arrays(arrays | {name: wrong}, sums=False)
        assert "its arrays.npz is not the one" in with_arrays(arrays | {name: np.zeros_like(array) + 1}, sums=True)
    for name, value in (
        ("tables.drivers", 99),
        ("tables.drivers", -1),
        ("tables.counts", -1),
        ("learner.observation", np.nan),
        ("learner.action_mask", 0),
        ("learner.action_mask", 2),
        ("learner.seats", -1),
        ("learner.seats", 3),
        ("snapshot.0.action_net.weight", np.inf),
    ):
        wrong = np.full_like(arrays[name], value)
        assert f"{name} has values that no run has" in with_arrays(arrays | {name: wrong}, sums=False)
    assert "a generator's state" in with_arrays(arrays | {"torch": np.zeros_like(arrays["torch"])}, sums=False)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all that can be replaced; of lists the first two places only."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list):
        for k in range(min(len(value), 2 if path else 0)):
            yield from leaves(value[k], (*path, k))


def replaced(values: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    changed = json.loads(json.dumps(values))
    inner = changed
    for part in path[:-1]:
        inner = inner[part]
    if wrong is leaves:  # a mark: take it away
        del inner[path[-1]]
    else:
        inner[path[-1]] = wrong
    return changed


def test_values_of_a_checkpoint(stopped, attempt, tmp_path):
    content = members(stopped / "checkpoint.zip")
    values = json.loads(content["values.json"])
    went_on = set()
    for path in leaves(values):
        original: Any = values
        for part in path:
            original = original[part]
        # test_settings.py tries all that is wrong for settings
        for wrong in ["x", leaves] if path[0] in ("game", "config") else [*WRONG, leaves]:
            if wrong == original and type(wrong) is type(original):
                continue
            changed = json.dumps(replaced(values, path, wrong)).encode()
            if attempt(checkpoint=packed(content | {"values.json": changed}, tmp_path)) == "goes on":
                went_on.add((".".join(map(str, path)), "nothing" if wrong is leaves else repr(wrong)))
    defaults = {
        (f"config.{'.'.join(map(str, path))}", "nothing") for path in leaves(Config().model_dump(by_alias=True))
    }
    # what might have been written as well
    possible = {
        ("sha256", "None"),
        ("sha256", "nothing"),
        ("progress.best", "None"),
        ("progress.best", "nothing"),
        ("progress.best", "0.5"),
        ("progress.best_steps", "nothing"),
        ("progress.unlogged", "nothing"),
        ("progress.unlogged", "{}"),
        ("learner.typical_length", "0.5"),
        ("python.2", "0.5"),
        ("numpy.3", "-1"),
        ("numpy.3", "0.5"),
        ("numpy.3", "1000000000000000000000000000000"),
    }
    assert {what for what in went_on - defaults - possible if not what[0].startswith("progress.unlogged.")} == set()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"options": {"name": 3}}, "options: unknown key 'name'"),
        ({"options": {"self": 3}}, "options: unknown key 'self'"),
        ({"options": {"num_players": 9}}, "num_players is 9"),
        ({"options": {"num_players": None, "x" * 9999: 1}}, "options: unknown key 'xxx"),
        ({"options": {"num_players": [[1] * 9999]}}, "num_players is [["),
        ({"options": [3]}, "options is [3]; allowed: "),
        ({"options": None}, "options is None; allowed: "),
        ({"resumed": 5}, "resumed is 5; allowed: "),
        ({"resumed": {}}, "resumed is {}; allowed: "),
        ({"resumed": ["x"]}, "resumed.0 is 'x'; allowed: "),
        ({"seed": -1}, "seed is -1; allowed: "),
        ({"seed": 2**32}, "seed is 4294967296; allowed: "),
        ({"seed": "7"}, "seed is '7'; allowed: "),
        ({"seed": True}, "seed is True; allowed: "),
        ({"seed": 7.5}, "seed is 7.5; allowed: "),
        ({"game": 7}, "game is 7; allowed: "),
        ({"game": ["icarus_club"]}, "game is ['icarus_club']; allowed: "),
        ({"game": "x" * 99_999}, "unknown game"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_description_of_a_run(changes, expected, stopped, attempt):
    described = json.loads((stopped / "run.json").read_text())
    said = attempt(run=json.dumps(described | changes).encode())
    assert "run.json is broken: " in said
    assert expected in said


@pytest.mark.parametrize("text", ["[" * 99_999, "null", "7", '{"game": NaN}', '{"seed": ' + "9" * 9999 + "}", "\xff"])
def test_description_that_is_no_mapping(text, attempt):
    assert "run.json is broken: " in attempt(run=text.encode("latin-1"))


# --- no room


def test_run_that_finds_no_room_for_its_table_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    def sync(handle: int) -> None:
        if ".table.txt." in os.readlink(f"/proc/self/fd/{handle}"):
            raise OSError(28, "No space left on device")

    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", sync)
        assert main(["train", "icarus_club", "--config", str(config_file(tmp_path)), "--out", str(out)]) == 2
    written = f"{out / 'table.txt'} can't be written: No space left on device"
    assert capsys.readouterr().err.splitlines()[-1] == f"error: {written}; --resume goes on from what is saved"
    assert not list(out.glob(".*"))
    assert main(["train", "icarus_club", "--resume", str(out)]) == 0
    assert (out / "table.txt").exists()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"n_steps": 10**9}, "n_steps * n_envs = 8,000,000,000 decisions of "),
        ({"pretrain": {"positions": 10**12}}, "pretrain.positions = 1,000,000,000,000 decisions of "),
    ],
    ids=str,
)
def test_run_that_this_machine_can_not_hold_is_refused_before_it_begins(changes, expected, tmp_path, capsys):
    config = config_file(tmp_path, **changes)
    assert main(["train", "icarus_club", "--config", str(config), "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {expected}")
    assert said.endswith(" GiB of this machine\n")
    assert not (tmp_path / "run").exists()


# --- kills


KILL = (
    "import os, {module} as m; calls = iter(range(99)); real = m.{name}\n"
    "def die(*given, **more):\n if next(calls) == {call}: os._exit(9)\n return real(*given, **more)\nm.{name} = die"
)


@pytest.mark.parametrize(
    ("module", "name", "call"),
    [
        ("card_envs.training.callbacks", "save_checkpoint", 0),
        ("card_envs.training.callbacks", "save_model", 0),  # of the first best model
        ("card_envs.training.callbacks", "save_checkpoint", 1),  # after it
        ("card_envs.arena.tournament", "play_tournament", 0),  # the last table
    ],
)
def test_run_that_is_killed_goes_on(module, name, call, pretrained, tmp_path):
    before = KILL.format(module=module, name=name, call=call)
    config = config_file(tmp_path, pretrain={"positions": 64, "playouts": 1})
    arguments = ["--config", config, "--out", tmp_path / "run", "--seed", "7", "--total-timesteps", "128"]
    done = subprocess.run(command(*arguments, before=before), cwd=ROOT, capture_output=True, timeout=120)
    assert done.returncode == 9, done.stderr
    assert main(["train", "icarus_club", "--resume", str(tmp_path / "run")]) == 0
    for file in ("table.txt", "config.yaml"):
        assert (tmp_path / "run" / file).read_bytes() == (pretrained / file).read_bytes()
    assert {path.name for path in pretrained.iterdir()} == {path.name for path in (tmp_path / "run").iterdir()}


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pretrained")
    config = config_file(folder, pretrain={"positions": 64, "playouts": 1})
    return train(config, folder / "run", "--total-timesteps", "128")


def test_folder_with_a_best_model_of_pretraining_but_no_checkpoint_begins_again(pretrained, tmp_path):
    """As older versions left it when they were killed between the two."""
    folder = Path(shutil.copytree(pretrained, tmp_path / "run"))
    shutil.copy(folder / "best_model.zip", folder / "kept.zip")
    for name in ("checkpoint.zip", "final_model.zip", "table.txt"):
        (folder / name).unlink()
    data = members(folder / "best_model.zip")
    described = json.loads(data["data"])
    pack(folder / "best_model.zip", data | {"data": json.dumps(described | {"num_timesteps": 64}).encode()})
    assert main(["train", "icarus_club", "--resume", str(folder)]) == 2  # a checkpoint was there and is lost
    pack(folder / "best_model.zip", data | {"data": json.dumps(described | {"num_timesteps": 0}).encode()})
    assert main(["train", "icarus_club", "--resume", str(folder)]) == 0
    assert (folder / "table.txt").read_bytes() == (pretrained / "table.txt").read_bytes()


# --- networks that blow up


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"learning_rate": 1e200}, "learning_rate (1e+200)"),
        ({"learning_rate": 1e30}, "learning_rate (1e+30)"),
        ({"learning_rate": "lin_1e38"}, "learning_rate (lin_1e38)"),
        ({"learning_rate": 1e30, "policy": "OptionsPolicy"}, "learning_rate (1e+30)"),
        ({"learning_rate": 1e30, "opponents": {"self": 1.0}}, "learning_rate (1e+30)"),
    ],
    ids=str,
)
def test_network_that_blows_up_ends_the_run_with_what_to_lower(changes, expected, tmp_path, capsys):
    config = config_file(tmp_path, **changes)
    out = tmp_path / "run"
    assert main(["train", "icarus_club", "--config", str(config), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("error: after ")
    assert (
        f"learning makes the network answer NaN (not a number): its weights grow out of bounds; lower {expected}"
        in said
    )
    assert said.endswith(f"the checkpoint in {out} is from before\n")
    assert not (out / "final_model.zip").exists()
    model, _, _ = run.model_from_checkpoint(out, *run.read_run(out)[:2], 0)
    assert all(np.isfinite(tensor.numpy()).all() for tensor in model.policy.state_dict().values())


def test_pretraining_that_blows_up_says_what_to_lower(tmp_path, capsys):
    config = config_file(tmp_path, pretrain={"positions": 64, "playouts": 1, "learning_rate": 1e200})
    assert main(["train", "icarus_club", "--config", str(config), "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pretraining makes the network answer NaN" in said
    assert "lower pretrain.learning_rate (1e+200)" in said
