"""Policies of a user's own: however they come, they play, and whatever they do wrong is told and never hangs."""

import importlib.metadata
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from card_envs import cli
from card_envs.arena.match import play_games
from card_envs.arena.tournament import play_tournament
from card_envs.errors import CardEnvsError, PolicyError
from card_envs.games import make_game
from card_envs.policies import external, make_policy
from card_envs.policies.external import TimedPolicy
from tests.arena.helpers import games_of

HERE = "tests.policies.test_external"


def highest(observation, action_mask):
    """A user's policy in three lines."""
    assert observation.shape == (make_game("icarus_club", 3).layout.size,)
    return int(np.flatnonzero(action_mask)[-1])


class Highest:
    name = "highest"

    def act(self, decisions):
        return decisions.action_mask.shape[1] - 1 - decisions.action_mask[:, ::-1].argmax(axis=1)


class MadeForGame(Highest):
    def __init__(self, game):
        self.name = f"made for {game.name}"


def factory(game):
    return MadeForGame(game)


class Predicting:
    def predict(self, observation, deterministic=False, action_masks=None):
        assert deterministic
        return Highest().act(type("D", (), {"action_mask": action_masks})()), None


ready = Highest()
model = Predicting()
number = 7


def hangs(observation, action_mask):
    time.sleep(3600)


def hangs_now_and_then(observation, action_mask):
    if np.random.default_rng().random() < 0.01:
        time.sleep(3600)
    return highest(observation, action_mask)


def dies(observation, action_mask):
    os._exit(3)


def raises(observation, action_mask):
    raise RuntimeError("out of ideas")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty current folder, to import from."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    return tmp_path


@pytest.fixture(scope="module")
def game():
    return make_game("icarus_club", 3)


@pytest.fixture(scope="module")
def expected(game):
    return play_games(game, [Highest()], games_of(game, 3, seed=0)).returns


@pytest.mark.parametrize(
    "policy",
    [f"{HERE}:{name}" for name in ("highest", "Highest", "MadeForGame", "factory", "ready", "model")]
    + [highest, ready, model],
    ids=lambda policy: policy.rpartition(":")[2] if isinstance(policy, str) else f"object {type(policy).__name__}",
)
def test_every_form_of_policy_plays(game, expected, policy):
    made = make_policy(policy, game)
    returns = play_games(game, [made], games_of(game, 3, seed=0)).returns
    np.testing.assert_array_equal(returns, expected)


@pytest.mark.parametrize("name", ["highest", "factory"])
def test_policy_in_a_process_of_its_own_plays_the_same(game, expected, name):
    policy = TimedPolicy(f"{HERE}:{name}", game, limit=60)
    returns = play_games(game, [policy], games_of(game, 3, seed=0)).returns
    policy.close()
    np.testing.assert_array_equal(returns, expected)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:policy", "No module named 'no_such_module'"),
        (f"{HERE}:missing", "has no attribute 'missing'"),
        (f"{HERE}:number", "an object with the method 'act' or 'predict', or a function"),
        (f"{HERE}:", "has no attribute ''"),
        (f"{HERE}:ready.missing", "'Highest' object has no attribute 'missing'"),
        (":x", "policy ':x': what stands before ':' is a module's full name"),
        ("..:x", r"policy '\.\.:x': what stands before ':' is a module's full name"),
        (".a:x", "what stands before ':' is a module's full name"),
        ("a/b.py:x", "No module named 'a/b'"),
        ("a b:x", "No module named 'a b'"),
        ("\0:x", "policy "),
        ("\ud800:x", "policy "),
        ("builtins:dict", "policy 'builtins:dict': "),
        ("greedy", "unknown policy 'greedy'"),
    ],
)
def test_what_is_no_policy_is_refused(game, name, message):
    with pytest.raises(CardEnvsError, match=message):
        make_policy(name, game)


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("hangs", "time-out", "took longer than 0.5 seconds for a decision"),
        ("dies", "exception", "its process has died"),
        ("raises", "exception", r"raised RuntimeError: out of ideas \(.*test_external.py, line"),
    ],
)
def test_policy_that_hangs_dies_or_raises_loses_its_games_or_is_an_error(game, name, kind, message):
    policies = ["random", f"{HERE}:{name}"]
    result = play_tournament(game, policies, games=1, time_limit=0.5, faults="loss")
    assert result.num_games == 3 * 2 * 3  # three line-ups of two deals from three seats
    counts = result.faults[f"{HERE}:{name}"]
    assert counts == {kind: result.num_games}
    assert (result.pairings[1, 0].by_deal(1, "returns") == -0.5).all()
    with pytest.raises(PolicyError, match=message):
        play_tournament(game, policies, games=1, time_limit=0.5)


def test_only_the_game_in_which_it_hangs_is_lost(game):
    policies = ["random", f"{HERE}:hangs_now_and_then"]
    result = play_tournament(game, policies, games=1, time_limit=1.0, faults="loss")
    lost = result.faults[policies[1]]["time-out"]
    assert 0 < lost < result.num_games


def test_policy_that_cant_be_loaded_in_its_process_is_an_error(game):
    with pytest.raises(CardEnvsError, match="No module named"):
        play_tournament(game, ["random", "no_such_module:policy"], games=1, time_limit=1.0)


