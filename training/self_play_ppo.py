"""Masked PPO in self-play from top to bottom: read it, copy it, change what you like.

    python training/self_play_ppo.py --game icons --num-players 3 --total-timesteps 200000 --out my_agent.zip

`card-envs train` does the same with settings in files, exact resumes, evaluations on the way and a log. Here everything
is on one page: who sits where, what the network is, when the pool changes, and how good the agent is in the end.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from card_envs.arena.report import text_table
from card_envs.arena.tournament import play_tournament
from card_envs.envs.sb3 import CardVecEnv
from card_envs.games import make_game
from card_envs.policies.networks import OptionsPolicy
from card_envs.policies.trained import model_identity
from card_envs.training.checkpoint import save_model
from card_envs.training.self_play import SelfPlayBatch
from card_envs.training.settings import Config


class Snapshots(BaseCallback):
    """Every so many steps the network as it is takes the place of the oldest one in the pool."""

    def __init__(self, games: SelfPlayBatch, every: int) -> None:
        super().__init__()
        self.games, self.every, self.next = games, every, every

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self.next:
            self.games.take_snapshot(self.model.policy)
            self.next += self.every

    def _on_step(self) -> bool:
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="icons")
    parser.add_argument("--num-players", type=int)
    parser.add_argument("--total-timesteps", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("my_agent.zip"))
    args = parser.parse_args()

    game = make_game(args.game, args.num_players)

    # Many games at once, one seat of each for the learner. Every other seat is drawn from a pool, by these shares.
    config = Config(
        n_envs=256,
        n_steps=32,
        opponents={"self": 0.4, "snapshots": 0.3, "heuristic": 0.3},
        max_snapshots=3,
    )
    games = SelfPlayBatch(game, config)
    env = CardVecEnv(game, config.n_envs, learner=games, seed=args.seed)

    # Where the observation describes what actions would do, one network scores them all alike; else a plain MLP.
    described = any(segment.first_action is not None for segment in game.layout.segments)
    policy: Any = OptionsPolicy if described else "MlpPolicy"
    model = MaskablePPO(
        policy,
        env,
        n_steps=config.n_steps,
        batch_size=1024,
        n_epochs=4,
        gamma=1.0,  # the return is paid at the end, and it is what counts
        learning_rate=5e-4,
        policy_kwargs={"layout": game.layout} if described else {},
        seed=args.seed,
        device="cpu",
    )
    games.use_network(model.policy)  # the pool plays the network as it learns
    model.learn(args.total_timesteps, callback=Snapshots(games, every=50_000), progress_bar=False)

    vars(model)["card_envs_game"] = model_identity(game)  # a model file says which game it plays
    save_model(args.out, model)
    print(text_table(play_tournament(game, [str(args.out), "heuristic", "random"], games=1000, seed=1)))


if __name__ == "__main__":
    main()
