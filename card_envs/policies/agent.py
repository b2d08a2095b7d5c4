"""Agents: trained networks that play inside kernels, and the files that they are kept in.

A file is safetensors: named float32 tensors, and in its header a *card*, JSON under the key "card". Loading one runs no
code and needs neither PyTorch nor Stable-Baselines3. The tensors are those of `policies.scorer.OptionScorer` and of its
value layer, in PyTorch's orientation (out, in):

| tensor | shape |
|---|---|
| `trunk.K.weight`, `trunk.K.bias` | the layers of the summary; the last one has the scorer's width, D |
| `unscored.weight`, `unscored.bias` | (A, D), (A,) |
| `describe.SEGMENT.weight`, `describe.SEGMENT.bias` | (D, columns), (D,), for each segment of options |
| `score.0.weight`, `score.0.bias`, `score.1.weight`, `score.1.bias` | (D, D), (D,), (1, D), (1,) |
| `opinion.weight` | (D, F), in networks that see the numbers behind the hand-written player's choice |
| `suggested.action`, `suggested.option` | (1,), (D,), in networks that see the hand-written player's choice |
| `critic.K.weight`, `critic.K.bias`, `value.weight`, `value.bias` | the critic's layers; (1, H), (1,) |
"""

from __future__ import annotations

import hashlib
import json
import os
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.errors import CardEnvsError, PolicyError
from card_envs.files import atomic_write
from card_envs.games.game import Game
from card_envs.kernels import batch
from card_envs.kernels.network import Networks
from card_envs.policies.base import Decisions

FORMAT = 1
SUFFIX = ".safetensors"
ACTIVATIONS = ("relu", "tanh")
MAX_BYTES = 200_000_000
AGENTS = Path(__file__).resolve().parent.parent / "agents"

Tensors = Mapping[str, npt.NDArray[np.float32]]


class Agent:
    """A trained network as a policy. Inside kernels it answers without being asked, as "random" and "heuristic" do.

    Args:
        game: what it plays.
        tensors: its weights by name, see above.
        card: what is said of it; "network" holds `activation` and `advised`.
        name: how tables and messages call it.
        drawn: it draws its actions by its probabilities; else it takes the most probable one.

    Raises:
        CardEnvsError: the tensors don't make a network for this game; the message names the first that does not fit.
    """

    def __init__(
        self, game: Game, tensors: Tensors, card: Mapping[str, Any], name: str = "agent", drawn: bool = False
    ) -> None:
        self.name = name
        self.game = game
        self.card = card
        self.tensors = tensors
        self.weights, self.plan = flatten(game, tensors, card, drawn)
        self._decide = batch.for_game(game).decide
        self._mask = np.zeros(game.num_actions, np.int8)

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        actions = np.zeros(len(decisions.rows), np.int64)
        self._decide(
            decisions.states, decisions.rows, -1, decisions.rngs, self._mask, actions, networks_of([self], self.game)
        )
        if (actions < 0).any():
            raise PolicyError(f"policy {self.name!r}: its network answers NaN instead of a number for each action")
        return actions


def networks_of(agents: list[Agent], game: Game) -> Networks | None:
    """What kernels take for the drivers -1, -2, … to be these agents; None for none."""
    if not agents:
        return None
    weights = np.zeros((len(agents), max(len(agent.weights) for agent in agents)), np.float32)
    plans = np.zeros((len(agents), max(len(agent.plan) for agent in agents)), np.int64)
    for k, agent in enumerate(agents):
        weights[k, : len(agent.weights)] = agent.weights
        plans[k, : len(agent.plan)] = agent.plan
    return Networks(weights, plans, game.layout.at)


