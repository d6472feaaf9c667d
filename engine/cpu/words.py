"""Bars that hold something as bits: 64 bars a word, bar 64 * i + k in bit k of word i."""

import numpy as np
import numpy.typing as npt

from engine.compiling.loops import compiled, compiled_part
from engine.cpu.types import Slots

Words = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]

ONE, FULL = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
LAST_BIT = 63

DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
"""A power of two times this has another number for each power in its six highest bits."""

BIT_OF = np.zeros(64, np.int64)
for _k in range(64):
    BIT_OF[((1 << _k) * int(DE_BRUIJN) % 2**64) >> 58] = _k


@compiled
def words_of(holds: Bools) -> Words:
    """Bars [T] that hold something as words [(T + 63) // 64]; bits behind the last bar are 0."""
    words = np.zeros((holds.size + LAST_BIT) >> 6, np.uint64)
    for t in range(holds.size):
        if holds[t]:
            words[t >> 6] |= ONE << np.uint64(t & LAST_BIT)
    return words


@compiled_part
def lowest_bit(word: np.uint64) -> int:
    """Number of the lowest bit that is set; there is one."""
    alone = word & (~word + ONE)
    return int(BIT_OF[np.int64((alone * DE_BRUIJN) >> np.uint64(58))])


@compiled
def is_set(words: Words, bar: int) -> bool:
    """Whether a bar's bit is set."""
    return bool((words[bar >> 6] >> np.uint64(bar & LAST_BIT)) & ONE)


@compiled
def next_set(words: Words, first: int, end: int) -> int:
    """The first bar from `first` on whose bit is set; `end` where none before it is."""
    if first >= end:
        return end
    i = first >> 6
    word = words[i] & (FULL << np.uint64(first & LAST_BIT))
    while word == 0:
        i += 1
        if i << 6 >= end:
            return end
        word = words[i]
    return min((i << 6) + lowest_bit(word), end)


@compiled
def list_marks(longs: Words, shorts: Words, first: int, end: int, out: Slots) -> int:
    """List the bars from `first` to before `end` at which one side signals, and not both.

    out [T] receives twice the bar, plus 1 for a short, ascending. Returns how many there are.
    """
    count = 0
    for i in range(first >> 6, (end + LAST_BIT) >> 6):
        word = longs[i] ^ shorts[i]
        if i == first >> 6:
            word &= FULL << np.uint64(first & LAST_BIT)
        while word != 0:
            k = lowest_bit(word)
            bar = (i << 6) + k
            if bar >= end:
                return count
            out[count] = 2 * bar + np.int64((shorts[i] >> np.uint64(k)) & ONE)
            count += 1
            word &= word - ONE
    return count
