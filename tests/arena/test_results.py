"""A tournament's results on disk: whose file it is, who holds the folder, and what a damaged line says."""

from __future__ import annotations

import copy
import json
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from card_envs import cli, files
from card_envs.arena.report import text_table, verdict, write_csv, write_picture
from card_envs.arena.statistics import MIN_DEALS, estimate
from card_envs.arena.tournament import RESULTS, play_tournament
from card_envs.errors import CardEnvsError
from card_envs.files import atomic_write, lock_folder
from card_envs.games import make_game

GAME = make_game("micons", 3)
POLICIES = ["random", "heuristic"]


def play(folder: Path, resume: bool = False):
    return play_tournament(GAME, POLICIES, games=12, seed=1, records=1, folder=folder, resume=resume)


@pytest.fixture(scope="module")
def lines(tmp_path_factory) -> list[dict]:
    folder = tmp_path_factory.mktemp("whole")
    play(folder)
    return [json.loads(line) for line in (folder / RESULTS).read_bytes().splitlines()]


def written(folder: Path, content: bytes | list) -> Path:
    folder.mkdir(exist_ok=True)
    if isinstance(content, list):
        content = b"".join(json.dumps(line).encode() + b"\n" for line in content)
    (folder / RESULTS).write_bytes(content)
    return folder


# --- whose file it is


@pytest.mark.parametrize(
    "content",
    [
        b"a stranger's only line",
        b"null\n",
        b"[]\n",
        b'"text"\n',
        b"7\n",
        b'{"game": "icons_v0"}\n{"a": 1}\nhalf a li',
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        b'{"format": "card-envs-record/1"}\nrest',
    ],
)
def test_a_strangers_file_is_refused_and_not_changed(content, tmp_path):
    folder = written(tmp_path / "x", content)
    with pytest.raises(CardEnvsError, match=RESULTS.replace(".", r"\.")) as refused:
        play(folder, resume=True)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 800
    assert (folder / RESULTS).read_bytes() == content


@pytest.mark.parametrize("kept", [0, 1, 60])
def test_a_tournament_killed_in_its_first_line_goes_on(kept, lines, tmp_path):
    whole = tmp_path / "whole"
    play(whole)
    folder = written(tmp_path / "killed", (whole / RESULTS).read_bytes()[:kept])
    play(folder, resume=True)
    assert (folder / RESULTS).read_bytes() == (whole / RESULTS).read_bytes()


def test_a_folder_with_other_things_in_it_is_refused_before_anything_is_written(tmp_path, capsys):
    (tmp_path / "report.html").write_text("mine")
    assert cli.main(["tournament", "micons", *POLICIES, "--games", "4", "--out", str(tmp_path)]) == 2
    assert "is not an empty folder: name another one" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "mine"


def test_an_empty_name_is_no_folder(capsys):
    assert cli.main(["tournament", "micons", *POLICIES, "--games", "4", "--out", ""]) == 2
    assert "the folder's name is empty" in capsys.readouterr().err


# --- who holds the folder


def test_two_processes_never_share_a_folder(tmp_path):
    words = [sys.executable, "-m", "card_envs", "tournament", "micons", "random", "mc:20", "--workers", "1"]
    words += ["--games", "400", "--out", str(tmp_path / "out")]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate()[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2]
    assert sum("is not an empty folder" in words or "in use" in words for words in said) == 1
    assert len({line for line in (tmp_path / "out" / RESULTS).read_bytes().splitlines()}) > 2


