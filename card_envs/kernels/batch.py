"""Loops over many states of any game, compiled once per game from its rules.

`for_game(game)` returns the kernels of a game. In all of them a *table* is one game in an array of states, `B` the
number of tables, `A` of actions, `O` the observation's length. Parameters that many of them have:

| name | what |
|---|---|
| `states` | the tables' state records, (B,) |
| `row` | the position of one table |
| `rows` | int64, (k,), the positions of the tables to work on, each once |
| `s` | one state record |
| `at` | `Layout.at`, the segment starts of the observation |
| `mask` | scratch for a mask, int8, (A,); where a kernel's docstring names it, the answer |
| `outcome` | scratch for the value of a chance event, int16, (`Game.max_chance_values`,); likewise |
| `driver` | who answers for a seat: `RANDOM`, `HEURISTIC`, or -1 - k for number k of `networks` |
| `networks` | `kernels.network.Networks`; None for none |
| `rngs` | uint64, (B, 2), the tables' generators for policies, apart from those of chance inside the states |
| `counts` | int64, (B,), decisions taken at each table |
| `log` | int16, (B, L), the actions at each table, `counts` of them; none are kept if L is 0 |

A kernel touches its own rows alone, and releases the interpreter lock: threads may work on different rows of the same
arrays, each with scratch of its own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from card_envs.kernels.jit import borrow, jit
from card_envs.kernels.network import ADVISED, DRAWN, NONE, OPINIONS, new_room, score
from card_envs.kernels.rng import no_opinions, random_legal, split, uniform
from card_envs.kernels.state import RUNNING

if TYPE_CHECKING:
    from card_envs.games.game import Game

# Who answers for a seat inside a kernel. Every number from CALLER up is somebody outside: the kernel stops and asks.
RANDOM, HEURISTIC, CALLER = range(3)
# What `advance` answers instead of a driver's number.
ENDED, LOG_FULL = -1, -2


class Kernels(NamedTuple):
    """The compiled loops of one game; what each does stands in its own docstring, `help(kernels.advance)`."""

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
    opine: Callable[..., Any]
    fast_forward: Callable[..., Any]
    value_actions: Callable[..., Any]
    move: Callable[..., Any]
    play_out: Callable[..., Any]
    returns: Callable[..., Any]
    resample: Callable[..., Any]
    ask_network: Callable[..., Any]


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
    opine_on = rules.opinions
    if opine_on is no_opinions:

        @compiled
        def opine_on(s, mask, rng, out):
            """The hand-written player's choice, without numbers behind it."""
            return heuristic(s, mask, rng)

    @compiled
    def resolve_chance(s, outcome):
        """Draws and carries out all chance that is due."""
        while s.chance != 0:
            count = draw_chance(s, outcome)
            carry_out_chance(s, outcome[:count])

    @compiled
    def move(s, action, outcome):
        """One legal action and all chance after it; for further kernels."""
        apply_action(s, action)
        resolve_chance(s, outcome)

    @compiled
    def fresh(states, row, initial, outcome):
        """A fresh game in one row, dealt with the generator that was in it."""
        r0, r1 = states[row].rng[0], states[row].rng[1]
        states[row] = initial[0]
        s = states[row]
        s.rng[0], s.rng[1] = r0, r1
        resolve_chance(s, outcome)

    @compiled
    def start(states, rows, initial, outcome):
        """A fresh game (`Game.initial`) at each row, dealt with the generator that was in the row."""
        states, rows, initial, outcome = borrow(states, rows, initial, outcome)
        for i in range(rows.shape[0]):
            fresh(states, rows[i], initial, outcome)

    @compiled
    def apply(states, row, action):
        """One legal action; due chance stays due."""
        apply_action(states[row], action)

    @compiled
    def step(states, row, action, mask, outcome):
        """One legal action, chance included, then the mask: the path of the AEC environment.

        Returns:
            The seat to act, whose mask is now in `mask`; -1 after the end, with zeros there.
        """
        s = states[row]
        move(s, action, outcome)
        if s.end == RUNNING:
            legal_actions(s, mask)
            return s.player
        mask[:] = 0
        return -1

    @compiled
    def observe(states, row, seat, at, out):
        """What `seat` may know, into `out` (float32, (O,))."""
        observe_seat(states[row], seat, at[0], out)

    @compiled
    def observe_rows(states, rows, seats, at, out):
        """What `seats[i]` (int64, (k,)) may know at `rows[i]`, into `out[i]` (float32, (k, O))."""
        states, rows, seats, at, out = borrow(states, rows, seats, at, out)
        for i in range(rows.shape[0]):
            observe_seat(states[rows[i]], seats[i], at[0], out[i])

    @compiled
    def legal(states, row, mask):
        """What the seat to act may do, into `mask`; zeros where chance is due or the game has ended.

        Returns:
            How many actions that are.
        """
        s = states[row]
        if s.end == RUNNING and s.chance == 0:
            return legal_actions(s, mask)
        mask[:] = 0
        return 0

    @compiled
    def chance(states, row, outcome):
        """Draws and carries out one due chance event; its value is in `outcome` then, its length is returned."""
        s = states[row]
        count = draw_chance(s, outcome)
        carry_out_chance(s, outcome[:count])
        return count

    @compiled
    def apply_chance(states, row, outcome):
        """Carries out one due chance event with a value handed in."""
        carry_out_chance(states[row], outcome)

    @compiled
    def ask(states, rows, at, places, obs, masks):
        """What the seat to act at `rows[i]` may know and do.

        Beside the parameters above:
            places: int64, (k,): the observation goes into `obs[places[i]]`, the mask into `masks[places[i]]`.
            obs: float32, (m, O).
            masks: int8, (m, A).
        """
        states, rows, at, places, obs, masks = borrow(states, rows, at, places, obs, masks)
        for i in range(rows.shape[0]):
            s = states[rows[i]]
            observe_seat(s, s.player, at[0], obs[places[i]])
            legal_actions(s, masks[places[i]])

    @compiled
    def note(row, action, counts, log):
        """Counts a decision, and keeps it if there is a log."""
        if log.shape[1] > 0:
            log[row, counts[row]] = action
        counts[row] += 1

    @compiled
    def act(states, rows, actions, mask, outcome, counts, log):
        """One action (`actions`, int64, (k,)) at each row, chance included; stops at the first illegal one.

        At a table that has ended every action is illegal.

        Returns:
            The position in `rows` of the illegal action, else -1. Rows before it have moved, it and those after it have
            not.
        """
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

    @functools.partial(compiled, inline=False)
    def ask_network(s, number, mask, rng, networks, room):
        """Fills `room.logits` with what a network thinks of the legal actions."""
        weights, plan = networks.weights[number], networks.plans[number]
        observe_seat(s, s.player, networks.at[0], room.observation)
        advice = np.int64(NONE)
        if plan[OPINIONS] > 0:
            room.opinions[:] = 0.0
            advice = np.int64(opine_on(s, mask, rng, room.opinions))
        elif plan[ADVISED]:
            advice = np.int64(heuristic(s, mask, rng))
        score(weights, plan, mask, advice, room)

    @compiled
    def choose(s, driver, mask, options, rng, networks, room):
        """The choice of `driver` among the `options` 1s of `mask`."""
        if networks is not None:  # noqa: SIM102 - alone, so that without networks the compiler drops it
            if driver < 0 and options > 1:
                ask_network(s, -1 - driver, mask, rng, networks, room)
                return pick(room.logits, mask, networks.plans[-1 - driver, DRAWN], rng)
        if driver == HEURISTIC and options > 1:
            return heuristic(s, mask, rng)
        return random_legal(rng, mask, options)

    @compiled
    def advance(states, rows, drivers, skip_forced, rngs, mask, outcome, counts, log, who, networks):
        """Plays each row on for as long as built-in policies answer.

        Beside the parameters above:
            drivers: int8, (B, max players), who answers for each seat; from `CALLER` up it is somebody outside.
            skip_forced: outsiders aren't asked where there is one legal option, which is taken.
            who: int8, (k,), filled in: `ENDED` where the game has ended, `LOG_FULL` where the log needs more room, else
                the number of the outsider who must decide.
        """
        states, rows, drivers, rngs, mask, outcome, counts, log, who = borrow(
            states, rows, drivers, rngs, mask, outcome, counts, log, who
        )
        room = new_room(networks)
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
                action = choose(s, driver, mask, options, rngs[row], networks, room)
                move(s, action, outcome)
                note(row, action, counts, log)

    @compiled
    def decide(states, rows, driver, rngs, mask, actions, networks):
        """The choice of `driver` for the seat to act at each row, into `actions` (int64, (k,))."""
        states, rows, rngs, mask, actions = borrow(states, rows, rngs, mask, actions)
        room = new_room(networks)
        for i in range(rows.shape[0]):
            s = states[rows[i]]
            options = legal_actions(s, mask)
            actions[i] = choose(s, driver, mask, options, rngs[rows[i]], networks, room)

    @compiled
    def opine(states, rows, rngs, mask, choices, out):
        """What the hand-written player thinks at each row.

        Beside the parameters above:
            choices: int64, (k,), filled in: its choice.
            out: float32, (k, A, `Game.num_opinions`), zeros before: the numbers behind it.
        """
        states, rows, rngs, mask, choices, out = borrow(states, rows, rngs, mask, choices, out)
        for i in range(rows.shape[0]):
            s = states[rows[i]]
            legal_actions(s, mask)
            choices[i] = opine_on(s, mask, rngs[rows[i]], out[i])

    @compiled
    def fast_forward(states, rows, decisions, drivers, rngs, mask, outcome, networks):
        """The first `decisions[i]` (int64, (k,)) decisions of `rows[i]`, but never to the end.

        `drivers` (int8, (B, max players)) says who answers for each seat.
        """
        states, rows, decisions, drivers, rngs, mask, outcome = borrow(
            states, rows, decisions, drivers, rngs, mask, outcome
        )
        room = new_room(networks)
        before = states[:1].copy()
        for i in range(rows.shape[0]):
            s = states[rows[i]]
            for _ in range(decisions[i]):
                before[0] = s
                options = legal_actions(s, mask)
                driver = drivers[rows[i], s.player]
                move(s, choose(s, driver, mask, options, rngs[rows[i]], networks, room), outcome)
                if s.end != RUNNING:
                    states[rows[i]] = before[0]
                    break

    @compiled
    def play_out(s, length, driver, rng, mask, outcome, paid, networks, room):
        """Plays one state on, to its end or for `length` decisions, all by `driver`; for further kernels.

        Into `paid` (float64, (max players,)) go the returns, or what the state is evaluated to (`Rules.evaluate`).
        """
        for _ in range(length):
            if s.end != RUNNING:
                break
            move(s, choose(s, driver, mask, legal_actions(s, mask), rng, networks, room), outcome)
        if s.end == RUNNING:
            evaluate(s, paid)
        else:
            returns(s, paid)

    @compiled
    def value_row(
        s, seat, playouts, length, driver, luck, mask, outcome, paid, legal, copies, seed, rng, out, networks, room
    ):
        """What `value_actions` does for one state, in scratch that is there already."""
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
                    play_out(copies[1], length, driver, rng, mask, outcome, paid, networks, room)
                    out[action] += paid[seat] / playouts

    @compiled
    def value_actions(states, rows, playouts, length, driver, rngs, mask, outcome, out, networks):
        """Values every legal action by playouts.

        A playout begins from what the seat to act can't tell from the state (`resample`). All actions meet the same
        hidden cards and random numbers, so that their differences are sharp.

        Beside the parameters above:
            playouts: int64, (k,), how many after each legal action at `rows[i]`.
            length: decisions of a playout, see `play_out`.
            out: float64, (k, A), filled in: the mean return of the seat to act at `rows[i]`, 0 for illegal actions.
        """
        copies, legal = np.concatenate((states[:1], states[:1])), np.empty_like(mask)
        paid = np.zeros(states[0].winner.shape[0])
        seed, rng = np.zeros(2, np.uint64), np.zeros(2, np.uint64)
        room = new_room(networks)
        out[:] = 0.0
        for i in range(rows.shape[0]):
            s, luck = states[rows[i]], rngs[rows[i]]
            legal_actions(s, legal)
            value_row(
                s,
                s.player,
                playouts[i],
                length,
                driver,
                luck,
                mask,
                outcome,
                paid,
                legal,
                copies,
                seed,
                rng,
                out[i],
                networks,
                room,
            )

    @compiled
    def returns_of(states, rows, out):
        """What the games at `rows` pay, into `out` (float64, (k, players)); 0 for all where they run."""
        for i in range(rows.shape[0]):
            returns(states[rows[i]], out[i])

    @compiled
    def resample(states, row, seat, rng):
        """Replaces what `seat` can't know by a draw from `rng` (uint64, (2,)) among what is possible, see `Rules`."""
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
        opine=opine,
        fast_forward=fast_forward,
        value_actions=value_actions,
        move=move,
        play_out=play_out,
        returns=returns_of,
        resample=resample,
        ask_network=ask_network,
    )


@jit
def pick(logits, mask, drawn, rng):
    """The legal action with the highest logit, or one drawn by the probabilities that the logits stand for."""
    best, highest = NONE, -np.inf
    for action in range(mask.shape[0]):
        if mask[action] and logits[action] > highest:
            best, highest = action, logits[action]
    if drawn:
        total = 0.0
        for action in range(mask.shape[0]):
            if mask[action]:
                total += math.exp(logits[action] - highest)
        point = uniform(rng) * total
        for action in range(mask.shape[0]):
            if mask[action]:
                point -= math.exp(logits[action] - highest)
                if point < 0.0:
                    return action
    return best