def flatten(
    game: Game, tensors: Tensors, card: Mapping[str, Any], drawn: bool
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """The row of weights and the plan of a network, see `kernels.network`."""
    network = card["network"]
    parts: list[npt.NDArray[np.float32]] = []
    left = set(tensors)

    def take(name: str, *shape: int) -> npt.NDArray[np.float32]:
        tensor = tensors.get(name)
        left.discard(name)
        if tensor is None or tensor.shape != shape:
            found = "is missing" if tensor is None else f"has the shape {tensor.shape}"
            raise CardEnvsError(f"its tensor {name} {found}; expected is {shape}")
        return tensor

    def take_layers(name: str) -> list[int]:
        inputs, widths = game.layout.size, list[int]()
        while (weight := f"{name}.{len(widths)}.weight") in tensors:
            outputs = tensors[weight].shape[0] if tensors[weight].ndim == 2 else 0
            parts.append(take(weight, outputs, inputs).T)
            parts.append(take(f"{name}.{len(widths)}.bias", outputs))
            widths.append(outputs)
            inputs = outputs
        if not widths or not all(widths):
            raise CardEnvsError(f"it has no tensor {weight}")
        return widths

    actions = game.num_actions
    opinions = game.num_opinions if "opinion.weight" in tensors else 0
    trunk = take_layers("trunk")
    width = trunk[-1]
    parts += [take("unscored.weight", actions, width), take("unscored.bias", actions)]
    if network["advised"]:
        parts += [take("suggested.action", 1), take("suggested.option", width)]
        if opinions:
            parts.append(take("opinion.weight", width, opinions).T)
    else:
        parts.append(np.zeros(1 + width, np.float32))
    options = [segment for segment in game.layout.segments if f"describe.{segment.name}.weight" in tensors]
    if options:
        parts += [take("score.0.weight", width, width).T, take("score.0.bias", width)]
        parts += [take("score.1.weight", 1, width), take("score.1.bias", 1)]
    else:
        parts.append(np.zeros(width * width + 2 * width + 1, np.float32))
    segments = []
    for segment in options:
        if segment.first_action is None:
            raise CardEnvsError(f"it scores {segment.name}, which describes no options")
        rows, columns = segment.shape
        parts += [take(f"describe.{segment.name}.weight", width, columns).T]
        parts += [take(f"describe.{segment.name}.bias", width)]
        segments += [segment.start, rows, columns, segment.first_action]
    before_critic = sum(part.size for part in parts)
    critic = take_layers("critic")
    parts += [take("value.weight", 1, critic[-1]), take("value.bias", 1)]
    if left:
        raise CardEnvsError(f"its tensor {min(left)!r} has no meaning in {game.name}")
    weights = np.concatenate([part.reshape(-1) for part in parts]).astype(np.float32, copy=False)
    head = [
        bool(network["advised"]),
        opinions,
        drawn,
        network["activation"] == "tanh",
        game.layout.size,
        actions,
        before_critic,
    ]
    lists = [len(trunk), *trunk, len(critic), *critic, len(options), *segments]
    return weights, np.array([*head, *lists], np.int64)


def shipped_agent(game: Game) -> Path:
    """The file of the agent that ships for a game and player count.

    Raises:
        CardEnvsError: none does.
    """
    path = AGENTS / f"{game.name}-{game.num_players}{SUFFIX}"
    if not path.is_file():
        command = f"card-envs train {game.name.rpartition('_v')[0]} --num-players {game.num_players} --recipe quick"
        raise CardEnvsError(f"no agent ships for {game!r}; {command} trains one")
    return path


def split_name(name: str) -> tuple[str, str]:
    """The agent and the number of simulations in "agent:N" or "FILE.safetensors:N"; without ":N" that is empty."""
    agent, colon, simulations = name.rpartition(":")
    return (agent, simulations) if colon and (agent == "agent" or agent.endswith(SUFFIX)) else (name, "")


def model_file(policy: Any) -> str | None:
    """The file of a trained model that a policy's name speaks of, if it is one's own."""
    name = split_name(policy)[0] if isinstance(policy, str) else ""
    return name if name.endswith((SUFFIX, ".zip")) else None


def short_name(path: str | os.PathLike[str]) -> str:
    """A short name for a model file: its folder's name and its own."""
    parts = Path(path).resolve()
    return f"{parts.parent.name}/{parts.stem}" if parts.parent.name else parts.stem


def layout_digest(game: Game) -> str:
    """A hash of what a network's inputs and outputs mean: the observation's layout and the actions' names."""
    segments = [(s.name, s.shape, s.start, s.first_action) for s in game.layout.segments]
    return hashlib.sha256(json.dumps([segments, game.action_names]).encode()).hexdigest()[:16]


def save_agent(path: str | Path, agent: Agent) -> None:
    """Writes an agent's file, whole or not at all."""
    from safetensors.numpy import save

    game = agent.game
    card = {
        "format": FORMAT,
        "game": game.name,
        "options": game.options_to_json(),
        "layout": layout_digest(game),
        **agent.card,
    }
    tensors = {name: np.ascontiguousarray(tensor, np.float32) for name, tensor in sorted(agent.tensors.items())}
    with atomic_write(path, "wb") as file:
        file.write(save(tensors, {"card": json.dumps(card)}))


def read_card(path: str | Path) -> dict[str, Any]:
    """What an agent's file says of it.

    Raises:
        CardEnvsError: it is no such file.
    """
    return _read(path)[1]


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, npt.NDArray[np.float32]], dict[str, Any]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    path = Path(path)
    if not path.is_file():
        raise CardEnvsError(f"there is no agent file {str(path)!r}")
    if path.stat().st_size > MAX_BYTES:
        raise CardEnvsError(f"{path} is no agent: it has more than {MAX_BYTES:,} bytes")
    data = path.read_bytes()
    try:
        tensors = load(data)
        length = int.from_bytes(data[:8], "little")
        card = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["card"])
    except (SafetensorError, KeyError, ValueError, TypeError, RecursionError) as error:
        raise CardEnvsError(f"{path} is no whole agent file: {type(error).__name__}: {error}") from None
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise CardEnvsError(f"{path} is no agent of a format that can be read here ({FORMAT})")
    for name, tensor in tensors.items():
        if tensor.dtype != np.float32:
            raise CardEnvsError(f"{path}: its tensor {name} is {tensor.dtype}; expected is float32")
        if not np.isfinite(tensor).all():
            raise CardEnvsError(f"{path}: its tensor {name} has NaN or infinity in it")
    return tensors, card


def load_agent(path: str | os.PathLike[str], game: Game, name: str | None = None) -> Agent:
    """An agent from its file.

    Raises:
        CardEnvsError: no such file, a broken one, or one for another game, other options or another layout.
    """
    tensors, card = _read(path)
    options = card.get("options")
    found = {"game": card.get("game"), **(options if isinstance(options, dict) else {}), "layout": card.get("layout")}
    wanted = {"game": game.name, **game.options_to_json(), "layout": layout_digest(game)}
    for key in [*wanted, *sorted(found.keys() - wanted.keys())]:
        if found.get(key) != wanted.get(key):
            made_for, played = reprlib.repr(found.get(key)), reprlib.repr(wanted.get(key))
            raise CardEnvsError(f"{path} was trained with {key[:60]} = {made_for}, but {game.name} has {played}")
    network = card.get("network")
    if not isinstance(network, dict) or network.get("activation") not in ACTIVATIONS:
        raise CardEnvsError(f"{path}: its card says nothing of its network's activation ({' or '.join(ACTIVATIONS)})")
    if not isinstance(network.get("advised"), bool):
        raise CardEnvsError(f"{path}: its card does not say whether its network is advised (true or false)")
    try:
        return Agent(game, tensors, card, name or short_name(path))
    except CardEnvsError as error:
        raise CardEnvsError(f"{path}: {error}") from None
