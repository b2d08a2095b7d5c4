"""A network for card games that scores options alike: `OptionScorer`. Importing this needs PyTorch alone.

A plain perceptron learns anew for every card what it has learnt for another, and in games whose options differ by
little that costs more games than anybody plays. Here every option that an observation describes (segments with
`first_action` in the layout: what each legal card or pile would do) is scored by one small network that they all share,
together with a summary of the whole observation. Actions that no such segment describes are scored from the summary
alone. The hand-written player's choice may be an input, too: then the network learns when to deviate from it.
`kernels.network` has the same network for kernels.
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
        advised: whether the hand-written player's choice is an input: features then go on with A numbers, 1 at that
            action.
        opinions: F numbers behind that choice for every action are inputs, too: features then end in A × F numbers.
    """

    def __init__(
        self,
        layout: Layout,
        num_actions: int,
        net_arch: list[int],
        width: int,
        activation_fn: type[nn.Module],
        advised: bool = False,
        opinions: int = 0,
    ) -> None:
        super().__init__()
        self.num_actions = num_actions
        self.size = layout.size
        self.summary = nn.Sequential(perceptron(layout.size, net_arch, activation_fn), nn.Linear(net_arch[-1], width))
        self.critic = perceptron(layout.size, net_arch, activation_fn)
        self.activation = activation_fn()
        self.unscored = nn.Linear(width, num_actions)
        # what the suggested option and action have beside all others
        self.suggested_option = nn.Parameter(torch.zeros(width)) if advised else None
        self.suggested_action = nn.Parameter(torch.ones(1)) if advised else None
        self.options = [segment for segment in layout.segments if segment.first_action is not None]
        self.describe = nn.ModuleList(nn.Linear(segment.shape[1], width) for segment in self.options)
        self.score = nn.Sequential(activation_fn(), nn.Linear(width, width), activation_fn(), nn.Linear(width, 1))
        self.opinion = nn.Linear(opinions, width, bias=False) if opinions else None
        self.latent_dim_pi = num_actions
        self.latent_dim_vf = net_arch[-1]

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        """Logits, (k, A), of observations, (k, O)."""
        observation, rest = features[:, : self.size], features[:, self.size :]
        advice, opinions = rest[:, : self.num_actions], rest[:, self.num_actions :]
        summary = self.summary(observation)
        logits: torch.Tensor = self.unscored(self.activation(summary))
        for segment, describe in zip(self.options, self.describe, strict=True):
            first_action = segment.first_action or 0
            table = observation[:, segment.start : segment.start + segment.size].reshape(-1, *segment.shape)
            # the first number of an option is 1 where it is legal: only those are worth scoring
            row, option = (table[:, :, 0] > 0).nonzero(as_tuple=True)
            hidden = summary[row] + describe(table[row, option])
            if self.suggested_option is not None:
                hidden = hidden + advice[row, first_action + option][:, None] * self.suggested_option
            if self.opinion is not None:
                table = opinions.reshape(len(opinions), self.num_actions, -1)
                hidden = hidden + self.opinion(table[row, first_action + option])
            logits = logits.index_put((row, option + first_action), self.score(hidden).squeeze(1))
        if self.suggested_action is not None:
            logits = logits + advice * self.suggested_action
        return logits

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = self.critic(features[:, : self.size])
        return value


def perceptron(size: int, widths: list[int], activation_fn: type[nn.Module]) -> nn.Sequential:
    """Linear layers of these widths, each followed by the activation function."""
    layers: list[nn.Module] = []
    for width in widths:
        layers += [nn.Linear(size, width), activation_fn()]
        size = width
    return nn.Sequential(*layers)


def named_parameters(scorer: OptionScorer, value: nn.Linear) -> dict[str, torch.Tensor]:
    """The parameters themselves by the names that an agent's file has for them."""
    named: dict[str, torch.Tensor] = {}

    def add(name: str, layer: nn.Linear) -> None:
        named[f"{name}.weight"], named[f"{name}.bias"] = layer.weight, layer.bias

    for k, layer in enumerate(linear_layers(scorer.summary)):
        add(f"trunk.{k}", layer)
    add("unscored", scorer.unscored)
    if scorer.options:
        for k, layer in enumerate(linear_layers(scorer.score)):
            add(f"score.{k}", layer)
        for segment, layer in zip(scorer.options, linear_layers(scorer.describe), strict=True):
            add(f"describe.{segment.name}", layer)
    if scorer.suggested_action is not None and scorer.suggested_option is not None:
        named["suggested.action"], named["suggested.option"] = scorer.suggested_action, scorer.suggested_option
    if scorer.opinion is not None:
        named["opinion.weight"] = scorer.opinion.weight
    for k, layer in enumerate(linear_layers(scorer.critic)):
        add(f"critic.{k}", layer)
    add("value", value)
    return named


def linear_layers(network: nn.Module) -> list[nn.Linear]:
    """The linear layers of a network in order."""
    return [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
