"""One learner's rewards sum to what its seat was paid, losses included.

Checked against the final states, and against the same games played again in the PettingZoo environment.
"""

from collections import defaultdict

import gymnasium
import numpy as np
import pytest

from card_envs.envs.aec import CardGameEnv
from card_envs.envs.learner import LearnerBatch
from card_envs.envs.single_agent import SingleAgentEnv
from card_envs.games import make_game
from card_envs.registration import gymnasium_id
from tests.variants import VARIANTS, each_game, each_variant, share_of

GAMES_IN_ALL = 1000  # one at a time over all variants; in batches of every game, over its variants


def games_to_play(game):
    return -(-GAMES_IN_ALL // sum(other.name == game.name for other in VARIANTS))


class UniformPolicy:
    """A random player outside the kernels, as a network is."""

    name = "uniform"

    def act(self, decisions):
        counts = decisions.action_mask.sum(axis=1)
        chosen = (decisions.uniform * counts).astype(np.int64)
        return (decisions.action_mask.cumsum(axis=1) > chosen[:, None]).argmax(axis=1)


class Witness:
    """Notes every game that a learner's tables end: its seat, chance, actions and final state."""

    def __init__(self, learner):
        self.learner = learner
        self.games = []
        self._chance = {}
        self._deal, self._ended = learner._deal, learner._ended
        learner._deal, learner._ended = self.deal, self.ended
        learner.tables.log = np.zeros((learner.num_envs, 256), np.int16)

    def deal(self, rows, views):
        for row in rows:
            self._chance[row] = self.learner.tables.states["rng"][row].copy()
        return self._deal(rows, views)

    def ended(self, rows, legal):
        tables = self.learner.tables
        for row in rows:
            actions = tables.log[row, : tables.counts[row]].tolist()
            game = (int(row), int(self.learner.seats[row]), self._chance[row], actions, tables.states[row].copy())
            self.games.append(game)
        return self._ended(rows, legal)


def due(game, state, seat):
    """The return of a seat by the rule: (n/|W| - 1)/(n - 1) for winners, -1/(n - 1) for the others, else 0."""
    n = game.num_players
    winners = [p for p in range(n) if state["winner"][p]]
    if state["end"] != 1 or len(winners) in (0, n):
        return 0.0
    return (n / len(winners) - 1) / (n - 1) if seat in winners else -1 / (n - 1)


def replayed(env, chance, actions):
    """What every seat is paid when the PettingZoo environment plays the same game."""
    env._states["rng"] = chance
    env.reset()
    for action in actions:
        assert not any(env.terminations.values())
        env.step(action)
    paid = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        paid[agent] += env.last()[1]
        env.step(None)
    return list(paid.values())


def check(game, witness, sums, replays):
    """`sums`: (row, sum of rewards) of every game in the order in which they ended."""
    assert len(sums) == len(witness.games)
    for (row, total), (where, seat, _, _, state) in zip(sums, witness.games, strict=True):
        assert row == where
        assert total == pytest.approx(due(game, state, seat), abs=1e-6)
    env = CardGameEnv(game)
    for (_, total), (_, seat, chance, actions, _) in list(zip(sums, witness.games, strict=True))[:replays]:
        paid = replayed(env, chance, actions)
        assert total == pytest.approx(paid[seat], abs=1e-6)
        assert sum(paid) == pytest.approx(0, abs=1e-9)


def sums_of_gymnasium(env, count, seed):
    sums = []
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    for _ in range(count):
        total, over = 0.0, False
        while not over:
            legal = np.flatnonzero(env.action_masks())
            _, reward, terminated, truncated, _ = env.step(int(legal[rng.integers(len(legal))]))
            total, over = total + reward, terminated or truncated
        sums.append((0, total))
        env.reset()
    return sums


def batched(game, num_envs=64, seed=0, **options):
    sb3 = pytest.importorskip("card_envs.envs.sb3", exc_type=ValueError, reason="needs the extra 'train'")
    return sb3.CardVecEnv(game, num_envs, seed=seed, **options)


def sums_of_batched(env, count, choose):
    """Sums by game, as (row, sum) in the order in which games ended."""
    sums, running = [], np.zeros(env.num_envs)
    env.reset()
    while len(sums) < count:
        _, rewards, dones, _ = env.step(choose(env.action_masks()))
        running += rewards
        sums += [(int(row), float(running[row])) for row in np.flatnonzero(dones)]
        running[dones] = 0
    return sums


def at_random(seed):
    rng = np.random.default_rng(seed)

    def choose(masks):
        return (masks * rng.random(masks.shape)).argmax(axis=1)

    return choose


def first_legal(masks):
    return masks.argmax(axis=1)


# --- the sums -------------------------------------------------------------------------------------------------------


@each_variant
def test_gymnasium_rewards_sum_to_the_seats_return(game):
    env = SingleAgentEnv(game.name, game.num_players, **game.options)
    witness = Witness(env._learner)
    sums = sums_of_gymnasium(env, share_of(GAMES_IN_ALL), seed=0)
    check(game, witness, sums, replays=10)
    assert min(total for _, total in sums) < 0 < max(total for _, total in sums)


@each_variant
def test_batched_rewards_sum_to_the_seats_return(game):
    env = batched(game, seed=1, opponents={"random": 9, "heuristic": 1})
    witness = Witness(env.learner)
    sums = sums_of_batched(env, games_to_play(game), at_random(0))
    check(game, witness, sums, replays=10)
    assert min(total for _, total in sums) < 0 < max(total for _, total in sums)


@each_game
def test_rewards_sum_with_opponents_outside_the_kernels_and_in_a_fixed_seat(game):
    others = [UniformPolicy(), *["heuristic"] * (game.num_players - 2)]
    env = batched(game, num_envs=16, opponents=others, seat=1)
    witness = Witness(env.learner)
    sums = sums_of_batched(env, 32, at_random(1))
    check(game, witness, sums, replays=8)
    assert {seat for _, seat, *_ in witness.games} == {1}


@each_game
def test_gymnasiums_vector_environment_pays_the_same(game):
    envs = gymnasium.make_vec(
        gymnasium_id(game.name), num_envs=16, num_players=game.num_players, **game.options
    ).unwrapped
    witness = Witness(envs._learner)
    sums, running = [], np.zeros(16)
    envs.reset(seed=0)
    choose = at_random(0)
    while len(sums) < 32:
        _, rewards, terminations, truncations, _ = envs.step(choose(envs.action_masks()))
        running += rewards
        ended = terminations | truncations
        sums += [(int(row), float(running[row])) for row in np.flatnonzero(ended)]
        running[ended] = 0
    check(game, witness, sums, replays=4)


# --- forced decisions -----------------------------------------------------------------------------------------------


def by_row(sums, witness):
    """For every row, its games one after another: seat, sum, and all actions of all seats."""
    rows = defaultdict(list)
    for (row, total), (_, seat, _, actions, _) in zip(sums, witness.games, strict=True):
        rows[row].append((seat, total, actions))
    return rows


@pytest.mark.parametrize("opponents", ["random", "heuristic", UniformPolicy()], ids=["random", "heuristic", "outside"])
@each_game
def test_leaving_out_forced_decisions_changes_no_game(game, opponents):
    told = []
    for skip_forced in (True, False):
        env = batched(game, num_envs=8, opponents=opponents, skip_forced=skip_forced)
        witness = Witness(env.learner)
        sums = sums_of_batched(env, 24, first_legal)
        check(game, witness, sums, replays=0)
        told.append(by_row(sums, witness))
    for row in range(8):
        both = min(len(rows[row]) for rows in told)
        assert both >= 1
        assert told[0][row][:both] == told[1][row][:both]


@each_game
def test_forced_decisions_are_asked_only_when_wanted(game):
    asked = {}
    for skip_forced in (True, False):
        learner = LearnerBatch(game, 8, skip_forced=skip_forced)
        learner.seed(0)
        learner.reset()
        asked[skip_forced] = []
        for _ in range(60):
            asked[skip_forced] += learner.action_mask.sum(axis=1).tolist()
            learner.step(first_legal(learner.action_mask))
    assert min(asked[True]) >= 2
    assert min(asked[False]) <= min(asked[True])
    if game.name == "icarus_club_v0":
        assert min(asked[False]) == 1


# --- illegal actions ------------------------------------------------------------------------------------------------


@each_game
def test_an_illegal_action_costs_one_and_ends_its_game_in_gymnasium(game):
    env = SingleAgentEnv(game.name, game.num_players, **game.options)
    rng = np.random.default_rng(0)
    for seed in range(10):
        env.reset(seed=seed)
        total = 0.0
        for _ in range(rng.integers(3)):
            total += env.step(int(env.action_masks().argmax()))[1]
        _, reward, terminated, truncated, _ = env.step(int(env.action_masks().argmin()))
        assert (total + reward, terminated, truncated) == (-1.0, True, False)


@each_game
def test_an_illegal_action_costs_one_and_ends_its_game_in_a_batch(game):
    env, rng = batched(game, num_envs=32), np.random.default_rng(0)
    sums, running, illegal = [], np.zeros(32), []
    env.reset()
    for _ in range(40):
        masks = env.action_masks()
        wrong = rng.random(32) < 0.1
        _, rewards, dones, _ = env.step(np.where(wrong, masks.argmin(axis=1), masks.argmax(axis=1)))
        running += rewards
        assert dones[wrong].all()
        sums += running[wrong].tolist()
        illegal.append(wrong.sum())
        running[dones] = 0
    assert set(sums) == {-1.0}
    assert env.learner.illegal_actions == sum(illegal) == len(sums) > 50


@each_variant
def test_games_that_wait_stay_as_they_are_and_play_the_same_games(game):
    # half of the games act in one step, the other half in the next: the same games as when all act in every step
    together, in_turn = LearnerBatch(game, 8, "random"), LearnerBatch(game, 8, "random")
    halves = [np.arange(0, 8, 2), np.arange(1, 8, 2)]
    for tables in (together, in_turn):
        tables.seed(5)
        tables.reset()
    for _ in range(60):
        actions = np.where(together.running, together.action_mask.argmax(axis=1), 0)
        rewards, ended = together.step_without_deal(actions)
        sums, over = np.zeros(8, np.float32), []
        for rows, others in (halves, halves[::-1]):
            before = [tables[others].tobytes() for tables in (in_turn.tables.states, in_turn.tables.rngs)]
            seen, masks = in_turn.observation[others].copy(), in_turn.action_mask[others].copy()
            paid, done = in_turn.step_without_deal(actions, rows)
            assert [tables[others].tobytes() for tables in (in_turn.tables.states, in_turn.tables.rngs)] == before
            np.testing.assert_array_equal(in_turn.observation[others], seen)
            np.testing.assert_array_equal(in_turn.action_mask[others], masks)
            sums += paid
            over += done.rows.tolist()
        np.testing.assert_array_equal(in_turn.observation, together.observation)
        np.testing.assert_array_equal(in_turn.action_mask, together.action_mask)
        np.testing.assert_array_equal(in_turn.running, together.running)
        np.testing.assert_array_equal(sums, rewards)
        assert sorted(over) == ended.rows.tolist()
    assert in_turn.illegal_actions == 0


def test_an_illegal_action_for_a_game_that_waits_is_ignored():
    tables = LearnerBatch(make_game("icarus_club", 3), 2, "random")
    tables.seed(0)
    tables.reset()
    actions = np.array([tables.action_mask[0].argmax(), tables.action_mask[1].argmin()])
    _, ended = tables.step_without_deal(actions, np.array([0]))
    assert tables.illegal_actions == len(ended.rows) == 0
    _, ended = tables.step_without_deal(actions, np.array([1]))
    assert tables.illegal_actions == 1
    assert ended.rows.tolist() == [1]
