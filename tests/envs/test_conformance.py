"""The conformance suite passes for every game, and finds what is broken on purpose."""

import copy

import gymnasium
import numpy as np
import pytest
from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from card_envs import conformance, list_games
from card_envs.envs.aec import CardGameEnv
from card_envs.errors import CardEnvsError
from card_envs.games import make_game, player_counts
from card_envs.kernels import batch
from tests.variants import VARIANTS, each_variant


@pytest.mark.parametrize("check", conformance.ENV_CHECKS, ids=lambda check: check.__name__)
@each_variant
def test_every_environment_keeps_every_promise(game, check):
    check(CardGameEnv(game), num_games=1)


@pytest.mark.parametrize("check", conformance.GAME_CHECKS, ids=lambda check: check.__name__)
@each_variant
def test_the_rules_of_every_game_keep_every_promise(game, check):
    check(game, num_games=6)


def test_all_games_enumerates_every_registered_game_at_every_player_count():
    found = {(game.name, game.num_players) for game in conformance.all_games()}
    assert found == {(name, n) for name in list_games() for n in player_counts(name)}


@pytest.fixture
def game():
    return make_game("icarus_club", 3)


def test_check_env_takes_an_environment_a_function_or_a_wrapper(game):
    conformance.check_env(CardGameEnv(game), num_games=1)
    conformance.check_env(lambda: OrderEnforcingWrapper(CardGameEnv(game)), num_games=1)


def test_check_env_leaves_out_what_it_is_told_to_and_names_what_it_does_not_know(game):
    conformance.check_env(lambda: PaysTheMoverOnly(game), num_games=1, skip=["check_rewards", "check_record"])
    with pytest.raises(CardEnvsError, match=r"check_reward.*known: check_seeds"):
        conformance.check_env(CardGameEnv(game), skip=["check_reward"])
    with pytest.raises(CardEnvsError, match="PettingZoo AEC environment"):
        conformance.check_env(lambda: gymnasium.Env())


# --- broken on purpose: one promise each ----------------------------------------------------------------------------


def fingerprint(env):
    """A number in [0, 1] that depends on all of the state, hidden cards included."""
    return np.float32(sum(env._states.tobytes()) % 251 / 251)


class Leaks(CardGameEnv):
    def observe(self, agent):
        seen = super().observe(agent)
        seen["observation"][0] = fingerprint(self)
        return seen


class LeaksInInfos(CardGameEnv):
    def _fill_infos(self):
        super()._fill_infos()
        for info in self.infos.values():
            info["hint"] = float(fingerprint(self))


class GivesItsBuffer(CardGameEnv):
    def observe(self, agent):
        seen = super().observe(agent)
        self.__dict__.setdefault("buffer", seen["observation"])[:] = seen["observation"]
        return {**seen, "observation": self.buffer}


class GivesItsMask(CardGameEnv):
    def observe(self, agent):
        seen = super().observe(agent)
        return {**seen, "action_mask": self._mask} if agent == self.possible_agents[self._player] else seen


class ChangesOldInfos(CardGameEnv):
    def step(self, action):
        before = self.infos
        super().step(action)
        for agent in self.infos.keys() & before.keys():
            before[agent]["score"] = 1000
            self.infos[agent] = before[agent]


class IsRebuiltWhenCopied(CardGameEnv):
    def __reduce__(self):
        return type(self), (self.game,)


class DealsOtherwiseWhenCopied(CardGameEnv):
    def __setstate__(self, state):
        super().__setstate__(state)
        self._states["rng"] ^= np.uint64(1)


class SharesItsStateWithCopies(CardGameEnv):
    def __deepcopy__(self, memo):
        twin = copy.copy(self)
        twin._mask = self._mask.copy()
        return twin


class SavesWithoutCopying(CardGameEnv):
    def save(self):
        return {**super().save(), "_states": self._states}


class HasEmptyMasks(CardGameEnv):
    def observe(self, agent):
        seen = super().observe(agent)
        seen["action_mask"][:] = 0
        return seen


class HasMasksForIdleSeats(CardGameEnv):
    def observe(self, agent):
        return {**super().observe(agent), "action_mask": self._mask.copy()}


class HasBooleanMasks(CardGameEnv):
    def observe(self, agent):
        seen = super().observe(agent)
        return {**seen, "action_mask": seen["action_mask"].astype(bool)}


class KeepsMasksAfterTheEnd(CardGameEnv):
    def observe(self, agent):
        seen = super().observe(agent)
        seen["action_mask"][0] |= self._player < 0
        return seen


class OffersTooMuch(CardGameEnv):
    def observe(self, agent):
        seen = super().observe(agent)
        if seen["action_mask"].any():
            seen["action_mask"][np.flatnonzero(seen["action_mask"] == 0)[0]] = 1
        return seen


