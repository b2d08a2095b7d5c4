"""OpenSpiel's view of the games is our games, and OpenSpiel's bots play fairly in our arena."""

import copy
import functools
import itertools
import math
import pickle
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy, rl_environment
from open_spiel.python.algorithms import best_response, cfr, expected_game_score, exploitability, ismcts, mcts
from open_spiel.python.observation import INFO_STATE_OBS_TYPE, make_observation

import card_envs
from card_envs.arena.match import play_games, rotated
from card_envs.arena.statistics import estimate
from card_envs.bridges.openspiel import OpenSpielBotPolicy, RolloutEvaluator, spiel_game, spiel_name
from card_envs.errors import CardEnvsError, IllegalActionError
from card_envs.games import list_games, make_game, registry
from card_envs.games.icarus_club import state as icarus
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels import batch
from card_envs.policies import make_policy
from tests.variants import each_game, each_variant

EIGHT_CARDS = "card_envs_icarus_club(players=3,suits=2,ranks=4,rounds=1"


def step(state, rng):
    """One random step of chance or of a player; the string of what was done."""
    if state.is_chance_node():
        outcomes, chances = zip(*state.chance_outcomes(), strict=True)
        action = rng.choices(outcomes, chances)[0]
    else:
        action = rng.choice(state.legal_actions())
    done = state.action_to_string(state.current_player(), action)
    state.apply_action(action)
    return done


def decisions(game, seed, games=1):
    """The states of random games in which somebody is asked; not to be changed."""
    rng = random.Random(seed)
    for _ in range(games):
        state = game.new_initial_state()
        while not state.is_terminal():
            if not state.is_chance_node():
                yield state
            step(state, rng)


# --- the same game ----------------------------------------------------------------------------------------------------


@each_variant
def test_openspiels_own_test_passes(game):
    pyspiel.random_sim_test(spiel_game(game), 1, serialize=True, verbose=False)


@each_game
def test_openspiels_own_test_passes_without_forced_decisions(game):
    pyspiel.random_sim_test(spiel_game(game, skip_forced=True), 1, serialize=True, verbose=False)


@each_variant
def test_parameters_say_which_game_it_is(game):
    spiel = spiel_game(game)
    assert spiel.card_game == game
    assert spiel.get_type().short_name == spiel_name(game.name)
    assert spiel_name(game.name) in pyspiel.registered_names()
    assert pyspiel.load_game(str(spiel)).card_game == game
    assert (spiel.num_players(), spiel.num_distinct_actions()) == (game.num_players, game.num_actions)
    assert spiel.observation_tensor_shape() == spiel.information_state_tensor_shape() == [game.layout.size]


def cards_due(table):
    """The names of the cards that the due chance event shuffles."""
    states, value = table.states.copy(), np.zeros(table.game.max_chance_values, np.int16)
    states["rng"] = 1
    count = table.kernels.chance(states, 0, value)
    return table.game.chance_to_json(int(table.state.chance), value[:count])


def recorded_chance(spiel):
    """The values of chance events that the game is given from now on; the list grows."""
    play, values = spiel.first.play, []
    carry_out = play.kernels.apply_chance

    def record(states, row, value):
        values.append(value.copy())
        carry_out(states, row, value)

    play.kernels = play.kernels._replace(apply_chance=record)
    return values


@each_variant
def test_a_game_played_there_is_the_same_game_here(game):
    """Action strings, masks, observations and returns are those of a table of ours that meets the same chance."""
    spiel, table, rng, dealt = spiel_game(game), RecordedGame(game, explicit_chance=True), random.Random(1), []
    state, observer, chance = spiel.new_initial_state(), make_observation(spiel), recorded_chance(spiel)
    assert list(observer.dict) == [segment.name for segment in game.layout.segments]
    while not state.is_terminal():
        if state.is_chance_node():
            dealt.append(step(state, rng))
            continue
        while table.chance:
            kind, value = table.chance, game.chance_to_json(int(table.state.chance), chance.pop(0))
            names = value if isinstance(value, list) else [f"player_{value}" if isinstance(value, int) else value]
            assert all(dealt.count(f"{kind} {name}") <= names.count(name) for name in names)
            table.apply_chance(kind, value)
        assert not chance
        dealt.clear()
        player = state.current_player()
        assert player == table.player
        assert [state.action_to_string(player, action) for action in state.legal_actions()] == table.legal_actions()
        assert state.legal_actions_mask(player) == table.action_mask().tolist()
        for seat in range(game.num_players):
            seen = table.observe(seat).tobytes()
            observer.set_from(state, seat)
            assert observer.tensor.tobytes() == seen
            assert np.array(state.observation_tensor(seat), np.float32).tobytes() == seen
            assert np.array(state.information_state_tensor(seat), np.float32).tobytes() == seen
        assert state.returns() == [0.0] * game.num_players
        table.play(step(state, rng))
    assert table.over
    assert state.returns() == table.returns().tolist()


