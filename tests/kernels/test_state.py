"""What the states of all games share: records without hidden bytes, ranks and returns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from card_envs.kernels.state import RUNNING, TERMINATED, TRUNCATED, header, rank_by_score, record_dtype, returns

STATE = record_dtype(header(5))


def ended(score: list[int], winners: list[int], end: int = TERMINATED) -> np.ndarray:
    states = np.zeros(1, STATE)
    s = states[0]
    s.num_players, s.end = len(score), end
    s.score[: len(score)] = score
    for seat in winners:
        s.winner[seat] = 1
    return states


def test_every_byte_of_a_record_belongs_to_a_field():
    for fields in ([("a", np.int8), ("b", np.int64), ("c", np.int8, (3,))], header(5), [("a", np.int16, (3,))]):
        kind = record_dtype(fields)
        sizes = [kind.fields[name][0].itemsize for name in kind.names]
        assert sum(sizes) == kind.itemsize
        assert [kind.fields[name][1] for name in kind.names] == list(itertools.accumulate([0, *sizes[:-1]]))
        for field in fields:
            alignment = np.dtype(field[1]).alignment
            assert kind.fields[field[0]][1] % alignment == 0
            assert kind.itemsize % alignment == 0
            assert kind[field[0]].shape == (field[2] if len(field) > 2 else ())


def test_copies_of_a_record_have_its_bytes():
    states = np.zeros(2, STATE)
    states.view(np.uint8)[:] = np.arange(states.nbytes, dtype=np.uint8)
    assert states.copy().tobytes() == states.tobytes()
    other = np.zeros(2, STATE)
    other[0] = states[1]
    assert other[0].tobytes() == states[1].tobytes()


@pytest.mark.parametrize("name", ["round", "take", "sort", "data", "min"])
def test_a_field_that_numpy_would_hide_is_refused(name):
    with pytest.raises(ValueError, match=name):
        record_dtype([(name, np.int8)])


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_returns_by_number_of_winners(n):
    for count in range(n + 1):
        out = np.full(n, np.nan)
        returns(ended([0] * n, list(range(count)))[0], out)
        if count in (0, n):
            assert (out == 0).all()
        else:
            assert out[:count] == pytest.approx([(n / count - 1) / (n - 1)] * count)
            assert out[count:] == pytest.approx([-1 / (n - 1)] * (n - count))
        assert out.sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("end", [RUNNING, TRUNCATED])
def test_returns_are_0_unless_the_rules_ended_the_game(end):
    out = np.full(3, np.nan)
    returns(ended([1, 2, 3], [2], end)[0], out)
    assert (out == 0).all()


@pytest.mark.parametrize(
    ("score", "winners", "rank"),
    [
        ([5, 9, 7], [1], [3, 1, 2]),
        ([5, 9, 5, 9], [1, 3], [3, 1, 3, 1]),
        ([9, 5, 7], [2], [2, 3, 1]),  # a winner comes first whatever the scores
        ([1, 2, 3], [], [1, 1, 1]),
        ([-3, -1, -2], [1], [3, 1, 2]),
    ],
)
def test_rank_is_1_for_winners_then_by_score(score, winners, rank):
    states = ended(score, winners)
    rank_by_score(states[0])
    assert list(states[0].rank[: len(score)]) == rank
