"""A run of training from its first step to its last, in a folder that `resume` goes on from."""

from __future__ import annotations

import itertools
import json
import os
import platform
import textwrap
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from card_envs.errors import CardEnvsError, unknown_name
from card_envs.files import atomic_write, lock_folder, remove_unfinished, resumable
from card_envs.games import game_class
from card_envs.games.game import Game
from card_envs.policies import make_policy
from card_envs.training.recipe import Recipe, load_any
from card_envs.training.settings import POOL, Config, dump_config, explain, network_of, schedule

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO

    from card_envs.training.checkpoint import Progress
    from card_envs.training.self_play import SelfPlayBatch

TABLE = "table.txt"
VERSIONS = ("card-envs", "numpy", "numba", "gymnasium", "pettingzoo", "torch", "stable-baselines3", "sb3-contrib")


def start(
    game: str, config: Config | Recipe, *, seed: int = 0, out: str | Path | None = None, command: str = ""
) -> Path:
    """Trains from the beginning.

    Args:
        game: its name; `config.env_kwargs` has its options.
        config: what to do: settings of self-play, or a recipe of expert iteration.
        seed: of everything that is drawn, 0 … 2**32 - 1.
        out: the run folder, which must be empty or not there yet; by default `runs/GAME-DATE`.
        command: how the run was started, for `run.json`.

    Returns:
        The run folder.

    Raises:
        CardEnvsError: options or policies that the game does not have, or a folder in use.
    """
    beside = ("skip_forced",) if isinstance(config, Config) else ()
    options = {key: value for key, value in config.env_kwargs.items() if key not in beside}
    played = make_with(game_class(game), options, "env_kwargs", beside)
    check_policies(config, played)
    described = {
        "game": played.name,
        "options": played.options_to_json(),
        "seed": seed,
        **how(command),
        "machine": platform.platform(),
    }
    if isinstance(config, Recipe):
        with new_folder(out, played) as folder:
            follow(played, config, described, folder)
        return folder
    model, learner = fresh_model(played, config, seed)
    with new_folder(out, played) as folder:
        learn(model, learner, fresh_progress(config), described, folder)
    return folder


def resume(folder: str | Path, *, total_timesteps: int | None = None, command: str = "") -> Path:
    """Goes on with a run from its checkpoint, as if it had never stopped.

    Args:
        folder: the run folder.
        total_timesteps: learner decisions in all, if not those that the run was started with.
        command: how the run was resumed, for `run.json`.

    Returns:
        The run folder.

    Raises:
        FinishedRun: it has done its steps.
        CardEnvsError: no run folder, or a broken one, which is left as it was.
    """
    folder = Path(folder)
    check_run_folder(folder)
    with lock_folder(folder):
        game, config, described = read_run(folder)
        check_policies(config, game)
        if total_timesteps and isinstance(config, Config):
            config = config.but(n_timesteps=total_timesteps)
        described["resumed"] = [*described.get("resumed", []), how(command)]
        if isinstance(config, Recipe):
            if total_timesteps:
                raise CardEnvsError(f"{folder} follows a recipe, which counts no timesteps")
            remove_unfinished(folder)
            follow(game, config, described, folder)
            return folder
        begun = has_begun(folder)
        if begun:
            model, learner, progress = model_from_checkpoint(folder, game, config, described["seed"])
        else:
            model, learner = fresh_model(game, config, described["seed"])
            progress = fresh_progress(config)
        remove_unfinished(folder)
        learn(model, learner, progress, described, folder, resumed=begun)
    return folder


class FinishedRun(CardEnvsError):
    """A run that has nothing left to learn."""


# --- the run folder


class _Description(BaseModel):
    """What of `run.json` is read again; the rest is for people."""

    model_config = ConfigDict(extra="allow", strict=True)

    game: str
    options: dict[str, Any]
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    resumed: list[dict[str, Any]] = []


def check_run_folder(folder: Path) -> None:
    """Refuses a folder in which no run was started."""
    for name in ("config.yaml", "run.json"):
        if not (folder / name).is_file():
            raise CardEnvsError(f"{folder} is no run folder: it has no {name}")


def read_run(folder: Path) -> tuple[Game, Config | Recipe, dict[str, Any]]:
    """What a run folder says of its run: the game, the configuration and the description in `run.json`."""
    check_run_folder(folder)
    config = load_any(folder / "config.yaml")
    path = folder / "run.json"
    try:
        described = json.loads(path.read_text("utf-8"))
        checked = _Description.model_validate(described)
    except ValidationError as error:
        raise CardEnvsError(f"{path} is broken: {explain(error, _Description)}") from None
    except (ValueError, RecursionError) as error:
        raise CardEnvsError(f"{path} is broken: {type(error).__name__}: {error}") from None
    try:
        game = make_with(game_class(checked.game), checked.options, "options")
    except CardEnvsError as error:
        raise CardEnvsError(f"{path} is broken: {textwrap.shorten(str(error), 400)}") from None
    return game, config, described