class HidesALegalAction(CardGameEnv):
    def observe(self, agent):
        seen = super().observe(agent)
        legal = np.flatnonzero(seen["action_mask"])
        if len(legal) > 1:
            seen["action_mask"][legal[-1]] = 0
        return seen


class ReplacesIllegalActions(CardGameEnv):
    def _refuse(self, action):
        self.step(int(self._mask.argmax()))


class ChangesThoughItRefuses(CardGameEnv):
    def _refuse(self, action):
        self.infos = {agent: {**info, "score": -99} for agent, info in self.infos.items()}
        super()._refuse(action)


class FinesNobody(CardGameEnv):
    def _refuse(self, action):
        super()._refuse(action)
        self.rewards = dict.fromkeys(self.agents, 0.0)


class EndsForTheMoverOnly(CardGameEnv):
    def _end(self, truncated):
        mover = self.agent_selection
        super()._end(truncated)
        self.terminations = {agent: agent == mover for agent in self.agents}


class MixesItsFlags(CardGameEnv):
    def _end(self, truncated):
        super()._end(truncated)
        self.terminations["player_0"], self.truncations["player_0"] = False, True


class HasNumpyFlags(CardGameEnv):
    def _end(self, truncated):
        super()._end(truncated)
        self.truncations = {agent: np.bool_(flag) for agent, flag in self.truncations.items()}


class StartsItsEndAtPlayerZero(CardGameEnv):
    def _end(self, truncated):
        mover = self.agent_selection
        super()._end(truncated)
        self.agent_selection = "player_0" if mover != self.possible_agents[-1] else "player_1"


class LeavesAllAtOnce(CardGameEnv):
    def _leave(self, action):
        super()._leave(action)
        self.agents = []


class PaysTheMoverOnly(CardGameEnv):
    def _finish(self):
        super()._finish()
        mover = self.possible_agents[int(self._states[0].player)]
        self.rewards = {agent: reward if agent == mover else 0.0 for agent, reward in self.rewards.items()}
        self._cumulative_rewards = dict(self.rewards)


class PaysEarly(CardGameEnv):
    def step(self, action):
        super().step(action)
        if self._player >= 0:
            self.rewards = dict.fromkeys(self.agents, 0.125)
            self._accumulate_rewards()


class TellsRewardsTwice(CardGameEnv):
    def _end(self, truncated):
        super()._end(truncated)
        self._accumulate_rewards()


class AddsAnInfoAtTheEnd(CardGameEnv):
    def _end(self, truncated):
        super()._end(truncated)
        self.infos["player_0"]["won"] = True


class WritesWordsIntoInfos(CardGameEnv):
    def _fill_infos(self):
        super()._fill_infos()
        for info in self.infos.values():
            info["phase"] = "play"


class ShowsAllTheSame(CardGameEnv):
    def observe(self, agent):
        return {**super().observe(agent), "observation": super().observe("player_0")["observation"]}


class ShowsTheMoverOnly(CardGameEnv):
    def observe(self, agent):
        if self._player >= 0 and agent != self.agent_selection:
            raise KeyError(agent)
        return super().observe(agent)


class DrawsWhenObserved(CardGameEnv):
    def observe(self, agent):
        self._states["rng"] += np.uint64(2)
        return super().observe(agent)


class IgnoresSeeds(CardGameEnv):
    def reset(self, seed=None, options=None):
        super().reset(None, options)


class TakesZeroForNoSeed(CardGameEnv):
    def reset(self, seed=None, options=None):
        super().reset(seed or None, options)


