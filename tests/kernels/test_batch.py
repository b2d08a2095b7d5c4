"""The batched loops play exactly what the rules play one action at a time, for every game, bit for bit."""

import numpy as np
import pytest

from benchmarks.throughput import random_play
from card_envs.envs.aec import CardGameEnv
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels import batch
from card_envs.kernels.rng import random_legal, seed_words
from card_envs.kernels.state import RUNNING
from card_envs.policies import make_policy
from card_envs.policies.game_batch import CALLER, GameBatch
from tests.variants import each_game, each_variant

B = 24


def dealt(game, num_tables=B, seed=0, **options):
    """Tables that have been dealt, and the chance words that each began with."""
    tables = GameBatch(game, num_tables, **options)
    tables.states["rng"] = seed_words(seed, num_tables)
    tables.rngs[:] = seed_words(seed + 1000, num_tables)
    words = tables.states["rng"].copy()
    tables.start(np.arange(num_tables))
    return tables, words


def table_from(game, words):
    """One table, dealt from these chance words by the rules alone."""
    table = RecordedGame(game, explicit_chance=True)
    table.states["rng"] = words
    while table.state.chance:
        play_chance(table)
    return table


def play_chance(table):
    """One chance event straight through the rules' own functions."""
    rules, value = table.game.rules, np.zeros(table.game.max_chance_values, np.int16)
    count = rules.draw_chance(table.states[0], value)
    rules.apply_chance(table.states[0], value[:count])


def play_action(table, action):
    rules = table.game.rules
    mask = np.zeros(table.game.num_actions, np.int8)
    assert rules.legal_actions(table.states[0], mask) == mask.sum()
    assert mask[action] == 1
    rules.apply_action(table.states[0], action)
    while table.state.chance:
        play_chance(table)


def play_out(game, words, actions):
    table = table_from(game, words)
    for action in actions:
        play_action(table, action)
    return table


def drivers(tables, *choices):
    """Every seat gets one of `choices`, drawn."""
    rng = np.random.default_rng(0)
    tables.drivers[:] = rng.choice(choices, tables.drivers.shape)


class LastLegal:
    name = "last-legal"

    def act(self, decisions):
        return decisions.action_mask.shape[1] - 1 - decisions.action_mask[:, ::-1].argmax(axis=1)


# --- whole games ----------------------------------------------------------------------------------------------------


@each_variant
def test_games_played_in_a_batch_are_the_rules_games(game):
    tables, words = dealt(game, policies=[LastLegal()], log_actions=True)
    drivers(tables, batch.RANDOM, batch.HEURISTIC, *tables.driver_of)
    asked = tables.advance(np.arange(B))
    assert not asked.any()
    returns = tables.returns(np.arange(B))
    for row in range(B):
        table = play_out(game, words[row], tables.log[row, : tables.counts[row]])
        assert table.over
        assert table.states.tobytes() == tables.states[row : row + 1].tobytes()
        np.testing.assert_array_equal(table.returns(), returns[row])


@each_variant
def test_every_decision_of_a_batch_shows_what_one_table_shows(game):
    tables, words = dealt(game, 4)
    single = [table_from(game, words[row]) for row in range(4)]
    rng = np.random.default_rng(0)
    rows = np.arange(4)
    while len(rows):
        decisions = tables.decisions(rows)
        seats = rng.integers(game.num_players, size=len(rows))
        watched = tables.observe(rows, seats)
        actions = (decisions.action_mask * rng.random(decisions.action_mask.shape)).argmax(axis=1)
        for i, row in enumerate(rows):
            table = single[row]
            np.testing.assert_array_equal(decisions.action_mask[i], table.action_mask())
            np.testing.assert_array_equal(decisions.observation[i], table.observe(table.player))
            np.testing.assert_array_equal(watched[i], table.observe(int(seats[i])))
            play_action(table, actions[i])
        tables.act(rows, actions, "test")
        for row in rows:
            assert single[row].states.tobytes() == tables.states[row : row + 1].tobytes()
        rows = np.flatnonzero(tables.states["end"] == RUNNING)


@each_variant
def test_the_path_of_the_aec_environment_is_the_rules_path(game):
    env, table = CardGameEnv(game), RecordedGame(game, seed=3)
    env.reset(seed=3)
    rng = np.random.default_rng(0)
    while not table.over:
        mask = env.action_masks()
        np.testing.assert_array_equal(mask, table.action_mask())
        action = int(rng.choice(np.flatnonzero(mask)))
        env.step(action)
        table.play(action)
        assert env._states.tobytes() == table.states.tobytes()
    assert [env.rewards[agent] for agent in env.possible_agents] == table.returns().tolist()


