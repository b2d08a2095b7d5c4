"""Agents: the compiled network is the one that was trained, and its file runs no code and is checked whole."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch", reason="networks need the extra 'train'")

import torch
from safetensors.numpy import save_file
from torch import nn

from card_envs.arena.match import play_games, rotated
from card_envs.envs.learner import LearnerBatch
from card_envs.errors import CardEnvsError
from card_envs.games import game_class, make_game
from card_envs.kernels import batch
from card_envs.kernels.network import NONE, new_room, score, value_of
from card_envs.kernels.rng import seed_words
from card_envs.policies import make_policy
from card_envs.policies.agent import AGENTS, Agent, load_agent, networks_of, read_card, save_agent, shipped_agent
from card_envs.policies.game_batch import CALLER, GameBatch
from card_envs.policies.scorer import OptionScorer, named_parameters
from tests.variants import each_game

GAME = make_game("micons", 3)


def network(game, net_arch=(16,), width=8, activation="relu", advised=True, seed=0):
    """A scorer with random weights, its value layer, and the same as an agent."""
    torch.manual_seed(seed)
    kind = {"relu": nn.ReLU, "tanh": nn.Tanh}[activation]
    opinions = game.num_opinions if advised else 0
    scorer = OptionScorer(game.layout, game.num_actions, list(net_arch), width, kind, advised, opinions)
    value = nn.Linear(net_arch[-1], 1)
    if advised:
        nn.init.normal_(scorer.suggested_option)
    tensors = {name: tensor.detach().numpy().copy() for name, tensor in named_parameters(scorer, value).items()}
    return scorer, value, Agent(game, tensors, {"network": {"activation": activation, "advised": advised}})


def reached(game, count=200, seed=0):
    """Decisions somewhere in random games."""
    tables, rows = GameBatch(game, count), np.arange(count)
    tables.states["rng"], tables.rngs[:] = seed_words(seed, count), seed_words(seed + 1, count)
    tables.start(rows)
    tables.fast_forward(rows, rows % 40, batch.RANDOM)
    tables.drivers[:] = CALLER
    tables.advance(rows)
    return tables, tables.decisions(rows)


def by_torch(scorer, value, asked, advice, opinions=None):
    """The logits, (k, A), and values, (k,), of PyTorch's network."""
    advised = np.zeros(asked.action_mask.shape, np.float32)
    advised[np.arange(len(advice)), advice] = 1.0
    parts = [asked.observation, advised, *([] if opinions is None else [opinions.reshape(len(advice), -1)])]
    features = np.concatenate(parts, axis=1)
    with torch.no_grad():
        logits, latent = scorer(torch.as_tensor(features))
        return logits.numpy(), value(latent).numpy()[:, 0]


@each_game
@pytest.mark.parametrize(
    "settings",
    [{}, {"activation": "tanh", "net_arch": (16, 12, 20)}, {"advised": False, "net_arch": (5, 9), "width": 11}],
)
def test_compiled_network_equals_torch_within_a_hundred_thousandth(game, settings):
    scorer, value, agent = network(game, **settings)
    _, asked = reached(game)
    advice = asked.action_mask.argmax(axis=1)
    opinions = np.random.default_rng(0).random((*asked.action_mask.shape, game.num_opinions), np.float32)
    logits, values = by_torch(scorer, value, asked, advice, opinions)
    networks = networks_of([agent], game)
    room = new_room(networks)
    for i, mask in enumerate(asked.action_mask):
        room.observation[:] = asked.observation[i]
        room.opinions[:] = opinions[i, :, : room.opinions.shape[1]]
        advised = advice[i] if settings.get("advised", True) else NONE
        score(networks.weights[0], networks.plans[0], mask, advised, room)
        np.testing.assert_allclose(room.logits[mask == 1], logits[i, mask == 1], atol=1e-5)
        assert value_of(networks.weights[0], networks.plans[0], room) == pytest.approx(values[i], abs=1e-5)


@each_game
def test_agent_chooses_the_best_legal_action_of_its_network(game):
    scorer, value, agent = network(game, advised=False)
    _, asked = reached(game)
    logits, _ = by_torch(scorer, value, asked, asked.action_mask.argmax(axis=1))
    best = np.where(asked.action_mask == 1, logits, -np.inf)
    chosen = agent.act(asked)
    assert (asked.action_mask[np.arange(len(chosen)), chosen] == 1).all()
    np.testing.assert_allclose(best[np.arange(len(chosen)), chosen], best.max(axis=1), atol=1e-5)


