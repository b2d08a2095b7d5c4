"""A game is the same as its record."""

from __future__ import annotations

import copy
import json

import numpy as np

from card_envs.arena.records import replay, to_record
from card_envs.conformance.comparing import TOLERANCE, demand, difference
from card_envs.conformance.playing import Env, card_env, choices, choose, observe, until_end
from card_envs.errors import CardEnvsError
from card_envs.games import game_class, list_games
from card_envs.games.game import Game
from card_envs.games.recorded_game import RecordedGame


def check_record(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """A game is the same as its record: played in the environment, written, read as JSON and replayed.

    Only for environments of this package.

    Prevents: records that can't be played again, and an environment that plays by other rules than the referee.
    """
    raw = card_env(env)
    if raw is None:
        return
    name = "check_record"
    for k in range(num_games):
        env.reset(seed=seed + k)
        table, rng = RecordedGame(raw.game, seed=seed + k), choices(seed + k)
        for _ in until_end(env):
            action = choose(observe(env, env.agent_selection), rng)
            try:
                table.play(action)
            except CardEnvsError as error:
                raise AssertionError(f"{name}: by the rules, {error}") from error
            env.step(action)
        demand(table.over, name, "the environment's game has ended, by its rules it has not")
        _check_round_trip(name, table)
        for seat, agent in enumerate(env.possible_agents):
            paid, due = env.rewards[agent], table.returns()[seat]
            demand(abs(paid - due) < TOLERANCE, name, f"{agent} was paid {paid}, its record says {due}")


def check_game_record(game: Game, *, num_games: int = 20, seed: int = 0) -> None:
    """A game's record, written and read as JSON, plays to the same end; so does one made from a copied state.

    Prevents: records that only this program can read, and states that are not the whole game.
    """
    name = "check_game_record"
    for k in range(min(num_games, 2)):
        table, rng = RecordedGame(game, seed=seed + k), np.random.default_rng(seed + k)
        twin = copy.deepcopy(table)
        while not table.over:
            action = int(rng.choice(np.flatnonzero(table.action_mask())))
            table.play(action)
            twin.states = twin.states.copy()
            twin.play(action)
        demand(table.states.tobytes() == twin.states.tobytes(), name, "a copied state goes on otherwise")
        _check_round_trip(name, table)


def _check_round_trip(name: str, table: RecordedGame) -> None:
    record = to_record(table)
    read = json.loads(json.dumps(record, allow_nan=False))
    where = difference(record, read)
    demand(not where, name, f"a record changes on its way through JSON: {where}")
    if table.game.name not in list_games() or type(table.game) is not game_class(table.game.name):
        return  # a replay looks the game up by its name
    again = replay(read)
    ours, theirs = table.states.copy(), again.states.copy()
    ours["rng"] = theirs["rng"] = 0  # a replay draws nothing
    demand(ours.tobytes() == theirs.tobytes(), name, "the replayed record ends in another state")
    where = difference(to_record(again), record)
    demand(not where, name, f"the record of the replay differs in {where}")