@each_game
def test_random_play_of_the_benchmark_is_random_play(game):
    tables, words = dealt(game, 2)
    mask, value = np.zeros(game.num_actions, np.int8), np.zeros(game.max_chance_values, np.int16)
    observation, rngs = np.zeros(game.layout.size, np.float32), tables.rngs.copy()
    steps = 700  # more than a game, so that some start over
    random_play(game)(tables.states, game.initial, tables.rngs, steps, game.layout.at, observation, mask, value)
    for row in range(2):
        table = table_from(game, words[row])
        for _ in range(steps):
            if table.over:
                table = table_from(game, table.states[0].rng.copy())
            table.kernels.legal(table.states, 0, mask)
            play_action(table, random_legal(rngs[row], mask, mask.sum()))
        assert table.states.tobytes() == tables.states[row : row + 1].tobytes()
    np.testing.assert_array_equal(rngs, tables.rngs)


# --- parts ----------------------------------------------------------------------------------------------------------


@each_game
def test_rows_that_are_not_asked_for_stay_as_they_are(game):
    tables, _ = dealt(game, 6)
    before = tables.states.copy()
    rows = np.array([4, 1])
    tables.drivers[:] = batch.RANDOM
    tables.advance(rows)
    tables.kernels.start(tables.states, rows[:1], game.initial, tables._scratch()[1])
    others = [0, 2, 3, 5]
    assert tables.states[others].tobytes() == before[others].tobytes()
    assert tables.states["end"][1] != RUNNING
    assert tables.states["end"][4] == RUNNING


@each_game
def test_the_order_of_rows_changes_no_game(game):
    results = []
    for order in (np.arange(8), np.arange(8)[::-1].copy()):
        tables, _ = dealt(game, 8, policies=[make_policy("heuristic", game), LastLegal()])
        drivers(tables, batch.RANDOM, *tables.driver_of)
        tables.advance(order)
        results.append(tables.states.tobytes())
    assert results[0] == results[1]


@each_game
def test_a_table_is_handed_over_where_somebody_outside_must_decide(game):
    tables, _ = dealt(game, 8)
    tables.drivers[:] = batch.RANDOM
    tables.drivers[:, 1] = CALLER
    asked = tables.advance(np.arange(8))
    assert (tables.states["player"][asked] == 1).all()
    assert (tables.states["end"][~asked] != RUNNING).all()


@each_game
def test_forced_decisions_are_skipped_only_where_that_is_wanted(game):
    for skip_forced in (True, False):
        tables, _ = dealt(game, 8, skip_forced=skip_forced)
        tables.drivers[:] = CALLER
        rng, options, rows = np.random.default_rng(0), [], np.arange(8)
        while len(rows):
            rows = rows[tables.advance(rows)]
            masks = tables.decisions(rows).action_mask
            options += masks.sum(axis=1).tolist()
            tables.act(rows, (masks * rng.random(masks.shape)).argmax(axis=1), "test")
        assert min(options) == (2 if skip_forced else 1)


@each_game
def test_a_log_that_is_full_grows_and_loses_nothing(game):
    logs = []
    for room in (256, 3):
        tables, _ = dealt(game, 4, policies=[LastLegal()], log_actions=True)
        tables.log = np.zeros((4, room), np.int16)
        drivers(tables, batch.RANDOM, *tables.driver_of)
        tables.advance(np.arange(4))
        logs.append([tables.log[row, : tables.counts[row]].tolist() for row in range(4)])
    assert logs[0] == logs[1]


@each_game
def test_an_illegal_action_stops_at_its_row_and_leaves_it(game):
    tables, _ = dealt(game, 5)
    before = tables.states.copy()
    rows = np.arange(5)
    masks = tables.decisions(rows).action_mask
    for wrong in (masks[2].argmin(), -1, game.num_actions, 2**40):
        tables.states[:] = before
        tables.counts[:] = 0
        actions = masks.argmax(axis=1)
        actions[2] = wrong
        refused = tables.kernels.act(tables.states, rows, actions, *tables._scratch(), tables.counts, tables.log)
        assert refused == 2
        assert tables.counts.tolist() == [1, 1, 0, 0, 0]
        assert tables.states[2:].tobytes() == before[2:].tobytes()
        assert (tables.states[:2] != before[:2]).all()


@each_game
def test_no_action_is_legal_at_a_table_that_has_ended(game):
    tables, _ = dealt(game, 1)
    tables.drivers[:] = batch.RANDOM
    tables.advance(np.arange(1))
    ended = tables.states.copy()
    row, action = np.arange(1), np.zeros(1, np.int64)
    for action[0] in range(game.num_actions):
        refused = tables.kernels.act(tables.states, row, action, *tables._scratch(), tables.counts, tables.log)
        assert refused == 0
    assert tables.states.tobytes() == ended.tobytes()
    mask = np.ones(game.num_actions, np.int8)
    assert tables.kernels.legal(tables.states, 0, mask) == 0
    assert not mask.any()


