"""The AEC environment as PettingZoo's users meet it."""

import enum
import importlib
import itertools
import pickle
import re

import gymnasium
import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.test import test_save_obs as save_obs_test
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

import card_envs
from card_envs.envs.aec import CardGameEnv
from card_envs.errors import CardEnvsError, IllegalActionError
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels.rng import seed_words
from tests.variants import each_game, each_variant

pytestmark = [
    pytest.mark.filterwarnings("error"),
    # PettingZoo warns about every Dict observation that is not on its own list of names, though Dict with a mask is
    # what its documentation asks for
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array"),
    pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be"),
]


@pytest.fixture
def env():
    return card_envs.make("icarus_club", 3)


def play(env, rng=None):
    """The rest of the game with random legal actions, up to its last action."""
    rng = rng or np.random.default_rng(0)
    while not any(env.terminations.values()) and not any(env.truncations.values()):
        env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))


# --- PettingZoo's own checkers --------------------------------------------------------------------------------------


@each_variant
def test_api_test_passes(game):
    api_test(CardGameEnv(game), num_cycles=300)


@each_variant
def test_seed_test_passes(game):
    seed_test(lambda: CardGameEnv(game), num_cycles=20)


@each_variant
def test_state_test_passes(game):
    # the two parts of it that do not need a parallel environment
    checks = importlib.import_module("pettingzoo.test.state_test")
    checks.test_state_space(CardGameEnv(game))
    checks.test_state(CardGameEnv(game), num_cycles=10)


@each_game
def test_save_obs_passes(game):
    save_obs_test(CardGameEnv(game))


@each_variant
def test_render_test_passes(game, capsys):
    render_test(lambda render_mode: CardGameEnv(game, render_mode))


# --- spaces ---------------------------------------------------------------------------------------------------------


@each_game
def test_actions_are_sampled_as_gymnasium_samples_them(game):
    env, rng = CardGameEnv(game), np.random.default_rng(0)
    ours, theirs = env.action_space("player_0"), gymnasium.spaces.Discrete(game.num_actions)
    assert ours == theirs
    ours.seed(5)
    theirs.seed(5)
    for k in range(300):
        mask = (rng.random(game.num_actions) < rng.random()).astype(np.int8)
        given = [(), (mask,), (None,), (np.zeros_like(mask),)][k % 4 if k % 3 else 1]
        sampled, expected = ours.sample(*given), theirs.sample(*given)
        assert (sampled, type(sampled)) == (expected, type(expected))
    twin = pickle.loads(pickle.dumps(ours))
    assert twin.sample(mask) == ours.sample(mask) == theirs.sample(mask)


@pytest.mark.parametrize("change", [lambda m: m * 2, lambda m: -m, lambda m: m[1:], lambda m: m.astype(float), list])
def test_a_mask_that_gymnasium_refuses_is_refused(env, change):
    mask = np.ones(env.game.num_actions, np.int8)
    for space in (env.action_space("player_0"), gymnasium.spaces.Discrete(env.game.num_actions)):
        with pytest.raises(AssertionError):
            space.sample(change(mask))


# --- making ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry from 1.27 on")
@each_game
def test_pettingzoo_makes_every_game_by_its_id(game):
    name, _, version = game.name.rpartition("_v")
    env = pettingzoo.make("aec", f"card_envs/{name}-v{version}", num_players=game.num_players, render_mode="ansi")
    assert env.unwrapped.game == game
    assert str(env.unwrapped) == env.metadata["name"] == game.name


@each_game
def test_the_version_module_makes_the_same_environment(game):
    module = importlib.import_module(f"card_envs.{game.name}")
    env, raw = module.env(num_players=game.num_players), module.raw_env(num_players=game.num_players)
    assert env.game == raw.game == card_envs.make(game.name, game.num_players).game == game


