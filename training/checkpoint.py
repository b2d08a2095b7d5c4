"""Everything that a run needs to go on as if nothing had happened, in one file that is written whole or not at all."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from card_envs.errors import CardEnvsError
from card_envs.files import whole_file
from training.pool import SelfPlayTables

_TABLES = ("states", "drivers", "rngs", "counts")
_LEARNER = ("observation", "action_mask", "seats", "running")


def save_checkpoint(path: Path, model: MaskablePPO, learner: SelfPlayTables, progress: dict[str, Any]) -> None:
    """Writes the model with its optimiser, all running games, all snapshots and all generators.

    Args:
        path: the file.
        model: between two rollouts.
        learner: its games.
        progress: further values of the run, as JSON.
    """
    model_bytes, arrays = io.BytesIO(), io.BytesIO()
    model.save(model_bytes)
    numpy_name, numpy_keys, *numpy_rest = np.random.get_state()
    content: dict[str, Any] = {f"tables.{name}": getattr(learner.tables, name) for name in _TABLES}
    content |= {f"learner.{name}": getattr(learner, name) for name in _LEARNER}
    content |= {"torch": torch.get_rng_state().numpy(), "numpy": numpy_keys}
    for k, snapshot in enumerate(learner.snapshots):
        for key, tensor in snapshot.network.state_dict().items():
            content[f"snapshot.{k}.{key}"] = tensor.numpy()
    # as bytes: a record type is rebuilt by the game, not read from the file
    content["tables.states"] = learner.tables.states.view(np.uint8)
    np.savez(arrays, **content)
    values = {
        "progress": progress,
        "learner": learner.progress(),
        "numpy": [numpy_name, *numpy_rest],
        "python": random.getstate(),
    }
    with whole_file(path, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model.zip", model_bytes.getvalue())
        archive.writestr("arrays.npz", arrays.getvalue())
        archive.writestr("values.json", json.dumps(values))


def load_checkpoint(path: Path, env: Any, learner: SelfPlayTables) -> tuple[MaskablePPO, dict[str, Any]]:
    """Puts a checkpoint back: returns the model and the run's further values.

    A checkpoint holds a model file, and that is a pickle: code in it runs when it is loaded.

    Raises:
        CardEnvsError: there is no checkpoint, or it is broken.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            model_bytes = io.BytesIO(archive.read("model.zip"))
            arrays = dict(np.load(io.BytesIO(archive.read("arrays.npz")), allow_pickle=False))
            values = json.loads(archive.read("values.json"))
    except FileNotFoundError:
        raise CardEnvsError(f"there is no checkpoint {path}: nothing to resume") from None
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise CardEnvsError(f"{path} is no whole checkpoint: {error}") from None
    model = MaskablePPO.load(model_bytes, env=env, device="cpu", force_reset=False)
    learner.use_network(model.policy)
    learner.restore(values["learner"])
    learner.tables.states.view(np.uint8)[:] = arrays["tables.states"]
    for name in _TABLES[1:]:
        getattr(learner.tables, name)[:] = arrays[f"tables.{name}"]
    for name in _LEARNER:
        setattr(learner, name, arrays[f"learner.{name}"])
    for k, snapshot in enumerate(learner.snapshots):
        state = {key: torch.as_tensor(arrays[f"snapshot.{k}.{key}"]) for key in snapshot.network.state_dict()}
        snapshot.network.load_state_dict(state)
    torch.set_rng_state(torch.as_tensor(arrays["torch"]))
    name, *rest = values["numpy"]
    np.random.set_state((name, arrays["numpy"], *rest))
    version, internal, gauss = values["python"]
    random.setstate((version, tuple(internal), gauss))
    return model, values["progress"]
