"""The functions of a game as they are written, run by the interpreter, beside what is compiled from them."""

from __future__ import annotations

import inspect
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError

from card_envs.conformance.comparing import demand
from card_envs.conformance.playing import choices
from card_envs.conformance.rules import too_many
from card_envs.games.game import Game, Rules
from card_envs.kernels.rng import seed_words
from card_envs.kernels.state import RUNNING

_NAME = "check_game_code"
_GAMES, _DECISIONS = 100, 1_000  # short games are played so many times, long ones until there are so many decisions
_SHORT = 12  # at every decision of so short a game a seat looks, later at every 16th: the interpreter is slow


def check_game_code(game: Game, *, num_games: int = 20, seed: int = 0) -> None:
    """The game's functions run in the interpreter without an error, and do there what they do when they are compiled.

    Compiled code reads and writes past the end of an array without a word; the interpreter names the line. It also
    names a misspelt field better than a compiler can. Games stay within the lengths that they state, so one that would
    never end, or never stop to ask for chance, is found here before a compiled loop runs for ever.

    Prevents: memory that is overwritten, games that hang, rules that a debugger shows otherwise than they run.
    """
    config: Any = numba.config
    for name, function in game.rules._asdict().items():
        bare = inspect.isfunction(function) and not config.DISABLE_JIT
        demand(not bare, _NAME, f"{name} is a plain function: it needs @jit")
    plain = Rules(*_interpreted(game.rules))
    with np.errstate(over="ignore"):  # the generator's arithmetic wraps around on purpose
        written = list(_transcript(game, plain, num_games, seed, _located))
    compiled = _transcript(game, game.rules, num_games, seed, _compiled)
    for (name, told), (_, as_compiled) in zip(written, compiled, strict=True):
        demand(told == as_compiled, _NAME, f"{name} does not do the same in the interpreter as compiled")


Call = Callable[..., Any]


def _transcript(
    game: Game, rules: Rules, num_games: int, seed: int, call: Call
) -> Iterator[tuple[str, tuple[int, bytes]]]:
    """Plays random games with `rules`: the name of each function called, with what it answered and what it wrote."""
    rng, words, at = choices(seed), seed_words(seed, 1)[0], game.layout.at[0]
    value, mask = np.zeros(game.max_chance_values, np.int16), np.zeros(game.num_actions, np.int8)
    observation, paid = np.zeros(game.layout.size, np.float32), np.zeros(game.num_players)
    opinions = np.zeros((game.num_actions, game.num_opinions), np.float32)
    in_all = 0
    for generator in seed_words(seed, max(num_games, _GAMES)):
        states, other, decisions, events = game.initial.copy(), game.initial.copy(), 0, 0
        states["rng"] = generator
        s, drawn = states[0], other[0]

        def told(name: str, *arguments: Any, wrote: Any) -> tuple[str, tuple[int, bytes]]:
            answer = call(name, getattr(rules, name), *arguments)
            return name, (0 if answer is None else int(answer), wrote.tobytes())

        while s.end == RUNNING:
            if s.chance:
                demand(events < game.max_chance_events, _NAME, too_many(game, "chance events", "max_chance_events"))
                events += 1
                yield (drawing := told("draw_chance", s, value, wrote=value))
                yield told("apply_chance", s, value[: drawing[1][0]], wrote=states)
                continue
            demand(decisions < game.max_decisions, _NAME, too_many(game, "decisions", "max_decisions"))
            decisions += 1
            demand(0 <= s.player < game.num_players, _NAME, f"s.player is {s.player}: there is no such seat to act")
            yield (asked := told("legal_actions", s, mask, wrote=mask))
            legal = np.flatnonzero(mask == 1)
            good = asked[1][0] == len(legal)
            demand(good, _NAME, f"legal_actions answers {asked[1][0]}, but there are {len(legal)} ones in its mask")
            demand(len(legal) > 0, _NAME, "a decision has no legal action")
            if decisions <= _SHORT or decisions % 16 == 0:
                seat = int(rng.integers(game.num_players))
                yield told("observe", s, seat, at, observation, wrote=observation)
                other[:] = states
                yield told("resample", drawn, seat, words, wrote=other)
                yield told("heuristic", s, mask, words, wrote=words)
                if game.num_opinions:
                    opinions[:] = 0.0
                    yield told("opinions", s, mask, words, opinions, wrote=opinions)
                yield told("evaluate", s, paid, wrote=paid)
            yield told("apply_action", s, int(rng.choice(legal)), wrote=states)
        yield told("returns", s, paid, wrote=paid)
        for seat in range(game.num_players):
            yield told("observe", s, seat, at, observation, wrote=observation)
        in_all += decisions
        if in_all >= _DECISIONS:
            return


def _located(name: str, function: Call, *arguments: Any) -> Any:
    """Calls a function of the rules in the interpreter; an error is told with its line."""
    try:
        return function(*arguments)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == function.__code__.co_filename] or frames
        at, line = f"{Path(own[-1].filename).name}, line {own[-1].lineno}", own[-1].line
        raise AssertionError(f"{_NAME}: {name} fails at {at}, `{line}`: {type(error).__name__}: {error}") from error


def _compiled(name: str, function: Call, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except NumbaError as error:
        raise AssertionError(f"{_NAME}: {name} can't be compiled: {error}") from None


def _interpreted(functions: tuple[Call, ...]) -> Iterator[Call]:
    """The plain functions behind compiled ones, made to call the plain ones in their turn."""
    plain: dict[Call, Call] = {}
    spaces: dict[int, dict[str, Any]] = {}

    def without_jit(value: Any) -> Any:
        return of(value) if inspect.isfunction(getattr(value, "py_func", None)) else value

    def of(compiled: Call) -> Call:
        if compiled not in plain:
            source = inspect.unwrap(getattr(compiled, "py_func", compiled))
            space = spaces.get(id(source.__globals__))
            if space is None:
                space = spaces[id(source.__globals__)] = {}
            cells = tuple(types.CellType() for _ in source.__closure__ or ())
            function = types.FunctionType(source.__code__, space, source.__name__, source.__defaults__, cells or None)
            plain[compiled] = function
            if not space:
                space |= source.__globals__
                space |= {name: without_jit(value) for name, value in source.__globals__.items()}
            for cell, original in zip(cells, source.__closure__ or (), strict=True):
                cell.cell_contents = without_jit(original.cell_contents)
        return plain[compiled]

    return map(of, functions)