class IgnoresTheLastBitOfSeeds(CardGameEnv):
    def reset(self, seed=None, options=None):
        super().reset(None if seed is None else seed // 2, options)


class DealsTheSameAgain(CardGameEnv):
    def reset(self, seed=None, options=None):
        super().reset(seed or 0, options)


class ForgetsItsOptionsWhenSeeded(CardGameEnv):
    def reset(self, seed=None, options=None):
        super().reset(seed, options)
        if seed is not None:
            self.possible_agents = make_game(self.game.name).agents


class MakesNewSpaces(CardGameEnv):
    def action_space(self, agent):
        return gymnasium.spaces.Discrete(self.game.num_actions)


class LeavesItsSpace(CardGameEnv):
    def observe(self, agent):
        seen = super().observe(agent)
        seen["observation"] *= 2
        return seen


class HasAnotherDtype(CardGameEnv):
    def observe(self, agent):
        seen = super().observe(agent)
        return {**seen, "observation": seen["observation"].astype(np.float64)}


class PlaysByOtherRules(CardGameEnv):
    def step(self, action):
        if action is not None and self.agents and self._player >= 0 and self._mask[action]:
            action = int(self._mask.argmax())
        super().step(action)


BROKEN = {
    Leaks: "check_leak",
    LeaksInInfos: "check_leak",
    GivesItsBuffer: "check_fresh_arrays",
    GivesItsMask: "check_fresh_arrays",
    ChangesOldInfos: "check_fresh_arrays",
    IsRebuiltWhenCopied: "check_copies",
    DealsOtherwiseWhenCopied: "check_copies",
    SharesItsStateWithCopies: "check_copies",
    SavesWithoutCopying: "check_copies",
    HasEmptyMasks: "check_masks",
    HasMasksForIdleSeats: "check_masks",
    HasBooleanMasks: "check_masks",
    KeepsMasksAfterTheEnd: "check_masks",
    OffersTooMuch: "check_legality",
    HidesALegalAction: "check_legality",
    ReplacesIllegalActions: "check_legality",
    ChangesThoughItRefuses: "check_legality",
    FinesNobody: "check_legality",
    EndsForTheMoverOnly: "check_end",
    MixesItsFlags: "check_end",
    HasNumpyFlags: "check_end",
    StartsItsEndAtPlayerZero: "check_end",
    LeavesAllAtOnce: "check_end",
    PaysTheMoverOnly: "check_rewards",
    PaysEarly: "check_rewards",
    TellsRewardsTwice: "check_rewards",
    AddsAnInfoAtTheEnd: "check_infos",
    WritesWordsIntoInfos: "check_infos",
    ShowsAllTheSame: "check_seats",
    ShowsTheMoverOnly: "check_observe",
    DrawsWhenObserved: "check_observe",
    IgnoresSeeds: "check_seeds",
    TakesZeroForNoSeed: "check_seeds",
    IgnoresTheLastBitOfSeeds: "check_seeds",
    DealsTheSameAgain: "check_seeds",
    ForgetsItsOptionsWhenSeeded: "check_seeds",
    MakesNewSpaces: "check_spaces",
    LeavesItsSpace: "check_spaces",
    HasAnotherDtype: "check_spaces",
    PlaysByOtherRules: "check_record",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_promise_is_found_by_its_check(game, broken):
    with pytest.raises(AssertionError, match=f"^{BROKEN[broken]}: "):
        getattr(conformance, BROKEN[broken])(broken(game))


@pytest.mark.parametrize("broken", [Leaks, HasEmptyMasks, PaysTheMoverOnly, IsRebuiltWhenCopied])
def test_check_env_finds_it_too(game, broken):
    with pytest.raises(AssertionError, match=f"^{BROKEN[broken]}: "):
        conformance.check_env(lambda: broken(game))


def test_every_check_has_something_that_it_finds():
    assert {check.__name__ for check in conformance.ENV_CHECKS} == set(BROKEN.values())


# --- broken rules ---------------------------------------------------------------------------------------------------


def break_kernel(monkeypatch, name, make):
    """Puts a broken kernel, made from the good one, in place of `name` for all games."""
    good = batch.for_game

    def broken(game):
        kernels = good(game)
        return kernels._replace(**{name: make(getattr(kernels, name))})

    monkeypatch.setattr(batch, "for_game", broken)


def leaky(observe_rows):
    def observe(states, rows, seats, at, out):
        observe_rows(states, rows, seats, at, out)
        out[:, 3] = [sum(states[row].tobytes()) % 251 / 251 for row in rows]

    return observe


def out_of_bounds(observe_rows):
    def observe(states, rows, seats, at, out):
        observe_rows(states, rows, seats, at, out)
        out[:, 3] = 1.5

    return observe


def forgetful(observe_rows):
    def observe(states, rows, seats, at, out):
        before = out[:, 3].copy()
        observe_rows(states, rows, seats, at, out)
        out[:, 3] = before

    return observe


def cheating(decide):
    def look_at_the_cards(states, rows, driver, rngs, mask, actions, networks):
        decide(states, rows, driver, rngs, mask, actions, networks)
        if driver == batch.HEURISTIC:
            actions += [sum(states[row].tobytes()) % 2 for row in rows]

    return look_at_the_cards


def generous(returns):
    def pay(states, rows, out):
        returns(states, rows, out)
        out += 0.25

    return pay


@pytest.mark.parametrize(
    ("check", "name", "make", "message"),
    [
        (conformance.check_game_leak, "observe_rows", leaky, "sees what it can't know, in place 3"),
        (conformance.check_game_leak, "decide", cheating, "the hand-written player uses what it can't know"),
        (
            conformance.check_game_leak,
            "resample",
            lambda good: lambda *arguments: None,
            "what resample draws for seat 0",
        ),
        (conformance.check_game_play, "observe_rows", out_of_bounds, r"outside \[0, 1\]"),
        (conformance.check_game_play, "observe_rows", forgetful, "is not written"),
        (conformance.check_game_play, "returns", generous, "due are"),
    ],
)
def test_broken_rules_are_found(game, monkeypatch, check, name, make, message):
    break_kernel(monkeypatch, name, make)
    with pytest.raises(AssertionError, match=f"^{check.__name__}: .*{message}"):
        check(game, num_games=4)


def test_a_layout_with_a_gap_is_found():
    game = make_game("icarus_club", 3)
    segments = game.layout.segments
    game.layout.segments = (segments[0], *segments[2:])
    with pytest.raises(AssertionError, match=r"^check_game_layout: segment"):
        conformance.check_game_layout(game)


def test_a_segment_that_describes_illegal_actions_is_found():
    game = make_game("icarus_club", 3)
    game.layout.segments = tuple(
        segment._replace(first_action=0) if segment.name == "hand" else segment for segment in game.layout.segments
    )
    with pytest.raises(AssertionError, match=r"^check_game_play: the rows of segment 'hand'"):
        conformance.check_game_play(game)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("max_decisions", 98, "a game has more than 98 decisions, its max_decisions"),
        ("max_chance_events", 6, "a game has more than 6 chance events, its max_chance_events"),
        ("chance_range", lambda table: 2, "'(first-player|suit-out)' draws .*, chance_range is 2"),
        ("deck_runs", lambda num_cards: [num_cards, 1], "are not 44 cards"),
    ],
)
def test_false_statements_about_chance_are_found(name, value, message):
    game = make_game("icarus_club", 3)
    setattr(game, name, value)
    with pytest.raises(AssertionError, match=f"^check_game_chance: .*{message}"):
        conformance.check_game_chance(game)