def make_with(cls: type[Game], options: Mapping[str, Any], where: str, beside: tuple[str, ...] = ()) -> Game:
    """A game with options from a file, in which they stand at `where`; `beside` names what may stand there, too.

    Raises:
        CardEnvsError: the game refuses them.
    """
    known = ("num_players", *beside, *cls.option_table)
    for key in options:
        if key not in known:
            raise CardEnvsError(f"{where}: {unknown_name('key', key, known)}")
    try:
        return cls(**options)
    except CardEnvsError as error:
        raise CardEnvsError(textwrap.shorten(str(error), 400)) from None


def check_policies(config: Config | Recipe, game: Game) -> None:
    """Refuses an unknown policy, before anything is written."""
    for name in config.eval_opponents:
        make_policy(name, game)
    if isinstance(config, Recipe):
        from card_envs.training.expert_iteration import check_rounds

        check_rounds(config, game)
        return
    for name in config.opponents:
        if name not in POOL:
            make_policy(name, game)


def follow(game: Game, recipe: Recipe, described: dict[str, Any], folder: Path) -> None:
    """Carries out what is left of a recipe."""
    from card_envs.training.expert_iteration import AGENT, iterate

    if (folder / TABLE).exists():
        raise FinishedRun(f"{folder} has finished its {len(recipe.rounds)} rounds")
    write_description(folder, recipe, described)
    print(f"{game!r} · {len(recipe.rounds)} rounds · run folder {folder}", flush=True)
    iterate(game, recipe, described["seed"], folder)
    print(f"best agent: {folder / AGENT}")


@contextmanager
def new_folder(out: str | Path | None, game: Game) -> Iterator[Path]:
    """A fresh folder for a run, held for this process."""
    if out is None:
        stem = Path("runs") / f"{game.name.rpartition('_v')[0]}-{time.strftime('%Y%m%d-%H%M%S')}"
        names = (stem if number == 1 else stem.with_name(f"{stem.name}-{number}") for number in itertools.count(1))
        folder = next(name for name in names if _made(name))
    elif not str(out):
        raise CardEnvsError("the name of the run folder is empty; without one it is runs/GAME-DATE")
    else:
        folder = Path(out)
        if folder.exists() and not folder.is_dir():
            raise CardEnvsError(f"{folder} is a file; a run needs a folder")
        folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        if any(folder.iterdir()):
            raise CardEnvsError(f"{folder} is not an empty folder: name another one, or --resume {folder}")
        yield folder


