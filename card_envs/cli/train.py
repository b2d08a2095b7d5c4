"""Train an agent by self-play.

The run folder (`runs/GAME-DATE` by default) holds `config.yaml` (resolved), `run.json` (command, versions, seed),
`curve.csv` and `curve.png`, `tensorboard/`, `best_model.zip` (by evaluation against the first of `eval_opponents`),
`final_model.zip`, and `checkpoint.zip`, from which `--resume` goes on exactly as if nothing had happened. A run ends
with a table: the best model and the built-in policies, each alone among each other, on deals that had no part in
choosing that model; it is kept in `table.txt`.

With `--recipe quick` the agent comes from expert iteration instead: a look-ahead labels positions, and a network learns
them, in rounds. Such a run folder holds `agent.safetensors` (the best), one file a round, `curve.csv`, `labels/`
and `table.txt`; `--resume` goes on with it as well.

Model files and checkpoints are pickles: load only your own.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from card_envs.cli.common import add_game_arguments, options_of, whole
from card_envs.errors import CardEnvsError
from card_envs.files import atomic_write, lock_folder, resumable
from card_envs.games import game_class

if TYPE_CHECKING:
    from card_envs.training.recipe import Recipe
    from card_envs.training.settings import Config

FRESH_DEALS = 1  # seed of the last table's deals; the evaluations, which chose the best model, have seed 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_game_arguments(parser)
    parser.add_argument("--config", metavar="FILE", help="a YAML file (default: the one that ships for GAME)")
    parser.add_argument("--recipe", metavar="NAME", help="expert iteration instead: quick, or a YAML file with rounds")
    parser.add_argument("--total-timesteps", type=whole(1), metavar="N", help="learner decisions in all")
    parser.add_argument("--seed", type=whole(0, 2**32 - 1), metavar="N", help="default: 0")
    parser.add_argument("--resume", metavar="RUN", help="a run folder to go on with")
    parser.add_argument("--out", metavar="DIR", help="the run folder (default: runs/GAME-DATE)")


def main(args: argparse.Namespace) -> None:
    from card_envs.training.run import TABLE, FinishedRun

    try:
        folder = train(args)
    except FinishedRun:
        folder = Path(args.resume)
        if (folder / TABLE).exists():
            raise
    print(f"\n{last_table(folder)}")


def last_table(folder: Path) -> str:
    """Plays the best model and the built-in policies among each other; the table is kept in the run folder."""
    from card_envs.arena.report import text_table
    from card_envs.arena.tournament import play_tournament
    from card_envs.policies import BUILT_IN
    from card_envs.training.expert_iteration import AGENT
    from card_envs.training.recipe import Recipe
    from card_envs.training.run import TABLE, read_run

    with lock_folder(folder):
        game, config, _ = read_run(folder)
        best = AGENT if isinstance(config, Recipe) else "best_model.zip"
        policies = [str(folder / best), *BUILT_IN]
        text = text_table(play_tournament(game, policies, config.eval_games, seed=FRESH_DEALS))
        with resumable(folder), atomic_write(folder / TABLE) as file:
            file.write(text + "\n")
    return text


def train(args: argparse.Namespace) -> Path:
    """Starts or resumes the run that the arguments ask for; returns its folder."""
    from card_envs.training.run import read_run, resume, start

    if args.resume is None:
        settings = recipe_of(args) if args.recipe is not None else config_of(args)
        return start(args.game, settings, seed=args.seed or 0, out=args.out, command=args.command)
    if args.config or args.recipe or args.seed is not None or args.num_players or args.option or args.out is not None:
        raise CardEnvsError(
            "--resume goes on with the run's own settings; only --total-timesteps may be given beside it"
        )
    if not args.resume:
        raise CardEnvsError("--resume '' names no run folder")
    game, _, _ = read_run(Path(args.resume))
    if game_class(args.game) is not type(game):
        raise CardEnvsError(f"{args.resume} is a run of {game.name}, not of {args.game}")
    return resume(args.resume, total_timesteps=args.total_timesteps, command=args.command)


def config_of(args: argparse.Namespace) -> Config:
    """The settings of the file, with what the command line says instead; a game that ships none has the defaults."""
    from card_envs.training.settings import CONFIGS, Config, load_config

    shipped = CONFIGS / f"{game_class(args.game).name.rpartition('_v')[0]}.yaml"
    path = args.config or (shipped if shipped.exists() else None)
    config = load_config(path) if path else Config()
    env_kwargs = config.env_kwargs | options_of(args)
    if args.num_players:
        env_kwargs["num_players"] = args.num_players
    return config.but(env_kwargs=env_kwargs, n_timesteps=args.total_timesteps or config.n_timesteps)


def recipe_of(args: argparse.Namespace) -> Recipe:
    """The recipe, with what the command line says instead."""
    from card_envs.training.recipe import Recipe, find_recipe
    from card_envs.training.settings import load_settings, parse_settings

    if args.config or args.total_timesteps:
        raise CardEnvsError("--recipe has settings of its own and counts no timesteps")
    path = find_recipe(args.recipe, game_class(args.game))
    recipe = load_settings(path, Recipe)
    env_kwargs = recipe.env_kwargs | options_of(args)
    if args.num_players:
        env_kwargs["num_players"] = args.num_players
    return parse_settings(recipe.model_dump(by_alias=True) | {"env_kwargs": env_kwargs}, str(path), Recipe)
