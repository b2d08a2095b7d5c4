"""The command lines: what they do; bad input gives one line on stderr, exit code 2, and nothing half-written."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from card_envs import __version__, cli
from card_envs.arena.records import read_records, replay
from card_envs.cli import common
from card_envs.cli import record as record_command
from card_envs.errors import CardEnvsError, IllegalActionError, Stopped
from card_envs.games import list_games, player_counts

ROOT = Path(__file__).resolve().parents[1]
SHORT = [name.rpartition("_v")[0] for name in list_games()]


HAS_TORCH = importlib.util.find_spec("torch") is not None


def arguments(command: str, game: str = "icarus_club") -> list[str]:
    """A small command that would write into the present folder, without its name."""
    return {
        "record": [game, "--games", "2", "--out", "out/x.jsonl"],
        "tournament": [game, "random", "heuristic", "--games", "2", "--out", "out"],
        "train": [game, "--total-timesteps", "64", "--out", "out"],
    }[command]


@pytest.fixture(params=["record", "tournament", "train"])
def command(request, tmp_path, monkeypatch) -> str:
    if request.param == "train" and not HAS_TORCH:
        pytest.skip("this needs the extra 'train'")
    monkeypatch.chdir(tmp_path)
    return request.param


def refused(capsys, command: str, args: list[str]) -> str:
    """The one line that a command says to bad input; nothing was written."""
    before = sorted(Path().rglob("*"))
    try:
        code = cli.main([command, *args])
    except SystemExit as stop:  # argparse
        code = stop.code
    said = capsys.readouterr()
    assert code == 2
    assert said.out == ""
    assert "Traceback" not in said.err
    lines = said.err.rstrip("\n").split("\n")
    if not lines[0].startswith("usage: "):
        assert len(lines) == 1
    assert "error: " in lines[-1]
    assert sorted(Path().rglob("*")) == before
    return lines[-1].partition("error: ")[2]


# --- bad input of every command


def test_unknown_game_names_the_nearest_and_all(command, capsys):
    message = refused(capsys, command, arguments(command, "icarus_clob"))
    assert message.startswith("unknown game 'icarus_clob'; did you mean 'icarus_club_v0'? (known: ")
    assert all(name in message for name in list_games())
    assert "unknown game ''" in refused(capsys, command, arguments(command, ""))


@pytest.mark.parametrize("count", ["2", "6", "99999999999999999999"])
def test_player_count_that_is_not_allowed_names_the_allowed_ones(count, command, capsys):
    message = refused(capsys, command, [*arguments(command), "--num-players", count])
    assert message == f"icarus_club_v0: num_players is {count}; allowed: a whole number from 3 to 5"


@pytest.mark.parametrize("count", ["0", "-1", "three", "3.0", "", "9" * 5000])
def test_player_count_that_is_no_number_is_refused(count, command, capsys):
    message = refused(capsys, command, [*arguments(command), "--num-players", count])
    assert message.startswith("argument --num-players: ")
    assert message.endswith("is not a whole number from 1")
    assert len(message) < 200


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("colour=red", "--option 'colour=red': unknown option 'colour' (known: ranks, rounds, suits)"),
        ("self=1", "--option 'self=1': unknown option 'self'"),
        ("name=x", "--option 'name=x': unknown option 'name'"),
        ("suits=6", "suits is 6; allowed: a whole number from 1 to 5"),
        ("colour", "--option 'colour' must be NAME=VALUE"),
        ("num_players=3", "the number of players is given as --num-players N"),
    ],
)
def test_unknown_option_is_refused(option, expected, command, capsys):
    assert expected in refused(capsys, command, [*arguments(command), "--option", option])


def test_option_of_a_game_that_has_none_is_refused(command, capsys):
    args = [*arguments(command, "ice_points"), "--option", "colour=red"]
    assert "--option 'colour=red': ice_points_v0 has no options" in refused(capsys, command, args)


@pytest.mark.parametrize("seed", ["-1", "x", "1.5", ""])
def test_seed_that_is_no_number_is_refused(seed, command, capsys):
    assert "is not a whole number from 0" in refused(capsys, command, [*arguments(command), "--seed", seed])


@pytest.mark.parametrize("number", ["0", "-1", "nan", "inf", "x", ""])
@pytest.mark.parametrize("name", ["--until-ci", "--time-limit"])
@pytest.mark.parametrize("command", ["tournament"], indirect=True)
def test_number_that_is_not_above_0_is_refused(number, name, command, capsys):
    message = refused(capsys, command, [*arguments(command), f"{name}={number}"])
    assert message == f"argument {name}: {number!r} is not a number above 0"


def test_missing_arguments_are_named(command, capsys):
    assert "required" in refused(capsys, command, [])


def test_unknown_argument_is_named(command, capsys):
    assert "--gmaes" in refused(capsys, command, [*arguments(command), "--gmaes", "3"])


@pytest.mark.parametrize("command", ["record", "tournament"], indirect=True)
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("hueristic", "unknown policy 'hueristic'; did you mean 'heuristic'?"),
        ("runs/x", "or the path of a trained model, ending in .safetensors or .zip"),
        ("no.zip", "there is no model file 'no.zip'"),
    ],
)
def test_unknown_policy_is_refused(policy, expected, command, capsys):
    args = (
        [*arguments(command), "--policies", policy]
        if command == "record"
        else ["icarus_club", "random", policy, "--out", "out"]
    )
    assert expected in refused(capsys, command, args)


@pytest.mark.parametrize("command", ["record", "tournament"], indirect=True)
def test_file_that_is_no_model_is_refused(command, capsys):
    pytest.importorskip("sb3_contrib")
    Path("x.zip").write_bytes(b"no model")
    args = ["icarus_club", "random", "x.zip", "--out", "out"]
    if command == "record":
        args = ["icarus_club", "--policies", "x.zip", "--out", "out/x.jsonl"]
    assert refused(capsys, command, args).startswith("x.zip is no whole Stable-Baselines3 model: ")


@pytest.mark.parametrize("command", ["tournament"], indirect=True)
def test_tournament_of_one_is_refused(command, capsys):
    message = refused(capsys, command, ["icarus_club", "random", "--out", "out"])
    assert message == "a tournament needs two policies or more, not 1"


@pytest.mark.parametrize("command", ["train"], indirect=True)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("learning_rte: 1", "x.yaml: unknown key 'learning_rte'; did you mean 'learning_rate'?"),
        ("n_envs: many", "x.yaml: n_envs is 'many'; allowed: a whole number"),
        ("n_envs: [", "x.yaml: line 1: "),
        ("!!python/object/apply:os.getcwd []", "x.yaml: line 1: could not determine a constructor"),
        (None, "x.yaml can't be read: No such file or directory"),
    ],
)
def test_training_configuration_is_checked(text, expected, command, capsys):
    if text is not None:
        Path("x.yaml").write_text(text)
    assert expected in refused(capsys, command, [*arguments(command), "--config", "x.yaml"])


@pytest.mark.parametrize("command", ["train"], indirect=True)
def test_training_seed_is_one_that_every_library_takes(command, capsys):
    message = refused(capsys, command, [*arguments(command), "--seed", str(2**32)])
    assert message.endswith("is not a whole number from 0 to 4294967295")


# --- record and replay


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("game", "num_players"), [(g, n) for g in SHORT for n in player_counts(f"{g}_v0")])
def test_records_that_were_written_are_replayed(game, num_players, folder, capsys):
    args = ["record", game, "--num-players", str(num_players), "--games", "6", "--policies", "random", "heuristic"]
    assert cli.main([*args, "--seed", "1", "--out", "x.jsonl"]) == 0
    assert capsys.readouterr().out == f"x.jsonl: 6 games of {game}_v0 with {num_players} players\n"
    records = [record for _, record in read_records("x.jsonl")]
    assert [record["policies"][0] for record in records] == ["random", "heuristic"] * 3
    assert {record["seed"] for record in records} == {1}
    assert {record["version"] for record in records} == {__version__}
    assert cli.main(["replay", "x.jsonl", "--line", "4"]) == 0
    out = capsys.readouterr().out
    assert out.endswith(f"x.jsonl: 6 games of {game}_v0, all by the rules (shown: line 4)\n")
    assert replay(records[3]).render() in out
    assert "returns: " + ", ".join(f"{agent} {paid:g}" for agent, paid in records[3]["returns"].items()) in out
    shown = [line for line in out.split("\n") if line[:5].strip().isdigit()]
    assert len(shown) >= len(records[3]["events"])
    assert all(f"       {line}\n" in out for line in records[3].get("event_log", []))


def test_same_seed_writes_the_same_file(folder, capsys):
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        assert cli.main(["record", "icarus_club", "--games", "3", "--seed", seed, "--out", name]) == 0
    assert Path("a").read_bytes() == Path("b").read_bytes() != Path("c").read_bytes()


def test_replay_names_the_file_the_line_and_the_event(folder, capsys):
    cli.main(["record", "icarus_club", "--games", "3", "--out", "x.jsonl"])
    capsys.readouterr()
    lines = Path("x.jsonl").read_text().split("\n")
    Path("x.jsonl").write_text("\n".join([*lines[:2], lines[2].replace('"chance", "deck"', '"chance", "dice"', 1), ""]))
    message = refused(capsys, "replay", ["x.jsonl"])
    assert message == "x.jsonl: line 3, event 1: chance event 'dice' is not due, expected 'deck'"
    Path("x.jsonl").write_text(lines[0][:900])
    assert refused(capsys, "replay", ["x.jsonl"]).startswith("x.jsonl: line 1: expected one whole JSON")
    assert refused(capsys, "replay", ["y.jsonl"]) == "y.jsonl can't be read: No such file or directory"


def test_replay_of_a_line_that_there_is_not(folder, capsys):
    cli.main(["record", "icarus_club", "--games", "2", "--out", "x.jsonl"])
    capsys.readouterr()
    assert refused(capsys, "replay", ["x.jsonl", "--line", "3"]) == "x.jsonl has no line 3; it has 2"


def test_places_that_can_not_be_written_are_refused(folder, capsys):
    Path("file").write_text("x")
    Path("dir").mkdir()
    args = ["icarus_club", "--out"]
    assert "is a folder" in refused(capsys, "record", [*args, "dir"])
    assert "file" in refused(capsys, "record", [*args, "file/x.jsonl"])
    assert "name too long" in refused(capsys, "record", [*args, "x" * 300])


def test_more_games_than_memory_are_refused(folder, capsys):
    message = refused(capsys, "record", ["icarus_club", "--games", str(10**18), "--out", "x.jsonl"])
    assert message.endswith("is not a whole number from 1 to 10000000")


@pytest.mark.parametrize("command", ["tournament"], indirect=True)
def test_tournament_writes_its_files(command, capsys):
    args = [*arguments(command), "--records", "2", "--num-players", "3"]
    assert cli.main([command, *args]) == 0
    out = capsys.readouterr().out
    told = out.splitlines()[-1].removeprefix("out: ").split(", ")
    assert told == ["report.html", "table.txt", "pairs.csv", "results.json", "standings.png", "games.jsonl"]
    assert {path.name for path in Path("out").iterdir()} == {*told, "results.jsonl", "games"}
    assert out.startswith(Path("out/table.txt").read_text())
    records = [record for _, record in read_records("out/games.jsonl")]
    assert len(records) == 6
    for record in records:
        replay(record)


@pytest.mark.parametrize("command", ["tournament"], indirect=True)
def test_tournament_without_matplotlib_says_which_picture_there_is_not(command, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it was not installed
    assert cli.main([command, *arguments(command)]) == 0
    *_, missing, last = capsys.readouterr().out.splitlines()
    assert missing == "no standings.png without matplotlib: pip install 'card-envs[train]'"
    assert last == "out: report.html, table.txt, pairs.csv, results.json"
    assert not Path("out/standings.png").exists()
    assert "standings.png" not in Path("out/report.html").read_text()


# --- how commands end


def run_raising(error: BaseException) -> int:
    def fail(args):
        raise error

    return common.run(fail, None)


def test_error_of_several_lines_is_one_line(capsys):
    assert run_raising(CardEnvsError("a\nb\n  c")) == 2
    assert capsys.readouterr().err == "error: a b c\n"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (IllegalActionError("no"), 2, "error: no"),
        (PermissionError(13, "Permission denied", "x"), 2, "error: [Errno 13] Permission denied: 'x'"),
        (MemoryError(), 2, "error: not enough memory"),
        (KeyboardInterrupt(), 130, "stopped"),
        (Stopped("stopped at 5"), 130, "stopped at 5"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_ends_of_commands(error, code, said, capsys):
    assert run_raising(error) == code
    err = capsys.readouterr().err
    assert err.startswith(said)
    assert err.count("\n") == 1


def test_faults_of_the_program_are_not_taken_for_bad_input():
    with pytest.raises(ZeroDivisionError):
        run_raising(ZeroDivisionError())


def test_terminated_command_leaves_nothing_unfinished(folder, monkeypatch):
    handler = signal.getsignal(signal.SIGTERM)
    real, count = record_command.record_of, 0

    def record_and_stop(*args, **kwargs):
        nonlocal count
        count += 1
        if count == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return real(*args, **kwargs)

    monkeypatch.setattr(record_command, "record_of", record_and_stop)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["record", "icarus_club", "--games", "9", "--out", "x.jsonl"])
    assert stopped.value.code == 143
    assert count == 3
    assert not list(folder.iterdir())
    assert signal.getsignal(signal.SIGTERM) == handler


def test_reader_that_goes_away_ends_the_command_quietly(folder):
    cli.main(["record", "icarus_club", "--games", "1", "--out", "x.jsonl"])
    command = [sys.executable, "-m", "card_envs", "replay", str(folder / "x.jsonl")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


def test_help_and_version(capsys):
    for words in ([], *([name] for name in cli.COMMANDS)):
        with pytest.raises(SystemExit) as stop:
            cli.main([*words, "--help"])
        assert stop.value.code == 0
        assert capsys.readouterr().out.startswith(f"usage: {' '.join(['card-envs', *words])} ")
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"{__version__}\n"


@pytest.mark.parametrize(("low", "high"), [(0, None), (1, 10)])
def test_whole_numbers_of_arguments(low, high):
    parse = common.whole(low, high)
    assert parse(str(low)) == low
    assert parse(" 7 ") == 7
    for bad in (str(low - 1), "x", "", "1.0", "1e3", "nan", *([str(high + 1)] if high else [])):
        with pytest.raises(Exception, match="is not a whole number from"):
            parse(bad)


def test_value_of_an_option_is_json_or_a_word(monkeypatch):
    game = types.SimpleNamespace(name="game_v0", option_table={"max_turns": None, "deck": None, "quick": None})
    monkeypatch.setattr(common, "game_class", lambda name: game)
    parser = common.argparse.ArgumentParser()
    common.add_game_arguments(parser)
    args = parser.parse_args(
        ["game", "--option", "max_turns=50", "--option", "deck=my deck.json", "--option", "quick=true"]
    )
    assert common.options_of(args) == {"max_turns": 50, "deck": "my deck.json", "quick": True}
    with pytest.raises(CardEnvsError, match="unknown option 'max_turn'; did you mean 'max_turns'"):
        common.options_of(parser.parse_args(["game", "--option", "max_turn=5"]))


def test_seats_go_round_among_the_policies(folder):
    cli.main(
        [
            "record",
            "icarus_club",
            "--num-players",
            "3",
            "--games",
            "4",
            "--policies",
            "random",
            "heuristic",
            "random",
            "--out",
            "x.jsonl",
        ]
    )
    seats = np.array([record["policies"] for _, record in read_records("x.jsonl")])
    assert [np.flatnonzero(row == "heuristic").tolist() for row in seats] == [[1], [0], [2], [1]]


def test_strength_of_the_hand_written_players_comes_as_tables(capsys):
    from benchmarks import heuristics

    assert heuristics.main(["micons", "icons", "--num-games", "16"]) == 0
    out = capsys.readouterr().out
    rows = [line.strip("| ").split(" | ") for line in out.splitlines() if line.startswith("|")]
    counts = {name: [int(row[1]) for row in rows if row[0] == name] for name in ("Micons", "Icons")}
    assert counts == {"Micons": [2, 3, 4], "Icons": [*range(2, 9)]}
    figures = [row for row in rows if row[0] in counts]
    assert all(row[i].count(" ± ") == 1 for row in figures for i in (2, 3, 5))
    assert heuristics.main(["chess"]) == 2
    assert "unknown game 'chess'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["record", "micons", "--option", "deck=" + "[" * 100_000, "--out", "x.jsonl"],
        ["record", "micons", "--out", "x\0.jsonl"],
        ["replay", "x\0.jsonl"],
        ["tournament", "micons", "random", "heuristic", "--games", "4", "--out", "x\0"],
        ["record", "micons", "--option", "deck=x\0", "--out", "x.jsonl"],
        ["bench", "icons", "--num-envs", str(10**30)],
    ],
    ids=lambda words: " ".join(words)[:30].replace("\0", "0"),
)
def test_words_that_no_program_expects_get_one_line(words, folder, capsys):
    assert refused(capsys, words[0], words[1:])