@each_game
def test_skipping_plays_some_decisions_and_never_to_the_end(game):
    tables, words = dealt(game, 8)
    decisions = np.array([0, 1, 2, 5, 10, 20, 40, 100_000])
    tables.fast_forward(np.arange(8), decisions, batch.RANDOM)
    assert (tables.states["end"] == RUNNING).all()
    assert (tables.states["chance"] == 0).all()
    for row in range(4):
        table = table_from(game, words[row])
        rng = seed_words(1000, 8)[row]
        for _ in range(decisions[row]):
            mask = table.action_mask()
            play_action(table, random_legal(rng, mask, mask.sum()))
        assert table.states.tobytes() == tables.states[row : row + 1].tobytes()
    # the last one stands at its last decision: any action of one more player ends it
    tables.drivers[:] = batch.RANDOM
    tables.counts[:] = 0
    tables.advance(np.array([7]))
    assert tables.counts[7] <= 2


@pytest.mark.parametrize("driver", [batch.RANDOM, batch.HEURISTIC])
@each_game
def test_actions_are_valued_by_playouts_that_change_nothing_else(game, driver):
    tables, _ = dealt(game, 4)
    tables.fast_forward(np.arange(4), np.array([0, 1, 7, 100_000]), batch.RANDOM)
    rows = np.array([3, 0, 2])
    masks = tables.decisions(rows).action_mask == 1
    before, words = tables.states.copy(), tables.rngs.copy()

    def values(playouts):
        out = np.full((3, game.num_actions), np.nan)
        counts = np.full(3, playouts)
        tables.kernels.value_actions(
            tables.states, rows, counts, 10**6, driver, tables.rngs, *tables._scratch(), out, None
        )
        return out

    valued = values(3)
    assert tables.states.tobytes() == before.tobytes()
    assert (valued[~masks] == 0).all()
    assert (valued <= 1).all()
    assert (valued >= -1 / (game.num_players - 1)).all()
    assert valued[1:].any()
    changed = (tables.rngs != words).any(axis=1)
    assert changed.tolist() == [True, False, True, True]
    tables.rngs[:] = words
    assert values(3).tobytes() == valued.tobytes()
    # the mean of three playouts is that of three single ones: values() goes on with the same generators
    tables.rngs[:] = words
    np.testing.assert_allclose(np.mean([values(1) for _ in range(3)], axis=0), valued, rtol=0, atol=1e-12)


@each_game
def test_an_action_that_ends_the_game_has_the_value_of_its_result(game):
    tables, _ = dealt(game, 40)
    tables.fast_forward(np.arange(40), np.full(40, 100_000), batch.RANDOM)
    ending = 0
    for row in range(40):
        out, rows = np.zeros((1, game.num_actions)), np.array([row])
        tables.value_actions(rows, 2, batch.RANDOM, out)
        for action in np.flatnonzero(tables.decisions(rows).action_mask[0]):
            table = RecordedGame(game, explicit_chance=True)
            table.states[:] = tables.states[row]
            seat = table.player
            game.rules.apply_action(table.states[0], action)
            if table.over:
                ending += 1
                assert out[0, action] == pytest.approx(table.returns()[seat], abs=1e-12)
    assert ending >= 20


@each_game
def test_a_decision_made_by_a_policy_object_is_the_kernels_decision(game):
    tables, _ = dealt(game)
    rows = np.arange(B)
    rngs = tables.rngs.copy()
    chosen = np.zeros(B, np.int64)
    tables.kernels.decide(tables.states, rows, batch.HEURISTIC, rngs, tables._scratch()[0], chosen, None)
    decisions = tables.decisions(rows)
    tables.rngs[:] = seed_words(1000, B)
    np.testing.assert_array_equal(make_policy("heuristic", game).act(decisions), chosen)


@each_game
def test_kernels_are_made_once_for_a_game_at_any_player_count(game):
    assert batch.for_game(game) is batch.for_game(type(game))
    assert batch.for_game(game) is batch.for_game(type(game)(game.min_players))


def test_more_policies_than_the_tables_can_number_are_refused():
    from card_envs.errors import CardEnvsError
    from card_envs.games import make_game

    tables = GameBatch(make_game("icarus_club"), 1)
    tables.set_policies([LastLegal() for _ in range(125)])
    assert max(tables.driver_of) == np.iinfo(np.int8).max
    with pytest.raises(CardEnvsError, match="126 policies"):
        tables.set_policies([LastLegal() for _ in range(126)])