def test_forced_decisions_can_be_left_out_and_are_taken():
    game = pyspiel.load_game("card_envs_micons(players=3,skip_forced=True)")
    for state in decisions(game, seed=2, games=3):
        assert len(state.legal_actions()) > 1
    assert " 0:draw" in state.information_state_string(0)  # nobody is ever asked: who may draw has nothing else


# --- chance -----------------------------------------------------------------------------------------------------------


def deals(state, chance=1.0):
    """The states behind all chance nodes that come first, with their probabilities."""
    if not state.is_chance_node():
        yield state, chance
        return
    outcomes = state.chance_outcomes()
    assert math.isclose(sum(p for _, p in outcomes), 1.0)
    assert len(outcomes) > 1
    for outcome, p in outcomes:
        yield from deals(state.child(outcome), chance * p)


def test_every_deal_has_one_history_and_the_same_chance():
    count, seen = 0, set()
    for state, chance in deals(pyspiel.load_game(f"{EIGHT_CARDS},opening=player_0)").new_initial_state()):
        assert math.isclose(chance, 1 / 5040)
        seen.add(str(state))
        count += 1
    assert count == len(seen) == math.factorial(8) // 2**3  # three hands of two cards without order


@pytest.mark.parametrize("name", ["icons", "micons", "ice_points"])
def test_cards_come_with_the_chance_that_a_shuffle_gives_them(name):
    """Of the cards dealt last, from the top of the deck, each name is there as often as it has copies."""
    ours, rng, samples = make_game(name), random.Random(3), 400
    game, table, drawn = spiel_game(ours), RecordedGame(ours, explicit_chance=True), {}
    if ours.chance_range(table.state):
        table.apply_chance("first-player", 0)
    for _ in range(samples):
        state, dealt = game.new_initial_state(), []
        while state.is_chance_node():
            dealt.append(step(state, rng))
        for card in dealt[-7:]:
            drawn[card] = drawn.get(card, 0) + 1
    deck = cards_due(table)
    for card in set(deck):
        expected = samples * 7 * deck.count(card) / len(deck)
        assert abs(drawn[f"deck {card}"] - expected) < 5 * math.sqrt(expected)


def test_every_card_is_as_often_in_every_place_of_a_full_deal():
    game, rng, samples = pyspiel.load_game("card_envs_icarus_club(players=5)"), random.Random(3), 400
    places = np.zeros((55, 14))
    for _ in range(samples):
        state = game.new_initial_state()
        while state.is_chance_node():
            step(state, rng)
        places[np.arange(55), state._moment.states[0].where] += 1
    for place, share in ((0, 9 / 55), (4, 9 / 55), (icarus.LANE, 9 / 55), (icarus.OUT, 1 / 55)):
        assert (np.abs(places[:, place] - samples * share) < 5 * math.sqrt(samples * share)).all()


def test_an_opening_fixes_the_first_outcomes_of_chance():
    game = pyspiel.load_game(f"{EIGHT_CARDS},opening=player_2 roulette-2 craps-3)")
    for seed in range(5):
        first = next(decisions(game, seed))
        assert first.current_player() == 2
        assert "craps-3 | roulette-2" in str(first)  # the bottom of the deck is the right end of the lane
    with pytest.raises(CardEnvsError, match="opening: unknown outcome 'craps-5'; did you mean 'craps-4'"):
        pyspiel.load_game(f"{EIGHT_CARDS},opening=player_0 craps-5)")


# --- what a seat knows ------------------------------------------------------------------------------------------------


@each_variant
def test_an_information_state_is_what_the_seat_knows_and_tells_what_it_may_do(game):
    """Redrawing what the seat can't know leaves its information state as it is, and that of nobody who sees more."""
    sampler = random.Random(6).random
    known = {}
    for state in itertools.islice(decisions(spiel_game(game), seed=6), 0, 120, 7):
        for seat in range(game.num_players):
            other = state.resample_from_infostate(seat, sampler)
            for view in ("information_state_string", "observation_string", "observation_tensor"):
                assert getattr(other, view)(seat) == getattr(state, view)(seat)
            assert other.current_player() == state.current_player()
            assert other.legal_actions(seat) == state.legal_actions(seat)
            key = state.information_state_string(seat)
            assert known.setdefault(key, state.legal_actions(seat)) == state.legal_actions(seat)


