"""The single-agent environment and the vector environment as Gymnasium's users meet them."""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from card_envs.envs.single_agent import SingleAgentEnv
from card_envs.envs.vector import CardVectorEnv
from card_envs.errors import CardEnvsError, IllegalActionError, PolicyError
from card_envs.registration import gymnasium_id
from tests.variants import each_game, each_variant

ICARUS = "card_envs/IcarusClub-v0"

pytestmark = pytest.mark.filterwarnings("error")


def gym_id(game):
    return gymnasium_id(game.name)


def options_of(game):
    return {"num_players": game.num_players, **game.options}


def first_legal(env):
    return int(env.unwrapped.action_masks().argmax())


def last_legal(env):
    return int(np.flatnonzero(env.unwrapped.action_masks())[-1])


def play(env, choose=first_legal):
    """The rest of a game; returns the sum of rewards and the last info."""
    total, over, info = 0.0, False, {}
    while not over:
        _, reward, terminated, truncated, info = env.step(choose(env))
        total, over = total + reward, terminated or truncated
    return total, info


# --- one game at a time ---------------------------------------------------------------------------------------------


@each_variant
def test_check_env_passes(game):
    env = gymnasium.make(gym_id(game), **options_of(game))
    env.action_space.seed(0)
    check_env(env.unwrapped, skip_render_check=True)


@each_game
def test_check_env_passes_in_every_render_mode(game, capsys):
    check_env(gymnasium.make(gym_id(game), **options_of(game), render_mode="ansi").unwrapped)


@each_variant
def test_observations_infos_and_masks_are_what_is_declared(game):
    env = gymnasium.make(gym_id(game), **options_of(game), opponents="heuristic")
    observation, info = env.reset(seed=1)
    over = False
    while not over:
        assert env.observation_space.contains(observation)
        assert observation.dtype == np.float32
        mask = info["action_mask"]
        assert mask.dtype == np.int8
        assert mask.shape == (env.action_space.n,)
        assert mask.sum() >= 2, "forced decisions are left out"
        assert info.keys() == {"action_mask", "seat", "score", "rank"}
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample(mask))
        over = terminated or truncated
        assert over or reward == 0
    assert info["action_mask"].all(), "a mask is never empty, after the end it is all ones"
    assert 1 <= info["rank"] <= game.num_players or truncated


def test_what_was_given_out_stays_as_it_was():
    env = SingleAgentEnv("icarus_club", 3)
    observation, info = env.reset(seed=0)
    held = [(observation, info)]
    over = False
    while not over:
        observation, _, terminated, truncated, info = env.step(first_legal(env))
        held.append((observation, info))
        over = terminated or truncated
    again = SingleAgentEnv("icarus_club", 3)
    observation, info = again.reset(seed=0)
    for kept, kept_info in held:
        np.testing.assert_array_equal(kept, observation)
        np.testing.assert_array_equal(kept_info["action_mask"], info["action_mask"])
        if kept is not held[-1][0]:
            action = first_legal(again)
            observation[:] = 0  # writing on what was given changes nothing
            info["action_mask"][:] = 0
            observation, *_, info = again.step(action)


def test_seeds_repeat_a_game_and_zero_is_one():
    def game(seed, opponents="random"):
        env = gymnasium.make(ICARUS, opponents=opponents)
        observation, info = env.reset(seed=seed)
        return observation.tobytes(), info["seat"], play(env)[0], env.reset()[0].tobytes()

    for opponents in ("random", "heuristic"):
        assert game(0, opponents) == game(0, opponents)
        assert len({game(seed, opponents) for seed in range(6)}) == 6


def test_a_reset_without_a_seed_deals_another_game_from_the_same_stream():
    env = gymnasium.make(ICARUS)
    first = env.reset(seed=3)[0]
    second = env.reset()[0]
    assert not np.array_equal(first, second)
    env.reset(seed=3)
    np.testing.assert_array_equal(env.reset()[0], second)