def test_there_is_no_parallel_environment_and_the_refusal_says_why(env):
    assert env.metadata["is_parallelizable"] is False
    module = importlib.import_module("card_envs.icarus_club_v0")
    assert not hasattr(module, "parallel_env")
    with pytest.raises(AttributeError, match=r"'card_envs.icarus_club_v0' has .* players act in turn; use env\(\)"):
        module.parallel_env()
    with pytest.raises(AttributeError, match=r"'card_envs\.icarus_club_v0' has no attribute 'envv'$"):
        module.envv()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"game": "icarus_clbu"}, "did you mean 'icarus_club_v0'"),
        ({"game": "icarus_club", "num_players": 2}, "whole number from 3 to 5"),
        ({"game": "icarus_club", "num_players": "4"}, "whole number from 3 to 5"),
        ({"game": "icarus_club", "render_mode": "rgb_array"}, "allowed: None, 'human', 'ansi'"),
        ({"game": "icarus_club", "illegal_action": "ignore"}, "allowed: 'terminate', 'raise'"),
        ({"game": "icarus_club", "players": 3}, "unknown option 'players'; did you mean 'num_players'"),
    ],
)
def test_what_can_not_be_made_is_refused_with_what_is_allowed(arguments, message):
    with pytest.raises(CardEnvsError, match=message):
        card_envs.make(**arguments)


NO_GAMES = [None, "micons", "", 3, ["micons"], CardGameEnv, np.zeros(2)]


@pytest.mark.parametrize("game", NO_GAMES, ids=repr)
def test_what_is_no_game_is_refused_and_the_message_says_what_makes_one(game):
    with pytest.raises(CardEnvsError, match=r"expected a Game: card_envs\.games\.make_game\(NAME\) makes one$"):
        CardGameEnv(game)


@pytest.mark.parametrize("name", ["render_mode", "illegal_action"])
@pytest.mark.parametrize("value", [1, True, b"ansi", ["ansi"], {"ansi"}, {}, np.zeros(2), "ANSI", "\ud800"], ids=repr)
def test_a_choice_of_any_type_that_is_not_offered_is_refused(name, value):
    with pytest.raises(CardEnvsError, match=f"^{name} is .*; allowed: "):
        card_envs.make("icarus_club", 3, **{name: value})


# --- the loop that the README shows ---------------------------------------------------------------------------------


@each_variant
def test_the_readme_loop_plays_a_game_and_pays_every_seat_its_return(game):
    env = CardGameEnv(game)
    env.reset(seed=7)
    paid = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        obs, reward, termination, truncation, _info = env.last()
        paid[agent] += reward
        action = None if termination or truncation else env.action_space(agent).sample(obs["action_mask"])
        env.step(action)
    assert env.agents == []
    assert sum(paid.values()) == pytest.approx(0)
    due = np.zeros((1, game.num_players))
    env._kernels.returns(env._states, np.zeros(1, np.int64), due)
    assert list(paid.values()) == due[0].tolist()


def test_the_same_seat_may_be_selected_again(env):
    # the winner of a trick chooses a card, then a pile, then leads: nobody should rely on strict alternation
    env.reset(seed=0)
    movers = []
    while not any(env.terminations.values()):
        movers.append(env.agent_selection)
        env.step(int(env.action_masks().argmax()))
    assert any(a == b for a, b in itertools.pairwise(movers))


def test_all_seats_end_together_and_leave_clockwise_from_the_last_mover(env):
    env.reset(seed=0)
    while not any(env.terminations.values()):
        mover = env.agent_selection
        env.step(int(env.action_masks().argmax()))
    assert env.terminations == dict.fromkeys(env.possible_agents, True)
    assert env.truncations == dict.fromkeys(env.possible_agents, False)
    start = env.possible_agents.index(mover)
    for k in range(1, 4):
        assert env.agent_selection == env.possible_agents[(start + k) % 3]
        env.step(None)
    assert env.agents == []


# --- order and types ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "too_early",
    [
        lambda env: env.step(0),
        lambda env: env.observe("player_0"),
        lambda env: env.state(),
        lambda env: env.action_masks(),
        lambda env: env.phase,
        lambda env: env.agent_iter(),
    ],
)
def test_before_reset_everything_says_so(env, too_early):
    with pytest.raises(CardEnvsError, match=r"reset\(\)"):
        too_early(env)


def test_before_reset_last_and_agent_selection_say_so(env):
    with pytest.raises(AttributeError, match=r"call reset\(\) first"):
        env.last()
    assert not hasattr(env, "agent_selection")
    assert env.agents == []
    assert env.possible_agents == ["player_0", "player_1", "player_2"]


