"""Whatever is given to the package's doors that can't be right: one short line says what is allowed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import card_envs
from card_envs.arena.tournament import make_plan, play_tournament
from card_envs.envs.sb3 import CardVecEnv
from card_envs.envs.single_agent import SingleAgentEnv
from card_envs.envs.vector import CardVectorEnv
from card_envs.errors import CardEnvsError, shown
from card_envs.games import game_class, make_game, player_counts
from card_envs.policies import make_policy

GAME = make_game("icarus_club", 3)
POLICIES = ["random", "heuristic"]
HUGE = 10**5000  # which Python refuses to write in digits
NEVER_RIGHT = {
    "array of words": np.array(["icons_v0", "b"]),
    "array": np.zeros(1000),
    "table": np.array([[1, 2], [3, 4]]),
    "list": [[3] * 1000],
    "dict": {"a": 1},
    "set": {1},
    "object": object(),
    "number": math.nan,
    "bytes": b"x",
    "word": "x" * 5000,
    "lines": "x\ny",
}
NO_NAME = {**NEVER_RIGHT, "None": None, "huge": HUGE, "type": list}
del NO_NAME["word"], NO_NAME["lines"]  # these are names, which nobody knows


def refused(use, given) -> str:
    with pytest.raises(CardEnvsError) as caught:
        use(given)
    said = str(caught.value)
    assert len(said.splitlines()) == 1
    assert len(said) < 500
    return said


@pytest.mark.parametrize("given", NO_NAME)
@pytest.mark.parametrize("use", [card_envs.make, make_game, game_class, player_counts, CardVectorEnv, SingleAgentEnv])
def test_game(use, given):
    assert "a game is named by its id, such as 'icarus_club_v0', not by " in refused(use, NO_NAME[given])


def test_names_that_fill_a_page():
    for use in (
        game_class,
        lambda name: make_game("icons", **{name: 1}),
        lambda name: make_policy(name, GAME),
        lambda name: card_envs.make("icarus_club").observation_space(name),
    ):
        assert "unknown " in refused(use, "x" * 5000)


@pytest.mark.parametrize("given", [*NEVER_RIGHT, "huge"])
@pytest.mark.parametrize(
    ("make", "names"),
    [
        (card_envs.make, ["num_players", "suits", "render_mode", "illegal_action"]),
        (SingleAgentEnv, ["num_players", "suits", "seat", "skip_forced", "illegal_action"]),
        (CardVectorEnv, ["num_players", "num_envs", "seat", "skip_forced", "autoreset_mode", "render_mode"]),
        (CardVecEnv, ["num_envs", "seat", "skip_forced", "seed"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_arguments_of_environments(make, names, given):
    value = HUGE if given == "huge" else NEVER_RIGHT[given]
    first = {"num_envs": 2} if make in (CardVectorEnv, CardVecEnv) else {}
    for name in names:
        if (name, given) == ("seed", "huge"):
            continue  # as good as any other
        said = refused(lambda odd: make(GAME if make is CardVecEnv else "icarus_club", **(first | {name: odd})), value)  # noqa: B023
        assert f"{name} is " in said
        assert "; allowed: " in said


@pytest.mark.parametrize("given", NEVER_RIGHT)
def test_reset_and_step(given):
    value = NEVER_RIGHT[given]
    env, vector = card_envs.make("icarus_club"), CardVectorEnv("icarus_club", 3)
    refused(lambda value: env.reset(seed=value), value)
    if given != "dict":
        refused(lambda value: env.reset(options=value), value)
    refused(lambda value: env.reset(options={"chance": [value]}), value)
    env.reset(seed=1)
    refused(env.step, value)
    refused(env.observe, value)
    refused(lambda value: vector.reset(seed=value), value)
    vector.reset(seed=np.array(1))
    refused(vector.step, value)


@pytest.mark.parametrize("given", [*NEVER_RIGHT, "huge", "negative"])
def test_arguments_of_tournaments(given):
    value = {"huge": HUGE, "negative": -1, **NEVER_RIGHT}[given]
    for name in ("seed", "records", "until_ci", "time_limit", "faults"):
        if given == "huge" and name != "faults":
            continue
        said = refused(lambda value: play_tournament(GAME, POLICIES, 6, **{name: value}), value)  # noqa: B023
        assert f"{name} is " in said
        assert "; allowed: " in said
    assert "games is " in refused(lambda value: make_plan(GAME, POLICIES, value), value)
    refused(lambda value: make_plan(GAME, [value, value], 6), value)
    if given != "list":
        assert "policies are " in refused(lambda value: make_plan(GAME, value, 6), value)


def test_values_are_shown_in_one_short_line():
    for value in (*NO_NAME.values(), *NEVER_RIGHT.values(), {"x" * 999: {"y" * 999: HUGE}}, [[[[HUGE]]]], range(9)):
        assert len(shown(value).splitlines()) == 1
        assert len(shown(value)) < 300
    for value in (None, True, 7, -0.5, "word", ["a", 1], {"a": [1]}, 10**20):
        assert shown(value) == repr(value)
