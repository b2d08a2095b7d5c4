"""Expert iteration: a look-ahead labels positions, a network learns them, and the next look-ahead is built on it.

Source: Anthony, Tian & Barber, "Thinking Fast and Slow with Deep Learning and Tree Search" (2017). What differs: the
network learns the values of *all* actions, as policy iteration from rollouts does (Tesauro & Galperin, "On-line policy
improvement using Monte-Carlo search", 1996): it climbs the expected value of its choice over that of an even one. In
games of chance a single action moves the return by far less than luck does, and policy gradients from played games
drown in that. The hand-written player's choice is among the network's inputs, so that it learns when to deviate.

A run folder holds

| | |
|---|---|
| `config.yaml`, `run.json` | the recipe, and how it was started |
| `labels/ROUND-PART.npz` | labels, see `labels.py`; each part has a seed of its own |
| `round-K.safetensors` | the network after round K |
| `agent.safetensors` | the best so far: a round's network takes its place only if it is not worse among copies of it |
| `curve.csv`, `curve.png` | mean returns with 95 % intervals by round, see `curve.py` |

What is there is not made again: a run that was stopped at any moment goes on, and ends with the same agent to the byte.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from card_envs.arena.match import play_one_among
from card_envs.arena.statistics import estimate
from card_envs.errors import CardEnvsError, unknown_name
from card_envs.files import atomic_write
from card_envs.games.game import Game
from card_envs.policies import BUILT_IN, make_policy
from card_envs.policies.agent import Agent, load_agent, save_agent
from card_envs.policies.scorer import OptionScorer, named_parameters
from card_envs.policies.search import LookAheadPolicy
from card_envs.policies.threads import available_cores
from card_envs.progress import progress_bar
from card_envs.training.curve import add_to_curve, columns_of, seconds_before
from card_envs.training.labels import Labels, label
from card_envs.training.recipe import Recipe, Round

AT_ONCE, PART = 128, 8192  # positions that a thread takes at a time, and in a file
HELD_OUT = 20_000  # at most so many positions, and at most a tenth, are kept from the network to measure it
GATE_DEALS = 1000
AGENT = "agent.safetensors"
STREAMS = {"labels": 0, "weights": 1, "order": 2}


class Network(nn.Module):
    """The scorer and its value layer."""

    def __init__(self, game: Game, recipe: Recipe) -> None:
        super().__init__()
        self.scorer = OptionScorer(
            game.layout,
            game.num_actions,
            list(recipe.net_arch),
            recipe.width,
            nn.ReLU,
            advised=True,
            opinions=game.num_opinions,
        )
        self.value = nn.Linear(recipe.net_arch[-1], 1)

    def forward(self, features: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities, (k, A), those of illegal actions meaningless, and values, (k,)."""
        latent_pi, latent_vf = self.scorer(features)
        return torch.log_softmax(latent_pi.masked_fill(~mask, -1e8), dim=1), self.value(latent_vf).squeeze(1)

    def to_agent(self, game: Game, card: Mapping[str, Any]) -> Agent:
        named = named_parameters(self.scorer, self.value)
        tensors = {name: tensor.detach().numpy().copy() for name, tensor in named.items()}
        return Agent(game, tensors, {**card, "network": {"activation": "relu", "advised": True}})


def seeds(seed: int, stream: str, *path: int) -> np.random.SeedSequence:
    """The seed of one thing that is drawn in a run."""
    return np.random.SeedSequence(seed, spawn_key=(STREAMS[stream], *path))


def iterate(game: Game, recipe: Recipe, seed: int, folder: Path) -> Path:
    """Carries out what is left of a recipe; returns the best agent's file."""
    torch.set_num_threads(1)  # sums in another order would be another network
    best: Agent | None = None
    for number, settings in enumerate(recipe.rounds, start=1):
        path = folder / f"round-{number}.safetensors"
        if not path.exists():
            began = time.monotonic()
            label_round(game, settings, number, best, seed, folder)
            used = range(number - settings.use_rounds + 1, number + 1)
            labels = Labels.join([Labels.load(part, game) for part in parts_of(folder, used)])
            network, report = learn(game, recipe, settings, labels, seed, number)
            report |= evaluate(game, recipe, network.to_agent(game, {}), best, seed)
            accepted = best is None or report["among_best"] >= 0.0
            seconds = round(seconds_before(folder, "round", number) + time.monotonic() - began)
            line = {"round": number, "seconds": seconds, "accepted": int(accepted), **report}
            add_to_curve(folder, line)
            print(" · ".join(f"{key} {value:.4g}" for key, value in line.items()), flush=True)
            save_agent(path, network.to_agent(game, {"round": number, "accepted": accepted, "report": report}))
        new = load_agent(path, game)
        if new.card["accepted"]:
            best = new
            with atomic_write(folder / AGENT, "wb") as file:
                file.write(path.read_bytes())
    return folder / AGENT


def check_rounds(recipe: Recipe, game: Game) -> None:
    """Refuses experts and players that don't exist, before anything is written."""
    for settings in recipe.rounds:
        kind, _, rest = settings.expert.partition(":")
        if not settings.needs_agent():
            LookAheadPolicy(settings.expert, game)
        elif kind != "agent":
            LookAheadPolicy(settings.expert.removesuffix(":agent"), game)
        else:
            LookAheadPolicy(f"search:{rest.removesuffix(':agent')}", game)
        for name in settings.players:
            if name not in ("agent", *BUILT_IN):
                raise CardEnvsError(f"rounds: {unknown_name('player', name, ['agent', *BUILT_IN])}")


# --- labels


def parts_of(folder: Path, rounds: range) -> Iterator[Path]:
    for number in rounds:
        yield from sorted((folder / "labels").glob(f"{number}-*.npz"))