def test_render_before_reset_says_so():
    with pytest.raises(CardEnvsError, match=r"call reset\(\) first"):
        card_envs.make("icarus_club", render_mode="ansi").render()


def test_after_the_end_only_none_is_accepted_and_then_nothing(env):
    env.reset(seed=0)
    play(env)
    first = env.agent_selection
    with pytest.raises(IllegalActionError, match=f"the game has ended, so {first} can only step"):
        env.step(0)
    assert env.agents == env.possible_agents
    for _ in range(3):
        env.step(None)
    with pytest.raises(IllegalActionError, match=r"after the end of the game: call reset\(\)"):
        env.step(None)


@pytest.mark.parametrize(
    "action", [None, "roulette-1", 1.0, np.float32(1), True, np.bool_(True), [1], (1,), np.ones(2, int)]
)
@pytest.mark.parametrize("mode", ["terminate", "raise"])
def test_an_action_of_the_wrong_type_is_an_error_in_both_modes_and_changes_nothing(mode, action):
    env = card_envs.make("icarus_club", 3, illegal_action=mode)
    env.reset(seed=0)
    before = env._states.tobytes()
    with pytest.raises(IllegalActionError, match=r"an action is a whole number from 0 to \d+, not"):
        env.step(action)
    assert env._states.tobytes() == before
    assert env.agents == env.possible_agents
    assert not any(env.terminations.values())


@pytest.mark.parametrize(
    "kind",
    [
        np.int8,
        np.int32,
        np.int64,
        np.uint8,
        np.array,
        lambda n: np.array([n]),
        lambda n: enum.IntEnum("Card", {"A": n}).A,
    ],
)
def test_numpy_integers_are_actions_and_all_else_that_is_a_whole_number(env, kind):
    env.reset(seed=0)
    action = int(env.action_masks().argmax())
    env.step(action)
    expected = env._states.tobytes()
    env.reset(seed=0)
    env.step(kind(action))
    assert env._states.tobytes() == expected


@pytest.mark.parametrize("seed", [-1, 1.0, "1", True, [1]])
def test_a_seed_that_is_none_is_refused_and_the_game_goes_on(env, seed):
    env.reset(seed=1)
    before = env._states.tobytes()
    with pytest.raises(CardEnvsError, match="allowed: None or a whole number from 0"):
        env.reset(seed=seed)
    assert env._states.tobytes() == before


@pytest.mark.parametrize("agent", ["player_3", "player", 0, None, ["player_0"]])
def test_an_unknown_agent_is_named_with_those_that_there_are(env, agent):
    env.reset(seed=0)
    for question in (env.observe, env.observation_space, env.action_space):
        with pytest.raises(CardEnvsError, match="agents are player_0, player_1, player_2"):
            question(agent)


def test_after_all_have_left_last_says_so(env):
    env.reset(seed=0)
    play(env)
    for _ in env.agent_iter():
        assert env.last()[2]
        env.step(None)
    for observe in (True, False):
        with pytest.raises(CardEnvsError, match=r"last\(\) comes after the end of the game: call reset\(\)$"):
            env.last(observe)
    env.reset()
    assert env.last()[0]["action_mask"].any()


@pytest.mark.parametrize("options", ["x", "", 3, 0, True, 1.5, [], [("chance", [])], (), np.zeros(2), {1}], ids=repr)
def test_options_that_are_no_dict_are_refused_and_the_game_goes_on(env, options):
    env.reset(seed=1)
    before = env._states.tobytes()
    with pytest.raises(CardEnvsError, match=r"^reset's options are .*; allowed: None or a dict$"):
        env.reset(seed=2, options=options)
    assert env._states.tobytes() == before
    play(env)


@pytest.mark.parametrize("max_iter", ["x", None, [1], True, {}])
def test_a_number_of_turns_that_is_none_is_refused(env, max_iter):
    env.reset(seed=0)
    with pytest.raises(CardEnvsError, match=r"^max_iter is .*; allowed: a number$"):
        env.agent_iter(max_iter)