def test_information_states_never_forget():
    """Perfect recall: an information state determines all that its seat knew and did before."""
    game = pyspiel.load_game(f"{EIGHT_CARDS},opening=player_0 roulette-2 craps-3)")
    pasts = {}

    def walk(state, past):
        if state.is_terminal():
            return
        seat = state.current_player()
        if seat >= 0:
            key = state.information_state_string()
            assert pasts.setdefault(key, past[seat]) == past[seat]
        for action in state.legal_actions():
            then = past
            if seat >= 0:
                then = [*past]
                then[seat] = (*past[seat], (key, action))
            walk(state.child(action), then)

    walk(game.new_initial_state(), [(), (), ()])
    assert len(pasts) > 500


def test_all_that_differs_for_a_seat_is_told_apart():
    """Two deals have the same information state exactly where the seat has the same hand."""
    game = pyspiel.load_game(f"{EIGHT_CARDS},opening=player_0 roulette-2 craps-3)")
    hands = {}
    for state, _ in deals(game.new_initial_state()):
        for seat in range(3):
            text = str(state).splitlines()[-5 + seat]
            hand = text.split(" - ")[1].strip()
            hands.setdefault((seat, state.information_state_string(seat)), set()).add(hand)
    assert len(hands) == 3 * math.comb(6, 2)
    assert all(len(same) == 1 for same in hands.values())


@pytest.mark.parametrize("phase", ["card-give", "card-return", "card-pass", "discard"])
def test_hidden_actions_are_seen_by_who_takes_part_only(phase):
    found = 0
    for state in decisions(spiel_game(make_game("icons", 4)), seed=7, games=12):
        table, actor = state._moment.states[0], state.current_player()
        if make_game("icons", 4).phases[table.phase] != phase or len(state.legal_actions()) < 2:
            continue
        after = [state.child(action) for action in state.legal_actions()]
        if any(child._moment.states[0].phase != after[0]._moment.states[0].phase for child in after):
            continue
        taking_part = {actor, int(table.target), int(table.turn)} if phase.startswith("card-") else {actor}
        if phase == "card-pass":
            if after[0]._moment.states[0].phase != table.phase:
                continue  # the last to choose: now the cards move
            taking_part = {actor}
        for seat in set(range(4)) - taking_part:
            seen = {child.information_state_string(seat) for child in after}
            assert len(seen) == 1
            assert f" {actor}:? " in seen.pop()
        assert len({child.information_state_string(actor) for child in after}) == len(after)
        found += 1
    assert found > 3


def test_an_observer_shows_one_seat_and_nothing_else():
    game = pyspiel.load_game("card_envs_icarus_club")
    assert make_observation(game, INFO_STATE_OBS_TYPE).tensor.shape == (game.card_game.layout.size,)
    for kind in (
        pyspiel.IIGObservationType(perfect_recall=True, public_info=False),
        pyspiel.IIGObservationType(perfect_recall=True, private_info=pyspiel.PrivateInfoType.ALL_PLAYERS),
    ):
        with pytest.raises(CardEnvsError, match="one seat's private and all public information"):
            make_observation(game, kind)
    with pytest.raises(CardEnvsError, match="no parameters"):
        make_observation(game, params={"size": 3})


def test_a_state_is_redrawn_at_decisions_only():
    state = pyspiel.load_game("card_envs_icons").new_initial_state()
    with pytest.raises(CardEnvsError, match="at decisions only"):
        state.resample_from_infostate(0, random.random)


# --- copies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list_games())
def test_copies_go_on_identically_from_anywhere(name):
    game, rng = spiel_game(make_game(name)), random.Random(8)
    state = game.new_initial_state()
    for number in itertools.count():
        if number % 23 == 5 or state.is_terminal():
            twins = [state.clone(), copy.deepcopy(state), pickle.loads(pickle.dumps(state))]
            twins.append(game.deserialize_state(state.serialize()))
            begin = rng.getstate()
            ends = []
            for twin in twins:
                rng.setstate(begin)
                for _ in range(12):
                    if not twin.is_terminal():
                        step(twin, rng)
                seats = range(game.num_players())
                ends.append((str(twin), [twin.information_state_string(seat) for seat in seats], twin.history()))
            assert all(end == ends[0] for end in ends)
        if state.is_terminal():
            break
        step(state, rng)