def test_the_learner_sits_where_it_is_told_or_anywhere():
    for seat in range(4):
        env = gymnasium.make(ICARUS, seat=seat)
        assert {env.reset(seed=seed)[1]["seat"] for seed in range(8)} == {seat}
    env = gymnasium.make(ICARUS)
    env.reset(seed=0)
    assert {env.reset()[1]["seat"] for _ in range(60)} == {0, 1, 2, 3}


@pytest.mark.parametrize("seat", [-1, 4, True, 1.0, "0"])
def test_a_seat_that_there_is_not_is_refused(seat):
    with pytest.raises(CardEnvsError, match="allowed: None or a whole number from 0 to 3"):
        SingleAgentEnv("icarus_club", 4, seat=seat)


def test_opponents_by_name_list_mapping_and_object_play():
    class LastLegal:
        name = "last-legal"
        asked = 0

        def act(self, decisions):
            self.asked += len(decisions.rows)
            assert (decisions.action_mask.sum(axis=1) >= 1).all()
            assert decisions.observation.shape == (len(decisions.rows), decisions.observation.shape[1])
            return decisions.action_mask.shape[1] - 1 - decisions.action_mask[:, ::-1].argmax(axis=1)

    mine = LastLegal()
    for opponents in ("random", "heuristic", ["random", mine], {"random": 1, "heuristic": 3.5}, mine):
        env = gymnasium.make(ICARUS, num_players=3, opponents=opponents)
        env.reset(seed=0)
        assert play(env)[0] in (-0.5, 0, 0.25, 1)
    assert mine.asked > 50


def test_a_list_of_opponents_sits_clockwise_from_the_learner():
    class Noted:
        def __init__(self, name):
            self.name, self.seats = name, set()

        def act(self, decisions):
            self.seats |= {int(decisions.states[row].player) for row in decisions.rows}
            return decisions.action_mask.argmax(axis=1)

    left, across = Noted("left"), Noted("across")
    env = SingleAgentEnv("icarus_club", 3, opponents=[left, across], seat=1)
    env.reset(seed=0)
    play(env)
    assert (left.seats, across.seats) == ({2}, {0})


@pytest.mark.parametrize(
    ("opponents", "message"),
    [
        ("heuristik", "did you mean 'heuristic'"),
        ("no/such/model.zip", "there is no model file 'no/such/model.zip'"),
        (["random"], "needs 3, or one for all"),
        ({}, "numbers from 0 with a sum above 0"),
        ({"random": 0}, "numbers from 0 with a sum above 0"),
        ({"random": -1, "heuristic": 2}, "numbers from 0 with a sum above 0"),
        ({"random": float("nan")}, "numbers from 0 with a sum above 0"),
        ({"random": "much"}, "numbers from 0 with a sum above 0"),
        (3, "an object with the method 'act'"),
    ],
)
def test_opponents_that_can_not_play_are_refused(opponents, message):
    with pytest.raises(CardEnvsError, match=message):
        SingleAgentEnv("icarus_club", 4, opponents=opponents)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (np.zeros(1), PolicyError),
        (np.full(1, 200), IllegalActionError),  # a whole number, but no action
        (np.zeros((1, 1), int), PolicyError),
        (None, PolicyError),
    ],
)
def test_an_opponent_that_answers_nonsense_is_named(answer, error):
    class Nonsense:
        def act(self, decisions):
            return answer

    def one_of_ten_games_starts_with_an_opponent():
        env = SingleAgentEnv("icarus_club", 4, opponents=Nonsense())
        for seed in range(10):
            env.reset(seed=seed)

    with pytest.raises(error, match="Nonsense"):
        one_of_ten_games_starts_with_an_opponent()


def test_an_illegal_action_ends_the_game_with_minus_one():
    env = gymnasium.make(ICARUS)
    env.reset(seed=0)
    illegal = int(env.unwrapped.action_masks().argmin())
    _, reward, terminated, truncated, info = env.step(illegal)
    assert (reward, terminated, truncated, info["rank"]) == (-1.0, True, False, 0)
    assert env.unwrapped.num_illegal_actions == 1
    with pytest.raises(IllegalActionError, match=r"call reset\(\)"):
        env.step(0)