# --- illegal actions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("far", [False, True])
def test_an_illegal_action_ends_the_game_and_costs_the_offender_alone(env, far):
    env.reset(seed=0)
    offender = env.agent_selection
    action = env.action_space(offender).n + 5 if far else int(env.action_masks().argmin())
    env.step(action)
    assert env.rewards == {agent: -1.0 if agent == offender else 0.0 for agent in env.possible_agents}
    assert env.terminations == dict.fromkeys(env.possible_agents, True)
    assert env.truncations == dict.fromkeys(env.possible_agents, False)
    assert {agent for agent, info in env.infos.items() if info["illegal_action"]} == {offender}
    assert env.num_illegal_actions == 1
    assert not any(env.observe(agent)["action_mask"].any() for agent in env.possible_agents)
    paid = {}
    for agent in env.agent_iter():
        paid[agent] = env.last()[1]
        env.step(None)
    assert paid == {agent: -1.0 if agent == offender else 0.0 for agent in env.possible_agents}
    env.reset(seed=0)
    assert not any(info["illegal_action"] for info in env.infos.values())


def test_an_illegal_action_raises_on_request_and_the_game_stays_as_it_was():
    env = card_envs.make("icarus_club", 3, illegal_action="raise")
    env.reset(seed=0)
    before, selected = env._states.tobytes(), env.agent_selection
    action = int(env.action_masks().argmin())
    with pytest.raises(IllegalActionError, match=f"{selected} can't do '{env.action_names[action]}' .*legal actions: "):
        env.step(action)
    assert (env._states.tobytes(), env.agent_selection, env.num_illegal_actions) == (before, selected, 1)
    play(env)
    assert sum(env.rewards.values()) == pytest.approx(0)


# --- chance handed in -----------------------------------------------------------------------------------------------


def first_chance(game, seed):
    """The chance events before the first decision of a seeded game."""
    return [event[1:] for event in RecordedGame(game, seed=seed).events]


@each_variant
def test_chance_handed_in_through_reset_is_what_is_dealt(game):
    table, env = RecordedGame(game, seed=11), CardGameEnv(game)
    env.reset(seed=5, options={"chance": first_chance(game, 11)})
    for seat, agent in enumerate(env.possible_agents):
        np.testing.assert_array_equal(env.observe(agent)["observation"], table.observe(seat))
    assert env.agent_selection == f"player_{table.player}"


def test_chance_that_is_not_handed_in_is_drawn(env):
    env.reset(seed=5, options={"chance": [["first-player", 2]]})
    assert env.agent_selection == "player_2"
    assert env.action_masks().any()


@pytest.mark.parametrize(
    ("chance", "message"),
    [
        ([["deck", []]], "'deck' is not due, expected 'first-player'"),
        ([["first-player", 3]], "a seat is a whole number from 0 to 2"),
        ([["first-player", 1], ["suit-out", "spades"]], "unknown suit-out 'spades'"),
        ([["first-player", 1], ["suit-out", "slots"], ["deck", ["slots-1"]]], "slots-1"),
        ([["first-player"]], r"a chance event is \[KIND, VALUE\]"),
        (["first-player"], r"a chance event is \[KIND, VALUE\]"),
        (7, r"options\['chance'\] is a list of \[KIND, VALUE\], not 7"),
    ],
)
def test_impossible_chance_is_refused_and_the_game_before_goes_on(env, chance, message):
    env.reset(seed=1)
    before = env._states.tobytes()
    with pytest.raises(CardEnvsError, match=message):
        env.reset(seed=2, options={"chance": chance})
    assert env._states.tobytes() == before
    play(env)


def test_too_much_chance_is_refused(env):
    events = first_chance(env.game, 3)
    with pytest.raises(CardEnvsError, match="expected 'a decision'"):
        env.reset(options={"chance": [*events, events[-1]]})


# --- copies ---------------------------------------------------------------------------------------------------------


def test_a_snapshot_fits_another_environment_of_the_same_game_only(env):
    env.reset(seed=0)
    play_on = card_envs.make("icarus_club", 3)
    play_on.restore(env.save())
    play(env)
    play(play_on)
    assert env.rewards == play_on.rewards
    for stranger in (card_envs.make("icarus_club", 5), card_envs.make("icarus_club", 4)):
        with pytest.raises(CardEnvsError, match="this is no snapshot of icarus_club_v0"):
            stranger.restore(env.save())
    for nonsense in ({}, {"game": env.game}, None):
        with pytest.raises(CardEnvsError, match="this is no snapshot"):
            env.restore(nonsense)


