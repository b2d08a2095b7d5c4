"""Game records: written as the format says, read back, replayed with every check, and never half-written."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from card_envs.arena.records import positions, read_records, replay, to_record, write_records
from card_envs.errors import CardEnvsError, RecordError
from card_envs.games import list_games, make_game, player_counts
from card_envs.games.recorded_game import RecordedGame
from tests.arena.helpers import played

TABLES = [(name, n) for name in list_games() for n in player_counts(name)]
KEYS = ["format", "game", "options", "events", "truncated", "scores", "winners", "returns"]


@functools.cache
def _valid() -> str:
    return json.dumps(played("icarus_club_v0", 3, 1, seed=5)[1][0])


@pytest.fixture
def record() -> dict[str, Any]:
    """A fresh valid record of The Icarus Club with three players."""
    return json.loads(_valid())


def refused(record: Any, line: int = 1) -> str:
    with pytest.raises(RecordError) as caught:
        replay(record, line)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 1300
    return message


def read(path: Any) -> list[dict[str, Any]]:
    return [record for _, record in read_records(path)]


def first_decision(record: dict[str, Any]) -> int:
    return next(i for i, event in enumerate(record["events"]) if event[0] != "chance")


def test_positions_are_the_table_before_each_event_and_at_the_end(record):
    seen = [(len(table.events), table.chance, table.over) for table in positions(record)]
    events = record["events"]
    assert [number for number, _, _ in seen] == list(range(len(events) + 1))
    assert [over for _, _, over in seen] == [False] * len(events) + [True]
    assert [chance for _, chance, _ in seen[:-1]] == [event[1] if event[0] == "chance" else "" for event in events]


# --- the format


@pytest.mark.parametrize(("name", "num_players"), TABLES)
def test_record_is_written_as_the_format_says(name, num_players, tmp_path):
    results, records = played(name, num_players, 3, seed=1)
    assert write_records(tmp_path / "games.jsonl", records) == 3
    text = (tmp_path / "games.jsonl").read_bytes()
    assert text.endswith(b"}\n")
    lines = text.decode("utf-8").split("\n")[:-1]
    assert len(lines) == 3
    game = make_game(name, num_players)
    for line, returns, scores, wins in zip(lines, results.returns, results.scores, results.wins, strict=True):
        record = json.loads(line)
        assert list(record) == KEYS + ["event_log"] * (name == "ice_points_v0")
        assert record["format"] == "card-envs-record/1"
        assert record["game"] == name
        assert record["options"] == game.options_to_json()
        assert record["options"]["num_players"] == num_players
        assert not {"render_mode", "illegal_action"} & record["options"].keys()
        assert type(record["truncated"]) is bool
        assert list(record["scores"]) == list(record["returns"]) == game.agents
        assert all(type(score) is int for score in record["scores"].values())
        assert list(record["scores"].values()) == scores.tolist()
        assert list(record["returns"].values()) == pytest.approx(returns.tolist(), abs=1e-9)
        assert record["winners"] == [agent for agent, win in zip(game.agents, wins, strict=True) if win]
        for event in record["events"]:
            if event[0] == "chance":
                assert len(event) == 3
                assert event[1] in game.chance_kinds[1:]
            else:
                assert len(event) == 2
                assert event[0] in game.agents
                assert event[1] in game.action_names


def test_record_of_the_icarus_club_begins_as_the_rules_say(record):
    kinds = [event[1] for event in record["events"] if event[0] == "chance"]
    assert kinds == ["first-player", "suit-out", "deck", "suit-out", "deck", "suit-out", "deck"]
    first, suit, deck = record["events"][:3]
    assert type(first[2]) is int
    assert suit[2] in ("roulette", "craps", "poker", "blackjack", "slots")
    assert len(set(deck[2])) == len(deck[2]) == 44
    assert not any(card.startswith(suit[2]) for card in deck[2])
    assert record["events"][3][0] == f"player_{first[2]}"
    hand = 11 * first[2]
    assert record["events"][3][1] in deck[2][hand : hand + 11]


def test_record_of_ice_points_tells_what_came_of_every_card():
    _, records = played("ice_points_v0", 5, 1, seed=3)
    table = replay(records[0])
    told = records[0]["event_log"]
    decks = [event[2] for event in records[0]["events"] if event[0] == "chance"]
    assert [line.split(":")[0].split()[-1] for line in told] == decks[0] + decks[1]
    assert told == [str(event) for event in table.game.events(table.state)]
    assert {line.split()[0] for line in told} == set(table.game.agents)
    for words in ("for the first turn", "is skipped", "in the centre", "from the centre", "on the left"):
        assert any(words in line for line in told)
    with pytest.raises(RecordError, match="event_log"):
        to_record(table, event_log=[])
    assert replay(records[0] | {"event_log": ["of another program"]}).over  # words are no rules


def test_game_that_has_not_ended_is_no_record():
    with pytest.raises(RecordError, match="has not ended"):
        to_record(RecordedGame(make_game("icarus_club"), seed=0))


def test_further_keys_are_kept_and_never_replace_those_of_the_record(record):
    table = replay(record)
    further = to_record(table, seed=7, policies=["random"] * 3)
    assert list(further) == [*KEYS, "seed", "policies"]
    for key in KEYS:
        with pytest.raises(RecordError, match=key):
            to_record(table, **{key: 1})


# --- round trips


@pytest.mark.parametrize(("name", "num_players"), TABLES)
def test_many_games_survive_writing_reading_and_replaying(name, num_players, tmp_path):
    results, records = played(name, num_players, 25, seed=2)
    path = tmp_path / "games.jsonl"
    write_records(path, records)
    numbered = list(read_records(path))
    assert [line for line, _ in numbered] == list(range(1, 26))
    for (line, record), original, returns in zip(numbered, records, results.returns, strict=True):
        table = replay(record, line)
        assert to_record(table) == original == record
        np.testing.assert_array_equal(table.returns(), returns)


def test_keys_in_any_order_and_unknown_keys_are_read(record):
    other = {"comment": {"deep": [1, None, {"x": []}]}, **dict(reversed(record.items())), "version": "9"}
    assert to_record(replay(other)) == record


def test_returns_agree_to_a_billionth(record):
    record["returns"] = {agent: value + 5e-10 for agent, value in record["returns"].items()}
    replay(record)
    record["returns"]["player_0"] += 2e-9
    assert "returns" in refused(record)


def test_whole_returns_may_be_written_without_a_fraction(record):
    record["returns"] = {agent: int(v) if v == int(v) else v for agent, v in record["returns"].items()}
    assert any(type(value) is int for value in record["returns"].values())
    replay(record)


def test_half_a_surrogate_pair_in_a_further_key_can_be_written(record, tmp_path):
    write_records(tmp_path / "a.jsonl", [record | {"policies": ["\udce9"], "title": "Ürgüp 🂡"}])
    (again,) = read(tmp_path / "a.jsonl")
    assert again["policies"] == ["\udce9"]
    assert again["title"] == "Ürgüp 🂡"
    assert "Ürgüp 🂡".encode() in (tmp_path / "a.jsonl").read_bytes()


# --- files that are no records


def replay_all(path: Any) -> None:
    for line, record in read_records(path):
        replay(record, line)


def file_refused(path: Any, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(RecordError) as caught:
        replay_all(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (b"", "JSON object"),
        (b"{", "JSON object"),
        (b"[1, 2]", "JSON object"),
        (b"null", "JSON object"),
        (b"17", "JSON object"),
        (b'{"a": 1}', "'card-envs-record/1'"),
        (b'{"format": "card-envs-record/2"}', "'card-envs-record/1'"),
        (b'{"format": ["card-envs-record/1"]}', "'card-envs-record/1'"),
        (b'{"format": "card-envs-record/1"}', "'game'"),
        (b'{"a": NaN}', "NaN"),
        (b"\xff\xfe\x00broken", "utf-8"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "utf-8"),
        ("\ufeff{}".encode(), "JSON object"),
        ("{}".encode("utf-16"), "utf-8"),
        (b"[" * 100_000, "JSON object"),
        (b'{"a": ' + b"9" * 5000 + b"}", "JSON object"),
        (b'{"a": 1} {"b": 2}', "JSON object"),
    ],
    ids=lambda value: None if isinstance(value, str) else repr(value[:24]),
)
def test_line_that_is_no_record_is_named(bad, expected, tmp_path):
    message = file_refused(tmp_path / "x.jsonl", _valid().encode() + b"\n" + bad + b"\n" + _valid().encode() + b"\n")
    assert f"{tmp_path / 'x.jsonl'}: line 2: " in message
    assert expected in message


def test_line_of_a_wrong_byte_is_named_far_into_a_file(tmp_path):
    lines = [_valid().encode()] * 40
    lines[33] = lines[33].replace(b"craps", b"cr\xe4ps", 1)
    assert "line 34: " in file_refused(tmp_path / "x.jsonl", b"\n".join(lines))


def test_truncated_file_names_its_last_line(tmp_path):
    whole = (_valid() + "\n").encode() * 3
    for end in (len(whole) - 10, 2 * len(whole) // 3 + 1, 2 * len(whole) // 3 + 700):
        message = file_refused(tmp_path / "x.jsonl", whole[:end])
        assert "line 3: expected one whole JSON object" in message


def test_file_without_its_last_line_break_is_whole(tmp_path):
    (tmp_path / "x.jsonl").write_text(_valid())
    assert len(read(tmp_path / "x.jsonl")) == 1


def test_line_breaks_of_windows_are_read(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(f"{_valid()}\r\n{_valid()}\r\n".encode())
    assert len(read(tmp_path / "x.jsonl")) == 2


def test_empty_missing_and_unreadable_files_are_refused(tmp_path):
    assert "empty" in file_refused(tmp_path / "x.jsonl", b"")
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(RecordError, match=r"can't be read: \w+"):
            read(path)


# --- records that do not follow the rules


@pytest.mark.parametrize("key", KEYS)
def test_missing_key_is_named(key, record):
    del record[key]
    message = refused(record, line=4)
    assert message.startswith("line 4: ")
    assert repr(key) in message or key in message


WRONG = [
    None,
    True,
    0,
    -1,
    1.5,
    float("nan"),
    float("inf"),
    10**400,
    "",
    "3",
    "x" * 5000,
    [],
    {},
    [[[[[[[[]]]]]]]],
    ["chance"],
    {"num_players": "3"},
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:20])
def test_wrong_type_of_a_key_is_refused(key, value, record):
    record[key] = value
    assert refused(record, line=9).startswith("line 9")


@pytest.mark.parametrize("value", [*WRONG, 2, 6, 3.0, "4"], ids=lambda value: repr(value)[:20])
def test_player_count_that_is_not_allowed_is_refused(value, record):
    record["options"]["num_players"] = value
    message = refused(record)
    assert message.startswith("line 1: ")
    assert "num_players" in message


@pytest.mark.parametrize("option", ["colour", "name", "self", "render_mode", "illegal_action", "num_player", ""])
def test_unknown_option_is_named_with_those_that_there_are(option, record):
    record["options"][option] = 1
    message = refused(record)
    assert repr(option) in message
    assert "num_players" in message


@pytest.mark.parametrize("game", ["icarus_club", "icarus_club_v1", "chess", "", ["icarus_club_v0"], None, 7])
def test_unknown_game_is_named_with_those_that_there_are(game, record):
    record["game"] = game
    assert "'icarus_club_v0'" in refused(record) or "icarus_club_v0" in refused(record)


@pytest.mark.parametrize(
    "event",
    [
        None,
        True,
        5,
        "chance",
        {},
        [],
        [None],
        [5, "slots-1"],
        [["player_0"], "slots-1"],
        ["player_0"],
        ["player_0", 5],
        ["player_0", None],
        ["player_0", ["slots-1"]],
        ["player_0", "slots-1", 1],
        ["chance"],
        ["chance", "deck"],
        ["chance", "deck", [], []],
        ["chance", None, 1],
        ["chance", ["deck"], 1],
        ["Chance", "deck", []],
    ],
    ids=repr,
)
@pytest.mark.parametrize("at", [0, 3, -1])
def test_event_of_a_wrong_form_is_named(event, at, record):
    number = at % len(record["events"])
    record["events"][at] = event
    message = refused(record, line=3)
    assert message.startswith(f"line 3, event {number}: ")
    assert "expected" in message


def test_deeply_nested_values_are_refused_without_trouble(record):
    nest: Any = []
    for _ in range(50_000):
        nest = [nest]
    for place in (("events", 0), ("scores", "player_0"), ("options", "num_players")):
        bad = copy.copy(record)
        bad[place[0]] = copy.copy(record[place[0]])
        bad[place[0]][place[1]] = nest
        refused(bad)


def test_action_that_is_illegal_is_named_with_the_legal_ones(record):
    at = first_decision(record)
    deck, player = record["events"][2][2], int(record["events"][at][0][-1])
    hand = deck[11 * player : 11 * player + 11]
    record["events"][at][1] = next(card for card in deck if card not in hand)
    message = refused(record, line=6)
    assert message.startswith(f"line 6, event {at}: ")
    assert record["events"][at][1] in message
    legal = message.rpartition("legal actions: ")[2].split(", ")
    assert set(legal) <= set(hand)
    assert legal


@pytest.mark.parametrize("action", ["no-such-card", "lane-1", "", "Slots-4"])
def test_action_that_does_not_exist_here_is_named(action, record):
    at = first_decision(record)
    record["events"][at][1] = action
    message = refused(record)
    assert message.startswith(f"line 1, event {at}: ")
    assert repr(action) in message


def test_wrong_player_is_named_with_the_right_one(record):
    at = first_decision(record)
    right = record["events"][at][0]
    for wrong in ("player_0", "player_1", "player_2", "player_3", "Player_0", "player_-1"):
        if wrong != right:
            record["events"][at][0] = wrong
            message = refused(record)
            assert message.startswith(f"line 1, event {at}: expected {right} to play, not ")


@pytest.mark.parametrize("seat", [-1, 3, 1.0, True, "1", None, [1], float("nan"), 10**30])
def test_first_player_that_is_no_seat_is_refused(seat, record):
    record["events"][0][2] = seat
    assert refused(record).startswith("line 1, event 0: a seat is a whole number from 0 to 2")


@pytest.mark.parametrize("suit", ["hearts", "", None, 3, ["craps"], {"craps": 1}])
def test_suit_out_that_is_no_suit_is_refused(suit, record):
    record["events"][1][2] = suit
    message = refused(record)
    assert message.startswith("line 1, event 1: ")
    assert "blackjack, craps, poker, roulette, slots" in message


def test_wrong_decks_are_refused_by_card(record):
    deck = record["events"][2][2]
    out = record["events"][1][2]

    def with_deck(cards: Any) -> str:
        record["events"][2][2] = cards
        message = refused(record)
        assert message.startswith("line 1, event 2: ")
        return message

    assert repr(deck[-1]) in with_deck(deck[:-1])
    assert f"{deck[0]!r} is in the deck too often" in with_deck([*deck, deck[0]])
    assert f"{deck[0]!r} is in the deck too often" in with_deck([*deck[:-1], deck[0]])
    assert "'joker' does not belong" in with_deck([*deck[:-1], "joker"])
    assert f"'{out}-1' does not belong" in with_deck([*deck[:-1], f"{out}-1"])
    assert "44 card names" in with_deck([*deck[:-1], 7])
    assert "44 card names" in with_deck([deck])
    assert "44 card names" in with_deck(" ".join(deck))
    assert "44 card names" in with_deck(None)
    assert "44" in with_deck([])


def test_chance_of_another_kind_is_named_with_the_due_one(record):
    record["events"][0][1] = "deck"
    assert refused(record) == "line 1, event 0: chance event 'deck' is not due, expected 'first-player'"


def test_chance_that_is_not_due_and_decision_before_chance_are_refused(record):
    at = first_decision(record)
    early = copy.deepcopy(record)
    early["events"].insert(at, record["events"][at - 1])
    assert refused(early).startswith(f"line 1, event {at}: no chance event is due: ")
    late = copy.deepcopy(record)
    del late["events"][at - 1]
    assert refused(late).startswith(f"line 1, event {at - 1}: expected the chance event 'deck'")


def test_events_after_the_end_are_refused(record):
    count = len(record["events"])
    for event in (["player_0", "slots-1"], ["chance", "deck", []]):
        longer = copy.deepcopy(record)
        longer["events"].append(event)
        message = refused(longer)
        assert message.startswith(f"line 1, event {count}: ")
        assert "the game has ended" in message


def test_record_that_stops_early_is_refused_wherever_it_stops(record):
    events = record["events"]
    for count in (0, 1, 2, first_decision(record), len(events) // 2, len(events) - 1):
        record["events"] = events[:count]
        message = refused(record)
        assert message.startswith(f"line 1, event {count}: the record stops here, expected ")
        due = events[count][1] if events[count][0] == "chance" else events[count][0]
        assert due in message


ENDINGS = {
    "truncated": [True, 0, None, "false"],
    "scores": [1, -1, 0.0, "0", True, None],
    "winners": [[], ["player_0", "player_1", "player_2"], ["player_9"], [0], "player_0", {"player_0": 1}],
    "returns": [1e-8, "1.0", True, None, float("nan"), 10**400, -(10**400)],
}


@pytest.mark.parametrize(("key", "change"), [(key, change) for key, changes in ENDINGS.items() for change in changes])
def test_ending_that_differs_is_named_with_the_right_one(key, change, record):
    right = record[key]
    if key == "scores":
        agent = "player_1"
        wrong = right | {agent: right[agent] + change if type(change) is int else change}
    elif key == "returns":
        wrong = right | {"player_1": right["player_1"] + change if change == 1e-8 else change}
    else:
        wrong = change
    record[key] = wrong
    message = refused(record, line=2)
    assert message.startswith(f"line 2, after event {len(record['events']) - 1}: {key}: ")
    assert message.endswith(f"expected {right!r}")


def test_true_is_not_one_as_a_return(record):
    winner = record["winners"][0]
    assert record["returns"][winner] == 1.0
    record["returns"][winner] = True
    assert "returns: " in refused(record)


@pytest.mark.parametrize("key", ["scores", "returns"])
def test_ending_needs_exactly_the_players_of_the_game(key, record):
    more = record | {key: record[key] | {"player_3": 0}}
    fewer = record | {key: {agent: record[key][agent] for agent in ("player_0", "player_1")}}
    for bad in (more, fewer):
        assert f"{key}: " in refused(bad)


def test_true_is_not_one_as_a_score(record):
    for seed in range(50):  # until somebody has the score 1 or 0
        candidate = played("icarus_club_v0", 3, 1, seed)[1][0]
        agent = next((agent for agent, score in candidate["scores"].items() if score in (0, 1)), None)
        if agent:
            candidate["scores"][agent] = bool(candidate["scores"][agent])
            assert "scores: " in refused(candidate)
            return
    pytest.skip("nobody had so few points")


# --- whatever else a file may hold


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, child in children for place in _places(child, (*path, key)))]


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["chance", "deck", "player_0", "player_1", "slots-4", "lane-1", "craps", 10**400, -1, 1.0]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FUZZ = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@functools.cache
def _template(name: str) -> tuple[str, list[tuple[Any, ...]]]:
    record = played(name, None, 1, seed=3)[1][0]
    return json.dumps(record), _places(record)[1:]


@pytest.mark.parametrize("name", list_games())
@FUZZ
@given(data=st.data())
def test_mutated_records_are_refused_in_order_or_replayed(name, data):
    text, places = _template(name)
    record = json.loads(text)
    for _ in range(data.draw(st.integers(1, 2))):
        *path, last = data.draw(st.sampled_from(places))
        holder = record
        for key in path:
            try:
                holder = holder[key]
            except (LookupError, TypeError):
                return
        try:
            what = data.draw(st.sampled_from(["replace", "delete", "double", "swap"]))
            if what == "replace":
                holder[last] = data.draw(JSON_VALUES)
            elif what == "delete":
                del holder[last]
            elif what == "double":
                holder.insert(last, holder[last])
            else:
                holder[last], holder[last - 1] = holder[last - 1], holder[last]
        except (AttributeError, LookupError, TypeError):
            return
    with contextlib.suppress(RecordError):
        assert replay(record).over


@FUZZ
@given(data=st.data())
def test_mutated_files_are_refused_in_order_or_read(data, tmp_path_factory):
    content = bytearray(_valid().encode() + b"\n" + _valid().encode() + b"\n")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = tmp_path_factory.getbasetemp() / "fuzz.jsonl"
    path.write_bytes(content)
    with contextlib.suppress(RecordError):
        replay_all(path)


# --- whole or not at all


def test_failure_in_mid_writing_leaves_the_old_file(record, tmp_path):
    path = tmp_path / "games.jsonl"
    path.write_text("old")

    def broken():
        yield record
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        write_records(path, broken())
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["games.jsonl"]


def test_record_that_json_can_not_hold_leaves_nothing(record, tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_records(tmp_path / "a.jsonl", [record, record | {"time": float("nan")}])
    assert not list(tmp_path.iterdir())


def test_full_disk_leaves_the_old_file_and_says_so_in_one_line(tmp_path):
    path = tmp_path / "games.jsonl"
    path.write_text("old")
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        "from card_envs.__main__ import main\n"
        f"sys.exit(main(['record', 'icarus_club', '--games', '20', '--out', {str(path)!r}]))"
    )
    done = subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: ")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["games.jsonl"]


def test_folder_in_the_place_of_the_file_is_refused(record, tmp_path):
    with pytest.raises(CardEnvsError, match="is a folder"):
        write_records(tmp_path, [record])


def test_link_stays_a_link_and_missing_folders_are_made(record, tmp_path):
    (tmp_path / "real.jsonl").write_text("old")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    write_records(tmp_path / "link.jsonl", [record])
    assert (tmp_path / "link.jsonl").is_symlink()
    assert read(tmp_path / "real.jsonl") == [record]
    write_records(tmp_path / "a" / "b" / "c.jsonl", [record])
    assert read(tmp_path / "a" / "b" / "c.jsonl") == [record]