def test_a_record_that_is_read_otherwise_is_found(game, monkeypatch):
    monkeypatch.setattr(type(game), "chance_to_json", lambda self, kind, value: tuple(value.tolist()))
    with pytest.raises((AssertionError, CardEnvsError)):
        conformance.check_game_record(game)


# --- somebody else's environment ------------------------------------------------------------------------------------


class HighCard(AECEnv):
    """Two players, a card each; both keep it or swap it for another one. The higher card wins."""

    metadata = {"name": "high_card_v0", "render_modes": [], "is_parallelizable": False}  # noqa: RUF012

    def __init__(self):
        super().__init__()
        self.possible_agents = ["player_0", "player_1"]
        self.agents = []
        self.space = gymnasium.spaces.Dict(
            {
                "observation": gymnasium.spaces.Box(0, 1, (53,), np.float32),
                "action_mask": gymnasium.spaces.Box(0, 1, (3,), np.int8),
            }
        )
        self.actions = gymnasium.spaces.Discrete(3)
        self.rng = np.random.default_rng()

    def observation_space(self, agent):
        return self.space

    def action_space(self, agent):
        return self.actions

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents = self.possible_agents[:]
        self.deck = self.rng.permutation(52)
        self.agent_selection = "player_0"
        self.asked = True
        self.rewards = dict.fromkeys(self.agents, 0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}

    def observe(self, agent):
        seat = self.possible_agents.index(agent)
        observation = np.zeros(53, np.float32)
        observation[self.deck[seat]] = 1
        observation[52] = seat
        to_act = self.asked and agent == self.agent_selection
        return {"observation": observation, "action_mask": np.array([to_act, to_act, 0], np.int8)}

    def step(self, action):
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        if action not in (0, 1):
            raise ValueError(action)
        self._cumulative_rewards[agent] = 0
        self._clear_rewards()
        seat = self.possible_agents.index(agent)
        if action == 1:
            self.deck[[seat, 2 + seat]] = self.deck[[2 + seat, seat]]
        if seat == 0:
            self.agent_selection = "player_1"
        else:
            sign = 1 if self.deck[0] > self.deck[1] else -1
            self.rewards = {"player_0": sign, "player_1": -sign}
            self.terminations = dict.fromkeys(self.agents, True)
            self.asked = False
            self.agent_selection = "player_0"
        self._accumulate_rewards()


class HighCardRebuilt(HighCard):
    def __reduce__(self):
        return type(self), ()


class HighCardAccepting(HighCard):
    def step(self, action):
        super().step(0 if action is not None and self.asked else action)


class HighCardUnpaid(HighCard):
    def step(self, action):
        super().step(action)
        self._cumulative_rewards = {agent: max(0, paid) for agent, paid in self._cumulative_rewards.items()}


def test_a_users_environment_that_keeps_the_promises_passes():
    conformance.check_env(HighCard, num_games=4)


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (HighCardRebuilt, "check_copies"),
        (HighCardAccepting, "check_legality"),
        (HighCardUnpaid, "check_rewards"),
    ],
)
def test_a_users_environment_that_breaks_one_is_told_which(broken, check):
    with pytest.raises(AssertionError, match=f"^{check}: "):
        conformance.check_env(broken, num_games=4)


def test_variants_are_declared_by_each_game():
    for game in VARIANTS:
        assert {} in list(type(game).variants())
