"""`OptionsPolicy`: the `OptionScorer` as a policy of `MaskablePPO`."""

from __future__ import annotations

from typing import Any

from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

from card_envs.games.game import Layout
from card_envs.policies.scorer import OptionScorer


class OptionsPolicy(MaskableActorCriticPolicy):
    """`MaskablePPO`'s policy with an `OptionScorer`; `policy: OptionsPolicy` in a configuration.

    Weights begin as PyTorch draws them, not orthogonal as in SB3: the scorer then learns several times faster.

    Args:
        layout: the game's observation layout, `game.layout`.
        option_width: width of the shared scorer.
    """

    def __init__(self, *args: Any, layout: Layout, option_width: int = 64, **kwargs: Any) -> None:
        self.layout = layout
        self.option_width = option_width
        super().__init__(*args, **({"ortho_init": False} | kwargs))

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | {"layout": self.layout, "option_width": self.option_width}

    def _build_mlp_extractor(self) -> None:
        net_arch = self.net_arch if isinstance(self.net_arch, list) else self.net_arch["pi"]
        actions: Any = self.action_space
        scorer: Any = OptionScorer(self.layout, actions.n, list(net_arch), self.option_width, self.activation_fn)
        self.mlp_extractor = scorer  # it does what SB3 asks of an extractor

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()  # the scorer's output is the logits
        make_optimizer: Any = self.optimizer_class
        self.optimizer = make_optimizer(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)
