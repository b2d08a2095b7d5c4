"""A run of training from its first step to its last, in a folder that `resume` goes on from."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from card_envs.cli.common import options_of
from card_envs.errors import CardEnvsError, unknown_name
from card_envs.files import atomic_write, remove_unfinished
from card_envs.games import game_class, make_game
from card_envs.games.game import Game
from card_envs.policies import make_policy
from card_envs.training.settings import CONFIGS, POOL, Config, dump_config, load_config, network_of, schedule

VERSIONS = ("card-envs", "numpy", "numba", "gymnasium", "pettingzoo", "torch", "stable-baselines3", "sb3-contrib")
FRESH_DEALS = 1  # seed of the last table's deals; the evaluations, which chose the best model, have seed 0


def train(args: argparse.Namespace) -> Path:
    """Starts or resumes a run; returns its folder."""
    if args.resume:
        return resume(args)
    cls = game_class(args.game)
    path = args.config or CONFIGS / f"{cls.name.rpartition('_v')[0]}.yaml"
    config = load_config(path)
    env_kwargs = config.env_kwargs | options_of(args)
    if args.num_players:
        env_kwargs["num_players"] = args.num_players
    config = dataclasses.replace(config, env_kwargs=env_kwargs, n_timesteps=args.total_timesteps or config.n_timesteps)
    known = ("num_players", "skip_forced", *cls.option_table)
    for key in env_kwargs:
        if key not in known:
            raise CardEnvsError(f"{path}: env_kwargs: {unknown_name('key', key, known)}")
    game = cls(**{key: value for key, value in env_kwargs.items() if key != "skip_forced"})
    check_policies(config, game)
    folder = new_folder(args.out, game)
    described = {
        "game": game.name,
        "options": game.options_to_json(),
        "seed": args.seed or 0,
        **how(args),
        "machine": platform.platform(),
    }
    learn(game, config, described, folder, resuming=False)
    return folder


def resume(args: argparse.Namespace) -> Path:
    """Goes on with a run from its checkpoint."""
    folder = Path(args.resume)
    if args.config or args.seed is not None or args.num_players or args.option or args.out:
        raise CardEnvsError(
            "--resume goes on with the run's own settings; only --total-timesteps may be given beside it"
        )
    game, config, described = read_run(folder)
    if game_class(args.game) is not type(game):
        raise CardEnvsError(f"{folder} is a run of {game.name}, not of {args.game}")
    check_policies(config, game)
    if args.total_timesteps:
        config = dataclasses.replace(config, n_timesteps=args.total_timesteps)
    described.setdefault("resumed", []).append(how(args))
    remove_unfinished(folder)
    begun = (folder / "checkpoint.zip").exists() or (folder / "best_model.zip").exists()
    # a run that was killed before its first checkpoint begins again
    learn(game, config, described, folder, resuming=begun)
    return folder


def read_run(folder: Path) -> tuple[Game, Config, dict[str, Any]]:
    """What a run folder says of its run: the game, the configuration and the description in `run.json`."""
    for name in ("config.yaml", "run.json"):
        if not (folder / name).is_file():
            raise CardEnvsError(f"{folder} is no run folder: it has no {name}")
    config = load_config(folder / "config.yaml")
    try:
        described = json.loads((folder / "run.json").read_text("utf-8"))
        name, options, _ = described["game"], dict(described["options"]), int(described["seed"])
    except (ValueError, KeyError, TypeError) as error:
        raise CardEnvsError(f"{folder / 'run.json'} is broken: {type(error).__name__}: {error}") from None
    return make_game(name, **options), config, described


def check_policies(config: Config, game: Game) -> None:
    """Refuses a policy that there is not, before anything is written."""
    for name in [*(name for name in config.opponents if name not in POOL), *config.eval_opponents]:
        make_policy(name, game)


def new_folder(out: str | None, game: Game) -> Path:
    """A fresh folder for a run."""
    if out:
        folder = Path(out)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CardEnvsError(f"{folder} is not an empty folder: name another one, or --resume {folder}")
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    stem = Path("runs") / f"{game.name.rpartition('_v')[0]}-{time.strftime('%Y%m%d-%H%M%S')}"
    for number in itertools.count(1):
        folder = stem if number == 1 else stem.with_name(f"{stem.name}-{number}")
        try:
            folder.mkdir(parents=True)
            break
        except FileExistsError:
            continue
    return folder


def how(args: argparse.Namespace) -> dict[str, Any]:
    """The command and the versions, for `run.json`."""
    versions = {"python": platform.python_version(), **{name: version(name) for name in VERSIONS}}
    return {"command": args.command, "versions": versions}


def write_description(folder: Path, config: Config, described: dict[str, Any]) -> None:
    """Writes what the run is."""
    with atomic_write(folder / "config.yaml") as file:
        file.write(dump_config(config))
    with atomic_write(folder / "run.json") as file:
        file.write(json.dumps(described, indent=2) + "\n")


def learn(game: Game, config: Config, described: dict[str, Any], folder: Path, resuming: bool) -> None:
    """Trains from the start or from the folder's checkpoint to `config.n_timesteps`."""
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.logger import configure

    from card_envs.envs.sb3 import CardVecEnv
    from card_envs.policies.trained import model_identity
    from card_envs.training.callbacks import RunCallback
    from card_envs.training.checkpoint import load_checkpoint
    from card_envs.training.pretrain import warm_start
    from card_envs.training.self_play import SelfPlayBatch

    torch.set_num_threads(1)  # small networks gain little from more, and lose much where a core is busy
    learner = SelfPlayBatch(game, config)
    env = CardVecEnv(game, config.n_envs, learner=learner, seed=described["seed"])
    if resuming:
        model, progress = load_checkpoint(folder / "checkpoint.zip", env, learner)
        if model.num_timesteps >= config.n_timesteps:
            raise CardEnvsError(
                f"{folder} has finished its {model.num_timesteps:,} steps; --total-timesteps N with a larger N goes on"
            )
    else:
        policy, policy_kwargs = network_of(config, game)
        model = MaskablePPO(
            policy,
            env,
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
            seed=described["seed"],  # of torch, NumPy and random, too
            device="cpu",
        )
        vars(model)["card_envs_game"] = model_identity(game)  # saved with the model
        learner.use_network(model.policy)
        progress = {"next_snapshot": config.snapshot_freq, "next_eval": config.eval_freq, "best": None, "best_steps": 0}
    write_description(folder, config, described)
    model.set_logger(configure(str(folder / "tensorboard"), ["tensorboard"]))
    print(f"{game!r} · {config.n_timesteps:,} steps · {config.n_envs} games at once · run folder {folder}", flush=True)
    if config.warm_positions and not resuming:
        warm_start(model, learner, config, np.random.SeedSequence(described["seed"]))
    callback = RunCallback(learner, config, folder, progress)
    with callback.stoppable():
        model.learn(config.n_timesteps - model.num_timesteps, callback=callback, reset_num_timesteps=not resuming)
    print(f"best model at {progress['best_steps']:,} steps: {folder / 'best_model.zip'}")
