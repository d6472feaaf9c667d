"""Conditions as words: what held some bars ago, at each of some bars, or at any of them."""

import numpy as np

from engine.runtime.compiling.loops import compiled_loop, compiled_unlocked
from engine.runtime.cpu.bitset import FULL, LAST_BIT, Words
from engine.runtime.cpu.simd4 import take
from engine.runtime.cpu.simd8 import load_indirect_word
from engine.runtime.cpu.types import Ints

RELATIONS = {">": 0, "<": 1, ">=": 2, "<=": 3}


@compiled_unlocked
def join_each(parts: Ints, shared: Ints, out: Words) -> None:
    """Join conditions of one individual after another, while other threads join others'.

    Args:
        parts: [U, K] addresses of the words of conditions, at least one each.
        shared: [1] of all threads, counts the individuals that were begun.
        out: [U, N] receives where any of them does.
    """
    u = take(shared, 0)
    while u < out.shape[0]:
        for i in range(out.shape[1]):
            out[u, i] = load_indirect_word(parts, u, 0, i)
        for k in range(1, parts.shape[1]):
            for i in range(out.shape[1]):
                out[u, i] |= load_indirect_word(parts, u, k, i)
        u = take(shared, 0)


@compiled_loop
def shift_words(words: Words, bars: int, n_bars: int) -> Words:
    """Words [U, N] shifted by so many bars; nothing holds before the first bar."""
    shifted = np.zeros_like(words)
    whole, bits = bars >> 6, np.uint64(bars & LAST_BIT)
    for u in range(words.shape[0]):
        for i in range(whole, words.shape[1]):
            word = words[u, i - whole] << bits
            if bits > 0 and i > whole:
                word |= words[u, i - whole - 1] >> (np.uint64(64) - bits)
            shifted[u, i] = word
        if n_bars & LAST_BIT and words.shape[1]:
            shifted[u, -1] &= FULL >> np.uint64(64 - (n_bars & LAST_BIT))
    return shifted


def over_bars(words: Words, bars: int, n_bars: int, *, is_held: bool) -> Words:
    """Where they held at each of the newest `bars` bars, or else at any of them, [U, N]."""
    join = np.bitwise_and if is_held else np.bitwise_or
    known = 1
    # Before the first bar nothing held, as one bar more than there are shows already.
    while known < min(bars, n_bars + 1):
        step = min(known, bars - known)
        words = join(words, shift_words(words, step, n_bars))
        known += step
    return words
