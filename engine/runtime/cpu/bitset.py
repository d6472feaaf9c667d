"""Bars that hold something as bits: 64 bars a word, bar 64 * i + k in bit k of word i."""

import numpy as np
import numpy.typing as npt

from engine.runtime.compiling.loops import compiled_uncounted
from engine.runtime.cpu.simd8 import load_value, lowest_place
from engine.runtime.cpu.types import Ints

Words = npt.NDArray[np.uint64]

EMPTY, ONE, FULL = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
LAST_BIT = 63

NEVER = 2**50
"""In place of a word or a bar."""


@compiled_uncounted
def is_set(words: Words, condition: int, bar: int) -> bool:
    """Truth of a bar's bit in a condition of words [C, N]."""
    return bool((load_value(words, condition, bar >> 6) >> np.uint64(bar & LAST_BIT)) & ONE)


@compiled_uncounted
def next_set(words: Words, condition: int, first: int, end: int) -> int:
    """The first bar from `first` on at which a condition holds; `end` where none before it does."""
    i, position, kept = first >> 6, end, FULL << np.uint64(first & LAST_BIT)
    # One way out: at others the compiler counts references to arrays.
    while i << 6 < end:
        word = load_value(words, condition, i) & kept
        if word != 0:
            position = min((i << 6) + lowest_place(word), end)
            i = NEVER
        kept = FULL
        i += 1
    return position


@compiled_uncounted
def next_alone(words: Words, one: int, other: int, first: int, end: int) -> int:
    """The same of bars at which one of two conditions holds, and not both; -1 holds nowhere."""
    i, position, kept = first >> 6, end, FULL << np.uint64(first & LAST_BIT)
    kept_one, kept_other = (FULL if one >= 0 else EMPTY), (FULL if other >= 0 else EMPTY)
    one, other = max(one, 0), max(other, 0)
    while i << 6 < end:
        word = (
            (load_value(words, one, i) & kept_one) ^ (load_value(words, other, i) & kept_other)
        ) & kept
        if word != 0:
            position = min((i << 6) + lowest_place(word), end)
            i = NEVER
        kept = FULL
        i += 1
    return position


@compiled_uncounted
def next_of_two(
    words: Words,
    one: int,
    other: int,
    first_one: int,
    first_other: int,
    end: int,
    is_alone: bool,
) -> int:
    """The same, each from a first bar of its own; unless `is_alone` both may hold at it."""
    i, position = min(first_one, first_other) >> 6, end
    every_one, every_other = (FULL if one >= 0 else EMPTY), (FULL if other >= 0 else EMPTY)
    one, other = max(one, 0), max(other, 0)
    while i << 6 < end:
        word_one = load_value(words, one, i) & every_one
        word_other = load_value(words, other, i) & every_other
        both = word_one & word_other if is_alone else EMPTY
        word = (word_one & find_later_bits(first_one - (i << 6))) | (
            word_other & find_later_bits(first_other - (i << 6))
        )
        word &= ~both
        if word != 0:
            position = min((i << 6) + lowest_place(word), end)
            i = NEVER
        i += 1
    return position


@compiled_uncounted
def find_later_bits(place: int) -> np.uint64:
    """A word with bits set from a place on, which may lie before or behind it."""
    kept = FULL << np.uint64(max(place, 0) & LAST_BIT)
    return kept if place <= LAST_BIT else EMPTY


def list_set_bars(words: Words) -> Ints:
    """The bars [S] with bits set in words [N], ascending."""
    return np.flatnonzero(np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little"))
