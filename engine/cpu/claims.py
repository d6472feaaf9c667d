"""Conditions as words: what held some bars ago, at each of some bars, or at any of them."""

import numpy as np

from engine.compiling.loops import compiled
from engine.cpu.words import FULL, LAST_BIT, Words

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


def held(words: Words, bars: int, n_bars: int) -> Words:
    """Where they held at each of the newest `bars` bars, [U, N]."""
    known = 1
    while known < bars:
        step = min(known, bars - known)
        words = words & moved(words, step, n_bars)
        known += step
    return words


def within(words: Words, bars: int, n_bars: int) -> Words:
    """Where they held at any of the newest `bars` bars, [U, N]."""
    known = 1
    while known < min(bars, n_bars):
        step = min(known, bars - known)
        words = words | moved(words, step, n_bars)
        known += step
    return words
