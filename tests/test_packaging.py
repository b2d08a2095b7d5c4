"""What is distributed: the wheel holds the package alone, the sdist all that builds, lints and tests it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from card_envs import __version__

ROOT = Path(__file__).resolve().parents[1]
DATA = {".py", ".md", ".json", ".typed", ".jinja", ".css", ".safetensors"}

pytestmark = pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="this needs the extra 'dev'")


def build(root: Path, target: str, folder: Path) -> Path:
    """The distribution that the build backend makes from `root`."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (made,) = folder.iterdir()
    return made


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def files(*folders: str, suffixes: set[str]) -> set[str]:
    """The files below folders of this checkout that have one of these suffixes."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in suffixes)
    return {path.relative_to(ROOT).as_posix() for path in found if not set(path.parts) & {"build", "dist"}}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> Path:
    """The sdist, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build(ROOT, "sdist", folder / "built")) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    return folder / "unpacked" / f"card_envs-{__version__}"


def test_wheel_holds_the_package_its_settings_and_nothing_else(wheel):
    about = f"card_envs-{__version__}.dist-info/"
    settings = {f"card_envs/{name}" for name in files("configs", suffixes={".yaml"})}
    assert {name for name in contents(wheel) if not name.startswith(about)} == {
        *files("card_envs", suffixes=DATA),
        *settings,
    }
    assert settings
    assert "card_envs/py.typed" in contents(wheel)


def test_installed_wheel_runs_in_an_empty_folder(wheel, tmp_path):
    installed, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    code = "import card_envs.cli, sys; print(card_envs.__file__); sys.exit(card_envs.cli.main(['games']))"
    env = os.environ | {"PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=empty, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    place, *told = done.stdout.splitlines()
    assert Path(place).is_relative_to(installed)
    assert len(told) >= 4
    assert not list(empty.iterdir())


def test_sdist_builds_the_same_wheel(wheel, unpacked, tmp_path):
    assert contents(build(unpacked, "wheel", tmp_path)) == contents(wheel)


def test_sdist_holds_all_that_checks_it(unpacked):
    sources = {".py", ".md", ".yaml", ".json", ".jsonl", ".toml", ".jinja", ".css"}
    folders = ("card_envs", "configs", "training", "examples", "benchmarks", "tests", "docs")
    wanted = files(*folders, suffixes=sources) | {
        *files("docs", suffixes={".txt"}),
        *("Makefile", "constraints.txt", "pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"),
        *(".pre-commit-config.yaml", ".gitignore"),
    }
    assert wanted <= {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*")}
