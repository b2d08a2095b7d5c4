"""Compilation: the cache on disk never runs old rules, is used when it can be, and is never needed."""

from __future__ import annotations

import gc
import io
import json
import logging
import multiprocessing
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import card_envs
from card_envs.kernels import jit as jit_module
from card_envs.kernels.jit import borrow, jit

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


def copy_package(folder: Path) -> Path:
    package = folder / "card_envs"
    shutil.copytree(Path(card_envs.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    return package


def run(folder: Path, **env: str) -> dict[str, Any]:
    """One process that plays a trick with the package in `folder`."""
    script = shutil.copy(HERE / "one_trick.py", folder / "one_trick.py")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    # Python's own cache of byte code takes an edit of the same length in the same second for no edit
    clean |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **env}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=clean, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert Path(result["package"]).parent == folder / "card_envs"
    result["warnings"] = done.stderr
    return result


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def kept(package: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in package.rglob("*.nbc")}


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package whose cache is filled."""
    folder = tmp_path_factory.mktemp("warm")
    copy_package(folder)
    first = run(folder)
    assert first["winner"] == 2
    assert first["found"] == 0
    assert first["compiled"] > 0
    assert first["not kept"] == 0
    return folder


@pytest.fixture
def package(warm: Path, tmp_path: Path) -> Path:
    """A copy of the package and its warm cache."""
    shutil.copytree(warm / "card_envs", tmp_path / "card_envs")
    return tmp_path / "card_envs"


def test_the_next_process_compiles_nothing(package):
    before = kept(package)
    assert before
    again = run(package.parent)
    assert again["winner"] == 2
    assert again["compiled"] == 0
    assert again["found"] > 0
    assert again["warnings"] == ""
    assert kept(package) == before


def test_an_edited_rule_is_played_by_the_next_process(package):
    before = kept(package)
    rules = package / "games" / "icarus_club" / "rules.py"
    edit(rules, "winner, best = seat, card", "winner, best = 2-seat,card")  # T3, without a change of the file's size
    edited = run(package.parent)
    assert edited["winner"] == 0
    assert edited["compiled"] > 0
    after = kept(package)
    assert len(after) == len(before)  # files of the old rules are gone
    assert not [path for path in before if "icarus_club" in path.name and path in after]
    again = run(package.parent)
    assert (again["winner"], again["compiled"]) == (0, 0)


def test_an_edited_shared_kernel_is_noticed(package):
    edit(
        package / "kernels" / "state.py",
        "RUNNING, TERMINATED, TRUNCATED = range(3)",
        "RUNNING, TERMINATED, TRUNCATED = 0, 1, 2",
    )
    assert run(package.parent)["compiled"] > 0


def test_files_that_no_kernel_depends_on_leave_the_cache_valid(package):
    (package / "errors.py").write_text((package / "errors.py").read_text() + "\n")
    (package / "games" / "icarus_club" / "rules.md").write_text("edited")
    (package / "games" / "another_game").mkdir()
    (package / "games" / "another_game" / "rules.py").write_text("")
    assert run(package.parent)["compiled"] == 0


def test_what_the_stamp_covers(tmp_path):
    stamps = set()
    for name, content in [("rules.py", "1"), ("rules.py", "2"), ("deck.json", "[]"), ("deck.json", "[1]")]:
        (tmp_path / name).write_text(content)
        stamps.add(jit_module._stamp.__wrapped__(tmp_path))
    assert len(stamps) == 4
    (tmp_path / "notes.md").write_text("3")
    assert jit_module._stamp.__wrapped__(tmp_path) in stamps


def test_damaged_files_are_compiled_again(package):
    for i, path in enumerate(sorted(kept(package))):
        content = path.read_bytes()
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes([b"", content[:middle], flipped, b"\x80\x04N."][i % 4])
    damaged = run(package.parent)
    assert damaged["winner"] == 2
    assert damaged["compiled"] > 0
    assert "can't be read" in damaged["warnings"]
    again = run(package.parent)
    assert again["compiled"] == 0
    assert again["warnings"] == ""


def test_without_a_folder_to_write_to_games_run_and_one_warning_says_so(tmp_path):
    package = copy_package(tmp_path)
    for folder in [path.parent for path in package.rglob("*.py")]:
        (folder / "__pycache__").touch()  # a file in the cache folder's place: nobody, not even root, can write there
    nowhere = str(tmp_path / "one_trick.py")
    result = run(tmp_path, XDG_CACHE_HOME=nowhere, HOME=nowhere, LOCALAPPDATA=nowhere)
    assert result["winner"] == 2
    assert result["not kept"] > 3
    assert result["warnings"].count("\n") == 1
    assert "can't be kept" in result["warnings"]
    assert "set the environment variable NUMBA_CACHE_DIR to a folder that can be written to" in result["warnings"]
    assert not kept(package)


# --- in this process --------------------------------------------------------------------------------------------------


def double(x):
    return x + x


@pytest.fixture
def uncached(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    monkeypatch.setattr(jit_module, "_uncached", names)
    return names


def fail(*_: Any) -> None:
    raise OSError(28, "No space left on device")


def test_a_full_disk_does_not_stop_a_kernel(uncached, monkeypatch, caplog):
    monkeypatch.setattr(jit_module._OverloadFiles, "load", lambda *_: None)
    monkeypatch.setattr(jit_module._OverloadFiles, "save", fail)
    with caplog.at_level(logging.WARNING):
        kernel = jit(double)
        assert kernel(2) == 4
        assert kernel(2.5) == 5.0
    assert len(uncached) == 2
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith(
        "compiled kernel tests.kernels.test_jit.double can't be kept ([Errno 28] No space left on device), so every "
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("where", ["terminal", "file", "child process"])
def test_compilation_is_announced_once_on_a_terminal(where, monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    said = io.StringIO() if where == "file" else Terminal()
    monkeypatch.setattr(sys, "stderr", said)
    if where == "child process":
        monkeypatch.setattr(multiprocessing, "parent_process", lambda: "somebody")
    for numbers, compiled in (([2, 2.5], 2), ([2, 2.5], 0), ([2j], 1)):
        jit_module._announce.cache_clear()
        before = said.getvalue()
        kernel = jit(double)
        assert [kernel(x) for x in numbers] == [x + x for x in numbers]
        assert sum(kernel.stats.cache_misses.values()) == compiled
        announced = "compiling the game's kernels, once (up to a minute) ...\n" if compiled else ""
        assert said.getvalue() == before + (announced if where == "terminal" else "")


@pytest.mark.parametrize("what", ["_load_overload", "_save_overload"])
def test_a_numba_whose_cache_works_differently_does_not_stop_a_kernel(uncached, monkeypatch, what):
    monkeypatch.setattr(jit_module._OverloadFiles, "load", lambda *_: None)
    monkeypatch.setattr(f"numba.core.caching.FunctionCache.{what}", fail)
    assert jit(double)(2) == 4
    assert uncached


def test_a_numba_without_that_cache_does_not_stop_a_kernel(uncached, monkeypatch):
    monkeypatch.delattr("numba.core.caching.FunctionCache")
    assert jit(double)(2) == 4
    assert uncached


def test_a_function_that_no_file_holds_is_compiled_without_a_cache():
    scope: dict[str, Any] = {"__name__": "typed_in"}
    exec("def triple(x):\n    return 3 * x", scope)
    kernel = jit(scope["triple"])
    assert kernel(2) == 6
    assert sum(kernel.stats.cache_hits.values()) == 0


def test_the_interpreter_plays_the_same_games_bit_for_bit():
    decisions = "200"
    printed = []
    for disable in ("0", "1"):
        env = os.environ | {"NUMBA_DISABLE_JIT": disable}
        command = [sys.executable, "-m", "tests.kernels.playing", decisions]
        done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        printed.append(json.loads(done.stdout))
    assert [result["compiled"] for result in printed] == [True, False]
    assert printed[0]["games"]
    assert printed[0]["games"] == printed[1]["games"]
    assert np.unique(list(printed[0]["games"].values())).size == len(printed[0]["games"])


@numba.njit
def add_up(states, numbers, out):
    states, numbers, out = borrow(states, numbers, out)
    for i in range(numbers.shape[0]):
        states[i].total += numbers[i]
        out[:] += numbers[i]


def test_borrowed_arrays_are_those_of_the_caller_and_stay_its_own():
    states, numbers = np.zeros(3, [("total", np.int64)]), np.arange(9.0)[::3]
    out = np.zeros(2)
    owners = [sys.getrefcount(array) for array in (states, numbers, out)]
    for _ in range(5):
        add_up(states, numbers, out)
    assert states["total"].tolist() == [0, 15, 30]
    assert out.tolist() == [45.0, 45.0]
    gc.collect()  # Numba's compiler leaves a frame behind that holds the arguments of the first call
    assert [sys.getrefcount(array) for array in (states, numbers, out)] == owners
