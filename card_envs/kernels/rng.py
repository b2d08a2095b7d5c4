"""The random numbers of games: xoroshiro128++ over two 64-bit words that live inside a state.

Source: Blackman & Vigna, "Scrambled linear pseudorandom number generators" (2021).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from card_envs.kernels.jit import jit

_U = np.uint64
_MASK32 = _U(0xFFFFFFFF)
_ONES, _TOPS = _U(0x0101010101010101), _U(0x8080808080808080)  # the lowest and the highest bit of every byte


@jit
def next_uint64(rng):
    """Advances `rng` (uint64, (2,)) and returns its next 64 bits."""
    s0, s1 = rng[0], rng[1]
    total = s0 + s1
    result = ((total << _U(17)) | (total >> _U(47))) + s0
    s1 ^= s0
    rng[0] = ((s0 << _U(49)) | (s0 >> _U(15))) ^ s1 ^ (s1 << _U(21))
    rng[1] = (s1 << _U(28)) | (s1 >> _U(36))
    return result


@jit
def below(rng, bound):
    """An integer in 0 … bound - 1, without bias (Lemire 2019). `bound` lies in 1 … 2**31."""
    limit = _U(bound)
    product = (next_uint64(rng) >> _U(32)) * limit
    if (product & _MASK32) < limit:  # rarely: only then is the division needed that finds what to draw again
        threshold = (_U(0x100000000) - limit) % limit
        while (product & _MASK32) < threshold:
            product = (next_uint64(rng) >> _U(32)) * limit
    return np.int64(product >> _U(32))


@jit
def uniform(rng):
    """A float64 in [0, 1) with 53 random bits."""
    return np.float64(next_uint64(rng) >> _U(11)) * (1.0 / 9007199254740992.0)


@jit
def uniform_rows(rngs, rows, out):
    """One `uniform` number from `rngs[rows[i]]` into every `out[i]`."""
    for i in range(rows.shape[0]):
        out[i] = uniform(rngs[rows[i]])


@jit
def shuffle(rng, cards, count):
    """Shuffles the first `count` entries of `cards` in place (Fisher-Yates)."""
    for i in range(count - 1, 0, -1):
        j = below(rng, i + 1)
        cards[i], cards[j] = cards[j], cards[i]


@jit
def split(rng, child):
    """Seeds `child` (uint64, (2,)) from `rng`."""
    child[0] = next_uint64(rng)
    child[1] = next_uint64(rng) | _U(1)  # the all-zero state is the only one that must not occur


@jit
def random_legal(rng, mask, count):
    """One of the `count` actions with a 1 in `mask` (int8, (A,)), all equally likely."""
    chosen = below(rng, count)
    action = 0
    while action + 8 <= mask.shape[0]:
        up_to = next_eight(mask, action) * _ONES  # in every byte the 1s of `mask` up to there
        here = np.int64(up_to >> _U(56))
        if chosen < here:
            beyond = ((up_to | _TOPS) - _U(chosen + 1) * _ONES) & _TOPS  # a bit for each byte from the chosen one on
            return action + 8 - np.int64(((beyond >> _U(7)) * _ONES) >> _U(56))
        chosen -= here
        action += 8
    while action < mask.shape[0]:
        if mask[action]:
            if chosen == 0:
                return action
            chosen -= 1
        action += 1
    return -1


@jit
def next_eight(mask, action):
    """Eight entries of a mask as one word, the first one lowest; the compiler makes one load of it."""
    word = _U(0)
    for i in range(8):
        word |= _U(np.uint8(mask[action + i])) << _U(8 * i)
    return word


@jit
def any_legal(s, mask, rng):
    """A player without a plan: every legal action alike."""
    count = 0
    for action in range(mask.shape[0]):
        count += mask[action]
    return random_legal(rng, mask, count)


@jit
def no_opinions(s, mask, rng, out):
    """A player that does not tell what it thinks: stands for `heuristic` without numbers behind its choice."""
    return -1


def seed_words(seed: int | np.random.SeedSequence | None, count: int) -> npt.NDArray[np.uint64]:
    """Start words for `count` generators, uint64, (count, 2), independent for different seeds and rows.

    Args:
        seed: a non-negative integer, a `SeedSequence`, or None for fresh entropy from the operating system.
        count: how many generators.
    """
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    words = sequence.generate_state(2 * count, np.uint64).astype(np.uint64, copy=False).reshape(count, 2)
    words[:, 1] |= _U(1)
    return words
