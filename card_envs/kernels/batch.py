"""Loops over many states of any game, compiled once per game from its rules.

`for_game(game)` returns the kernels of a game. In all of them a *table* is one game in an array of states, `B` the
number of tables, `A` of actions, `O` the observation's length; `rows` are int64 positions of the tables to work on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from card_envs.kernels.jit import borrow, jit
from card_envs.kernels.rng import random_legal, split
from card_envs.kernels.state import RUNNING

if TYPE_CHECKING:
    from card_envs.games.game import Game

# Who answers for a seat inside a kernel. Every number from CALLER up is somebody outside: the kernel stops and asks.
RANDOM, HEURISTIC, CALLER = range(3)
# What `advance` answers instead of a driver's number.
ENDED, LOG_FULL = -1, -2


class Kernels(NamedTuple):
    """The compiled loops of one game.

    Attributes:
        start: `(states, rows, initial, outcome)`. A fresh game at each row, dealt with the generator that was in
            the row.
        apply: `(states, row, action)`. One action at one table; due chance stays due.
        step: `(states, row, action, mask, outcome) -> int`. One legal action at one table, chance included, then the
            mask; returns the seat to act, -1 after the end. The path of the AEC environment.
        observe: `(states, row, seat, at, out)`.
        observe_rows: `(states, rows, seats, at, out)`. Observations into `out[i]` for `rows[i]`.
        legal: `(states, row, mask) -> int`.
        chance: `(states, row, outcome) -> int`. Draws and carries out one due chance event; returns its length.
        apply_chance: `(states, row, outcome)`. Carries out one due chance event with an outcome handed in.
        ask: `(states, rows, at, obs, masks)`. Observation into `obs[i]` and mask into `masks[i]` of the seat to act at
            `rows[i]`.
        act: `(states, rows, actions, mask, outcome, counts, log) -> int`. One action at each row; stops at the first
            illegal one and returns its position in `rows`, else -1. Rows before it have moved, it and those after it
            have not. At a table that has ended every action is illegal.
        advance: `(states, rows, drivers, skip_forced, rngs, mask, outcome, counts, log, who)`. Plays each row on until
            it
            has ended (`who[i]` = `ENDED`), somebody outside must decide (`who[i]` = that driver's number), or the log
            needs more room (`LOG_FULL`). `drivers` (int8, (B, max players)) says who answers for each seat; `rngs`
            (uint64, (B, 2)) are the policies' generators; `counts` (int64, (B,)) counts decisions; `log` (int16, (B,
            L)) keeps the actions, unless L is 0.
        decide: `(states, rows, driver, rngs, mask, actions)`. A built-in driver's choice for the seat to act.
        fast_forward: `(states, rows, decisions, driver, rngs, mask, outcome)`. Plays the first `decisions[i]` decisions
            of `rows[i]` with every seat answered by `driver` (`RANDOM` or `HEURISTIC`), but never to the end.
        value_actions: `(states, rows, playouts, length, driver, rngs, mask, outcome, out)`. Into `out[i, a]` (float64,
            (len(rows), A)) the mean return of the seat to act at `rows[i]` over `playouts[i]` playouts after each legal
            action `a`, else 0. A playout begins from what that seat can't tell from the state (`resample`); every seat
            is answered by `driver` (`RANDOM` or `HEURISTIC`), to the end or for `length` decisions, after which the
            state is evaluated (`Rules.evaluate`). All actions meet the same hidden cards and random numbers, so that
            their differences are sharp.
        play: `(states, initial, rngs, steps, at, obs, mask, outcome)`. `steps` random decisions at each table with mask
            and observation at every decision, games starting over by themselves; what the throughput benchmark
            measures.
        move: `(s, action, outcome)`. One legal action and all chance after it, in one state; for further kernels.
        play_out: `(s, length, driver, rng, mask, outcome, paid)`. Plays one state on with every seat answered by
            `driver`, to its end or for `length` decisions; into `paid` (float64, (max players,)) the returns, or what
            they are evaluated to be; likewise.
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
    ask: Callable[..., Any]
    act: Callable[..., Any]
    advance: Callable[..., Any]
    decide: Callable[..., Any]
    fast_forward: Callable[..., Any]
    value_actions: Callable[..., Any]
    play: Callable[..., Any]
    move: Callable[..., Any]
    play_out: Callable[..., Any]
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
    returns, evaluate = rules.returns, rules.evaluate

    @compiled
    def resolve_chance(s, outcome):
        while s.chance != 0:
            count = draw_chance(s, outcome)
            carry_out_chance(s, outcome[:count])

    @compiled
    def move(s, action, outcome):
        apply_action(s, action)
        resolve_chance(s, outcome)

    @compiled
    def fresh(states, row, initial, outcome):
        r0, r1 = states[row].rng[0], states[row].rng[1]
        states[row] = initial[0]
        s = states[row]
        s.rng[0], s.rng[1] = r0, r1
        resolve_chance(s, outcome)

    @compiled
    def start(states, rows, initial, outcome):
        states, rows, initial, outcome = borrow(states, rows, initial, outcome)
        for i in range(rows.shape[0]):
            fresh(states, rows[i], initial, outcome)

    @compiled
    def apply(states, row, action):
        apply_action(states[row], action)

    @compiled
    def step(states, row, action, mask, outcome):
        s = states[row]
        move(s, action, outcome)
        if s.end == RUNNING:
            legal_actions(s, mask)
            return s.player
        mask[:] = 0
        return -1

    @compiled
    def observe(states, row, seat, at, out):
        observe_seat(states[row], seat, at[0], out)

    @compiled
    def observe_rows(states, rows, seats, at, out):
        states, rows, seats, at, out = borrow(states, rows, seats, at, out)
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
    def chance(states, row, outcome):
        s = states[row]
        count = draw_chance(s, outcome)
        carry_out_chance(s, outcome[:count])
        return count

    @compiled
    def apply_chance(states, row, outcome):
        carry_out_chance(states[row], outcome)

    @compiled
    def ask(states, rows, at, obs, masks):
        states, rows, at, obs, masks = borrow(states, rows, at, obs, masks)
        for i in range(rows.shape[0]):
            s = states[rows[i]]
            observe_seat(s, s.player, at[0], obs[i])
            legal_actions(s, masks[i])

    @compiled
    def note(row, action, counts, log):
        if log.shape[1] > 0:
            log[row, counts[row]] = action
        counts[row] += 1

    @compiled
    def act(states, rows, actions, mask, outcome, counts, log):
        states, rows, actions, mask, outcome, counts, log = borrow(states, rows, actions, mask, outcome, counts, log)
        for i in range(rows.shape[0]):
            s = states[rows[i]]
            if s.end != RUNNING or s.chance != 0:
                return i
            legal_actions(s, mask)
            if actions[i] < 0 or actions[i] >= mask.shape[0] or mask[actions[i]] == 0:
                return i
            move(s, actions[i], outcome)
            note(rows[i], actions[i], counts, log)
        return -1

    @compiled
    def choose(s, driver, mask, options, rng):
        if driver == HEURISTIC and options > 1:
            return heuristic(s, mask, rng)
        return random_legal(rng, mask, options)

    @compiled
    def advance(states, rows, drivers, skip_forced, rngs, mask, outcome, counts, log, who):
        states, rows, drivers, rngs, mask, outcome, counts, log, who = borrow(
            states, rows, drivers, rngs, mask, outcome, counts, log, who
        )
        for i in range(rows.shape[0]):
            row = rows[i]
            s = states[row]
            who[i] = ENDED
            while s.end == RUNNING:
                if log.shape[1] > 0 and counts[row] == log.shape[1]:
                    who[i] = LOG_FULL
                    break
                options = legal_actions(s, mask)
                driver = drivers[row, s.player]
                if driver >= CALLER and not (options == 1 and skip_forced):
                    who[i] = driver
                    break
                action = choose(s, driver, mask, options, rngs[row])
                move(s, action, outcome)
                note(row, action, counts, log)

    @compiled
    def decide(states, rows, driver, rngs, mask, actions):
        states, rows, rngs, mask, actions = borrow(states, rows, rngs, mask, actions)
        for i in range(rows.shape[0]):
            s = states[rows[i]]
            options = legal_actions(s, mask)
            actions[i] = choose(s, driver, mask, options, rngs[rows[i]])

    @compiled
    def fast_forward(states, rows, decisions, driver, rngs, mask, outcome):
        states, rows, decisions, rngs, mask, outcome = borrow(states, rows, decisions, rngs, mask, outcome)
        before = states[:1].copy()
        for i in range(rows.shape[0]):
            s = states[rows[i]]
            for _ in range(decisions[i]):
                before[0] = s
                options = legal_actions(s, mask)
                move(s, choose(s, driver, mask, options, rngs[rows[i]]), outcome)
                if s.end != RUNNING:
                    states[rows[i]] = before[0]
                    break

    @compiled
    def play_out(s, length, driver, rng, mask, outcome, paid):
        for _ in range(length):
            if s.end != RUNNING:
                break
            move(s, choose(s, driver, mask, legal_actions(s, mask), rng), outcome)
        if s.end == RUNNING:
            evaluate(s, paid)
        else:
            returns(s, paid)

    @compiled
    def value_row(s, seat, playouts, length, driver, luck, mask, outcome, paid, legal, copies, seed, rng, out):
        luck, mask, outcome, paid, legal = borrow(luck, mask, outcome, paid, legal)
        copies, seed, rng, out = borrow(copies, seed, rng, out)
        for _ in range(playouts):
            copies[0] = s
            resample_state(copies[0], seat, luck)
            split(luck, seed)
            for action in range(legal.shape[0]):
                if legal[action]:
                    copies[1] = copies[0]
                    rng[:] = seed
                    move(copies[1], action, outcome)
                    play_out(copies[1], length, driver, rng, mask, outcome, paid)
                    out[action] += paid[seat] / playouts

    @compiled
    def value_actions(states, rows, playouts, length, driver, rngs, mask, outcome, out):
        copies, legal = np.concatenate((states[:1], states[:1])), np.empty_like(mask)
        paid = np.zeros(states[0].winner.shape[0])
        seed, rng = np.zeros(2, np.uint64), np.zeros(2, np.uint64)
        out[:] = 0.0
        for i in range(rows.shape[0]):
            s, luck = states[rows[i]], rngs[rows[i]]
            legal_actions(s, legal)
            value_row(
                s, s.player, playouts[i], length, driver, luck, mask, outcome, paid, legal, copies, seed, rng, out[i]
            )

    @compiled
    def play(states, initial, rngs, steps, at, obs, mask, outcome):
        states, initial, rngs, at, obs, mask, outcome = borrow(states, initial, rngs, at, obs, mask, outcome)
        for row in range(states.shape[0]):
            s = states[row]
            for _ in range(steps):
                if s.end != RUNNING:
                    fresh(states, row, initial, outcome)
                options = legal_actions(s, mask)
                observe_seat(s, s.player, at[0], obs)
                move(s, random_legal(rngs[row], mask, options), outcome)

    @compiled
    def returns_of(states, rows, out):
        for i in range(rows.shape[0]):
            returns(states[rows[i]], out[i])

    @compiled
    def resample(states, row, seat, rng):
        resample_state(states[row], seat, rng)

    return Kernels(
        start=start,
        apply=apply,
        step=step,
        observe=observe,
        observe_rows=observe_rows,
        legal=legal,
        chance=chance,
        apply_chance=apply_chance,
        ask=ask,
        act=act,
        advance=advance,
        decide=decide,
        fast_forward=fast_forward,
        value_actions=value_actions,
        play=play,
        move=move,
        play_out=play_out,
        returns=returns_of,
        resample=resample,
    )