def test_an_illegal_action_raises_on_request_and_the_game_goes_on():
    env = gymnasium.make(ICARUS, illegal_action="raise")
    env.reset(seed=0)
    with pytest.raises(IllegalActionError, match="legal actions: "):
        env.step(int(env.unwrapped.action_masks().argmin()))
    total, info = play(env)
    env.reset(seed=0)
    assert (total, info["score"]) == (play(env)[0], info["score"])


@pytest.mark.parametrize("action", [None, 1.0, True, "roulette-1", [1, 2]])
def test_an_action_of_the_wrong_type_is_an_error(action):
    env = SingleAgentEnv("icarus_club")
    env.reset(seed=0)
    with pytest.raises(IllegalActionError, match="an action is a whole number from 0 to"):
        env.step(action)


def test_before_reset_everything_says_so():
    env = SingleAgentEnv("icarus_club", render_mode="ansi")
    with pytest.raises(IllegalActionError, match=r"call reset\(\)"):
        env.step(0)
    with pytest.raises(CardEnvsError, match=r"call reset\(\)"):
        env.render()
    assert env.action_masks().all()


def test_the_picture_shows_what_the_learner_may_know():
    env = SingleAgentEnv("icarus_club", 3, render_mode="ansi", seat=2)
    env.reset(seed=0)
    state = env._learner.tables.states[0]
    assert env.render() == env.game.render_text(state, 2) != env.game.render_text(state)


def test_human_prints_at_reset_and_at_every_step_the_last_one_too(capsys):
    env = SingleAgentEnv("icarus_club", 3, render_mode="human")
    env.reset(seed=0)
    assert env.game.title in capsys.readouterr().out
    play(env)
    assert "the game has ended" in capsys.readouterr().out


@each_game
def test_a_spec_goes_to_json_and_back(game):
    env = gymnasium.make(gym_id(game), **options_of(game), opponents="heuristic", seat=0)
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert again.unwrapped.game == game
    np.testing.assert_array_equal(env.reset(seed=5)[0], again.reset(seed=5)[0])
    assert play(env)[0] == play(again)[0]


NO_SEEDS = [-1, 1.0, "1", "", True, {}, {1}, b"1"]


@pytest.mark.parametrize("seed", [*NO_SEEDS, [1], np.zeros(1, int)], ids=repr)
def test_a_seed_that_is_none_is_refused_and_the_game_goes_on(seed):
    env = SingleAgentEnv("icarus_club", 3)
    env.reset(seed=1)
    mask = env.action_masks()
    with pytest.raises(CardEnvsError, match=r"^seed is .*; allowed: None or a whole number from 0$"):
        env.reset(seed=seed)
    np.testing.assert_array_equal(env.action_masks(), mask)
    play(env)


@pytest.mark.parametrize("options", ["x", "", 3, 0, True, [], (), np.zeros(2), {1}], ids=repr)
@pytest.mark.parametrize("make", [lambda: SingleAgentEnv("icarus_club", 3), lambda: CardVectorEnv("icarus_club", 2, 3)])
def test_options_that_are_no_dict_are_refused(make, options):
    env = make()
    with pytest.raises(CardEnvsError, match=r"^reset's options are .*; allowed: None or a dict$"):
        env.reset(options=options)
    env.reset(options={"other": 1})


@pytest.mark.parametrize("value", [None, "x", "", 1, 0, 1.0, [], np.zeros(2), {}], ids=repr)
@pytest.mark.parametrize("make", [SingleAgentEnv, CardVectorEnv])
def test_skip_forced_is_true_or_false(make, value):
    with pytest.raises(CardEnvsError, match=r"^skip_forced is .*; allowed: True, False$"):
        make("icarus_club", skip_forced=value)


