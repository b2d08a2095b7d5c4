"""Game records: one JSON object a line, enough to replay a game without this project's random numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from card_envs.errors import CardEnvsError, RecordError
from card_envs.files import whole_file
from card_envs.games import make_game
from card_envs.games.game import Game
from card_envs.games.table import Table

FORMAT = "card-envs-record/1"
_REQUIRED = ("format", "game", "options", "events", "truncated", "scores", "winners", "returns")


def to_record(table: Table, **further: Any) -> dict[str, Any]:
    """The record of a finished game.

    Args:
        table: the game, ended by its rules or truncated.
        further: more keys to store (policies, seed); readers ignore those that they don't know.

    Raises:
        RecordError: the game has not ended.
    """
    if not table.over:
        raise RecordError("a game that has not ended can't be saved as a record")
    return {
        "format": FORMAT,
        "game": table.game.name,
        "options": table.game.options_to_json(),
        "events": table.events,
        **_ending(table),
        **further,
    }


def _ending(table: Table) -> dict[str, Any]:
    agents, state = table.game.agents, table.state
    return {
        "truncated": table.truncated,
        "scores": {agent: int(state.score[seat]) for seat, agent in enumerate(agents)},
        "winners": [agent for seat, agent in enumerate(agents) if state.winner[seat]],
        "returns": dict(zip(agents, table.returns().tolist(), strict=True)),
    }


def record_of(game: Game, chance: npt.NDArray[np.uint64], actions: Iterable[int], **further: Any) -> dict[str, Any]:
    """The record of a game that was played in a batch, from its chance words, uint64 (2,), and its actions."""
    table = Table(game, explicit_chance=True)
    table.states["rng"] = chance
    table.explicit_chance = False
    table.draw_chance()
    for action in actions:
        table.play(int(action))
    return to_record(table, **further)


def write_records(path: str | Path, records: Iterable[dict[str, Any]]) -> int:
    """Writes a `.jsonl` file, whole or not at all; returns how many records it holds."""
    count = 0
    with whole_file(path) as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
            count += 1
    return count


def read_records(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a file with their line numbers (from 1), not yet checked against the rules.

    Raises:
        RecordError: the file can't be read, holds nothing, or a line is no record; names the line.
    """
    number = 0
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                yield number, _parse(line, number)
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}: line {number + 1}: can't be read: {error}") from None
    if number == 0:
        raise RecordError(f"{path}: the file is empty, expected is one record a line")


def _parse(line: str, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"line {number}: not one whole JSON object: {error}") from None
    if not isinstance(record, dict):
        raise RecordError(f"line {number}: a record is a JSON object, not {type(record).__name__}")
    if record.get("format") != FORMAT:
        raise RecordError(f"line {number}: format is {record.get('format')!r}, expected is {FORMAT!r}")
    missing = [key for key in _REQUIRED if key not in record]
    if missing:
        raise RecordError(f"line {number}: the record has no {missing[0]!r}")
    return record


def replay(record: dict[str, Any], line: int = 1) -> Table:
    """Plays a record event by event with every check.

    Args:
        record: a parsed record.
        line: its line in the file, for messages.

    Returns:
        The game at its end.

    Raises:
        RecordError: the first thing that does not follow the rules, with its line (from 1), its event (from 0), and what
            was expected.
    """
    for key in _REQUIRED:
        if key not in record:
            raise RecordError(f"line {line}: the record has no {key!r}")
    options, events = record["options"], record["events"]
    if not isinstance(options, dict) or "num_players" not in options:
        raise RecordError(f"line {line}: options must be an object that holds num_players, not {options!r}")
    if not isinstance(events, list):
        raise RecordError(f"line {line}: events must be a list, not {type(events).__name__}")
    try:
        table = Table(make_game(str(record["game"]), **options), explicit_chance=True)
        if record["game"] != table.game.name:
            raise CardEnvsError(f"unknown game {record['game']!r}; did you mean {table.game.name!r}?")
    except (CardEnvsError, TypeError) as error:
        raise RecordError(f"line {line}: {error}") from None
    for number, event in enumerate(events):
        try:
            _apply(table, event)
        except CardEnvsError as error:
            raise RecordError(f"line {line}, event {number}: {error}") from None
    if not table.over:
        due = f"chance event {table.chance!r}" if table.chance else f"player_{table.player} to {table.phase}"
        raise RecordError(f"line {line}, event {len(events)}: the record stops here, expected is {due}")
    _check_ending(record, table, line)
    return table


def _apply(table: Table, event: Any) -> None:
    if not isinstance(event, list) or not event or not isinstance(event[0], str):
        raise CardEnvsError(f"an event is a list that begins with 'chance' or a player, not {str(event)[:60]!r}")
    if event[0] == "chance":
        if len(event) != 3:
            raise CardEnvsError(f"a chance event is ['chance', KIND, VALUE], not {str(event)[:60]}")
        table.apply_chance(event[1], event[2])
        return
    if len(event) != 2 or not isinstance(event[1], str):
        raise CardEnvsError(f"a decision is [PLAYER, ACTION NAME], not {str(event)[:60]}")
    if table.over:
        raise CardEnvsError(f"{event} comes after the end of the game")
    if table.chance:
        raise CardEnvsError(f"expected is the chance event {table.chance!r}, not {event}")
    if event[0] != f"player_{table.player}":
        raise CardEnvsError(f"expected is player_{table.player} to {table.phase}, not {event[0]!r}")
    table.play(event[1])


def _check_ending(record: dict[str, Any], table: Table, line: int) -> None:
    for key, expected in _ending(table).items():
        given = record[key]
        if not _same(given, expected, exact=key != "returns"):
            raise RecordError(f"line {line}: {key} is {given!r}, expected is {expected!r}")


def _same(given: Any, expected: Any, exact: bool) -> bool:
    """Equal in type and value, numbers within 1e-9 unless `exact`."""
    if isinstance(expected, dict):
        return (
            isinstance(given, dict)
            and given.keys() == expected.keys()
            and all(_same(given[key], expected[key], exact) for key in expected)
        )
    if isinstance(expected, float) and not exact:
        return isinstance(given, (int, float)) and not isinstance(given, bool) and abs(given - expected) <= 1e-9
    return type(given) is type(expected) and bool(given == expected)
