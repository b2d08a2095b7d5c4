"""Everything that a run needs to go on as if nothing had happened, in one file that is written whole or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import random
import warnings
import zipfile
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sb3_contrib import MaskablePPO

from card_envs.errors import CardEnvsError, shown
from card_envs.files import atomic_write
from card_envs.kernels.batch import CALLER, HEURISTIC, RANDOM
from card_envs.policies.trained import answers_nan, model_identity
from card_envs.training.self_play import SelfPlayBatch
from card_envs.training.settings import Config, explain

_TABLES = ("states", "drivers", "rngs", "counts")
_LEARNER = ("observation", "action_mask", "seats", "running")
_ROLLOUT = ("_last_obs", "_last_episode_starts", "ep_info_buffer", "ep_success_buffer")  # what a player has no use for

_Count = Annotated[int, Field(ge=0, le=10**15)]
_Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Progress(_Kept):
    """Where the schedule of a run stands; changed in place.

    Attributes:
        next_snapshot: learner decisions at which the next snapshot is due.
        next_eval: the same for the next evaluation.
        best: the best model's mean return; None before the first evaluation.
        best_steps: learner decisions of the best model.
        unlogged: what the last update has told the logger, which writes it after the next rollout.
    """

    next_snapshot: _Count
    next_eval: _Count
    best: _Finite | None = None
    best_steps: _Count = 0
    unlogged: dict[str, float] = {}


class _Learner(_Kept):
    snapshots_taken: _Count
    typical_length: Annotated[_Finite, Field(ge=0, le=1e9)]
    illegal_actions: _Count


class _Values(_Kept):
    """`values.json`. Checkpoints of older versions have no sums."""

    game: dict[str, Any]
    config: dict[str, Any]
    progress: Progress
    learner: _Learner
    numpy: tuple[str, Annotated[int, Field(ge=0, le=624)], Annotated[int, Field(ge=0, le=1)], _Finite]
    python: tuple[int, list[_Count], _Finite | None]
    sha256: dict[str, str] | None = None


def save_model(path: Path, model: Any) -> None:
    """Writes a model to play with."""
    content = io.BytesIO()
    model.save(content, exclude=_ROLLOUT)
    with atomic_write(path, "wb") as file:
        file.write(content.getvalue())


def save_checkpoint(path: Path, model: Any, learner: SelfPlayBatch, progress: Progress) -> None:
    """Writes the model with its optimiser, all running games, all snapshots and all generators.

    Args:
        path: the file.
        model: between two rollouts.
        learner: its games.
        progress: where the run stands.
    """
    model_bytes, arrays = io.BytesIO(), io.BytesIO()
    model.save(model_bytes)
    numpy_name, numpy_keys, *numpy_rest = np.random.get_state()  # noqa: NPY002 - Stable-Baselines3 draws from it
    content = _arrays(learner) | _snapshots(learner)
    content |= {"torch": torch.get_rng_state().numpy(), "numpy": np.asarray(numpy_keys)}
    np.savez(arrays, **content)  # type: ignore[arg-type]
    members = {"model.zip": model_bytes.getvalue(), "arrays.npz": arrays.getvalue()}
    values = {
        "game": model_identity(learner.game),
        "config": _settings(learner.config),
        "progress": progress.model_dump(),
        "learner": learner.progress(),
        "numpy": [numpy_name, *numpy_rest],
        "python": random.getstate(),
        "sha256": {name: hashlib.sha256(member).hexdigest() for name, member in members.items()},
    }
    members["values.json"] = json.dumps(values).encode()
    with atomic_write(path, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)


def load_checkpoint(path: Path, env: Any, learner: SelfPlayBatch) -> tuple[MaskablePPO, Progress]:
    """Puts a checkpoint back: returns the model, and where the run stands.

    Everything is read and checked before anything is changed, and no file ever is. A checkpoint holds a model file, and
    that is a pickle: code in it runs when it is loaded.

    Raises:
        CardEnvsError: there is no checkpoint, it is broken, or it belongs to another game, configuration or version.
    """
    try:
        model_bytes, arrays, values = _read(path)
        _check_origin(path, values, learner)
    except FileNotFoundError:
        raise CardEnvsError(f"there is no checkpoint {path}: nothing to resume") from None
    except CardEnvsError:
        raise
    except ValidationError as error:
        raise CardEnvsError(f"{path} is no whole checkpoint: values.json: {explain(error, _Values)}") from None
    except Exception as error:  # whatever zipfile, zlib and NumPy find wrong with a broken or foreign file
        raise CardEnvsError(f"{path} is no whole checkpoint: {_short(error)}") from None
    try:
        with warnings.catch_warnings():  # what is left out would not go on as if nothing had happened
            warnings.filterwarnings("error", "Could not deserialize object")
            model = MaskablePPO.load(io.BytesIO(model_bytes), env=env, device="cpu", force_reset=False)
        steps = model.num_timesteps
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
            raise ValueError(f"num_timesteps is {shown(steps)}")
        nan = answers_nan(model.policy, learner.observation)
    except Exception as error:  # unpickling runs code, which may raise anything
        raise CardEnvsError(f"{path}: its model can't be loaded: {_short(error)}") from None
    if nan:
        raise CardEnvsError(f"{path}: its model answers NaN (not a number): it can't go on")
    best, game = values.progress.best, learner.game
    if best is not None and not game.min_return <= best <= game.max_return:
        raise CardEnvsError(f"{path} is no whole checkpoint: its best return is {best}, which {game.name} never pays")
    learner.use_network(model.policy)
    learner.restore(values.learner.model_dump())
    learner.reset()  # makes the arrays
    generators = _check_arrays(path, arrays, values, learner)
    for name, array in (_arrays(learner) | _snapshots(learner)).items():
        array[...] = arrays[name]
    # last of all: what came before drew from these
    torch.set_rng_state(torch.as_tensor(arrays["torch"]))
    np.random.set_state(generators[0])  # noqa: NPY002
    random.setstate(generators[1])
    return model, values.progress


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {shorten(str(error), 300)}"


def _read(path: Path) -> tuple[bytes, dict[str, npt.NDArray[Any]], _Values]:
    """The three parts of a checkpoint, each as it was written."""
    with zipfile.ZipFile(path) as archive:
        missing = {"model.zip", "arrays.npz", "values.json"} - set(archive.namelist())
        if missing:
            raise CardEnvsError(f"{path} is no whole checkpoint: it has no {' and no '.join(sorted(missing))}")
        members = {name: archive.read(name) for name in ("model.zip", "arrays.npz")}
        values = _Values.model_validate_json(archive.read("values.json"))
    for name, member in members.items():
        if values.sha256 is not None and values.sha256.get(name) != hashlib.sha256(member).hexdigest():
            raise CardEnvsError(f"{path} is no whole checkpoint: its {name} is not the one that it was written with")
    with np.load(io.BytesIO(members["arrays.npz"]), allow_pickle=False) as file:
        arrays = dict(file)
    return members["model.zip"], arrays, values


def _check_arrays(
    path: Path, arrays: dict[str, npt.NDArray[Any]], values: _Values, learner: SelfPlayBatch
) -> tuple[Any, Any]:
    """Refuses arrays of other names, shapes, types or values than this run has; returns two generators' states."""
    n = learner.game.num_players
    expected = _arrays(learner) | _snapshots(learner)
    expected |= {"torch": torch.get_rng_state().numpy(), "numpy": np.zeros(624, np.uint32)}
    for name, array in expected.items():
        if name not in arrays:
            raise CardEnvsError(f"{path} is no whole checkpoint: arrays.npz has no {name}")
        saved = arrays[name]
        if saved.shape != array.shape or saved.dtype != array.dtype:
            found, wanted = (f"{a.dtype} of shape {a.shape}" for a in (saved, array))
            raise CardEnvsError(
                f"{path} is broken, or was written by another version of this package: {name} is {found}, not {wanted}"
            )
    masks, seats = arrays["learner.action_mask"], arrays["learner.seats"]
    sound = {
        "tables.drivers": np.isin(
            arrays["tables.drivers"], [CALLER, RANDOM, HEURISTIC, *learner.tables.policies]
        ).all(),
        "tables.counts": (arrays["tables.counts"] >= 0).all(),
        "learner.observation": np.isfinite(arrays["learner.observation"]).all(),
        "learner.action_mask": np.isin(masks, (0, 1)).all() and masks.any(axis=1).all(),
        "learner.seats": ((seats >= 0) & (seats < n)).all(),
        **{name: np.isfinite(arrays[name]).all() for name in _snapshots(learner)},
    }
    for name, is_sound in sound.items():
        if not is_sound:
            raise CardEnvsError(f"{path} is no whole checkpoint: {name} has values that no run has")
    name, *rest = values.numpy
    version, internal, gauss = values.python
    numpy_state: Any = (name, arrays["numpy"], *rest)
    python_state = (version, tuple(internal), gauss)
    try:  # generators that nobody uses
        torch.Generator().set_state(torch.as_tensor(arrays["torch"]))
        np.random.RandomState().set_state(numpy_state)
        random.Random().setstate(python_state)
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise CardEnvsError(f"{path} is no whole checkpoint: a generator's state: {error}") from None
    return numpy_state, python_state