def test_a_redrawn_state_is_copied_with_what_its_seats_know():
    game = pyspiel.load_game("card_envs_icarus_club(players=3)")
    state = list(itertools.islice(decisions(game, seed=9), 40))[-1].clone()
    other = state.resample_from_infostate(1, random.Random(1).random)
    twin = pickle.loads(pickle.dumps(other))
    for seat in range(3):
        assert twin.information_state_string(seat) == other.information_state_string(seat)
    assert twin.information_state_string(1) == state.information_state_string(1)
    while not other.is_terminal():
        step(other, random.Random(1))
    assert abs(sum(other.returns())) < 1e-9


# --- exact values -----------------------------------------------------------------------------------------------------


@functools.cache
def brute_force(first, lane, seat, best):
    """What `seat` gets on average in the game of eight cards, by rules alone: all deals that it can't tell apart, side
    by side, through all that can happen openly. It plays its best answer to random players, or at random as they do."""
    game = make_game("icarus_club", 3, suits=2, ranks=4, rounds=1)
    kernels, mask = batch.for_game(game), np.zeros(game.num_actions, np.int8)

    def value(group):
        if group[0][0]["end"][0]:
            paid = np.zeros((1, 3))
            total = 0.0
            for states, weight in group:
                kernels.returns(states, np.zeros(1, np.int64), paid)
                total += weight * paid[0, seat]
            return total
        chooses = best and group[0][0]["player"][0] == seat
        after = {}
        for states, weight in group:
            kernels.legal(states, 0, mask)
            for action in np.flatnonzero(mask):
                then = states.copy()
                kernels.apply(then, 0, action)
                after.setdefault(action, []).append((then, weight if chooses else weight / mask.sum()))
        return (max if chooses else sum)(value(same) for same in after.values())

    by_hand = {}
    rest = [
        name for name in icarus.CARD_NAMES if name.split("-")[0] in icarus.SUITS[:2] and int(name.split("-")[1]) < 5
    ]
    rest = [name for name in rest if name not in lane]
    for order in itertools.permutations(rest):
        hands = [order[0:2], order[2:4], order[4:6]]
        if all(list(hand) == sorted(hand) for hand in hands):
            table = RecordedGame(game, explicit_chance=True)
            table.apply_chance("first-player", first)
            table.apply_chance("deck", [*order, *lane])
            by_hand.setdefault(hands[seat], []).append((table.states, 1 / 90))
    assert sum(map(len, by_hand.values())) == 90
    return sum(value(group) for group in by_hand.values())


@pytest.mark.parametrize(
    ("lane", "skip_forced"),
    [(("craps-4", "craps-3"), True), (("craps-4", "craps-3"), False), (("roulette-1", "craps-2"), True)],
)
def test_best_responses_agree_with_a_computation_of_our_own(lane, skip_forced):
    name = f"{EIGHT_CARDS},skip_forced={skip_forced},opening=player_1 {lane[1]} {lane[0]})"
    game = pyspiel.load_game(name)
    uniform = policy.UniformRandomPolicy(game)
    gains = exploitability.nash_conv(game, uniform, return_only_nash_conv=False).player_improvements
    for seat in range(3):
        best, at_random = (brute_force(1, lane, seat, best) for best in (True, False))
        found = best_response.BestResponsePolicy(game, seat, uniform).value(game.new_initial_state())
        assert math.isclose(found, best, abs_tol=1e-12)
        assert math.isclose(gains[seat], best - at_random, abs_tol=1e-12)
        assert best > at_random + 0.04
    assert math.isclose(pyspiel.nash_conv(game, pyspiel.UniformRandomPolicy(game), True), sum(gains), abs_tol=1e-12)


def test_rollouts_and_random_play_agree_on_the_mean():
    game = pyspiel.load_game(f"{EIGHT_CARDS},opening=player_0 roulette-2 craps-3)")
    evaluator, spread = RolloutEvaluator(np.random.RandomState(0)), 0
    for seed in range(6):
        state = next(decisions(game, seed))
        exact = pyspiel.expected_returns(state, pyspiel.UniformRandomPolicy(game), -1, False)
        sample = np.array([evaluator.evaluate(state) for _ in range(2000)])
        error = sample.std(axis=0) / math.sqrt(len(sample))
        assert (np.abs(sample.mean(axis=0) - exact) < 4 * error + 1e-12).all()
        spread += (error > 0).all() and np.abs(exact).max() > 0.01
    assert spread > 1
    root = np.array([evaluator.evaluate(game.new_initial_state()) for _ in range(200)])  # from within a deal
    assert np.allclose(root.sum(axis=1), 0)
    assert len(np.unique(root, axis=0)) > 2
    with pytest.raises(CardEnvsError, match="unknown policy 'best'"):
        RolloutEvaluator(np.random.RandomState(0), "best")