def label_round(game: Game, settings: Round, number: int, agent: Agent | None, seed: int, folder: Path) -> None:
    """Labels whatever parts of a round are not there yet."""
    expert = expert_of(game, settings.expert, agent)
    players = {
        (agent if name == "agent" and agent else make_policy(name, game)): share
        for name, share in settings.players.items()
        if share
    }
    (folder / "labels").mkdir(exist_ok=True)
    with (
        ThreadPoolExecutor(available_cores()) as pool,
        progress_bar(settings.positions, "positions", description=f"round {number}, labelling") as bar,
    ):
        for part, first in enumerate(range(0, settings.positions, PART)):
            count = min(PART, settings.positions - first)
            path = folder / "labels" / f"{number}-{part:05}.npz"
            if not path.exists():
                chunks = seeds(seed, "labels", number, part).spawn(-(-count // AT_ONCE))

                def work(chunk: np.random.SeedSequence) -> Labels:
                    return label(game, AT_ONCE, expert, players, settings.from_, chunk)

                Labels.join(list(pool.map(work, chunks)))[:count].save(path, game)
            bar.update(count)


def expert_of(game: Game, name: str, agent: Agent | None) -> LookAheadPolicy:
    """The look-ahead of this name, each decision on one thread."""
    kind, _, rest = name.partition(":")
    return LookAheadPolicy(f"search:{rest}" if kind == "agent" else name, game, threads=1, agent=agent, label=name)


# --- learning


def learn(
    game: Game, recipe: Recipe, settings: Round, labels: Labels, seed: int, number: int
) -> tuple[Network, dict[str, float]]:
    """A fresh network learns the labels; returns it with its held-out gain and the hand-written player's.

    Raises:
        CardEnvsError: the network answers NaN in the end.
    """
    held = min(HELD_OUT, len(labels) // 10)
    test, train = labels[:held], labels[held:]
    torch.manual_seed(int(seeds(seed, "weights", number).generate_state(1)[0]))
    rng = np.random.default_rng(seeds(seed, "order", number))
    network = Network(game, recipe)
    batches = max(1, len(train) // recipe.batch_size)
    steps = settings.epochs * batches
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.learning_rate, total_steps=steps + 1, pct_start=0.1
    )
    with progress_bar(settings.epochs * len(train), "positions", description=f"round {number}, learning") as bar:
        for _ in range(settings.epochs):
            for rows in np.array_split(rng.permutation(len(train)), batches):
                loss = loss_of(network, game, recipe, train[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                bar.update(len(rows))
    chosen = choices(network, game, test)
    report = {
        "positions": float(len(labels)),
        "gain": gain(test, chosen),
        "heuristic_gain": gain(test, test.advice.astype(np.int64)),
        "agreement": float((chosen == test.advice).mean()),
    }
    if not all(bool(torch.isfinite(parameter).all()) for parameter in network.parameters()):
        raise CardEnvsError(
            f"round {number} makes the network answer NaN (not a number): its weights grow out of bounds; lower the "
            f"round's learning_rate ({settings.learning_rate})"
        )
    return network, report


def loss_of(network: Network, game: Game, recipe: Recipe, labels: Labels) -> torch.Tensor:
    """The actor climbs the expected advantage over an even choice, the critic meets the value of what it would do."""
    mask, value = torch.as_tensor(labels.mask) == 1, torch.as_tensor(labels.value)
    log_prob, critic = network(torch.as_tensor(labels.observe(game)), mask)
    prob = log_prob.exp()
    even = value.sum(dim=1) / mask.sum(dim=1)
    advantage = (prob * (value - even[:, None])).masked_fill(~mask, 0.0).sum(dim=1)
    entropy = -(prob * log_prob).masked_fill(~mask, 0.0).sum(dim=1)
    critic_loss = nn.functional.mse_loss(critic, (prob.detach() * value).sum(dim=1))
    loss: torch.Tensor = recipe.vf_coef * critic_loss - advantage.mean() - recipe.ent_coef * entropy.mean()
    return loss


@torch.no_grad()
def choices(network: Network, game: Game, labels: Labels) -> npt.NDArray[np.int64]:
    """The network's most probable action at each position."""
    chosen = np.empty(len(labels), np.int64)
    for first in range(0, len(labels), 4096):
        part = labels[first : first + 4096]
        log_prob, _ = network(torch.as_tensor(part.observe(game)), torch.as_tensor(part.mask) == 1)
        chosen[first : first + 4096] = log_prob.argmax(dim=1).numpy()
    return chosen


def gain(labels: Labels, chosen: npt.NDArray[np.int64]) -> float:
    """How much better choices are than even ones by the labels, a decision."""
    even = labels.value.sum(axis=1) / labels.mask.sum(axis=1)
    return float((labels.value[np.arange(len(labels)), chosen] - even).mean())


# --- how strong it is


def evaluate(game: Game, recipe: Recipe, new: Agent, best: Agent | None, seed: int) -> dict[str, float]:
    """Mean returns alone among others, each with the half width of its 95 % interval; `among_best` without one."""
    report: dict[str, float] = {}
    threads = available_cores()
    for name in recipe.eval_opponents:
        others, deals = make_policy(name, game), max(10, recipe.eval_games // game.num_players)
        returns, _ = play_one_among(game, new, others, deals, seed=seed, stream=1, num_threads=threads)
        report |= columns_of({name: estimate(returns, game.max_return - game.min_return)})
    if best is not None:
        returns, _ = play_one_among(game, new, best, GATE_DEALS, seed=seed, stream=2, num_threads=threads)
        report["among_best"] = float(returns.mean())
    return report