def test_a_system_without_flock_keeps_nobody_out_and_says_so_once(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(files, "fcntl", None)
    files._warn_of_no_lock.cache_clear()
    with lock_folder(tmp_path), lock_folder(tmp_path):
        play(tmp_path / "out")
    assert [record.getMessage() for record in caplog.records] == [
        "this system has no flock, so nothing keeps another process out of a folder in use: run one at a time"
    ]


def test_a_resumed_tournament_waits_for_nobody_who_plays_it(tmp_path):
    play(tmp_path / "out")
    with lock_folder(tmp_path / "out"), pytest.raises(CardEnvsError, match="in use by another process"):
        play(tmp_path / "out", resume=True)
    play(tmp_path / "out", resume=True)


# --- damaged lines


DAMAGES = [
    ("lineup", 9),
    ("lineup", -1),
    ("lineup", 0.5),
    ("lineup", True),
    ("part", 10**30),
    ("part", "0"),
    ("winners", [255] * 12),
    ("winners", [-1] * 12),
    ("winners", [0.5] * 12),
    ("winners", [1] * 11),
    ("winners", None),
    ("decisions", [10**9] * 12),
    ("decisions", [1.5] * 12),
    ("decisions", {}),
    ("faults", [[0, 0, "random", "exception", "x"]]),
    ("faults", "x"),
    ("records", [{}]),
    ("records", [None]),
    ("records", [1, 2, 3]),
    ("further", 1),
]


@pytest.mark.parametrize(("key", "value"), DAMAGES, ids=lambda value: str(value)[:20])
def test_a_damaged_line_is_told_with_its_number(key, value, lines, tmp_path):
    damaged = copy.deepcopy(lines)
    damaged[2][key] = value
    folder = written(tmp_path / "x", damaged)
    before = (folder / RESULTS).read_bytes()
    with pytest.raises(CardEnvsError, match=rf"{RESULTS}: line 3: .*{'key' if key == 'further' else key}"):
        play(folder, resume=True)
    assert (folder / RESULTS).read_bytes() == before


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("deal", None, "deal: None is not a whole number from 0 to 3"),
        ("deal", "0", "deal: '0' is not a whole number"),
        ("deal", {}, "deal: {} is not a whole number"),
        ("deal", 4, "deal: 4 is not a whole number"),
        ("deal", True, "deal: True is not a whole number"),
        ("seed", None, "expected games of micons_v0"),
        ("seed", "1", "expected games of micons_v0"),
        ("seed", True, "expected games of micons_v0"),
        ("seed", 2, "expected games of micons_v0"),
        ("policies", ["random"] * 2, "between this tournament's policies"),
        ("policies", ["random"] * 4, "between this tournament's policies"),
        ("policies", ["random", "heuristic", "strange"], "between this tournament's policies"),
        ("policies", ["random", "heuristic", {}], "between this tournament's policies"),
        ("policies", {"random": 1}, "between this tournament's policies"),
    ],
)
def test_what_a_report_shows_of_a_record_is_checked(key, value, said, lines, tmp_path):
    for missing in (False, True):
        damaged = copy.deepcopy(lines)
        record = damaged[2]["records"][0]
        record[key] = value
        if missing:
            del record[key]
        folder = written(tmp_path / f"x{missing}", damaged)
        with pytest.raises(CardEnvsError, match=rf"{RESULTS}: line 3: records: .*{'' if missing else said}"):
            play(folder, resume=True)


def test_a_head_of_endless_words_is_told_in_one_line(lines, tmp_path):
    damaged = copy.deepcopy(lines)
    damaged[0]["x" * 5000] = damaged[0].pop("seed")
    damaged[0]["options"] = {"deck": [{"y" * 5000: "z" * 5000}] * 50}
    with pytest.raises(CardEnvsError, match="holds another tournament") as refused:
        play(written(tmp_path / "x", damaged), resume=True)
    assert len(str(refused.value)) < 1000


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damage_is_told_or_changes_nothing(data, lines, tmp_path_factory):
    damaged = copy.deepcopy(lines)
    place = damaged[data.draw(st.integers(0, len(damaged) - 1))]
    wrong = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.lists(st.integers())
    key = data.draw(st.sampled_from(sorted(place)))
    if isinstance(place[key], list) and place[key] and data.draw(st.booleans()):
        place[key][data.draw(st.integers(0, len(place[key]) - 1))] = data.draw(wrong)
    elif data.draw(st.booleans()):
        place[key] = data.draw(wrong)
    else:
        del place[key]
    folder = written(tmp_path_factory.mktemp("x"), damaged)
    before = (folder / RESULTS).read_bytes()
    refused = None
    try:
        result = play(folder, resume=True)
    except CardEnvsError as error:
        refused = str(error)
    if refused is None:
        assert np.isfinite([result.overall(a).mean for a in range(2)]).all()
    else:
        assert "\n" not in refused
        assert (folder / RESULTS).read_bytes() == before


