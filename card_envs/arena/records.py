"""Game records: one JSON object a line, enough to replay a game without this project's random numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.errors import CardEnvsError, RecordError, shown, unknown_name
from card_envs.files import atomic_write
from card_envs.games import game_class, list_games
from card_envs.games.game import Game
from card_envs.games.recorded_game import RecordedGame

FORMAT = "card-envs-record/1"
_REQUIRED = ("format", "game", "options", "events", "truncated", "scores", "winners", "returns")


def to_record(table: RecordedGame, **further: Any) -> dict[str, Any]:
    """The record of a finished game.

    Args:
        table: the game, ended by its rules or truncated.
        further: more keys to store (policies, seed); readers ignore those that they don't know.

    Raises:
        RecordError: the game has not ended, or a further key is one of the record's own.
    """
    if not table.over:
        raise RecordError("a game that has not ended can't be saved as a record")
    for key in further:
        if key in (*_REQUIRED, "event_log"):
            raise RecordError(f"{key!r} is a key of the record itself; name the further one otherwise")
    event_log = table.game.event_log(table.state)
    return {
        "format": FORMAT,
        "game": table.game.name,
        "options": table.game.options_to_json(),
        "events": table.events,
        **_ending(table),
        **({"event_log": event_log} if event_log else {}),
        **further,
    }


def _ending(table: RecordedGame) -> dict[str, Any]:
    agents, state = table.game.agents, table.state
    return {
        "truncated": table.truncated,
        "scores": {agent: int(state.score[seat]) for seat, agent in enumerate(agents)},
        "winners": [agent for seat, agent in enumerate(agents) if state.winner[seat]],
        "returns": dict(zip(agents, table.returns().tolist(), strict=True)),
    }


def record_of(game: Game, chance: npt.NDArray[np.uint64], actions: Iterable[int], **further: Any) -> dict[str, Any]:
    """The record of a game that was played in a batch, from its chance words, uint64 (2,), and its actions."""
    table = RecordedGame(game, explicit_chance=True)
    table.states["rng"] = chance
    table.explicit_chance = False
    table.draw_chance()
    for action in actions:
        table.play(int(action))
    return to_record(table, **further)


def write_records(path: str | Path, records: Iterable[dict[str, Any]]) -> int:
    """Writes a `.jsonl` file, whole or not at all; returns how many records it holds."""
    count = 0
    with atomic_write(path, "wb") as file:
        for record in records:
            line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
            file.write(line.encode("utf-8", "backslashreplace"))  # half a surrogate pair becomes JSON's own escape
            count += 1
    return count


def read_records(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a file with their line numbers (from 1), not yet checked against the rules.

    Raises:
        RecordError: the file can't be read, holds nothing, or a line is no record; names the line.
    """
    number = 0
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    record = _parse(line)
                    _check_keys(record)
                except RecordError as error:
                    raise RecordError(f"{path}: line {number}: {error}") from None
                yield number, record
    except OSError as error:
        raise RecordError(f"{path} can't be read: {error.strerror or error}") from None
    if number == 0:
        raise RecordError(f"{path}: line 1: the file is empty, expected one record a line")


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"expected one whole JSON object: {error}") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _check_keys(record: Any) -> None:
    if not isinstance(record, dict):
        raise RecordError(f"expected a JSON object, not {shown(record)}")
    if record.get("format") != FORMAT:
        raise RecordError(f"format is {shown(record.get('format'))}, expected {FORMAT!r}")
    for key in _REQUIRED:
        if key not in record:
            raise RecordError(f"the record has no {key!r}; expected {', '.join(_REQUIRED)}")
    if not isinstance(record["events"], list):
        raise RecordError(f"events are {shown(record['events'])}, expected a list")


def replay(record: dict[str, Any], line: int = 1) -> RecordedGame:
    """Plays a record event by event with every check.

    Args:
        record: a parsed record.
        line: its line in the file, for messages.

    Returns:
        The game at its end.

    Raises:
        RecordError: the first thing that does not follow the rules, with its line (from 1), its event (from 0), and
            what was expected.
    """
    *_, table = positions(record, line)
    return table


def positions(record: dict[str, Any], line: int = 1) -> Iterator[RecordedGame]:
    """The game before each event of a record and at its end: one table, which goes on. See `replay`."""
    try:
        _check_keys(record)
        table = RecordedGame(_game_of(record), explicit_chance=True)
    except (CardEnvsError, RecursionError) as error:  # a value may be nested without end
        raise RecordError(f"line {line}: {_clipped(error)}") from None
    events = record["events"]
    for number, event in enumerate(events):
        yield table
        try:
            _apply(table, event)
        except (CardEnvsError, RecursionError) as error:
            raise RecordError(f"line {line}, event {number}: {_clipped(error)}") from None
    if not table.over:
        due = f"the chance event {table.chance!r}" if table.chance else f"player_{table.player} to {table.phase}"
        raise RecordError(f"line {line}, event {len(events)}: the record stops here, expected {due}")
    for key, expected in _ending(table).items():
        if not _same(record[key], expected):
            found = shown(record[key])
            raise RecordError(f"line {line}, after event {len(events) - 1}: {key}: {found}, expected {expected!r}")
    yield table


def _clipped(error: Exception) -> str:
    text = str(error)
    return text if len(text) <= 1200 else f"{text[:800]} ... {text[-400:]}"


def _game_of(record: dict[str, Any]) -> Game:
    name, options = record["game"], record["options"]
    if not isinstance(name, str) or name not in list_games():
        raise CardEnvsError(unknown_name("game", name if isinstance(name, str) else shown(name), list_games()))
    if not isinstance(options, dict) or options.get("num_players") is None:
        raise CardEnvsError(f"options are {shown(options)}, expected an object that holds num_players")
    cls = game_class(name)
    for option in options:
        if option != "num_players" and option not in cls.option_table:
            raise CardEnvsError(f"{name}: {unknown_name('option', option, ['num_players', *cls.option_table])}")
    return cls.from_record(options)


def _apply(table: RecordedGame, event: Any) -> None:
    if not isinstance(event, list) or not event or not isinstance(event[0], str):
        raise CardEnvsError(f"expected a list that begins with 'chance' or a player, not {shown(event)}")
    if event[0] == "chance":
        if len(event) != 3 or not isinstance(event[1], str):
            raise CardEnvsError(f"expected ['chance', KIND, VALUE], not {shown(event)}")
        table.apply_chance(event[1], event[2])
        return
    if len(event) != 2 or not isinstance(event[1], str):
        raise CardEnvsError(f"expected [PLAYER, ACTION NAME], not {shown(event)}")
    if table.over:
        raise CardEnvsError(f"expected the end of the record: the game has ended before {shown(event)}")
    if table.chance:
        raise CardEnvsError(f"expected the chance event {table.chance!r}, not {shown(event)}")
    if event[0] != f"player_{table.player}":
        raise CardEnvsError(f"expected player_{table.player} to {table.phase}, not {shown(event[0])}")
    table.play(event[1])


def _same(given: Any, expected: Any) -> bool:
    """Equal in type and value; numbers with a fraction (returns) within 1e-9."""
    if isinstance(expected, dict):
        return (
            isinstance(given, dict)
            and given.keys() == expected.keys()
            and all(_same(given[key], expected[key]) for key in expected)
        )
    if isinstance(expected, float):
        number = isinstance(given, (int, float)) and not isinstance(given, bool)
        return number and abs(given) <= 2 * abs(expected) + 1 and abs(given - expected) <= 1e-9
    return type(given) is type(expected) and bool(given == expected)