@each_game
def test_network_that_trusts_the_advice_is_the_hand_written_player(game):
    """The hand-written player's choice is an input: imitating it takes one weight."""
    _, _, agent = network(game)
    tensors = {name: np.zeros_like(tensor) for name, tensor in agent.tensors.items()}
    tensors["suggested.action"] += 1.0
    tables, asked = reached(game, 1000)
    words = tables.rngs.copy()
    chosen = Agent(game, tensors, agent.card).act(asked)
    tables.rngs[:] = words
    np.testing.assert_array_equal(chosen, make_policy("heuristic", game).act(asked))


@each_game
def test_agents_that_draw_follow_their_probabilities(game):
    """Every legal action is drawn with the softmax of the logits, within 5 standard errors."""
    scorer, value, agent = network(game, advised=False)
    drawing = Agent(game, agent.tensors, agent.card, drawn=True)
    tables, asked = reached(game)
    row = int(asked.action_mask.sum(axis=1).argmax())
    logits, _ = by_torch(scorer, value, asked, asked.action_mask.argmax(axis=1))
    wanted = np.exp(np.where(asked.action_mask[row] == 1, logits[row], -np.inf))
    wanted /= wanted.sum()
    many = GameBatch(game, 20_000, [drawing])
    many.states[:] = tables.states[row]
    many.rngs[:] = seed_words(9, 20_000)
    actions, rows = np.empty(20_000, np.int64), np.arange(20_000)
    many.kernels.decide(many.states, rows, -1, many.rngs, many._scratch()[0], actions, many.networks)
    drawn = np.bincount(actions, minlength=game.num_actions) / 20_000
    assert (np.abs(drawn - wanted) <= 5 * np.sqrt(wanted * (1 - wanted) / 20_000) + 1e-12).all()


def test_agents_at_one_table_keep_their_own_weights():
    """Number k of a batch's agents is the driver -1 - k, whatever the others' widths are."""
    first = network(GAME, (16,), 8, advised=False, seed=1)[2]
    second = network(GAME, (40, 30), 20, advised=False, seed=2)[2]
    games = rotated([0, 1, 0], 50, seed=3, stream=0)
    inside = play_games(GAME, [first, second], games, log_actions=True)
    outside = play_games(GAME, [Asked(first), Asked(second)], games, log_actions=True)
    for a, b in zip(inside.actions, outside.actions, strict=True):
        np.testing.assert_array_equal(a, b)


def test_agents_sit_among_a_learners_opponents_by_their_shares():
    """Drivers below 0 are drawn for seats as those above are, each by its share."""
    agent, learner = network(GAME)[2], LearnerBatch(GAME, 3000, seat=0)
    learner.set_policies([agent, make_policy("heuristic", GAME)], [0.75, 0.25])
    learner.seed(1)
    learner.reset()
    drivers = learner.tables.drivers[:, 1 : GAME.num_players]
    assert set(np.unique(drivers)) == {-1, batch.HEURISTIC}
    assert (drivers == -1).mean() == pytest.approx(0.75, abs=0.03)
    rewards, _ = learner.step(learner.action_mask.argmax(axis=1))
    assert np.isfinite(rewards).all()


class Asked:
    """An agent that is asked from outside the kernels."""

    def __init__(self, agent):
        self.agent = agent

    def act(self, decisions):
        return self.agent.act(decisions)


# --- files


def test_file_keeps_everything(tmp_path):
    _, _, agent = network(GAME)
    save_agent(tmp_path / "a.safetensors", agent)
    again = load_agent(tmp_path / "a.safetensors", GAME)
    assert again.name == f"{tmp_path.name}/a"
    np.testing.assert_array_equal(again.weights, agent.weights)
    np.testing.assert_array_equal(again.plan, agent.plan)


def test_file_is_a_policy_alone_and_as_the_guide_of_a_search(tmp_path):
    save_agent(tmp_path / "a.safetensors", network(GAME)[2])
    path = str(tmp_path / "a.safetensors")
    results = play_games(
        GAME, [make_policy(name, GAME) for name in (path, f"{path}:20", "random")], rotated([0, 1, 2], 3, 0, 0)
    )
    assert np.abs(results.returns.sum(axis=1)).max() < 1e-9
    assert make_policy(f"{path}:20", GAME).name == f"{tmp_path.name}/a:20"


