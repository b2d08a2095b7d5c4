"""Masked PPO in one file, in the style of CleanRL: read it from top to bottom, copy it, change it.

One learner plays a card game against fixed opponents, many games at once, through Gymnasium's vector interface::

    python examples/masked_ppo.py --game Icons-v0 --num-players 4 --opponents heuristic --total-timesteps 1000000
    tensorboard --logdir runs

What differs from PPO for a control task:

* The mask of legal actions comes with every observation, in `infos["action_mask"]`. It is stored beside it, and illegal
  actions get no probability, both when acting and when the policy is improved.
* A game pays only at its end, so nothing is discounted: `gamma` is 1.
* Games that end are dealt afresh in the same step (Gymnasium's `SAME_STEP`): the observation that comes with the last
  reward belongs to the next game already. Only a game that was cut off is valued by its last view,
  `infos["final_obs"]`.
* What the observation says about each action is scored by one network that all actions share.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from dataclasses import dataclass, fields
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from gymnasium.vector import AutoresetMode
from torch import nn
from torch.distributions import Categorical
from torch.utils.tensorboard import SummaryWriter

import card_envs  # noqa: F401 - registers the games
from card_envs.games.game import Layout


@dataclass
class Args:
    """What can be set, as `--total-timesteps 1000000`."""

    game: str = "IcarusClub-v0"  #: IcarusClub-v0, Icons-v0, Micons-v0 or IcePoints-v0
    num_players: int = 4  #: seats at the table
    opponents: str = "random"  #: who plays the other seats: random, heuristic or a model file
    seed: int = 1  #: for the games, the network and its choices
    total_timesteps: int = 1_000_000  #: decisions of the learner in all
    num_envs: int = 256  #: games at once
    num_steps: int = 32  #: decisions in each of them between two improvements
    num_minibatches: int = 4  #: parts that they are cut into
    update_epochs: int = 2  #: how often each is used
    learning_rate: float = 1e-3  #: at the start; it falls to 0
    gamma: float = 1.0  #: discount
    gae_lambda: float = 0.95  #: how far an advantage looks ahead
    clip_coef: float = 0.2  #: how far one improvement may move a probability
    ent_coef: float = 0.01  #: weight of the policy's entropy
    vf_coef: float = 0.5  #: weight of the value's error
    max_grad_norm: float = 0.5  #: longest step of the gradient
    hidden: int = 128  #: width of the two layers
    eval_games: int = 2000  #: games played before and after training


class Agent(nn.Module):
    """A policy and a value.

    Where the observation describes what each action would do (the layout's segments with a `first_action`), one small
    network scores all of them: what it learns about one card it knows about every other. Actions that are not described
    are scored from the whole observation.

    Args:
        layout: where each part of an observation lies, `envs.unwrapped.observation_layout`.
        num_actions: A, all actions of the game, legal or not.
        hidden: width of the layers.
    """

    def __init__(self, layout: Layout, num_actions: int, hidden: int) -> None:
        super().__init__()
        self.options = [segment for segment in layout.segments if segment.first_action is not None]
        self.body = nn.Sequential(nn.Linear(layout.size, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.critic = nn.Linear(hidden, 1)
        self.actor = nn.Linear(hidden, num_actions)
        self.context = nn.Linear(hidden, 64)
        self.describe = nn.ModuleList(nn.Linear(segment.shape[1], 64) for segment in self.options)
        self.score = nn.Sequential(nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, obs: torch.Tensor, masks: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        """Float (B, O) and bool (B, A): the distribution over legal actions and the values, (B,)."""
        features = self.body(obs)
        logits, context = self.actor(features), self.context(features)
        for segment, describe in zip(self.options, self.describe, strict=True):
            table = obs[:, segment.start : segment.start + segment.size].view(-1, *segment.shape)
            row, option = table[:, :, 0].nonzero(as_tuple=True)  # a description begins with 1 where the action is legal
            scores = self.score(context[row] + describe(table[row, option])).squeeze(-1)
            logits = logits.index_put((row, option + (segment.first_action or 0)), scores)
        logits = logits.masked_fill(~masks, -1e8)
        return Categorical(logits=logits, validate_args=False), self.critic(features).squeeze(-1)


def make_envs(args: Args, num_envs: int) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """The games, over compiled kernels in this process."""
    return gymnasium.make_vec(
        f"card_envs/{args.game}",
        num_envs=num_envs,
        vectorization_mode="vector_entry_point",
        num_players=args.num_players,
        opponents=args.opponents,
        autoreset_mode=AutoresetMode.SAME_STEP,
    )


def tensors(observations: npt.NDArray[np.float32], infos: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Observations and masks of a step, without a copy."""
    return torch.from_numpy(observations), torch.from_numpy(infos["action_mask"].view(np.bool_))


@torch.no_grad()
def evaluate(agent: Agent, args: Args, seed: int = 10_000) -> tuple[float, float]:
    """Plays `args.eval_games` games with the likeliest actions: the mean return and half its 95% interval.

    Each row of the batch plays equally many games: the first ones to end would be the short ones.
    """
    num_envs = min(500, args.eval_games)
    envs = make_envs(args, num_envs)
    left = np.full(num_envs, -(-args.eval_games // num_envs))
    returns: list[float] = []
    obs, masks = tensors(*envs.reset(seed=seed))
    while left.any():
        actions = agent(obs, masks)[0].logits.argmax(dim=1)
        observations, rewards, terminations, truncations, infos = envs.step(actions.numpy())
        counted = (terminations | truncations) & (left > 0)
        returns += rewards[counted].tolist()
        left[counted] -= 1
        obs, masks = tensors(observations, infos)
    return float(np.mean(returns)), 1.96 * float(np.std(returns)) / len(returns) ** 0.5


def new_agent(args: Args) -> Agent:
    """An agent that has learnt nothing yet, the same for the same seed."""
    torch.manual_seed(args.seed)
    envs: Any = make_envs(args, 1)
    return Agent(envs.unwrapped.observation_layout, int(envs.single_action_space.n), args.hidden)


def train(agent: Agent, args: Args, writer: SummaryWriter | None = None) -> None:
    """Improves an agent in `args.total_timesteps` decisions."""
    batch_size = args.num_envs * args.num_steps
    minibatch_size = batch_size // args.num_minibatches
    num_iterations = max(1, args.total_timesteps // batch_size)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    envs = make_envs(args, args.num_envs)
    last_returns: deque[float] = deque(maxlen=1000)

    # what a rollout stores: (steps, games, ...)
    next_obs, next_masks = tensors(*envs.reset(seed=args.seed))
    obs = torch.zeros((args.num_steps, *next_obs.shape))
    masks = torch.zeros((args.num_steps, *next_masks.shape), dtype=torch.bool)
    actions = torch.zeros((args.num_steps, args.num_envs), dtype=torch.int64)
    logprobs, rewards, dones, values = torch.zeros((4, args.num_steps, args.num_envs))
    started = time.perf_counter()

    for iteration in range(1, num_iterations + 1):
        optimizer.param_groups[0]["lr"] = (1.0 - (iteration - 1) / num_iterations) * args.learning_rate

        # play
        for step in range(args.num_steps):
            obs[step], masks[step] = next_obs, next_masks
            with torch.no_grad():
                policy, values[step] = agent(next_obs, next_masks)
                actions[step] = policy.sample()
                logprobs[step] = policy.log_prob(actions[step])
            observations, paid, terminations, truncations, infos = envs.step(actions[step].numpy())
            ended = terminations | truncations
            rewards[step], dones[step] = torch.from_numpy(paid), torch.from_numpy(ended)
            last_returns += paid[ended].tolist()  # all that a game pays comes with its end
            for row in np.flatnonzero(truncations):  # the game would have gone on from its last view
                final_obs = torch.from_numpy(infos["final_obs"][row])[None]
                with torch.no_grad():
                    rewards[step, row] += args.gamma * agent(final_obs, torch.ones_like(next_masks[:1]))[1][0]
            next_obs, next_masks = tensors(observations, infos)

        # how much better than expected each action turned out
        with torch.no_grad():
            next_value = agent(next_obs, next_masks)[1]
        advantages = torch.zeros_like(rewards)
        last = torch.zeros(args.num_envs)
        for step in reversed(range(args.num_steps)):
            goes_on = 1.0 - dones[step]
            delta = rewards[step] + args.gamma * next_value * goes_on - values[step]
            advantages[step] = last = delta + args.gamma * args.gae_lambda * goes_on * last
            next_value = values[step]
        returns = advantages + values

        # improve
        b_obs, b_masks = obs.flatten(0, 1), masks.flatten(0, 1)
        b_actions, b_logprobs = actions.flatten(), logprobs.flatten()
        b_advantages, b_returns = advantages.flatten(), returns.flatten()
        for _ in range(args.update_epochs):
            for part in torch.randperm(batch_size).split(minibatch_size):
                policy, value = agent(b_obs[part], b_masks[part])
                ratio = (policy.log_prob(b_actions[part]) - b_logprobs[part]).exp()
                advantage = b_advantages[part]
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                policy_loss = -torch.min(advantage * ratio, advantage * clipped).mean()
                value_loss = 0.5 * (value - b_returns[part]).square().mean()
                entropy = policy.entropy().mean()
                loss = policy_loss - args.ent_coef * entropy + args.vf_coef * value_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()

        if writer is not None:
            done = iteration * batch_size
            explained = 1 - (b_returns - values.flatten()).var() / b_returns.var().clamp_min(1e-8)
            figures = {
                "rollout/ep_rew_mean": float(np.mean(last_returns)) if last_returns else float("nan"),
                "rollout/ep_len_mean": float(batch_size / dones.sum().clamp_min(1)),
                "train/policy_loss": policy_loss.item(),
                "train/value_loss": value_loss.item(),
                "train/entropy": entropy.item(),
                "train/explained_variance": explained.item(),
                "time/fps": done / (time.perf_counter() - started),
            }
            for name, figure in figures.items():
                writer.add_scalar(name, figure, done)
            if iteration % max(1, num_iterations // 20) == 0:
                mean, fps = figures["rollout/ep_rew_mean"], figures["time/fps"]
                print(f"{done:>9} decisions: mean return {mean:+.3f}, {fps:.0f} decisions/s", flush=True)
    envs.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    for field in fields(Args):
        option = f"--{field.name.replace('_', '-')}"
        parser.add_argument(option, type=type(field.default), default=field.default, help=f"({field.default})")
    args = Args(**vars(parser.parse_args()))
    agent = new_agent(args)
    before, half = evaluate(agent, args)
    print(f"before: mean return {before:+.3f} ± {half:.3f} against {args.opponents}")
    with SummaryWriter(f"runs/{args.game}-{args.num_players}-{args.seed}-{int(time.time())}") as writer:
        train(agent, args, writer)
        torch.save(agent.state_dict(), f"{writer.log_dir}/agent.pt")
    after, half = evaluate(agent, args)
    print(f"after:  mean return {after:+.3f} ± {half:.3f}, agent in {writer.log_dir}/agent.pt")


if __name__ == "__main__":
    main()