def test_restoring_does_not_forget_illegal_attempts():
    env = card_envs.make("icarus_club", 3, illegal_action="raise")
    env.reset(seed=0)
    snapshot = env.save()
    with pytest.raises(IllegalActionError):
        env.step(int(env.action_masks().argmin()))
    env.restore(snapshot)
    assert env.num_illegal_actions == 1


# --- pictures -------------------------------------------------------------------------------------------------------


@each_variant
def test_ansi_returns_the_table_as_text_at_any_time(game):
    env = CardGameEnv(game, render_mode="ansi")
    env.reset(seed=0)
    running = env.render()
    assert isinstance(running, str)
    assert all(agent in running for agent in env.possible_agents)
    play(env)
    ended = env.render()
    assert ended != running
    for _ in env.possible_agents:
        env.step(None)
    assert env.render() == ended


def test_human_prints_the_table_at_reset_and_at_every_action_the_last_one_too(env, capsys):
    env = card_envs.make("icarus_club", 3, render_mode="human")
    env.reset(seed=0)
    assert env.game.title in capsys.readouterr().out
    play(env)
    shown = capsys.readouterr().out
    assert shown.count(env.game.title) > 90
    assert shown.endswith(env.game.render_text(env._states[0]) + "\n")
    env.step(None)
    assert capsys.readouterr().out == ""


def test_rendering_without_a_mode_warns(env):
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode='ansi'"):
        assert env.render() is None


def names_nobody_to_act(text):
    return not re.search(r"player_\d+ to ", text) and not re.search(r"▶.*player_", text) and "nobody to act" in text


@each_variant
def test_after_an_illegal_action_the_picture_says_by_whom_the_game_ended_and_shows_nobody_to_act(game):
    env = CardGameEnv(game, render_mode="ansi")
    env.reset(seed=0)
    for _ in range(5):
        env.step(int(env.action_masks().argmax()))
    offender = env.agent_selection
    assert f"{offender} to " in env.render()
    env.step(-1)
    for text in (env.render(), *map(env.render_seat, env.possible_agents)):
        assert text.startswith(f"{offender} has ended the game by an illegal action\n")
        assert names_nobody_to_act(text)
    twin = CardGameEnv(game, render_mode="ansi")
    twin.restore(env.save())
    assert twin.render() == env.render()
    env.reset(seed=0)
    assert "illegal action" not in env.render()


@each_variant
def test_the_picture_of_a_seat_shows_nothing_hidden(game):
    env, rng = CardGameEnv(game), np.random.default_rng(3)
    words, differing = seed_words(1, 1)[0], 0

    def look():
        return [env.render_seat(agent) for agent in env.possible_agents]

    def is_the_same_whatever_is_hidden():
        nonlocal differing
        kept, before = env._states.copy(), look()
        for seat in range(game.num_players):
            env._kernels.resample(env._states, 0, seat, words)
            differing += env._states.tobytes() != kept.tobytes()
            assert env.render_seat(f"player_{seat}") == before[seat]
            env._states[:] = kept

    env.reset(seed=5)
    while env._player >= 0:
        if rng.random() < 0.1:
            is_the_same_whatever_is_hidden()
        env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
    is_the_same_whatever_is_hidden()
    env.reset(seed=5)
    env.step(-1)
    is_the_same_whatever_is_hidden()
    assert differing, "nothing was hidden, so nothing was tested"


def test_the_picture_of_a_seat_is_there_in_every_mode_and_through_wrappers(env):
    with pytest.raises(CardEnvsError, match=r"call reset\(\) first"):
        env.render_seat("player_0")
    env.reset(seed=0)
    assert env.render_seat("player_1") == env.game.render_text(env._states[0], 1) != env.render_seat("player_0")
    wrapped = OrderEnforcingWrapper(env)
    assert wrapped.render_seat("player_1") == env.render_seat("player_1")
    with pytest.raises(CardEnvsError, match="agents are player_0, player_1, player_2"):
        env.render_seat("player_3")
