"""Learning curves: every run writes one, and a run that goes back to a checkpoint writes it on from there."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib", reason="curves need the extra 'train'")

from card_envs.arena.statistics import Estimate
from card_envs.errors import CardEnvsError
from card_envs.training.curve import add_to_curve, columns_of, read_curve, seconds_before


def line(steps, mean=0.1, half_width=0.02):
    return {"steps": steps, "seconds": steps / 10, **columns_of({"random": Estimate(mean, half_width, 50)})}


def test_curve_is_kept_as_numbers_and_drawn(tmp_path):
    add_to_curve(tmp_path, line(100))
    add_to_curve(tmp_path, line(200, mean=float("nan"), half_width=float("inf")))
    add_to_curve(tmp_path, line(300))
    assert [row["steps"] for row in read_curve(tmp_path)] == [100, 200, 300]
    assert read_curve(tmp_path)[0]["among_random"] == 0.1
    assert (tmp_path / "curve.png").read_bytes()[:4] == b"\x89PNG"


def test_run_that_goes_back_to_a_checkpoint_writes_on_from_there(tmp_path):
    for steps in (100, 200, 300):
        add_to_curve(tmp_path, line(steps))
    assert seconds_before(tmp_path, "steps", 250) == 20.0
    add_to_curve(tmp_path, line(250))
    assert [row["steps"] for row in read_curve(tmp_path)] == [100, 200, 250]


def test_column_that_begins_later_leaves_earlier_lines_empty(tmp_path):
    add_to_curve(tmp_path, line(100))
    add_to_curve(tmp_path, line(200) | {"among_best": 0.5})
    assert "among_best" not in read_curve(tmp_path)[0]
    assert read_curve(tmp_path)[1]["among_best"] == 0.5


@pytest.mark.parametrize("text", ["steps,seconds\n1,x\n", "steps\n1\n", "steps,seconds\n1,2,3\n", 'steps,"seconds\n1'])
def test_broken_curve_gets_one_clear_line(tmp_path, text):
    (tmp_path / "curve.csv").write_text(text)
    with pytest.raises(CardEnvsError, match=r"curve\.csv is broken"):
        add_to_curve(tmp_path, line(5))
    assert (tmp_path / "curve.csv").read_text() == text
