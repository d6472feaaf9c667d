"""Conditions as words: what held some bars ago, at each of some bars, or at any of them."""

import numpy as np

from engine.runtime.compiling.loops import compiled
from engine.runtime.cpu.bitset import FULL, LAST_BIT, Words

RELATIONS = {">": 0, "<": 1, ">=": 2, "<=": 3}


@compiled
def moved(words: Words, bars: int, n_bars: int) -> Words:
    """What held so many bars ago, of several words [U, N]; nothing before the first bar."""
    found = np.zeros_like(words)
    whole, bits = bars >> 6, np.uint64(bars & LAST_BIT)
    for u in range(words.shape[0]):
        for i in range(whole, words.shape[1]):
            word = words[u, i - whole] << bits
            if bits > 0 and i > whole:
                word |= words[u, i - whole - 1] >> (np.uint64(64) - bits)
            found[u, i] = word
        if n_bars & LAST_BIT and words.shape[1]:
            found[u, -1] &= FULL >> np.uint64(64 - (n_bars & LAST_BIT))
    return found


def over_bars(words: Words, bars: int, n_bars: int, *, is_held: bool) -> Words:
    """Where they held at each of the newest `bars` bars, or else at any of them, [U, N]."""
    join = np.bitwise_and if is_held else np.bitwise_or
    known = 1
    # Before the first bar nothing held, which one bar more than there are says already.
    while known < min(bars, n_bars + 1):
        step = min(known, bars - known)
        words = join(words, moved(words, step, n_bars))
        known += step
    return words
