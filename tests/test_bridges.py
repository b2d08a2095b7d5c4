"""The pages about other libraries and the harness that runs them; `make test-bridges` runs the programs themselves."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from card_envs.games import list_games, player_counts
from tests.bridges import pages, run

PAGE = """\
# A library

- Extra: `train`, `jax`
- Library: `numpy`
- Works: all of it, in
  two lines
- Does not: nothing known

Text.

```python
print("done")
```
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of pages with one page in it."""
    (tmp_path / "constraints").mkdir()
    (tmp_path / "constraints" / "library.txt").write_text("numpy\n")
    (tmp_path / "library.md").write_text(PAGE)
    monkeypatch.setattr(pages, "PAGES", tmp_path)
    monkeypatch.setattr(pages, "RESULTS", tmp_path / "results.json")
    return tmp_path


# --- the pages that there are ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", pages.all_names())
def test_every_page_can_be_read_and_its_extras_are_there(name):
    page = pages.read_page(pages.PAGES / f"{name}.md")
    compile(page.program, name, "exec")
    assert run.requirements(page.extras)
    for file in page.environments.values():
        text = file.read_text("utf-8")
        assert "==" in text
        assert "card" not in text
        assert "/" not in text, "no paths and no hosts"


def test_the_readme_shows_the_results():
    readme = pages.README.read_text("utf-8")
    assert pages.with_table(readme, pages.read_results()) == readme, "python3 -m tests.bridges.run --write-table"


def test_the_harness_plays_every_game_with_every_number_of_players():
    assert {f"{game}_v0": counts for game, counts in run.GAMES.items()} == {
        name: player_counts(name) for name in list_games()
    }


# --- reading a page -------------------------------------------------------------------------------------------------


def test_a_page_is_read(folder):
    page = pages.read_page(folder / "library.md")
    assert page == pages.Page(
        "library",
        "A library",
        ("train", "jax"),
        ("numpy",),
        "all of it, in two lines",
        "nothing known",
        'print("done")\n',
    )
    assert list(page.environments) == ["library"]
    (folder / "constraints" / "library-1.0.txt").write_text("numpy==1.0\n")
    assert list(page.environments) == ["library", "library-1.0"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# A library\n", "A library\n", "expected '# Title'"),
        ("- Works: all of it, in\n  two lines\n", "", "its list has Extra, Library, Does not; expected Extra"),
        ("- Library: `numpy`", "- Library: numpy", "names no distribution"),
        ("- Extra: `train`, `jax`", "- Extra: train", "'Extra' is 'train'; expected an extra in backticks, or none"),
        ("```python", "```", "there is no program"),
        ('print("done")\n', 'print("done")\n' * 60, "its program has 60 lines; allowed: fewer than 60"),
    ],
)
def test_a_page_that_lacks_something_is_named_with_it(folder, old, new, message):
    (folder / "library.md").write_text(PAGE.replace(old, new))
    with pytest.raises(pages.BridgeError, match=rf"docs/bridges/library\.md: .*{message}"):
        pages.read_page(folder / "library.md")


def test_a_page_without_constraints_is_named(folder):
    (folder / "constraints" / "library.txt").unlink()
    with pytest.raises(pages.BridgeError, match=r"docs/bridges/constraints/library\.txt is missing"):
        pages.read_page(folder / "library.md")


# --- results and the table ------------------------------------------------------------------------------------------


def result(title, version, failure="", tests=None):
    programs = [
        {
            "game": "icons",
            "players": players,
            "seconds": 1.0,
            "said": "done",
            "failure": failure if players == 3 else "",
        }
        for players in (2, 3)
    ]
    environment = {"python": "3.11.0", "libraries": {"numpy": version}, "programs": programs, "tests": tests}
    return {"title": title, "works": "much", "does_not": "little", "environments": [environment]}


def test_results_of_a_page_replace_its_own_only_and_those_of_pages_that_are_gone_go(folder):
    (folder / "other.md").write_text(PAGE)
    pages.write_results({"library": result("A", "1"), "other": result("B", "1"), "gone": result("C", "1")})
    pages.write_results({"library": result("A", "2")})
    results = pages.read_results()
    assert list(results) == ["library", "other"]
    assert [r["environments"][0]["libraries"]["numpy"] for r in results.values()] == ["2", "1"]
    assert list(folder.glob(".*")) == [], "nothing is left half-written"


def test_the_table_tells_versions_and_failures(folder):
    results = {"library": result("A", "2", failure="AssertionError", tests={"ok": True, "summary": "3 passed"})}
    results["library"]["environments"].append(result("A", "1")["environments"][0])
    assert pages.table(results).splitlines()[2] == (
        "| [A](library.md) | numpy 2, 1 | much | little | 3 of 4; fails: icons with 3 | 3 passed |"
    )
    text = f"before\n{pages.BEGIN}\nold\n{pages.END}\nafter\n"
    written = pages.with_table(text, results)
    assert written.startswith("before\n")
    assert written.endswith("after\n")
    assert "old" not in written
    with pytest.raises(pages.BridgeError, match=r"README\.md has no place for the table"):
        pages.with_table("no table here", results)


# --- running --------------------------------------------------------------------------------------------------------


@pytest.fixture
def environment():
    return run.Environment("library", sys.executable, "3.11.0", {"numpy": "1"}, {})


def page_of(program):
    return pages.Page("library", "A library", (), ("numpy",), "much", "little", textwrap.dedent(program))


def outcome(environment, folder, program):
    runs = run.run_environment(page_of(program), environment, {"icons": [2]}, False, 1, run.Processes(), folder)
    return runs["programs"][0]


def test_a_program_is_run_with_its_game_and_players_and_its_last_line_is_kept(environment, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "ROOT", tmp_path)
    done = outcome(environment, tmp_path, "import sys; print(sys.argv); print('icons', sys.argv[2]); print()")
    assert (done["said"], done["failure"]) == ("icons 2", "")


@pytest.mark.parametrize(
    ("program", "failure"),
    [
        ("assert 1 > 2, 'it did not learn'", "AssertionError: it did not learn"),
        ("pass", "it printed nothing"),
        ("import sys; print('half'); sys.exit(3)", "half"),
        ("import time; time.sleep(60)", "not done after 1 s"),
    ],
)
def test_a_program_that_fails_is_told_with_why(environment, tmp_path, monkeypatch, capsys, program, failure):
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "PROGRAM_SECONDS", 1 if "sleep" in program else 60)
    assert outcome(environment, tmp_path, program)["failure"] == failure
    assert "FAILED" in capsys.readouterr().out


def test_a_program_that_takes_too_long_is_stopped_with_its_children(environment, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "PROGRAM_SECONDS", 2)
    told = tmp_path / "child.txt"
    program = f"""
        import subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
        open({str(told)!r}, "w").write(str(child.pid))
        time.sleep(300)
    """
    assert outcome(environment, tmp_path, program)["failure"] == "not done after 2 s"
    assert not runs_still(int(told.read_text()))


def runs_still(pid, seconds=10):
    """Whether a process goes on; one that has ended may wait to be collected for a moment."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return False
        except FileNotFoundError:
            return False
        time.sleep(0.05)
    return True


