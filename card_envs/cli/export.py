"""Write what a run has learnt as an agent file.

RUN is a run folder of `card-envs train`; OUT gets its best network as safetensors with a card of what it is: game,
settings, seed, versions, its last table. Such a file runs no code when it is loaded and needs neither PyTorch nor
Stable-Baselines3; wherever a policy is asked for, OUT is its name.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from card_envs.errors import CardEnvsError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run folder")
    parser.add_argument("out", metavar="OUT", help="the .safetensors file to write")
    parser.add_argument("--licence", default="MIT", help="of the weights (default: %(default)s)")


def main(args: argparse.Namespace) -> None:
    from card_envs.policies.agent import SUFFIX, Agent, load_agent, save_agent
    from card_envs.training.expert_iteration import AGENT
    from card_envs.training.recipe import Recipe
    from card_envs.training.run import TABLE, read_run

    if not args.out.endswith(SUFFIX):
        raise CardEnvsError(f"OUT is {args.out!r}; expected a name that ends in {SUFFIX}")
    folder = Path(args.run)
    game, settings, described = read_run(folder)
    if isinstance(settings, Recipe):
        learnt = load_agent(folder / AGENT, game)
        tensors, card = learnt.tensors, dict(learnt.card)
    else:
        from card_envs.policies.trained import tensors_of_model

        tensors, network = tensors_of_model(folder / "best_model.zip", game)
        card = {"network": network}
    table = folder / TABLE
    card |= {
        "settings": settings.model_dump(mode="json", by_alias=True),
        "seed": described["seed"],
        "versions": described.get("versions"),
        "strength": table.read_text("utf-8").splitlines() if table.is_file() else None,
        "licence": args.licence,
    }
    save_agent(args.out, Agent(game, tensors, card))
    print(f"{args.out}: {game!r}, {sum(tensor.size for tensor in tensors.values()):,} weights")
