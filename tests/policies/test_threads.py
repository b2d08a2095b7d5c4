"""Games on several threads: the same to the bit whatever their number, with errors and forks as on one."""

import copy
import os
import pickle
import threading
import time

import numpy as np
import pytest

from card_envs.arena.match import play_games, rotated
from card_envs.envs.learner import LearnerBatch
from card_envs.envs.sb3 import CardVecEnv
from card_envs.envs.vector import CardVectorEnv
from card_envs.errors import CardEnvsError, IllegalActionError
from card_envs.games import list_games, make_game
from card_envs.kernels import batch
from card_envs.kernels.rng import seed_words
from card_envs.policies import make_policy, threads
from card_envs.policies.game_batch import GameBatch
from card_envs.policies.threads import PARTS, Threads, available_cores

NUMBERS = (1, 2, 3, 5)


class LastLegal:
    """A policy from outside: games stop and ask it."""

    def act(self, decisions):
        return decisions.action_mask.shape[1] - 1 - decisions.action_mask[:, ::-1].argmax(axis=1)


@pytest.fixture(autouse=True)
def nothing_is_too_little(monkeypatch):
    """So that small batches are split, too."""
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1e-9)


def same(results):
    return all(result == results[0] for result in results[1:])


# --- results


@pytest.mark.parametrize("name", list_games())
def test_a_learners_games_are_the_same_for_every_number_of_threads(name):
    game, seen = make_game(name), []
    for number in NUMBERS:
        learner = LearnerBatch(game, 40, {"heuristic": 2, "random": 1}, num_threads=number)
        learner.seed(3)
        learner.reset()
        rng, trace = np.random.default_rng(0), []
        for _ in range(60):
            actions = (rng.random(learner.action_mask.shape) * learner.action_mask).argmax(axis=1)
            rewards, ended = learner.step(actions)
            for part in (learner.observation, learner.action_mask, rewards, ended.rows, ended.observation, ended.score):
                trace.append(part.tobytes())
        trace += [learner.tables.states.tobytes(), learner.tables.rngs.tobytes(), learner.tables.counts.tobytes()]
        seen.append(trace)
    assert same(seen)


@pytest.mark.parametrize("name", list_games())
def test_results_and_logs_of_matches_are_the_same_for_every_number_of_threads(name):
    game, seen = make_game(name), []
    policies = [make_policy("heuristic", game), make_policy("random", game), LastLegal()]
    games = rotated(np.arange(game.num_players) % 3, 12, seed=1, stream=0)
    for number in NUMBERS:
        results = play_games(game, policies, games, log_actions=True, num_threads=number)
        arrays = (results.returns, results.wins, results.scores, results.decisions, *results.actions)
        seen.append([array.tobytes() for array in arrays])
    assert same(seen)


@pytest.mark.parametrize("name", list_games())
def test_everything_that_a_batch_does_is_the_same_for_every_number_of_threads(name):
    game, seen, rows = make_game(name), [], np.arange(30)
    for number in NUMBERS:
        tables = GameBatch(game, 30, num_threads=number)
        trace = []
        for round_ in range(2):  # the first is measured, the second is split
            tables.states["rng"], tables.rngs[:] = seed_words(round_, 30), seed_words(9, 30)
            tables.start(rows)
            tables.fast_forward(rows, rows % 7, batch.RANDOM)
            values = np.full((30, game.num_actions), np.nan)
            tables.value_actions(rows, 2, batch.RANDOM, values)
            decisions = tables.decisions(rows[::-1].copy())
            views = tables.observe(rows, rows % game.num_players)
            trace += [values, decisions.observation, decisions.action_mask, decisions.uniform, views, tables.states]
        seen.append([array.tobytes() for array in trace])
    assert same(seen)


def test_views_pass_the_number_of_threads_on():
    game = make_game("micons_v0")
    vector = CardVectorEnv("micons_v0", 4, num_threads=3)
    for learner in (vector._learner, CardVecEnv(game, 4, num_threads=3).learner):
        assert learner.tables.threads.num_threads == 3


# --- how work is split


def test_work_is_split_once_it_is_known_to_be_worth_it(monkeypatch):
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 0.001)
    shared, parts = Threads(2), []

    def work(part):
        parts.append(part)
        until = time.thread_time() + 0.0001 * (part.stop - part.start)
        while time.thread_time() < until:
            pass

    shared.run("work", 100, work)
    assert parts == [slice(0, 100)]  # nothing is known yet
    parts.clear()
    shared.run("work", 100, work)
    assert len(parts) == 2 * PARTS
    assert sorted(row for part in parts for row in range(part.start, part.stop)) == list(range(100))
    parts.clear()
    shared.run("work", 10, work)
    assert parts == [slice(0, 10)]  # too little
    parts.clear()
    shared.run("other work", 100, work)
    assert parts == [slice(0, 100)]


def test_parts_are_worked_on_at_the_same_time():
    shared, together = Threads(2), threading.Barrier(2, timeout=20)
    shared.run("work", 8, lambda part: sum(range(10_000)))
    waited = []

    def meet(part):
        if len(waited) < 2:
            waited.append(together.wait())  # passes only if two threads are here

    shared.run("work", 2, meet)
    assert sorted(waited) == [0, 1]


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "2", None])
def test_a_wrong_number_of_threads_is_refused(wrong):
    with pytest.raises(CardEnvsError, match=r"num_threads is .*; allowed: a whole number from 1"):
        Threads(wrong)


# --- errors, copies, forks


@pytest.mark.parametrize("number", NUMBERS)
def test_an_error_in_a_part_reaches_the_caller_and_the_next_call_works(number):
    game, rows = make_game("micons_v0"), np.arange(30)
    tables = GameBatch(game, 30, num_threads=number)
    for wrong in (29, 0):
        tables.states["rng"], tables.rngs[:] = seed_words(0, 30), seed_words(1, 30)
        tables.start(rows)
        tables.drivers[:] = batch.CALLER
        assert tables.advance(rows).all()
        actions = tables.decisions(rows).action_mask.argmax(axis=1)
        actions[wrong] = tables.decisions(rows).action_mask[wrong].argmin()
        with pytest.raises(IllegalActionError, match="policy 'somebody': micons_v0"):
            tables.advance(rows, actions=actions, name="somebody")
        tables.start(rows)
        assert tables.advance(rows).all()


def stepped(learner):
    learner.step(learner.action_mask.argmax(axis=1))
    return learner.observation.tobytes()


def test_copies_and_forks_go_on_as_the_original_does():
    learner = LearnerBatch(make_game("micons_v0"), 40, "heuristic", num_threads=2)
    learner.seed(0)
    learner.reset()
    for _ in range(5):
        stepped(learner)
    copied, pickled = copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:  # it has no threads but this one
        try:
            os.write(send, stepped(learner)[:1000])
        finally:
            os._exit(0)
    os.close(send)
    expected = stepped(learner)
    with os.fdopen(receive, "rb") as pipe:
        assert pipe.read() == expected[:1000]
    os.waitpid(child, 0)
    assert stepped(copied) == expected
    assert stepped(pickled) == expected


def test_the_cores_that_may_be_used_are_counted():
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