# --- bots -------------------------------------------------------------------------------------------------------------


def ismcts_bot(game, rng):
    bot = ismcts.ISMCTSBot(game, RolloutEvaluator(rng), uct_c=1.0, max_simulations=30, random_state=rng)
    bot.set_resampler(lambda state, seat: state.resample_from_infostate(seat, rng.random_sample))
    return bot


def mcts_bot(game, rng):
    return mcts.MCTSBot(game, 1.0, 30, RolloutEvaluator(rng, "heuristic"), random_state=rng)


@pytest.mark.parametrize("name", list_games())
@pytest.mark.parametrize("make_bot", [ismcts_bot, mcts_bot])
def test_search_bots_play_every_game_to_its_end(name, make_bot):
    game, rng = spiel_game(make_game(name), skip_forced=True), random.Random(10)
    bot, state, asked = make_bot(game, np.random.RandomState(0)), game.new_initial_state(), 0
    while not state.is_terminal():
        if state.current_player() == 0:
            asked += 1
            action = bot.step(state)
            assert action in state.legal_actions()
            state.apply_action(action)
        else:
            step(state, rng)
    assert asked > 0


def test_is_mcts_without_a_resampler_of_ours_works_too():
    game = pyspiel.load_game("card_envs_icarus_club(players=3)")
    bot = ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1), 1.0, 3)
    state = next(decisions(game, seed=1))
    assert bot.step(state) in state.legal_actions()


def lone(game, policy, deals, seed):
    """The policy alone among random ones, each deal from every seat: its mean return over deals."""
    games = rotated([1, *[0] * (game.num_players - 1)], deals, seed=seed, stream=0)
    results = play_games(game, [make_policy("random", game), policy], games)
    return estimate(results.returns[games.seats == 1].reshape(deals, -1).mean(axis=1)), results


@pytest.mark.parametrize("make_bot", [ismcts_bot, mcts_bot])
def test_search_bots_beat_random_players_in_our_arena(make_bot):
    game = make_game("icarus_club", 3, suits=3, ranks=7, rounds=1)
    found, results = lone(game, OpenSpielBotPolicy(game, make_bot, "bot"), 100, seed=1)
    assert found.low > 0, found
    assert np.allclose(results.returns.sum(axis=1), 0)


def test_the_same_seed_plays_the_same_games_again():
    game = make_game("icarus_club", 3, suits=3, ranks=5, rounds=1)
    first, again, other = (lone(game, OpenSpielBotPolicy(game, ismcts_bot, "bot"), 4, seed)[1] for seed in (1, 1, 2))
    assert np.array_equal(first.scores, again.scores)
    assert np.array_equal(first.decisions, again.decisions)
    assert not np.array_equal(first.scores, other.scores)


class Spy:
    """Plays the first legal action and keeps what it was shown."""

    def __init__(self, shown):
        self.shown = shown

    def step(self, state):
        self.shown.append(state)
        return state.legal_actions()[0]


def test_a_bot_in_our_arena_is_never_shown_the_real_hidden_cards():
    game = make_game("icarus_club", 4)
    shown, real = [], []

    class Watched(OpenSpielBotPolicy):
        def act(self, decisions):
            asked = np.flatnonzero(decisions.action_mask.sum(axis=1) > 1)
            for i in asked:
                real.append((decisions.observation[i].copy(), decisions.states[decisions.rows[i]].copy()))
            return super().act(decisions)

    lone(game, Watched(game, lambda spiel, rng: Spy(shown), "spy"), 5, seed=3)
    differing = 0
    assert len(shown) == len(real) > 100
    for state, (observation, table) in zip(shown, real, strict=True):
        seat = state.current_player()
        assert np.array(state.observation_tensor(seat), np.float32).tobytes() == observation.tobytes()
        differing += state._moment.states[0].where.tobytes() != table.where.tobytes()
    assert differing > 0.7 * len(shown)


