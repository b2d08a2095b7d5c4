"""Trains an agent by self-play: `python -m training.train icarus_club`.

The run folder (`runs/GAME-DATE` by default) holds `config.yaml` (resolved), `run.json` (command, versions, seed),
`tensorboard/`, `best_model.zip` (by evaluation against the first of `eval_opponents`), `final_model.zip`, and
`checkpoint.zip`, from which `--resume` goes on. Model files and checkpoints are pickles: load only your own.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import shlex
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from card_envs.cli import add_game_arguments, options_of, run, whole
from card_envs.errors import CardEnvsError
from card_envs.files import whole_file
from card_envs.games import make_game
from card_envs.games.game import Game
from training.config import CONFIGS, Config, activation, dump_config, load_config, schedule

VERSIONS = ("card-envs", "numpy", "numba", "gymnasium", "pettingzoo", "torch", "stable-baselines3", "sb3-contrib")


def train(args: argparse.Namespace) -> Path:
    """Starts or resumes a run; returns its folder."""
    if args.resume:
        folder = Path(args.resume)
        if not (folder / "config.yaml").is_file():
            raise CardEnvsError(f"{folder} is no run folder: it has no config.yaml")
        described = json.loads((folder / "run.json").read_text("utf-8"))
        config, seed = load_config(folder / "config.yaml"), int(described["seed"])
        if args.config or args.seed is not None or args.num_players or args.option:
            raise CardEnvsError("--resume goes on with the run's own configuration; only --total-timesteps may change")
        game = make_game(described["game"], **described["options"])
        if args.game not in (game.name, game.name.rpartition("_v")[0]):
            raise CardEnvsError(f"{folder} is a run of {game.name}, not of {args.game}")
    else:
        name = make_game(args.game, args.num_players, **options_of(args)).name
        config = load_config(args.config or CONFIGS / f"{name.rpartition('_v')[0]}.yaml")
        env_kwargs = config.env_kwargs | options_of(args)
        if args.num_players:
            env_kwargs["num_players"] = args.num_players
        config = dataclasses.replace(config, env_kwargs=env_kwargs)
        game = make_game(name, **{key: value for key, value in env_kwargs.items() if key != "skip_forced"})
        seed = 0 if args.seed is None else args.seed
        folder = new_folder(args, game)
    if args.total_timesteps:
        config = dataclasses.replace(config, n_timesteps=args.total_timesteps)
    learn(game, config, seed, folder, resume=bool(args.resume))
    return folder


def new_folder(args: argparse.Namespace, game: Game) -> Path:
    """A folder for a new run, not one that exists."""
    if args.out:
        folder = Path(args.out)
        if folder.exists() and any(folder.iterdir()):
            raise CardEnvsError(f"{folder} is not empty: name another folder, or --resume {folder}")
        return folder
    stem = f"{game.name.rpartition('_v')[0]}-{time.strftime('%Y%m%d-%H%M%S')}"
    candidates = [Path("runs") / stem, *(Path("runs") / f"{stem}-{k}" for k in range(2, 100))]
    return next(path for path in candidates if not path.exists())


def learn(game: Game, config: Config, seed: int, folder: Path, resume: bool) -> None:
    """Trains from the start or from the folder's checkpoint to `config.n_timesteps`."""
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.logger import configure
    from stable_baselines3.common.utils import set_random_seed

    from card_envs.envs.sb3 import CardVecEnv
    from card_envs.policies import make_policy
    from card_envs.policies.trained import model_identity
    from training.callbacks import RunCallback
    from training.checkpoint import load_checkpoint
    from training.pool import SelfPlayTables

    for name in [*config.opponents, *config.eval_opponents]:
        if name not in ("self", "snapshots"):
            make_policy(name, game)
    if config.n_steps * config.n_envs % config.batch_size:
        raise CardEnvsError(
            f"batch_size is {config.batch_size}; allowed is a divisor of n_steps * n_envs = {config.n_steps * config.n_envs}"
        )
    learner = SelfPlayTables(game, config)
    env = CardVecEnv(game, config.n_envs, learner=learner, seed=seed)
    if resume:
        model, progress = load_checkpoint(folder / "checkpoint.zip", env, learner)
        if model.num_timesteps >= config.n_timesteps:
            raise CardEnvsError(
                f"{folder} has finished its {model.num_timesteps:,} steps; --total-timesteps N with a larger N goes on"
            )
    else:
        set_random_seed(seed)
        model = MaskablePPO(
            config.policy,
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
            policy_kwargs=activation(config),
            seed=seed,
            device="cpu",
        )
        model.card_envs_game = model_identity(game)
        learner.use_network(model.policy)
        progress = {"next_snapshot": config.snapshot_freq, "next_eval": config.eval_freq, "best": None, "best_steps": 0}
        describe(game, config, seed, folder)
    model.set_logger(configure(str(folder / "tensorboard"), ["tensorboard"]))
    print(f"{game!r} · {config.n_timesteps:,} steps · {config.n_envs} games at once · run folder {folder}", flush=True)
    if torch.get_num_threads() > 2:
        torch.set_num_threads(2)  # small networks lose time on more
    remaining = config.n_timesteps - model.num_timesteps
    model.learn(
        remaining, callback=RunCallback(learner, config, folder, progress), reset_num_timesteps=not resume
    )
    with whole_file(folder / "final_model.zip", "wb") as file:
        model.save(file)
    print(f"best model at {progress['best_steps']:,} steps: {folder / 'best_model.zip'}")


def describe(game: Game, config: Config, seed: int, folder: Path) -> None:
    """Writes what the run is, before it begins."""
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / "config.yaml") as file:
        file.write(dump_config(config))
    described: dict[str, Any] = {
        "game": game.name,
        "options": game.options_to_json(),
        "seed": seed,
        "command": shlex.join(["python", "-m", "training.train", *sys.argv[1:]]),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in VERSIONS}},
        "machine": platform.platform(),
    }
    with whole_file(folder / "run.json") as file:
        json.dump(described, file, indent=2)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m training.train", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_game_arguments(parser)
    parser.add_argument("--config", metavar="FILE", help="a YAML file (default: configs/GAME.yaml)")
    parser.add_argument("--total-timesteps", type=whole(1), metavar="N", help="learner decisions in all")
    parser.add_argument("--seed", type=whole(0), metavar="N", help="default: 0")
    parser.add_argument("--resume", metavar="RUN", help="a run folder to go on with")
    parser.add_argument("--out", metavar="DIR", help="the run folder (default: runs/GAME-DATE)")
    return run(train, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