def _made(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return False
    return True


def how(command: str) -> dict[str, Any]:
    """The command and the versions, for `run.json`."""
    versions = {"python": platform.python_version(), **{name: version(name) for name in VERSIONS}}
    return {"command": command, "versions": versions}


def write_description(folder: Path, config: Config | Recipe, described: dict[str, Any]) -> None:
    """Writes what the run is."""
    with atomic_write(folder / "config.yaml") as file:
        file.write(dump_config(config))
    with atomic_write(folder / "run.json") as file:
        file.write(json.dumps(described, indent=2) + "\n")


def has_begun(folder: Path) -> bool:
    """Whether a run has come so far that there must be a checkpoint; one that was killed before begins again."""
    if (folder / "checkpoint.zip").exists() or (folder / "final_model.zip").exists():
        return True
    if not (folder / "best_model.zip").exists():
        return False
    try:
        with zipfile.ZipFile(folder / "best_model.zip") as archive:
            steps = json.loads(archive.read("data"))["num_timesteps"]
    except Exception:  # whatever zipfile, zlib and json find wrong with a broken or foreign file
        return True
    return bool(steps != 0)  # what pretraining alone has reached can be reached again


# --- learning


def fresh_model(game: Game, config: Config, seed: int) -> tuple[MaskablePPO, SelfPlayBatch]:
    """A model that has learnt nothing, and its games."""
    from sb3_contrib import MaskablePPO

    from card_envs.envs.sb3 import CardVecEnv
    from card_envs.policies.trained import model_identity
    from card_envs.training.self_play import SelfPlayBatch

    check_memory(config, game)
    learner = SelfPlayBatch(game, config)
    policy, policy_kwargs = network_of(config, game)
    model = MaskablePPO(
        policy,
        CardVecEnv(game, config.n_envs, learner=learner, seed=seed),
        learning_rate=schedule(config.learning_rate),
        n_steps=config.n_steps,
        batch_size=config.batch_size,
        n_epochs=config.n_epochs,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        clip_range=schedule(config.clip_range),
        ent_coef=config.ent_coef,
        vf_coef=config.vf_coef,
        max_grad_norm=config.max_grad_norm,
        target_kl=config.target_kl,
        normalize_advantage=config.normalize_advantage,
        policy_kwargs=policy_kwargs,
        seed=seed,  # of torch, NumPy and random, too
        device="cpu",
    )
    vars(model)["card_envs_game"] = model_identity(game)  # saved with the model
    learner.use_network(model.policy)
    return model, learner


def check_memory(config: Config, game: Game) -> None:
    """Refuses what this machine can't hold before it is asked for: some systems kill whoever asks for too much.

    Raises:
        CardEnvsError: saying how much is asked for, and how much there is.
    """
    if not hasattr(os, "sysconf"):  # Windows, which refuses such a request itself
        return
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    each = 4 * (game.layout.size + game.num_actions)  # bytes: observation and mask, as float32
    for what, count in (
        ("n_steps * n_envs", config.n_steps * config.n_envs),
        ("pretrain.positions", config.pretrain.positions),
    ):
        if count * each > there:
            raise CardEnvsError(
                f"{what} = {count:,} decisions of {each:,} bytes are {count * each / 2**30:,.1f} GiB, more than the "
                f"{there / 2**30:,.1f} GiB of this machine"
            )


def model_from_checkpoint(
    folder: Path, game: Game, config: Config, seed: int
) -> tuple[MaskablePPO, SelfPlayBatch, Progress]:
    """The model, its games, and where the run stands.

    Raises:
        FinishedRun: nothing is left to do.
        CardEnvsError: the checkpoint is missing, broken, or another run's.
    """
    from card_envs.envs.sb3 import CardVecEnv
    from card_envs.training.checkpoint import load_checkpoint
    from card_envs.training.self_play import SelfPlayBatch

    learner = SelfPlayBatch(game, config)
    env = CardVecEnv(game, config.n_envs, learner=learner, seed=seed)
    model, progress = load_checkpoint(folder / "checkpoint.zip", env, learner)
    if model.num_timesteps >= config.n_timesteps:
        raise FinishedRun(
            f"{folder} has finished its {model.num_timesteps:,} steps; --total-timesteps N with a larger N goes on"
        )
    return model, learner, progress


def fresh_progress(config: Config) -> Progress:
    """Where a run stands at its beginning."""
    from card_envs.training.checkpoint import Progress

    return Progress(next_snapshot=config.snapshot_freq, next_eval=config.eval_freq)


def learn(
    model: MaskablePPO,
    learner: SelfPlayBatch,
    progress: Progress,
    described: dict[str, Any],
    folder: Path,
    *,
    resumed: bool = False,
) -> None:
    """Trains to `config.n_timesteps` from where the model stands; what is not resumed begins with `config.pretrain`.

    Raises:
        CardEnvsError: what was learnt makes the network answer NaN; the last good checkpoint stays.
    """
    import numpy as np
    import torch
    from stable_baselines3.common.logger import Logger

    from card_envs.training.callbacks import PurgingTensorBoard, RunCallback, blown_up
    from card_envs.training.pretrain import has_blown_up, pretrain

    torch.set_num_threads(1)  # small networks gain little from more, and lose much where a core is busy
    config = learner.config
    write_description(folder, config, described)
    (folder / TABLE).unlink(missing_ok=True)  # that of an end which is one no more
    log = folder / "tensorboard"
    steps = model.num_timesteps
    model.set_logger(Logger(str(log), [PurgingTensorBoard(log, steps + 1 if steps else 0)]))
    print(f"{first_line(learner.game, config, steps)} · run folder {folder}", flush=True)
    if config.pretrain.positions and not resumed:
        pretrain(model, learner, config, np.random.SeedSequence(described["seed"]))
    callback = RunCallback(learner, config, folder, progress)
    try:
        with callback.stoppable(), resumable(folder):
            model.learn(config.n_timesteps - steps, callback=callback, reset_num_timesteps=not resumed)
    except (ValueError, RuntimeError) as error:  # what torch raises in the middle of an update
        if isinstance(error, CardEnvsError) or not has_blown_up(model, learner.observation, error):
            raise
        callback.bar.close()
        raise CardEnvsError(blown_up(config, model.num_timesteps, folder)) from None
    print(f"best model at {progress.best_steps:,} steps: {folder / 'best_model.zip'}")


def first_line(game: Game, config: Config, done: int) -> str:
    """What is going to be played; updates come after whole rollouts, so that may be more than was asked for."""
    played, asked = config.last_step(done), ""
    if played != config.n_timesteps:
        rollout = config.n_envs * config.n_steps
        asked = f" ({config.n_timesteps:,} asked for; updates come every n_envs * n_steps = {rollout:,})"
    return f"{game!r} · {played:,} steps{asked} · {config.n_envs} games at once"