#: modules that fail while they load, each with what is said of it; `{place}` is the file
BROKEN = {
    "bad_syntax": ("def f(:\n    pass\n", "SyntaxError: invalid syntax ({place}, line 1)"),
    "bad_indent": ("x = 1\n  y = 2\n", "IndentationError: unexpected indent ({place}, line 2)"),
    "bad_bytes": ("f = '\udcff'\n", "SyntaxError: (unicode error) 'utf-8' codec can't decode byte 0xff"),
    "raises": ("\nraise RuntimeError('no\\nway')\n", "RuntimeError: no way ({place}, line 2)"),
    "says_nothing": ("assert 1 > 2\n", "AssertionError ({place}, line 1)"),
    "exits": ("import sys\nsys.exit(7)\n", "SystemExit: 7 ({place}, line 2)"),
    "imports": (
        "\n\nimport no_such_library\n",
        "ModuleNotFoundError: No module named 'no_such_library' ({place}, line 3)",
    ),
    "own_end": ("class End(BaseException): pass\nraise End('so')\n", "End: so ({place}, line 2)"),
    "recursion": ("def f(): f()\nf()\n", "RecursionError: maximum recursion depth exceeded ({place}, line 1)"),
    "greedy": (
        "class f:\n    def __init__(self, game, depth): ...\n",
        "f is made with the game as its only argument",
    ),
    "no_init": ("class f:\n    def __init__(self): raise OSError('x')\n", "OSError: x ({place}, line 2)"),
    "abstract": (
        "import abc\nclass f(abc.ABC):\n    @abc.abstractmethod\n    def act(self): ...\n",
        "TypeError: Can't ",
    ),
    "factory": ("def f(game):\n    return 1 / 0\n", "ZeroDivisionError: division by zero ({place}, line 2)"),
    "makes_nothing": ("def f(game): pass\n", "a policy is a name, an object with the method 'act' or 'predict', or "),
    "makes_number": ("f = 7\n", "a policy is a name, an object with the method 'act' or 'predict', or a function"),
    "idle": ("class f: pass\n", "a policy is a name, an object with the method 'act' or 'predict', or a function of"),
    "predicts": ("class f:\n    predict = dict\n", "ValueError: no signature found"),
    "lacks": ("g = 1\n", "AttributeError: module '{module}' has no attribute 'f'"),
    "asks": ("def __getattr__(name): raise KeyError(name)\n", "KeyError: 'f' ({place}, line 1)"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_policy_that_fails_while_it_loads_is_told_in_one_line(kind, folder, capsys):
    module, (source, said) = f"broken_{kind}", BROKEN[kind]
    file = folder / f"{module}.py"
    file.write_bytes(source.encode("utf-8", "surrogateescape"))
    assert cli.main(["record", "icarus_club", "--policies", f"{module}:f", "--out", "x.jsonl"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: policy '{module}:f': " + said.format(place=file, module=module))
    assert error.count("\n") == 1
    assert not Path("x.jsonl").exists()


@pytest.mark.parametrize("command", ["tournament", "train"])
def test_every_command_refuses_a_policy_that_fails_while_it_loads(command, folder, capsys):
    Path("unloadable.py").write_text("import sys\nsys.exit('enough')\n")
    words = ["tournament", "micons", "random", "unloadable:f", "--out", "out"]
    if command == "train":
        pytest.importorskip("sb3_contrib")
        Path("own.yaml").write_text("eval_opponents: ['unloadable:f']\n")
        words = ["train", "micons", "--config", "own.yaml", "--out", "out"]
    assert cli.main(words) == 2
    error = capsys.readouterr().err
    file = folder / "unloadable.py"
    assert error == f"error: policy 'unloadable:f': SystemExit: enough ({file}, line 2)\n"
    assert not Path("out").exists()


def test_an_interrupt_while_a_policy_loads_is_no_fault_of_the_policy(folder, game):
    Path("interrupted.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        make_policy("interrupted:f", game)


@pytest.mark.parametrize("module", ["plain", "suppressing"])
def test_sigterm_while_a_policy_loads_ends_the_command_as_anywhere_else(module, folder, capsys):
    die = "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n"
    if module == "suppressing":  # the module's own try does not see it as an error of its own
        die = die.replace("os.kill", "try: os.kill") + "except Exception: pass\n"
    Path(f"{module}_sigterm.py").write_text(die)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["record", "icarus_club", "--policies", f"{module}_sigterm:f", "--out", "x.jsonl"])
    assert stopped.value.code == 143
    assert capsys.readouterr().err == ""
    assert not Path("x.jsonl").exists()


def test_policy_that_takes_too_long_to_load_in_its_process_says_so(folder, monkeypatch, game):
    Path("sleepy.py").write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(external, "START_LIMIT", 0.2)
    with pytest.raises(PolicyError, match=r"'sleepy:f' took longer than 0\.2 seconds to load"):
        TimedPolicy("sleepy:f", game, limit=1)._start()


def test_console_script_sees_a_module_in_the_current_folder(tmp_path):
    """As `python -m card_envs` does; the module may import another one, also when it plays only."""
    (tmp_path / "bin").mkdir()
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="card-envs")
    script = tmp_path / "bin" / "card-envs"
    script.write_text(f"import sys\nfrom {entry.module} import {entry.attr}\nsys.exit({entry.attr}())\n")
    own = tmp_path / "own"
    own.mkdir()
    (own / "wave.py").write_text(  # a name that the standard library has, too
        "import first\n\ndef last(observation, mask):\n    import second\n    return second.last(mask)\n"
    )
    (own / "first.py").write_text("")
    (own / "second.py").write_text("def last(mask):\n    return mask.nonzero()[0][-1]\n")
    words = ["record", "micons", "--policies", "wave:last", "--seed", "3", "--out"]
    root = Path(cli.__file__).resolve().parents[2]
    for start, file in ([str(script)], "a.jsonl"), (["-m", "card_envs"], "b.jsonl"):
        command = [sys.executable, *start, *words, file]
        env = os.environ | {"PYTHONPATH": str(root)}
        done = subprocess.run(command, cwd=own, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert (own / "a.jsonl").read_bytes() == (own / "b.jsonl").read_bytes()
