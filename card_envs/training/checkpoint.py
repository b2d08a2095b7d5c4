"""Everything that a run needs to go on as if nothing had happened, in one file that is written whole or not at all."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib import MaskablePPO

from card_envs.errors import CardEnvsError
from card_envs.files import atomic_write
from card_envs.policies.trained import model_identity
from card_envs.training.self_play import SelfPlayBatch
from card_envs.training.settings import Config

_TABLES = ("states", "drivers", "rngs", "counts")
_LEARNER = ("observation", "action_mask", "seats", "running")
_ROLLOUT = ("_last_obs", "_last_episode_starts", "ep_info_buffer", "ep_success_buffer")  # what a player has no use for


def save_model(path: Path, model: Any) -> None:
    """Writes a model to play with."""
    content = io.BytesIO()
    model.save(content, exclude=_ROLLOUT)
    with atomic_write(path, "wb") as file:
        file.write(content.getvalue())


def save_checkpoint(path: Path, model: Any, learner: SelfPlayBatch, progress: dict[str, Any]) -> None:
    """Writes the model with its optimiser, all running games, all snapshots and all generators.

    Args:
        path: the file.
        model: between two rollouts.
        learner: its games.
        progress: further values of the run, as JSON.
    """
    model_bytes, arrays = io.BytesIO(), io.BytesIO()
    model.save(model_bytes)
    numpy_name, numpy_keys, *numpy_rest = np.random.get_state()  # noqa: NPY002 - Stable-Baselines3 draws from it
    content = _arrays(learner)
    content |= {"torch": torch.get_rng_state().numpy(), "numpy": np.asarray(numpy_keys)}
    for k, snapshot in enumerate(learner.snapshots):
        for key, tensor in snapshot.network.state_dict().items():
            content[f"snapshot.{k}.{key}"] = tensor.numpy()
    np.savez(arrays, **content)  # type: ignore[arg-type]
    values = {
        "game": model_identity(learner.game),
        "config": _settings(learner.config),
        "progress": progress,
        "learner": learner.progress(),
        "numpy": [numpy_name, *numpy_rest],
        "python": random.getstate(),
    }
    with atomic_write(path, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model.zip", model_bytes.getvalue())
        archive.writestr("arrays.npz", arrays.getvalue())
        archive.writestr("values.json", json.dumps(values))


def load_checkpoint(path: Path, env: Any, learner: SelfPlayBatch) -> tuple[MaskablePPO, dict[str, Any]]:
    """Puts a checkpoint back: returns the model and the run's further values.

    A checkpoint holds a model file, and that is a pickle: code in it runs when it is loaded.

    Raises:
        CardEnvsError: there is no checkpoint, it is broken, or it belongs to another game, configuration or version.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            model_bytes = io.BytesIO(archive.read("model.zip"))
            arrays = dict(np.load(io.BytesIO(archive.read("arrays.npz")), allow_pickle=False))
            values = json.loads(archive.read("values.json"))
        _check_origin(path, values, learner)
    except FileNotFoundError:
        raise CardEnvsError(f"there is no checkpoint {path}: nothing to resume") from None
    except CardEnvsError:
        raise
    except Exception as error:  # whatever zipfile, zlib, NumPy and json find wrong with a broken or foreign file
        raise CardEnvsError(f"{path} is no whole checkpoint: {type(error).__name__}: {error}") from None
    try:
        model = MaskablePPO.load(model_bytes, env=env, device="cpu", force_reset=False)
    except Exception as error:  # unpickling runs code, which may raise anything
        raise CardEnvsError(f"{path}: its model can't be loaded: {type(error).__name__}: {error}") from None
    learner.use_network(model.policy)
    learner.restore(values["learner"])
    learner.reset()
    for name, array in _arrays(learner).items():
        saved = arrays[name]
        if saved.shape != array.shape or saved.dtype != array.dtype:
            raise CardEnvsError(f"{path} was written by another version of this package: {name} differs")
        array[...] = saved
    for k, snapshot in enumerate(learner.snapshots):
        state = {key: torch.as_tensor(arrays[f"snapshot.{k}.{key}"]) for key in snapshot.network.state_dict()}
        snapshot.network.load_state_dict(state)
    # last of all: what came before drew from these
    torch.set_rng_state(torch.as_tensor(arrays["torch"]))
    name, *rest = values["numpy"]
    np.random.set_state((name, arrays["numpy"], *rest))  # noqa: NPY002
    version, internal, gauss = values["python"]
    random.setstate((version, tuple(internal), gauss))
    return model, values["progress"]


def _arrays(learner: SelfPlayBatch) -> dict[str, npt.NDArray[Any]]:
    """The arrays of the running games. States are bytes: a record type is rebuilt by the game, not read from a file."""
    arrays = {f"tables.{name}": getattr(learner.tables, name) for name in _TABLES}
    arrays |= {f"learner.{name}": getattr(learner, name) for name in _LEARNER}
    arrays["tables.states"] = learner.tables.states.view(np.uint8)
    return arrays


def _settings(config: Config) -> dict[str, Any]:
    """The configuration as JSON keeps it, without what `--total-timesteps` may change."""
    settings = config.model_dump(by_alias=True)
    del settings["n_timesteps"]
    return dict(json.loads(json.dumps(settings, default=str)))


def _check_origin(path: Path, values: dict[str, Any], learner: SelfPlayBatch) -> None:
    for what, found, wanted in (
        ("game", values["game"], model_identity(learner.game)),
        ("config.yaml", _settings(Config.model_validate(values["config"])), _settings(learner.config)),
    ):
        for key in sorted(found.keys() | wanted.keys()):
            if found.get(key) != wanted.get(key):
                raise CardEnvsError(
                    f"{path} was written with {key} = {found.get(key)!r}, but {what} has {key} = {wanted.get(key)!r}; "
                    "a run goes on with its own"
                )