@each_game
def test_after_an_illegal_action_the_picture_says_who_ended_the_game_and_shows_nobody_to_act(game):
    env = gymnasium.make(gym_id(game), **options_of(game), render_mode="ansi", seat=1)
    env.reset(seed=0)
    assert "player_1 to " in env.render()
    env.step(int(env.unwrapped.action_masks().argmin()))
    text = env.render()
    assert text.startswith("player_1 has ended the game by an illegal action\n")
    assert "nobody to act" in text
    assert not re.search(r"player_\d+ to |▶.*player_", text)
    env.reset(seed=0)
    assert "player_1 to " in env.render()


# --- many games at once ---------------------------------------------------------------------------------------------


def make_vec(game_id=ICARUS, num_envs=3, **options):
    return gymnasium.make_vec(game_id, num_envs=num_envs, vectorization_mode="vector_entry_point", **options)


def legal(envs):
    """The last legal action of every game."""
    masks = envs.unwrapped.action_masks()
    return masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)


@each_variant
def test_make_vec_gives_games_within_their_spaces(game):
    envs = make_vec(gym_id(game), num_envs=2, **options_of(game))
    assert isinstance(envs.unwrapped, CardVectorEnv)
    observations, infos = envs.reset(seed=0)
    for _ in range(20):
        assert envs.observation_space.contains(observations)
        assert infos["action_mask"].dtype == np.int8
        assert infos["action_mask"].shape == (2, envs.single_action_space.n)
        assert infos["_action_mask"].all()
        assert (infos["action_mask"].sum(axis=1) >= 2).all()
        actions = legal(envs)
        assert envs.action_space.contains(actions)
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        assert rewards.shape == terminations.shape == truncations.shape == (2,)
        assert rewards.dtype == np.float64
    envs.close()


def test_the_vector_entry_point_is_the_default_and_the_sync_mode_works_too():
    assert isinstance(gymnasium.make_vec(ICARUS, num_envs=2).unwrapped, CardVectorEnv)
    envs = gymnasium.make_vec(ICARUS, num_envs=2, vectorization_mode="sync", num_players=3)
    _, infos = envs.reset(seed=0)
    for _ in range(40):
        *_, infos = envs.step(infos["action_mask"].argmax(axis=1))


def streams(mode, num_envs=3, steps=130, **options):
    """Every row's story without its resets: lists of (observation, reward, ended) per row."""
    envs = make_vec(num_envs=num_envs, autoreset_mode=mode, num_players=3, **options)
    observations, _ = envs.reset(seed=4)
    stories = [[("deal", row.tobytes())] for row in observations]
    ended_before = np.zeros(num_envs, bool)
    for _ in range(steps):
        observations, rewards, terminations, truncations, infos = envs.step(legal(envs))
        ended = terminations | truncations
        for row in range(num_envs):
            if mode == AutoresetMode.NEXT_STEP and ended_before[row]:
                assert rewards[row] == 0
                assert not ended[row]
                stories[row].append(("deal", observations[row].tobytes()))
            elif not ended[row]:
                stories[row].append((observations[row].tobytes(), rewards[row]))
            elif mode == AutoresetMode.NEXT_STEP:
                assert infos["action_mask"][row].all()
                stories[row].append(
                    (observations[row].tobytes(), rewards[row], infos["score"][row], infos["rank"][row])
                )
            else:
                final = infos["final_info"]
                assert infos["_final_obs"][row]
                assert infos["_final_info"][row]
                stories[row].append(
                    (infos["final_obs"][row].tobytes(), rewards[row], final["score"][row], final["rank"][row])
                )
                stories[row].append(("deal", observations[row].tobytes()))
        ended_before = ended
    return stories


@pytest.mark.parametrize("opponents", ["random", "heuristic"])
def test_both_autoreset_modes_tell_the_same_games(opponents):
    same, following = (
        streams(mode, opponents=opponents) for mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP)
    )
    for a, b in zip(same, following, strict=True):
        length = min(len(a), len(b))
        assert a[:length] == b[:length]
        assert sum(moment[0] == "deal" for moment in a[:length]) >= 3


