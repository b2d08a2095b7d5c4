"""Mistakes that somebody who writes a game makes, and what the conformance suite says of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numba
import pytest

from card_envs.conformance import check_game_code, check_game_leak, check_game_resample
from card_envs.errors import CardEnvsError

SOURCE = (Path(__file__).resolve().parents[2] / "examples" / "kuhn_poker" / "kuhn_poker.py").read_text("utf-8")
compiled_only = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


@pytest.fixture
def kuhn_poker(tmp_path, monkeypatch):
    """Makes the example with one piece of its text replaced."""

    def make(right: str, wrong: str):
        assert SOURCE.count(right) == 1
        path = tmp_path / "mistaken.py"
        path.write_text(SOURCE.replace(right, wrong), "utf-8")
        spec = importlib.util.spec_from_file_location("mistaken", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "mistaken", module)
        spec.loader.exec_module(module)
        return module.KuhnPoker()

    return make


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            '("moves", np.int8, (MAX_MOVES,))',
            '("moves", np.int8, (2,))',
            r"apply_action fails at mistaken.py, line \d+, `s.moves\[s.num_moves\] = action`: IndexError: index 2",
        ),
        ('"moves", (MAX_MOVES, 2)', '"moves", (2, 2)', r"observe fails at mistaken.py, .*IndexError"),
        ("len(CARDS), 1, MAX_MOVES", "2, 1, MAX_MOVES", r"draw_chance fails at .*IndexError"),
        ('("pass", "bet")', '("pass",)', r"legal_actions answers 2, but there are 1 ones in its mask"),
        ("s.num_moves += 1", "s.numb_moves += 1", r"apply_action fails .*numb_moves.*has no attribute 'numb_moves'"),
        ("    s.chance = 0\n", "", r"a game has more than 1 chance events, its max_chance_events"),
        ("    s.end = TERMINATED\n", "", r"a game has more than 3 decisions, its max_decisions"),
        ("len(CARDS), 1, MAX_MOVES", "len(CARDS), 1, 2", r"a game has more than 2 decisions, its max_decisions"),
        ("s.player = 1 - s.player", "s.player = 2", r"s.player is 2: there is no such seat to act"),
        pytest.param(
            "@jit\ndef pay_out", "def pay_out", "apply_action can't be compiled: .*'pay_out'", marks=compiled_only
        ),
        pytest.param("@jit\ndef returns", "def returns", "returns is a plain function", marks=compiled_only),
        pytest.param(
            "out[at.card + s.card[seat]] = 1.0",
            "out[at.card + s.card[seat]] = s.card[seat] * 100 / 200",  # 200 is too much for an int8 of NumPy's
            "observe does not do the same in the interpreter as compiled",
            marks=compiled_only,
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(kuhn_poker, right, wrong, message):
    with pytest.raises(AssertionError, match=f"(?s)^check_game_code: {message}"):
        check_game_code(kuhn_poker(right, wrong))


SPLIT = "split(rng, s.rng)\n"
REDRAW = "s.card[1 - seat] = (s.card[seat] + 1 + below(rng, 2)) % 3\n"


@pytest.mark.parametrize(
    ("check", "wrong", "message"),
    [
        (check_game_leak, REDRAW, "what resample draws for seat 0 depends on what that seat can't know"),  # same chance
        (check_game_resample, SPLIT, "what resample draws for seat 0 depends on"),  # same card
        (check_game_resample, f"s.card[1 - seat] = below(rng, 3)\n    {SPLIT}", "draws a state .* was never dealt"),
        (check_game_resample, f"s.card[1 - seat] = (s.card[seat] + 1) % 3\n    {SPLIT}", "never draws a state"),
    ],
)
def test_a_resample_that_draws_too_little_or_too_much_is_found(kuhn_poker, check, wrong, message):
    with pytest.raises(AssertionError, match=f"^{check.__name__}: .*{message}"):
        check(kuhn_poker(f"{REDRAW}    {SPLIT}", wrong))


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("*header(2)", "*header(1)", r"a state begins with \*header\(2\); wrong is 'winner'"),
        ("self.layout = ", "self.layouts = ", "_build sets no 'layout'"),
        ('    name = "kuhn_poker_v0"\n', "", "KuhnPoker sets no class attribute 'name'"),
    ],
)
def test_a_game_that_is_not_whole_is_refused(kuhn_poker, right, wrong, message):
    with pytest.raises(CardEnvsError, match=message):
        kuhn_poker(right, wrong)
