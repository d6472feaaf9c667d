"""Conditions as words: a comparison decides 64 bars, and words are joined, held and remembered."""

import numpy as np

from engine.compiling.loops import compiled, compiled_part, compiled_unlocked
from engine.cpu.types import Codes, Floats
from engine.cpu.words import FULL, LAST_BIT, Words

RELATIONS = {">": 0, "<": 1, ">=": 2, "<=": 3}

GATHER = np.uint64(0x0102040810204080)
"""Eight bytes of 0 or 1 times this have them as bits in the highest byte, the lowest byte first."""


@compiled_unlocked
def compared(left: Floats, right: Floats, relation: int, n_bars: int, words: Words) -> None:
    """Decide a comparison at every bar; with NaN it does not hold.

    Args:
        left: [T], or [1] where it is the same at every bar.
        right: Likewise.
        relation: Number in `RELATIONS`.
        n_bars: T.
        words: [(T + 63) // 64] receives the bars at which it holds.
    """
    block = np.zeros(64, np.uint8)
    eights = block.view(np.uint64)
    left_step, right_step = min(left.size - 1, 1), min(right.size - 1, 1)
    for i in range(words.size):
        first = i << 6
        count = min(n_bars - first, 64)
        block[count:] = 0
        if left_step == 1 and right_step == 1:
            decide(left[first : first + count], right[first : first + count], relation, block)
        elif left_step == 1:
            decide_level(left[first : first + count], right[0], relation, block)
        elif right_step == 1:
            # Seen from the other side.
            decide_level(right[first : first + count], left[0], relation ^ 1, block)
        else:
            for k in range(count):
                block[k] = holds(left[0], right[0], relation)
        word = np.uint64(0)
        for k in range(8):
            word |= ((eights[k] * GATHER) >> np.uint64(56)) << np.uint64(8 * k)
        words[i] = word


@compiled_part
def holds(x: float, y: float, relation: int) -> bool:
    """Whether one comparison of two numbers holds."""
    if relation == 0:
        return x > y
    if relation == 1:
        return x < y
    return x >= y if relation == 2 else x <= y


@compiled_part
def decide(x: Floats, y: Floats, relation: int, out: Codes) -> None:
    """Whether a comparison of values holds, 1 or 0 each; simple loops that compilers widen."""
    if relation == 0:
        for k in range(x.size):
            out[k] = x[k] > y[k]
    elif relation == 1:
        for k in range(x.size):
            out[k] = x[k] < y[k]
    elif relation == 2:
        for k in range(x.size):
            out[k] = x[k] >= y[k]
    else:
        for k in range(x.size):
            out[k] = x[k] <= y[k]


@compiled_part
def decide_level(x: Floats, level: float, relation: int, out: Codes) -> None:
    """The same against one number."""
    if relation == 0:
        for k in range(x.size):
            out[k] = x[k] > level
    elif relation == 1:
        for k in range(x.size):
            out[k] = x[k] < level
    elif relation == 2:
        for k in range(x.size):
            out[k] = x[k] >= level
    else:
        for k in range(x.size):
            out[k] = x[k] <= level


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
