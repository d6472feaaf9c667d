"""Conditions as words: a comparison decides 64 bars, and words are joined, held and remembered."""

import numpy as np

from engine.compiling.loops import compiled
from engine.cpu.types import Floats
from engine.cpu.words import FULL, LAST_BIT, Words

RELATIONS = {
    ">": np.greater,
    "<": np.less,
    ">=": np.greater_equal,
    "<=": np.less_equal,
}


def compared(left: Floats, right: Floats, relation: str, ago: int, n_bars: int) -> Words:
    """Words [(T + 63) // 64] of the bars at which a comparison held so many bars ago.

    Args:
        left: [T], or [1] where it is the same at every bar.
        right: Likewise.
        relation: In `RELATIONS`; a comparison with NaN does not hold.
        ago: Bars.
        n_bars: T.
    """
    holds = RELATIONS[relation](left, right)
    if holds.size < n_bars:
        holds = np.repeat(holds, n_bars)
    packed = np.packbits(holds[: max(n_bars - ago, 0)], bitorder="little")
    words = np.zeros((n_bars + LAST_BIT) >> 6, "<u8")
    words.view(np.uint8)[: len(packed)] = packed
    found = words.astype(np.uint64, copy=False)
    return moved(found, ago, n_bars) if ago else found


@compiled
def moved(words: Words, bars: int, n_bars: int) -> Words:
    """What held so many bars ago; nothing before the first bar."""
    found = np.zeros_like(words)
    whole, bits = bars >> 6, np.uint64(bars & LAST_BIT)
    for i in range(whole, words.size):
        word = words[i - whole] << bits
        if bits > 0 and i > whole:
            word |= words[i - whole - 1] >> (np.uint64(64) - bits)
        found[i] = word
    if n_bars & LAST_BIT and words.size:
        found[-1] &= FULL >> np.uint64(64 - (n_bars & LAST_BIT))
    return found


def held(words: Words, bars: int, n_bars: int) -> Words:
    """Where it held at each of the newest `bars` bars."""
    known = 1
    while known < bars:
        step = min(known, bars - known)
        words = words & moved(words, step, n_bars)
        known += step
    return words


def within(words: Words, bars: int, n_bars: int) -> Words:
    """Where it held at any of the newest `bars` bars."""
    known = 1
    while known < min(bars, n_bars):
        step = min(known, bars - known)
        words = words | moved(words, step, n_bars)
        known += step
    return words
