"""Loops over many states of any game, compiled once per game from its rules.

`for_game(game)` returns the kernels of a game. In all of them a *table* is one game in an array of states, `B` the number of
tables, `A` of actions, `O` the observation's length; `rows` are int64 positions of the tables to work on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from card_envs.kernels.jit import jit
from card_envs.kernels.rng import random_legal
from card_envs.kernels.state import RUNNING, returns

if TYPE_CHECKING:
    from card_envs.games.game import Game

# Who answers for a seat inside a kernel. Every number from OUTSIDE up is somebody outside: the kernel stops and asks.
RANDOM, HEURISTIC, OUTSIDE = range(3)


class Kernels(NamedTuple):
    """The compiled loops of one game.

    Attributes:
        start: `(states, rows, initial, value)`. A fresh game at each row, dealt with the generator that was in the row.
        apply: `(states, row, action)`. One action at one table; due chance stays due.
        step: `(states, row, action, mask, value)`. One action at one table, chance included, then the mask; the AEC path.
        observe: `(states, row, seat, at, out)`.
        observe_rows: `(states, rows, seats, at, out)`. Observations into `out[i]` for `rows[i]`.
        legal: `(states, row, mask) -> int`.
        chance: `(states, row, value) -> int`. Draws and carries out one due chance event; returns its length.
        apply_chance: `(states, row, value)`. Carries out one due chance event with a value handed in.
        act: `(states, rows, actions, mask, value) -> int`. One action at each row; stops at the first illegal one and returns
            its position in `rows`, else -1. Rows before it have moved, it and those after it have not.
        advance: `(states, rows, drivers, skip_forced, rngs, mask, value, counts) -> None`. Plays each row on until it has ended or somebody
            outside must decide. `drivers` (int8, (B, players)) says who answers for each seat.
        play: `(states, initial, rngs, steps, at, obs, mask, value)`. `steps` random decisions at each table with mask and
            observation at every decision, games starting over by themselves; what the throughput benchmark measures.
        returns: `(states, rows, out)`. Returns of ended games, float64, (len(rows), players).
        resample: `(states, row, seat, rng)`.
    """

    start: Callable[..., Any]
    apply: Callable[..., Any]
    step: Callable[..., Any]
    observe: Callable[..., Any]
    observe_rows: Callable[..., Any]
    legal: Callable[..., Any]
    chance: Callable[..., Any]
    apply_chance: Callable[..., Any]
    act: Callable[..., Any]
    advance: Callable[..., Any]
    play: Callable[..., Any]
    returns: Callable[..., Any]
    resample: Callable[..., Any]


def for_game(game: Game | type[Game]) -> Kernels:
    """The kernels of a game, made at the first call and compiled (or found on disk) when they are first used."""
    return _build(game.name, game.rules)


@functools.cache
def _build(name: str, rules: Any) -> Kernels:
    compiled = functools.partial(jit, game=name, rules=rules.apply_action)
    draw_chance, carry_out_chance = rules.draw_chance, rules.apply_chance
    legal_actions, apply_action, observe_seat = rules.legal_actions, rules.apply_action, rules.observe
    heuristic, resample_state = rules.heuristic, rules.resample

    @compiled
    def resolve_chance(s, value):
        while s.chance != 0:
            count = draw_chance(s, value)
            carry_out_chance(s, value[:count])

    @compiled
    def move(s, action, value):
        apply_action(s, action)
        resolve_chance(s, value)

    @compiled
    def fresh(states, row, initial, value):
        r0, r1 = states[row].rng[0], states[row].rng[1]
        states[row] = initial[0]
        s = states[row]
        s.rng[0], s.rng[1] = r0, r1
        resolve_chance(s, value)

    @compiled
    def start(states, rows, initial, value):
        for i in range(rows.shape[0]):
            fresh(states, rows[i], initial, value)

    @compiled
    def apply(states, row, action):
        apply_action(states[row], action)

    @compiled
    def step(states, row, action, mask, value):
        s = states[row]
        move(s, action, value)
        if s.end == RUNNING:
            legal_actions(s, mask)
        else:
            mask[:] = 0

    @compiled
    def observe(states, row, seat, at, out):
        observe_seat(states[row], seat, at[0], out)

    @compiled
    def observe_rows(states, rows, seats, at, out):
        for i in range(rows.shape[0]):
            observe_seat(states[rows[i]], seats[i], at[0], out[i])

    @compiled
    def legal(states, row, mask):
        s = states[row]
        if s.end == RUNNING and s.chance == 0:
            return legal_actions(s, mask)
        mask[:] = 0
        return 0

    @compiled
    def chance(states, row, value):
        s = states[row]
        count = draw_chance(s, value)
        carry_out_chance(s, value[:count])
        return count

    @compiled
    def apply_chance(states, row, value):
        carry_out_chance(states[row], value)

    @compiled
    def act(states, rows, actions, mask, value):
        for i in range(rows.shape[0]):
            s = states[rows[i]]
            legal_actions(s, mask)
            if actions[i] < 0 or actions[i] >= mask.shape[0] or mask[actions[i]] == 0:
                return i
            move(s, actions[i], value)
        return -1

    @compiled
    def advance(states, rows, drivers, skip_forced, rngs, mask, value, counts):
        for i in range(rows.shape[0]):
            row = rows[i]
            s = states[row]
            while s.end == RUNNING:
                options = legal_actions(s, mask)
                driver = drivers[row, s.player]
                if driver == RANDOM or (options == 1 and skip_forced):
                    action = random_legal(rngs[row], mask, options)
                elif driver == HEURISTIC:
                    action = heuristic(s, mask, rngs[row])
                else:
                    break
                move(s, action, value)
                counts[row] += 1

    @compiled
    def play(states, initial, rngs, steps, at, obs, mask, value):
        for row in range(states.shape[0]):
            s = states[row]
            for _ in range(steps):
                if s.end != RUNNING:
                    fresh(states, row, initial, value)
                options = legal_actions(s, mask)
                observe_seat(s, s.player, at[0], obs)
                move(s, random_legal(rngs[row], mask, options), value)

    @compiled
    def returns_of(states, rows, out):
        for i in range(rows.shape[0]):
            returns(states[rows[i]], out[i])

    @compiled
    def resample(states, row, seat, rng):
        resample_state(states[row], seat, rng)

    return Kernels(
        start, apply, step, observe, observe_rows, legal, chance, apply_chance, act, advance, play, returns_of, resample
    )
