"""Trained Stable-Baselines3 models as policies. Importing this needs the extra `train`."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.errors import CardEnvsError, shown
from card_envs.games.game import Game
from card_envs.policies.agent import short_name
from card_envs.policies.base import Decisions, choose_actions
from card_envs.policies.scorer import OptionScorer, linear_layers, named_parameters

try:
    import torch
    from sb3_contrib import MaskablePPO
except ImportError as error:
    raise CardEnvsError(f"trained models need the extra 'train': pip install 'card-envs[train]' ({error})") from error


class NetworkPolicy:
    """A masked actor-critic network of sb3-contrib, all its decisions in one forward pass.

    Args:
        network: a `MaskableActorCriticPolicy` on the CPU, for flat observations.
        name: how tables and messages call it.
        deterministic: the most probable action; else one drawn with the decision's own random number.
    """

    def __init__(self, network: Any, name: str, deterministic: bool = True) -> None:
        self.network = network
        self.name = name
        self.deterministic = deterministic

    @torch.no_grad()
    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        features = self.network.pi_features_extractor(torch.as_tensor(decisions.observation))
        logits = self.network.action_net(self.network.mlp_extractor.forward_actor(features)).numpy()
        return choose_actions(logits, decisions, self.deterministic, self.name)


@torch.no_grad()
def answers_nan(network: Any, observation: npt.NDArray[np.float32]) -> bool:
    """Whether a network has NaN or infinity, for float32 observations (k, O), where a number should be."""
    actor, critic = network.mlp_extractor(network.extract_features(torch.as_tensor(observation)))
    outputs = network.action_net(actor), network.value_net(critic)
    return not all(bool(torch.isfinite(output).all()) for output in outputs)


def model_identity(game: Game) -> dict[str, Any]:
    """What a model file says about the game it plays."""
    return {"game": game.name, **game.options_to_json(), "observation_size": game.layout.size}


def check_identity(path: str, game: Game) -> None:
    """Refuses a file that is no model, or a model of another game, before anything in it is loaded.

    Raises:
        CardEnvsError: naming what the file was made for and what is played.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(archive.read("data"))
    except Exception as error:  # whatever zipfile, zlib and json find wrong with a broken or foreign file
        raise CardEnvsError(f"{path} is no whole Stable-Baselines3 model: {error}") from None
    found, wanted = data.get("card_envs_game") if isinstance(data, dict) else None, model_identity(game)
    if not isinstance(found, dict):
        raise CardEnvsError(f"{path} does not say which game it plays: it was not saved by card-envs train")
    for key in ("game", *sorted(wanted.keys() | found.keys())):
        if found.get(key) != wanted.get(key):
            made_for, played = shown(found.get(key)), shown(wanted.get(key))
            raise CardEnvsError(f"{path} was trained with {key} = {made_for}, but {game.name} is played with {played}")


def load_policy(path: str, game: Game, deterministic: bool = True) -> NetworkPolicy:
    """A model saved by `card-envs train` as a policy.

    A model file is a pickle: code in it runs when it is loaded. Load only files that you trust.

    Raises:
        CardEnvsError: no model, or one of another game, player count or observation size.
    """
    check_identity(path, game)
    try:
        model = MaskablePPO.load(path, device="cpu")
    except Exception as error:  # unpickling runs code, which may raise anything
        raise CardEnvsError(f"{path} can't be loaded as a model: {type(error).__name__}: {error}") from None
    model.policy.set_training_mode(False)
    return NetworkPolicy(model.policy, short_name(path), deterministic)


def tensors_of_model(path: Path, game: Game) -> tuple[dict[str, npt.NDArray[np.float32]], dict[str, Any]]:
    """A saved model's weights by the names of `policies.agent`, and what its card says of the network.

    Raises:
        CardEnvsError: no model of this game, or a network that an agent can't have.
    """
    network = load_policy(str(path), game).network
    extractor, named = network.mlp_extractor, dict[str, torch.Tensor]()
    if isinstance(extractor, OptionScorer):
        named, activation = named_parameters(extractor, network.value_net), extractor.activation
    else:
        layers = {"trunk": linear_layers(extractor.policy_net), "critic": linear_layers(extractor.value_net)}
        if not all(layers.values()):
            raise CardEnvsError(f"{path} has a network without hidden layers, which an agent can't have")
        for name, layer in (("unscored", network.action_net), ("value", network.value_net)):
            named |= {f"{name}.weight": layer.weight, f"{name}.bias": layer.bias}
        for name, stack in layers.items():
            for k, layer in enumerate(stack):
                named |= {f"{name}.{k}.weight": layer.weight, f"{name}.{k}.bias": layer.bias}
        activation = extractor.policy_net[1]
    tensors = {name: tensor.detach().numpy().copy() for name, tensor in named.items()}
    return tensors, {"activation": "tanh" if isinstance(activation, torch.nn.Tanh) else "relu", "advised": False}
