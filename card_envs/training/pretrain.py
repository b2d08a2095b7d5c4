"""Before self-play: a first policy from playouts.

In games of chance a single action moves the return by far less than luck does, and policy gradients from played games
drown. So a run may begin with positions in which *every* legal action is valued by random playouts with the same random
numbers (rollout policy iteration: Tesauro & Galperin, "On-line policy improvement using Monte-Carlo search", 1996). The
network learns to prefer what did better, and to foresee the return; self-play goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib import MaskablePPO

from card_envs.errors import CardEnvsError
from card_envs.games.game import Game
from card_envs.kernels import batch
from card_envs.kernels.rng import seed_words
from card_envs.policies.game_batch import CALLER, GameBatch
from card_envs.policies.trained import answers_nan
from card_envs.progress import progress_bar
from card_envs.training.self_play import SelfPlayBatch
from card_envs.training.settings import Config

VF_COEF = 0.05  # weight of the critic's loss beside the actor's, whose numbers are small
ENT_COEF = 2e-3  # weight of the entropy: less lets the actor chase the playouts' noise
AT_ONCE = 2048
THREADS = 2
MINIBATCH = 1024


class Positions:
    """Decisions with every legal action valued.

    Attributes:
        observation: float32, (k, O).
        action_mask: int8, (k, A).
        value: float32, (k, A): the mean return after each legal action, else 0.
    """

    def __init__(self, count: int, game: Game) -> None:
        self.observation = np.empty((count, game.layout.size), np.float32)
        self.action_mask = np.empty((count, game.num_actions), np.int8)
        self.value = np.empty((count, game.num_actions), np.float32)


def value_positions(
    game: Game,
    count: int,
    playouts: int,
    decisions: tuple[float, float],
    seed: np.random.SeedSequence,
    progress: Callable[[int], None],
) -> Positions:
    """Plays random games to a random point and values every legal action there.

    Args:
        game: what is played.
        count: how many positions with a choice.
        playouts: playouts for every action.
        decisions: the point is drawn uniformly between these numbers of decisions.
        seed: seeds everything.
        progress: called with the number of positions since the last call.
    """
    positions = Positions(count, game)
    chunks = [(start, min(AT_ONCE, count - start)) for start in range(0, count, AT_ONCE)]

    def fill(job: tuple[tuple[int, int], np.random.SeedSequence]) -> int:
        (start, size), child = job
        part = slice(start, start + size)
        _fill(game, positions, part, playouts, decisions, child)
        return size

    with ThreadPoolExecutor(THREADS) as pool:
        for size in pool.map(fill, zip(chunks, seed.spawn(len(chunks)), strict=True)):
            progress(size)
    return positions


def _fill(
    game: Game,
    positions: Positions,
    part: slice,
    playouts: int,
    decisions: tuple[float, float],
    seed: np.random.SeedSequence,
) -> None:
    size = part.stop - part.start
    tables = GameBatch(game, size, skip_forced=True)
    chance, choices, points = seed.spawn(3)
    tables.states["rng"], tables.rngs[:] = seed_words(chance, size), seed_words(choices, size)
    tables.drivers[:] = CALLER
    draw = np.random.default_rng(points)
    waiting = np.arange(size)
    while len(waiting):
        tables.start(waiting)
        tables.fast_forward(waiting, draw.uniform(*decisions, len(waiting)).astype(np.int64), batch.RANDOM)
        waiting = waiting[~tables.advance(waiting)]  # those that had no choice left
    rows = np.arange(size)
    asked = tables.decisions(rows)
    value = np.empty((size, game.num_actions))
    tables.value_actions(rows, playouts, batch.RANDOM, value)
    positions.observation[part], positions.action_mask[part] = asked.observation, asked.action_mask
    positions.value[part] = value


def pretrain(model: MaskablePPO, learner: SelfPlayBatch, config: Config, seed: np.random.SeedSequence) -> None:
    """Values late positions by playouts and teaches them to the model, telling how far it is.

    Raises:
        CardEnvsError: the network answers NaN after that.
    """
    learner.measure_length()
    settings = config.pretrain
    late = (config.late_start.from_ * learner.typical_length, learner.typical_length)
    # children of its own: the games of the run draw from the same seed
    chance, order = np.random.SeedSequence(seed.entropy, spawn_key=(7,)).spawn(2)
    with progress_bar(settings.positions, "positions", description="valuing") as bar:
        positions = value_positions(
            learner.game, settings.positions, settings.playouts, late, chance, lambda count: bar.update(count)
        )
    with progress_bar(settings.positions * settings.epochs, "positions", description="learning") as bar:
        rng = np.random.default_rng(order)
        try:
            fit(model, positions, settings.epochs, settings.learning_rate, rng, lambda count: bar.update(count))
            blown_up = has_blown_up(model, positions.observation[:MINIBATCH])
        except (ValueError, RuntimeError) as error:
            blown_up = has_blown_up(model, positions.observation[:MINIBATCH], error)
            if not blown_up:
                raise
    if blown_up:
        raise CardEnvsError(
            "pretraining makes the network answer NaN (not a number): its weights grow out of bounds; lower "
            f"pretrain.learning_rate ({settings.learning_rate})"
        )


def has_blown_up(model: MaskablePPO, observation: npt.NDArray[np.float32], error: Exception | None = None) -> bool:
    """Whether learning has made a network's weights useless, or has failed since an update would have."""
    return "without overflow" in str(error) or answers_nan(model.policy, observation)


def fit(
    model: MaskablePPO,
    positions: Positions,
    epochs: int,
    learning_rate: float,
    rng: np.random.Generator,
    progress: Callable[[int], None],
) -> None:
    """Teaches the model's network to prefer the better actions, and its critic their value.

    The actor climbs the expected advantage over an even choice, the critic meets the value of what the actor would do.
    """
    policy = model.policy
    policy.set_training_mode(True)
    optimizer = torch.optim.Adam(policy.parameters(), lr=learning_rate)
    count = len(positions.observation)
    for _ in range(epochs):
        for rows in np.array_split(rng.permutation(count), max(1, count // MINIBATCH)):
            loss = _loss(model, positions, rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            progress(len(rows))


def _loss(model: MaskablePPO, positions: Positions, rows: npt.NDArray[np.int64]) -> torch.Tensor:
    observation = torch.as_tensor(positions.observation[rows])
    mask = torch.as_tensor(positions.action_mask[rows]) == 1
    value = torch.as_tensor(positions.value[rows])
    network = model.policy.mlp_extractor
    latent_pi, latent_vf = network(observation)
    logits = model.policy.action_net(latent_pi).masked_fill(~mask, -1e8)
    log_prob = torch.log_softmax(logits, dim=1)
    prob = log_prob.exp()
    even = value.sum(dim=1) / mask.sum(dim=1)
    gain = (prob * (value - even[:, None])).masked_fill(~mask, 0.0).sum(dim=1)
    entropy = -(prob * log_prob).masked_fill(~mask, 0.0).sum(dim=1)
    expected = (prob.detach() * value).sum(dim=1)
    critic = model.policy.value_net(latent_vf).squeeze(1)
    critic_loss = torch.nn.functional.mse_loss(critic, expected)
    return VF_COEF * critic_loss - gain.mean() - ENT_COEF * entropy.mean()