def test_what_a_terminal_would_obey_is_shown_as_its_escape(lines, tmp_path, capsys):
    damaged = copy.deepcopy(lines)
    damaged[0]["\x1b[31mgame\ufeff\ud800"] = damaged[0].pop("game")
    folder = written(tmp_path / "x", damaged)
    words = ["tournament", "micons", *POLICIES, "--games", "12", "--seed", "1", "--records", "1", "--workers", "1"]
    assert cli.main([*words, "--out", str(folder), "--resume"]) == 2
    said = capsys.readouterr().err
    assert said[:-1].isprintable()
    assert r"\x1b[31mgame\ufeff\ud800 = 'micons_v0'" in said


# --- verdicts


def test_a_handful_of_deals_gives_no_verdict(tmp_path):
    result = play_tournament(make_game("icons", 2), POLICIES, games=4, seed=3)
    assert verdict(result) == (
        "No verdict: 2 deals are too few to tell anybody apart; at least 10 are needed, 20 games of every line-up."
    )
    assert "surely better" not in text_table(result)


def test_deals_that_are_all_alike_prove_little():
    """The rule of three: of D alike deals a share of about 3/D may be otherwise."""
    assert estimate(np.ones(2)).half_width > 1
    assert estimate(np.ones(300), span=1.0).half_width == pytest.approx(3 / 300, rel=0.01)
    assert not estimate(np.ones(MIN_DEALS - 1), span=0.1).is_above_zero
    assert estimate(np.ones(MIN_DEALS), span=1.0).is_above_zero
    assert estimate(np.ones(1)).half_width == np.inf


# --- names that files can't hold


class Named:
    """Plays the first legal action."""

    def __init__(self, name: str) -> None:
        self.name = name

    def act(self, decisions):
        return decisions.action_mask.argmax(axis=1)


@pytest.mark.filterwarnings("error")
def test_odd_names_go_through_every_file(tmp_path):
    names = ["=HYPERLINK(1)", "half a pair \udcff", "牌 $x$"]
    policies = [Named(name) for name in names]
    result = play_tournament(GAME, policies, games=30, folder=tmp_path / "out")
    write_csv(result, tmp_path / "pairs.csv")
    write_picture(result, tmp_path / "standings.png")
    cells = {row.split(",")[0] for row in (tmp_path / "pairs.csv").read_text().splitlines()[1:]}
    assert "'=HYPERLINK(1)" in cells
    assert not any(cell.startswith("=") for cell in cells)
    again = play_tournament(GAME, policies, games=30, folder=tmp_path / "out", resume=True)
    assert again.overall(0) == result.overall(0)


def test_what_can_not_be_written_is_told_by_its_own_name(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*table\.txt'"), atomic_write(tmp_path / "table.txt"):
        pass
    assert not list(tmp_path.iterdir())


@contextmanager
def room_for(size: int):
    """No file may grow beyond `size` bytes: writing more fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(("size", "file"), [(400, RESULTS), (9000, "standings.png")])
def test_a_tournament_that_finds_no_room_says_how_to_go_on(size, file, tmp_path, capsys):
    words = ["tournament", "icarus_club", *POLICIES, "--games", "6", "--workers", "1", "--out", str(tmp_path / "out")]
    with room_for(size):
        assert cli.main(words) == 2
    said = capsys.readouterr().err
    expected = f"{tmp_path / 'out' / file} can't be written: File too large; --resume goes on from what is saved"
    assert said == f"error: {expected}\n"
    assert cli.main([*words, "--resume"]) == 0
    assert (tmp_path / "out" / "report.html").exists()
