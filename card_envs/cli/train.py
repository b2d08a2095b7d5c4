"""Train an agent by self-play.

The run folder (`runs/GAME-DATE` by default) holds `config.yaml` (resolved), `run.json` (command, versions, seed),
`tensorboard/`, `best_model.zip` (by evaluation against the first of `eval_opponents`), `final_model.zip`, and
`checkpoint.zip`, from which `--resume` goes on exactly as if nothing had happened. A run ends with a table: the best
model and the built-in policies, each alone among each other, on deals that had no part in choosing that model.

Model files and checkpoints are pickles: load only your own.
"""

from __future__ import annotations

import argparse

from card_envs.cli.common import add_game_arguments, whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_game_arguments(parser)
    parser.add_argument("--config", metavar="FILE", help="a YAML file (default: the one that ships for GAME)")
    parser.add_argument("--total-timesteps", type=whole(1), metavar="N", help="learner decisions in all")
    parser.add_argument("--seed", type=whole(0, 2**32 - 1), metavar="N", help="default: 0")
    parser.add_argument("--resume", metavar="RUN", help="a run folder to go on with")
    parser.add_argument("--out", metavar="DIR", help="the run folder (default: runs/GAME-DATE)")


def main(args: argparse.Namespace) -> None:
    from card_envs.arena.report import text_table
    from card_envs.arena.tournament import play_tournament
    from card_envs.policies import BUILT_IN
    from card_envs.training.run import FRESH_DEALS, read_run, train

    folder = train(args)
    game, config, _ = read_run(folder)
    policies = [str(folder / "best_model.zip"), *BUILT_IN]
    print("\n" + text_table(play_tournament(game, policies, config.eval_games, seed=FRESH_DEALS)))
