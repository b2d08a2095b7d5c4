"""The generator: its numbers, its distributions, its seeds."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest
from numba import njit

from card_envs.kernels import rng as r
from tests.chi_square import too_far

COMPILED = not numba.config.DISABLE_JIT
SAMPLES = 200_000 if COMPILED else 4_000
MASK = (1 << 64) - 1


def rotl(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) & MASK


def reference(s0: int, s1: int, count: int) -> list[int]:
    """xoroshiro128++ 1.0 as its authors publish it, in whole numbers."""
    out = []
    for _ in range(count):
        out.append((rotl((s0 + s1) & MASK, 17) + s0) & MASK)
        s1 ^= s0
        s0, s1 = (rotl(s0, 49) ^ s1 ^ (s1 << 21)) & MASK, rotl(s1, 28)
    return out


def numbers(start: tuple[int, int], count: int) -> list[int]:
    state = np.array(start, np.uint64)
    return [int(r.next_uint64(state)) for _ in range(count)]


def test_numbers_are_those_of_the_published_test_vector():
    published = [
        393217,
        669327710093319,
        1732421326133921491,
        11394790081659126983,
        9555452776773192676,
        3586421180005889563,
        1691397964866707553,
        10735626796753111697,
        15216282715349408991,
        14247243556711267923,
    ]
    assert reference(1, 2, 10) == published
    assert numbers((1, 2), 10) == published


@pytest.mark.parametrize("start", [(0, 1), (MASK, MASK), (0x0123456789ABCDEF, 0xFEDCBA9876543211)])
def test_numbers_are_those_of_the_reference(start):
    assert numbers(start, 500) == reference(*start, 500)


@njit
def many_below(rng, bound, out):
    for i in range(out.shape[0]):
        out[i] = r.below(rng, bound)


def draws(bound: int, seed: int) -> np.ndarray:
    out = np.zeros(SAMPLES, np.int64)
    with np.errstate(over="ignore"):
        many_below(r.seed_words(seed, 1)[0], bound, out)
    return out


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 7, 55, 64])
def test_below_is_uniform(bound):
    out = draws(bound, seed=bound)
    assert out.min() == 0
    assert out.max() == bound - 1
    assert not too_far(np.bincount(out, minlength=bound), len(out) / bound)


def test_below_has_no_bias_where_plain_multiplication_has_one():
    """2**32 numbers on 3 * 2**29 places: every third place would get 2 of them, the others 3."""
    out = draws(3 << 29, seed=3)
    assert not too_far(np.bincount(out % 3, minlength=3), len(out) / 3)
    assert not too_far(np.bincount(out >> 29, minlength=3), len(out) / 3)


def test_below_reaches_up_to_2_to_the_31():
    out = draws(1 << 31, seed=4)
    assert out.min() >= 0
    assert out.max() < 1 << 31
    assert not too_far(np.bincount(out >> 27, minlength=16), len(out) / 16)


@njit
def many_uniform(rng, out):
    for i in range(out.shape[0]):
        out[i] = r.uniform(rng)


def test_uniform_lies_in_0_to_1_and_is_even():
    out = np.zeros(SAMPLES)
    with np.errstate(over="ignore"):
        many_uniform(r.seed_words(5, 1)[0], out)
    assert out.min() >= 0.0
    assert out.max() < 1.0
    assert not too_far(np.bincount((out * 64).astype(int), minlength=64), len(out) / 64)


def test_uniform_never_reaches_1():
    assert r.uniform(np.array([0, MASK], np.uint64)) == 1 - 2.0**-53  # the highest of all numbers
    assert numbers((0, MASK), 1) == [MASK]


@njit
def many_shuffles(rng, out, count):
    for i in range(out.shape[0]):
        r.shuffle(rng, out[i], count)


def test_shuffle_makes_every_permutation_equally_likely():
    out = np.tile(np.arange(4, dtype=np.int16), (SAMPLES // 4, 1))
    with np.errstate(over="ignore"):
        many_shuffles(r.seed_words(6, 1)[0], out, 4)
    seen = dict.fromkeys(itertools.permutations(range(4)), 0)
    for row in out:
        seen[tuple(int(x) for x in row)] += 1
    assert not too_far(np.array(list(seen.values())), len(out) / 24)


def test_shuffle_leaves_what_is_behind_its_count():
    out = np.tile(np.arange(8, dtype=np.int16), (50, 1))
    with np.errstate(over="ignore"):
        many_shuffles(r.seed_words(7, 1)[0], out, 5)
    assert (out[:, 5:] == [5, 6, 7]).all()
    assert (np.sort(out[:, :5], axis=1) == range(5)).all()
    assert len({row.tobytes() for row in out}) > 20


@njit
def many_legal(rng, mask, count, out):
    for i in range(out.shape[0]):
        out[i] = r.random_legal(rng, mask, count)


def test_random_legal_draws_every_legal_action_equally_often_and_no_other():
    mask = np.zeros(65, np.int8)
    mask[[0, 3, 31, 64]] = 1
    out = np.zeros(SAMPLES, np.int64)
    with np.errstate(over="ignore"):
        many_legal(r.seed_words(8, 1)[0], mask, 4, out)
    counts = np.bincount(out, minlength=65)
    assert counts[mask == 0].sum() == 0
    assert not too_far(counts[mask == 1], len(out) / 4)


def test_random_legal_takes_the_action_with_the_number_that_was_drawn():
    """Masks of all lengths around a multiple of the eight entries that are looked at together."""
    generator = np.random.default_rng(0)
    for length in [*range(1, 34), 65, 102, 300]:
        for share in (0.0, 0.1, 0.5, 1.0):
            mask = (generator.random(length) < share).astype(np.int8)
            mask[generator.integers(length)] = 1
            out, numbers = np.zeros(40, np.int64), np.zeros(40, np.int64)
            with np.errstate(over="ignore"):
                many_legal(r.seed_words(length, 1)[0], mask, mask.sum(), out)
                many_below(r.seed_words(length, 1)[0], mask.sum(), numbers)
            np.testing.assert_array_equal(out, np.flatnonzero(mask)[numbers])


def test_split_seeds_a_child_from_the_next_two_numbers():
    parent, child = np.array([1, 2], np.uint64), np.zeros(2, np.uint64)
    r.split(parent, child)
    first, second = reference(1, 2, 2)
    assert [int(x) for x in child] == [first, second | 1]
    assert [int(r.next_uint64(parent))] == reference(1, 2, 3)[2:]


# --- seeds -----------------------------------------------------------------------------------------------------------


def test_seeds_and_rows_share_nothing():
    """Not one 64-bit number in common, and half of the bits differ, for neighbouring seeds and rows."""
    streams = {
        (seed, row): numbers((int(words[0]), int(words[1])), 300)
        for seed in (0, 1, 2, 2**32, 2**63)
        for row, words in enumerate(r.seed_words(seed, 4))
    }
    assert len({number for stream in streams.values() for number in stream}) == 300 * len(streams)
    for a, b in itertools.combinations(streams.values(), 2):
        differing = sum((x ^ y).bit_count() for x, y in zip(a, b, strict=True))
        assert abs(differing - 300 * 32) < 6 * (300 * 64 / 4) ** 0.5


def test_first_numbers_of_successive_seeds_are_even():
    """A seed for every game is a usual way to seed: the games' first draws must be as random as one game's."""
    first = [int(r.below(r.seed_words(seed, 1)[0], 6)) for seed in range(3000)]
    assert not too_far(np.bincount(first, minlength=6), 500)
    second = [int(r.below(words, 6)) for words in r.seed_words(9, 3000)]
    assert not too_far(np.bincount(second, minlength=6), 500)


def test_more_rows_begin_with_the_same_rows():
    many = r.seed_words(5, 100)
    assert many.shape == (100, 2)
    assert many.dtype == np.uint64
    for count in (1, 3, 99):
        assert np.array_equal(r.seed_words(5, count), many[:count])


def test_same_seed_same_words_and_fresh_entropy_without_a_seed():
    assert np.array_equal(r.seed_words(0, 3), r.seed_words(0, 3))
    assert np.array_equal(r.seed_words(7, 3), r.seed_words(np.random.SeedSequence(7), 3))
    assert not np.array_equal(r.seed_words(None, 3), r.seed_words(None, 3))
    parent = np.random.SeedSequence(7)
    one, two = parent.spawn(2)
    assert len({words.tobytes() for words in map(lambda s: r.seed_words(s, 3), (parent, one, two))}) == 3


def test_no_generator_starts_at_the_state_that_never_moves():
    assert (r.seed_words(1, 1000)[:, 1] % 2 == 1).all()


def test_negative_seeds_are_refused():
    with pytest.raises(ValueError, match="non-negative"):
        r.seed_words(-1, 1)