def _arrays(learner: SelfPlayBatch) -> dict[str, npt.NDArray[Any]]:
    """The arrays of the running games. States are bytes: a record type is rebuilt by the game, not read from a file."""
    arrays = {f"tables.{name}": getattr(learner.tables, name) for name in _TABLES}
    arrays |= {f"learner.{name}": getattr(learner, name) for name in _LEARNER}
    arrays["tables.states"] = learner.tables.states.view(np.uint8)
    return arrays


def _snapshots(learner: SelfPlayBatch) -> dict[str, npt.NDArray[Any]]:
    """The weights of all snapshots, as views."""
    return {
        f"snapshot.{k}.{key}": tensor.numpy()
        for k, snapshot in enumerate(learner.snapshots)
        for key, tensor in snapshot.network.state_dict().items()
    }


def _settings(config: Config) -> dict[str, Any]:
    """The configuration as JSON keeps it, without what `--total-timesteps` may change."""
    settings = config.model_dump(by_alias=True)
    del settings["n_timesteps"]
    return dict(json.loads(json.dumps(settings, default=str)))


def _check_origin(path: Path, values: _Values, learner: SelfPlayBatch) -> None:
    try:
        config = _settings(Config.model_validate(values.config))  # which reads old spellings, too
    except ValidationError as error:
        raise CardEnvsError(f"{path} is no whole checkpoint: config: {explain(error, Config)}") from None
    for what, found, wanted in (
        ("game", values.game, model_identity(learner.game)),
        ("config.yaml", config, _settings(learner.config)),
    ):
        for key in sorted(found.keys() | wanted.keys()):
            if found.get(key) != wanted.get(key):
                raise CardEnvsError(
                    f"{path} was written with {key[:60]} = {shown(found.get(key))}, but {what} has {key[:60]} = "
                    f"{shown(wanted.get(key))}; a run goes on with its own"
                )