def test_same_step_deals_afresh_in_the_step_of_the_end():
    envs = make_vec(num_players=3)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    envs.reset(seed=0)
    seen = 0
    while seen < 4:
        observations, rewards, terminations, truncations, infos = envs.step(legal(envs))
        ended = terminations | truncations
        assert ("final_obs" in infos) == ended.any()
        if ended.any():
            seen += 1
            np.testing.assert_array_equal(infos["_final_obs"], ended)
            np.testing.assert_array_equal(infos["_final_info"], ended)
            for key in ("score", "rank", "seat"):
                np.testing.assert_array_equal(infos["final_info"][f"_{key}"], ended)
            for row in range(3):
                assert (infos["final_obs"][row] is not None) == ended[row]
                if ended[row]:
                    assert envs.single_observation_space.contains(infos["final_obs"][row])
                    assert not np.array_equal(infos["final_obs"][row], observations[row])
        assert not rewards[~ended].any()
        assert (infos["action_mask"].sum(axis=1) < envs.single_action_space.n).all()


def test_next_step_shows_the_end_and_ignores_the_action_after_it():
    envs = make_vec(num_players=3, autoreset_mode="NextStep")
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    envs.reset(seed=0)
    ended = np.zeros(3, bool)
    while not ended.any():
        final, _, terminations, truncations, infos = envs.step(legal(envs))
        ended = terminations | truncations
    np.testing.assert_array_equal(infos["_score"], ended)
    assert infos["action_mask"][ended].all()
    actions = legal(envs)
    actions[ended] = 10**6  # whatever stands there is ignored
    observations, rewards, terminations, truncations, infos = envs.step(actions)
    assert not rewards[ended].any()
    assert not (terminations | truncations)[ended].any()
    assert not np.array_equal(observations[ended], final[ended])
    assert (infos["action_mask"][ended].sum(axis=1) < envs.single_action_space.n).all()


@pytest.mark.parametrize("mode", ["Disabled", "same_step", None])
def test_another_autoreset_mode_is_refused(mode):
    with pytest.raises(CardEnvsError, match="allowed: 'SameStep', 'NextStep'"):
        make_vec(autoreset_mode=mode)


def test_arrays_of_the_vector_environment_are_fresh():
    envs = make_vec(num_players=3)
    observations, infos = envs.reset(seed=0)
    held, copies = [], []
    for _ in range(80):
        held.append((observations, infos["action_mask"]))
        copies.append((observations.copy(), infos["action_mask"].copy()))
        observations, _, _, _, infos = envs.step(legal(envs))
    for given, kept in zip(held, copies, strict=True):
        np.testing.assert_array_equal(given[0], kept[0])
        np.testing.assert_array_equal(given[1], kept[1])
    before = legal(envs)
    observations[:], infos["action_mask"][:] = 9, 0
    np.testing.assert_array_equal(legal(envs), before)


@each_game
@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_a_batch_leaves_as_one_contiguous_array_at_an_address_that_jax_takes(game, mode):
    envs = make_vec(gym_id(game), num_envs=3, autoreset_mode=mode, **options_of(game))
    observations, infos = envs.reset(seed=0)
    for _ in range(20):
        for array in (observations, infos["action_mask"]):
            assert array.flags.c_contiguous
            assert array.flags.writeable
            assert array.ctypes.data % 64 == 0
            assert array.__dlpack_device__() == (1, 0), "memory of the processor"
        observations, _, _, _, infos = envs.step(legal(envs))


def test_rows_and_adjacent_seeds_share_nothing_and_seeds_repeat():
    envs = make_vec(num_envs=4, num_players=3)
    first = envs.reset(seed=0)[0]
    assert len({row.tobytes() for seed in (0, 1, 2) for row in envs.reset(seed=seed)[0]}) == 12
    np.testing.assert_array_equal(envs.reset(seed=0)[0], first)
    assert not np.array_equal(envs.reset()[0], first)


def test_an_illegal_action_ends_its_own_game_only():
    envs = make_vec(num_players=3)
    envs.reset(seed=0)
    actions = legal(envs)
    actions[1] = envs.unwrapped.action_masks()[1].argmin()
    _, rewards, terminations, truncations, infos = envs.step(actions)
    np.testing.assert_array_equal(rewards, [0, -1, 0])
    np.testing.assert_array_equal(terminations, [False, True, False])
    assert not truncations.any()
    assert infos["final_info"]["rank"][1] == 0
    assert envs.unwrapped.num_illegal_actions == 1


