"""A network for card games that scores options alike: `OptionScorer`. Importing this needs PyTorch alone.

A plain perceptron learns anew for every card what it has learnt for another, and in games whose options differ by
little that costs more games than anybody plays. Here every option that an observation describes (segments with
`first_action` in the layout: what each legal card or pile would do) is scored by one small network that they all share,
together with a summary of the whole observation. Actions that no such segment describes are scored from the summary
alone.
"""

from __future__ import annotations

import torch
from torch import nn

from card_envs.games.game import Layout


class OptionScorer(nn.Module):
    """An actor and a critic, in the form that Stable-Baselines3 expects of an `mlp_extractor`.

    Args:
        layout: the observation's layout.
        num_actions: A.
        net_arch: widths of the hidden layers of the summary and of the critic.
        width: width of the shared scorer.
        activation_fn: the activation function's class.
    """

    def __init__(
        self, layout: Layout, num_actions: int, net_arch: list[int], width: int, activation_fn: type[nn.Module]
    ) -> None:
        super().__init__()
        self.num_actions = num_actions
        self.summary = nn.Sequential(perceptron(layout.size, net_arch, activation_fn), nn.Linear(net_arch[-1], width))
        self.critic = perceptron(layout.size, net_arch, activation_fn)
        self.unscored = nn.Linear(width, num_actions)
        self.options = [segment for segment in layout.segments if segment.first_action is not None]
        self.describe = nn.ModuleList(nn.Linear(segment.shape[1], width) for segment in self.options)
        self.score = nn.Sequential(activation_fn(), nn.Linear(width, width), activation_fn(), nn.Linear(width, 1))
        self.latent_dim_pi = num_actions
        self.latent_dim_vf = net_arch[-1]

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        """Logits, (k, A), of observations, (k, O)."""
        summary = self.summary(features)
        logits = self.unscored(torch.relu(summary))
        for segment, describe in zip(self.options, self.describe, strict=True):
            table = features[:, segment.start : segment.start + segment.size].view(-1, *segment.shape)
            # the first number of an option is 1 where it is legal: only those are worth scoring
            row, option = (table[:, :, 0] > 0).nonzero(as_tuple=True)
            scores = self.score(summary[row] + describe(table[row, option])).squeeze(1)
            logits = logits.index_put((row, option + (segment.first_action or 0)), scores)
        return logits

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        return self.critic(features)


def perceptron(size: int, widths: list[int], activation_fn: type[nn.Module]) -> nn.Sequential:
    """Linear layers of these widths, each followed by the activation function."""
    layers: list[nn.Module] = []
    for width in widths:
        layers += [nn.Linear(size, width), activation_fn()]
        size = width
    return nn.Sequential(*layers)