def test_an_interrupted_run_stops_its_programs_and_writes_nothing(folder):
    told = folder / "child.txt"
    program = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(300)"
    script = f"""
        import pathlib, signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background jobs ignore it
        from tests.bridges import pages, run
        pages.PAGES = run.PAGES = pathlib.Path({str(folder)!r})
        pages.RESULTS = pages.PAGES / "results.json"
        run.ENVIRONMENTS = pages.PAGES
        run.make_environment = lambda page, name, *_: run.Environment(name, sys.executable, "3", {{}}, {{}})
        try:
            run.main(["library"])
        except KeyboardInterrupt:
            sys.exit("interrupted")
    """
    (folder / "library.md").write_text(PAGE.replace('print("done")', program))
    harness = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], cwd=run.ROOT, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not (told.exists() and told.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(harness.pid, signal.SIGINT)
    _, said = harness.communicate(timeout=60)
    assert harness.returncode == 1
    assert b"interrupted" in said
    assert not runs_still(int(told.read_text()))
    assert not (folder / "results.json").exists()


def test_a_page_that_can_not_be_read_fails_the_run_and_the_others_go_on(folder, monkeypatch, capsys):
    (folder / "broken.md").write_text("# Nothing\n")
    for module in (pages, run):
        monkeypatch.setattr(module, "PAGES", folder)
    monkeypatch.setattr(run, "ENVIRONMENTS", folder)
    monkeypatch.setattr(run, "GAMES", {"icons": [2]})
    monkeypatch.setattr(
        run, "make_environment", lambda page, name, *_: run.Environment(name, sys.executable, "3", {"numpy": "1"}, {})
    )
    assert run.main([]) == 1
    assert "FAILED: docs/bridges/broken.md: " in capsys.readouterr().out
    assert list(json.loads((folder / "results.json").read_text())) == ["library"]
    assert run.main(["library"]) == 0


@pytest.mark.parametrize(
    ("argv", "message"),
    [(["librry"], "there is no page librry; there are library"), (["--players", "9"], "no game is played with")],
)
def test_what_there_is_not_is_refused(folder, argv, message):
    with pytest.raises(pages.BridgeError, match=message):
        run.main(argv)


def test_an_unknown_extra_is_named_with_those_that_there_are():
    with pytest.raises(pages.BridgeError, match=r"pyproject\.toml has no extra 'trian'; it has train"):
        run.requirements(["trian"])
    assert "torch>=2.8" in run.requirements(["dev"]), "extras that an extra includes count"