def test_record_episode_statistics_sums_what_the_games_pay():
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(make_vec(num_envs=8, num_players=3))
    envs.reset(seed=0)
    told, paid = [], []
    for _ in range(150):
        _, rewards, terminations, truncations, infos = envs.step(legal(envs))
        ended = terminations | truncations
        paid += rewards[ended].tolist()
        if ended.any():
            told += infos["episode"]["r"][infos["_episode"]].tolist()
    assert len(told) > 20
    np.testing.assert_allclose(told, paid)
    assert {-0.5, 1.0} <= set(paid), "losses are told too"


@pytest.mark.parametrize("num_envs", [0, -1, 1.5, True])
def test_a_number_of_games_that_can_not_be_is_refused(num_envs):
    with pytest.raises(CardEnvsError, match=r"num_envs is .*; allowed: a whole number from 1"):
        CardVectorEnv("icarus_club", num_envs)


@pytest.mark.parametrize("actions", [np.zeros(3), np.zeros(2, int), np.zeros((3, 1), int), 0])
def test_actions_of_the_wrong_shape_or_type_are_refused(actions):
    envs = make_vec()
    envs.reset(seed=0)
    with pytest.raises(CardEnvsError, match=r"expected whole numbers of shape \(3,\)"):
        envs.step(actions)


def test_a_step_before_reset_says_so():
    with pytest.raises(CardEnvsError, match=r"before reset\(\)"):
        make_vec().step(np.zeros(3, int))


def test_a_list_of_seeds_seeds_each_game_as_the_single_agent_environment():
    envs = CardVectorEnv("icarus_club", 3, 3, opponents="heuristic")
    singles = [SingleAgentEnv("icarus_club", 3, opponents="heuristic") for _ in range(3)]
    for seeds in ([7, 0, 7], (1, 2, 3), np.array([4, 5, 6]), [9, None, 8]):
        observations, infos = envs.reset(seed=seeds)
        expected = [
            env.reset(seed=None if seed is None else int(seed)) for env, seed in zip(singles, seeds, strict=True)
        ]
        for _ in range(3):
            np.testing.assert_array_equal(observations, [observation for observation, *_ in expected])
            np.testing.assert_array_equal(infos["action_mask"], [info["action_mask"] for *_, info in expected])
            actions = legal(envs)
            observations, _, terminations, _, infos = envs.step(actions)
            assert not terminations.any()
            expected = [env.step(action) for env, action in zip(singles, actions, strict=True)]


@pytest.mark.parametrize(
    "seeds", [[], [1], [1, 2, 3, 4], [[1, 2, 3]], (1, 2), np.zeros((2, 3), int), range(2)], ids=repr
)
def test_a_list_of_seeds_of_another_length_is_refused_and_the_games_go_on(seeds):
    envs = CardVectorEnv("icarus_club", 3, 3)
    envs.reset(seed=0)
    before = envs._learner.tables.states.tobytes()
    with pytest.raises(CardEnvsError, match=r"^seed has \d entries; allowed: one seed for all, or 3, one a game$"):
        envs.reset(seed=seeds)
    assert envs._learner.tables.states.tobytes() == before


@pytest.mark.parametrize("seed", NO_SEEDS, ids=repr)
def test_a_seed_of_a_batch_that_is_none_is_refused_alone_and_in_a_list(seed):
    envs = CardVectorEnv("icarus_club", 3, 3)
    envs.reset(seed=0)
    before = envs._learner.tables.states.tobytes()
    for seeds in (seed, [0, 1, seed], (seed, 0, 1)):
        with pytest.raises(CardEnvsError, match=r"^seed is .*; allowed: None or a whole number from 0$"):
            envs.reset(seed=seeds)
    assert envs._learner.tables.states.tobytes() == before