def test_an_illegal_action_of_a_bot_names_its_policy():
    class Confused(Spy):
        def step(self, state):
            return next(action for action in range(65) if action not in state.legal_actions())

    game = make_game("icarus_club", 3)
    with pytest.raises(IllegalActionError, match="policy 'confused'"):
        lone(game, OpenSpielBotPolicy(game, lambda spiel, rng: Confused([]), "confused"), 1, seed=1)


def test_openspiels_learners_get_observations_masks_and_rewards():
    env = rl_environment.Environment(pyspiel.load_game("card_envs_icarus_club(players=3)"))
    env.seed(1)
    time_step, steps = env.reset(), 0
    while not time_step.last():
        player = time_step.observations["current_player"]
        assert len(time_step.observations["info_state"][player]) == env.observation_spec()["info_state"][0]
        time_step = env.step([time_step.observations["legal_actions"][player][0]])
        steps += 1
    assert steps >= 99
    assert abs(sum(time_step.rewards)) < 1e-9


# --- bad input --------------------------------------------------------------------------------------------------------


def test_bad_parameters_are_refused_in_words():
    with pytest.raises(CardEnvsError, match="num_players is 6; allowed: a whole number from 3 to 5"):
        pyspiel.load_game("card_envs_icarus_club(players=6)")
    with pytest.raises(CardEnvsError, match="suits is 9; allowed: a whole number from 1 to 5"):
        pyspiel.load_game("card_envs_icarus_club(suits=9)")
    with pytest.raises(pyspiel.SpielError, match="Unknown parameter 'colour'"):
        pyspiel.load_game("card_envs_icarus_club(colour=1)")


def test_values_of_other_types_are_written_as_numbers():
    for points, written in (("printed", 0), (None, -1), (7, 7)):
        assert pyspiel.load_game(f"card_envs_icons(points_to_win={written})").card_game == make_game(
            "icons", points_to_win=points
        )
    assert pyspiel.load_game("card_envs_icarus_club(rounds=0)").card_game == make_game("icarus_club")


def test_a_deck_of_ones_own_is_loaded_by_its_path(tmp_path):
    import json

    cards = make_game("micons", 2).options["deck"][:20]
    path = tmp_path / "deck.json"
    path.write_text(json.dumps(cards))
    game = pyspiel.load_game("card_envs_micons", {"players": 2, "deck": str(path)})
    assert game.card_game.num_actions == 24
    with pytest.raises(CardEnvsError, match="OpenSpiel has no parameter for this 'deck'; load it by its path"):
        spiel_game(make_game("micons", 2, deck=cards))


def test_python_ends_cleanly_and_a_missing_library_is_named():
    code = "import pyspiel; from card_envs.bridges import openspiel; pyspiel.load_game('card_envs_icons')"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    code = "import sys; sys.modules['pyspiel'] = None; import card_envs.bridges.openspiel"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert "OpenSpiel needs the extra 'openspiel': pip install 'card-envs[openspiel]'" in done.stderr


# --- a game from outside


@pytest.fixture
def kuhn_poker(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples" / "kuhn_poker"))
    import kuhn_poker

    monkeypatch.setattr(registry, "_registered", {})
    card_envs.register(kuhn_poker.KuhnPoker)
    return spiel_game(make_game("kuhn_poker"))


def whole_tree(state):
    """Everything below a state: payoffs, chances, who acts, and what each action leads to."""
    if state.is_terminal():
        return state.returns()
    if state.is_chance_node():
        return [(chance, whole_tree(state.child(outcome))) for outcome, chance in state.chance_outcomes()]
    return state.current_player(), [(action, whole_tree(state.child(action))) for action in state.legal_actions()]


def test_kuhn_poker_is_openspiels_own_to_the_last_node(kuhn_poker):
    theirs = pyspiel.load_game("kuhn_poker")
    assert whole_tree(kuhn_poker.new_initial_state()) == whole_tree(theirs.new_initial_state())
    assert (kuhn_poker.min_utility(), kuhn_poker.max_utility()) == (theirs.min_utility(), theirs.max_utility())


def test_cfr_finds_the_value_of_kuhn_poker(kuhn_poker):
    solver = cfr.CFRPlusSolver(kuhn_poker)
    for _ in range(300):
        solver.evaluate_and_update_policy()
    policy = solver.average_policy()
    value = expected_game_score.policy_value(kuhn_poker.new_initial_state(), [policy] * 2)
    assert value == pytest.approx([-1 / 18, 1 / 18], abs=1e-3)
    assert exploitability.exploitability(kuhn_poker, policy) < 2e-3