@pytest.mark.parametrize("wrong", [":", ":0", ":x", ":20:y", ":1e3"])
def test_number_of_simulations_is_checked(tmp_path, wrong):
    save_agent(tmp_path / "a.safetensors", network(GAME)[2])
    with pytest.raises(CardEnvsError, match=r"simulations|no such|module"):
        make_policy(f"{tmp_path / 'a.safetensors'}{wrong}", GAME)


def test_file_of_another_game_count_or_layout_is_refused(tmp_path):
    save_agent(tmp_path / "a.safetensors", network(GAME)[2])
    with pytest.raises(CardEnvsError, match=r"was trained with game = 'micons_v0', but icons_v0 has 'icons_v0'"):
        load_agent(tmp_path / "a.safetensors", make_game("icons", 3))
    with pytest.raises(CardEnvsError, match="was trained with num_players = 3, but micons_v0 has 4"):
        load_agent(tmp_path / "a.safetensors", make_game("micons", 4))
    content = (tmp_path / "a.safetensors").read_bytes()
    digest = json.loads(json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]["card"])[
        "layout"
    ]
    (tmp_path / "a.safetensors").write_bytes(content.replace(digest.encode(), b"0" * len(digest)))
    with pytest.raises(CardEnvsError, match="was trained with layout"):
        load_agent(tmp_path / "a.safetensors", GAME)


def test_damaged_file_gets_one_clear_message(tmp_path):
    """2,000 times something in the file is changed: it is refused by one message, or is a network all the same."""
    path = tmp_path / "a.safetensors"
    save_agent(path, network(GAME, (4,), 2)[2])
    content, rng = path.read_bytes(), np.random.default_rng(0)
    head = 8 + int.from_bytes(content[:8], "little")
    for _ in range(2000):
        damaged = bytearray(content)
        for _ in range(rng.integers(1, 4)):
            damaged[rng.integers(head if rng.random() < 0.8 else len(content))] = rng.integers(256)
        path.write_bytes(damaged[: rng.integers(len(content))] if rng.random() < 0.2 else damaged)
        message = refusal(path)
        assert message is None or (str(path) in message and "\n" not in message)


def refusal(path):
    """What is said of a damaged file; None for a file that can be played."""
    try:
        make_policy(str(path), GAME)
    except CardEnvsError as error:
        return str(error)
    return None


def test_tensors_that_make_no_network_are_named(tmp_path):
    _, _, agent = network(GAME)
    for change, message in [
        ({"unscored.weight": np.zeros((3, 8), np.float32)}, r"unscored.weight has the shape \(3, 8\); expected"),
        ({"extra": np.zeros(3, np.float32)}, "'extra' has no meaning"),
        ({"value.bias": np.full(1, np.nan, np.float32)}, "value.bias has NaN"),
    ]:
        save_agent(tmp_path / "a.safetensors", agent)
        card = json.dumps(read_card(tmp_path / "a.safetensors"))
        save_file({**agent.tensors, **change}, tmp_path / "a.safetensors", {"card": card})
        with pytest.raises(CardEnvsError, match=message):
            load_agent(tmp_path / "a.safetensors", GAME)


@pytest.mark.parametrize("path", sorted(AGENTS.glob("*.safetensors")), ids=lambda path: path.stem)
def test_agents_that_ship_are_named_agent_and_say_what_they_are(path):
    card = read_card(path)
    game = game_class(card["game"]).from_record(card["options"])
    assert shipped_agent(game) == path
    assert make_policy("agent", game).name == "agent"
    assert make_policy("agent:20", game).name == "agent:20"
    assert card["licence"] == "MIT"
    assert card["settings"]["rounds"]
    assert any("surely" in line for line in card["strength"])


def test_game_without_an_agent_says_how_to_train_one():
    with pytest.raises(CardEnvsError, match=r"card-envs train ice_points --num-players 6 --recipe quick trains one"):
        make_policy("agent", make_game("ice_points", 6))


def test_playing_an_agent_loads_no_torch(tmp_path):
    """An agent is played from the bare wheel: neither PyTorch nor Stable-Baselines3 is imported."""
    save_agent(tmp_path / "a.safetensors", network(GAME)[2])
    program = f"""
import sys
from card_envs.arena.match import play_games, rotated
from card_envs.games import game_class, make_game
from card_envs.policies import make_policy
game = make_game("micons", 3)
play_games(game, [make_policy({str(tmp_path / "a.safetensors")!r}, game)], rotated([0, 0, 0], 2, 0, 0))
print([name for name in ("torch", "stable_baselines3", "sb3_contrib", "pydantic") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
