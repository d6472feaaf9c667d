"""Arithmetic of a strategy as instructions for a stack, computed at each reader.

What hardly anyone shares, arithmetic with real genes, is never a row of its own: comparisons
compute it some bars at a time, stops and targets at the bars of their signals. Nothing is compiled
for a strategy.
"""

from typing import Any, NamedTuple

import numpy as np

from engine.runtime.compiling.loops import compiled_loop, compiled_uncounted, compiled_unlocked
from engine.runtime.cpu.bitset import FULL, LAST_BIT, Words
from engine.runtime.cpu.simd4 import take
from engine.runtime.cpu.simd8 import (
    EIGHT,
    bits_above,
    bits_at_least,
    canonicalize,
    eight_times,
    larger,
    load_indirect_eight,
    load_indirect_value,
    load_indirect_word,
    load_value,
    magnitude,
    smaller,
    store_eight,
)
from engine.runtime.cpu.types import Floats, Ints

LEAF, ABS, ADD, SUBTRACT, MULTIPLY, DIVIDE, MINIMUM, MAXIMUM = range(8)
"""Operation of an instruction; a leaf, a row or a number, is put on the stack."""

OPERATIONS = {
    "abs": ABS,
    "+": ADD,
    "-": SUBTRACT,
    "*": MULTIPLY,
    "/": DIVIDE,
    "minimum": MINIMUM,
    "maximum": MAXIMUM,
}

TOGETHER = 512
"""Bars that are computed at once; whole words of them."""

WORD = LAST_BIT + 1


class Stack(NamedTuple):
    """Room in which one thread computes formulas."""

    values: Floats  # [D, 512] values of each place
    # [2, D] address at which each place's values lie, which may be a row, and of its own
    # values.
    places: Ints


def allocate_stack(depth: int) -> Stack:
    """Room for so many places."""
    values = np.empty((depth, TOGETHER))
    slots = values.ctypes.data + np.arange(depth, dtype=np.int64) * TOGETHER * values.itemsize
    return Stack(values, np.stack([slots, slots]))


@compiled_unlocked
def decide_each(
    left: Ints,
    right: Ints,
    rows: Ints,
    numbers: Floats,
    relations: Ints,
    n_bars: Ints,
    stack: Stack,
    shared: Ints,
    out: Words,
) -> None:
    """Decide comparisons of two formulas at every bar, of one individual after another.

    Other threads take others. With NaN no comparison holds.

    Args:
        left: [S, 2] instruction and leaf, in turn.
        right: Likewise.
        rows: [U, L] addresses of rows [T] of leaves; 0 where a leaf is a number.
        numbers: [U, L] numbers of leaves.
        relations: [Q] numbers in `engine.conditions.cpu.expression_vm.RELATIONS`.
        n_bars: [U] bars T of each.
        stack: Of this thread, one place more than the deeper formula needs.
        shared: [1] of all threads, counts the individuals that were begun.
        out: [Q, U, (T + 63) // 64] zeros; receives the bars at which they hold.
    """
    u = take(shared, 0)
    while u < rows.shape[0]:
        for first in range(0, n_bars[u], TOGETHER):
            count = min(TOGETHER, n_bars[u] - first)
            # No literal: the formula would be compiled once more for it.
            for side in range(2):
                steps = right if side else left
                compute(steps, rows, numbers, u, first, count, stack, side)
            for q in range(relations.size):
                for i in range((count + LAST_BIT) // WORD):
                    word = compare_word(stack.places, i * WORD, relations[q])
                    out[q, u, first // WORD + i] = word
        u = take(shared, 0)


@compiled_uncounted
def compute(
    steps: Ints,
    rows: Ints,
    numbers: Floats,
    u: int,
    first: int,
    count: int,
    stack: Stack,
    top: int,
) -> None:
    """Compute a formula at some bars into a place; behind them, up to a whole word, is NaN."""
    slots = stack.places
    for s in range(steps.shape[0]):
        operation, leaf = steps[s, 0], steps[s, 1]
        if operation == LEAF:
            if rows[u, leaf] != 0 and count == TOGETHER:
                slots[0, top] = rows[u, leaf] + first * 8
            else:
                fill(rows, numbers, u, leaf, first, count, stack.values, top)
                slots[0, top] = slots[1, top]
            top += 1
        else:
            top -= operation != ABS
            # Known when compiled, the operation is not looked up at every bar.
            if operation == ABS:
                join_all(ABS, stack, top, count)
            elif operation == ADD:
                join_all(ADD, stack, top, count)
            elif operation == SUBTRACT:
                join_all(SUBTRACT, stack, top, count)
            elif operation == MULTIPLY:
                join_all(MULTIPLY, stack, top, count)
            elif operation == DIVIDE:
                join_all(DIVIDE, stack, top, count)
            else:
                join_all(operation, stack, top, count)


@compiled_uncounted
def join_all(operation: int, stack: Stack, top: int, count: int) -> None:
    """Join the uppermost two places, `top` the upper one, or change the one below."""
    slots, right = stack.places, top - (operation == ABS)
    for k in range(0, count, EIGHT):
        x, y = load_indirect_eight(slots, 0, top - 1, k), load_indirect_eight(slots, 0, right, k)
        store_eight(stack.values, top - 1, k, apply_operation(operation, x, y))
    slots[0, top - 1] = slots[1, top - 1]


@compiled_uncounted
def apply_operation(operation: int, x: Any, y: Any) -> Any:  # noqa: ANN401 - the compiler's own types
    """Two sides of arithmetic, numbers or eights; NaN where one is or no number results."""
    if operation == ABS:
        outcome = magnitude(x)
    elif operation == ADD:
        outcome = x + y
    elif operation == SUBTRACT:
        outcome = x - y
    elif operation == MULTIPLY:
        outcome = x * y
    elif operation == DIVIDE:
        outcome = x / y
    elif operation == MINIMUM:
        # A value that is no number is none minus itself.
        outcome = smaller(x, y) + (x - x)
    else:
        outcome = larger(x, y) + (x - x)
    return canonicalize(outcome)


@compiled_uncounted
def fill(
    rows: Ints, numbers: Floats, u: int, leaf: int, first: int, count: int, stack: Floats, top: int
) -> None:
    """Put a leaf on the stack."""
    whole = count // EIGHT * EIGHT
    if rows[u, leaf] == 0:
        number = eight_times(numbers[u, leaf])
        for k in range(0, count, EIGHT):
            store_eight(stack, top, k, number)
    else:
        for k in range(0, whole, EIGHT):
            store_eight(stack, top, k, load_indirect_eight(rows, u, leaf, first + k))
        for k in range(whole, count):
            stack[top, k] = load_indirect_value(rows, u, leaf, first + k)
    for k in range(count, (count + LAST_BIT) // WORD * WORD):
        stack[top, k] = np.nan


@compiled_uncounted
def compare_word(places: Ints, first: int, relation: int) -> np.uint64:
    """64 bars of a comparison of what lies at the first two places as a word."""
    word = 0
    # Less is more, seen from the other side.
    left, right = (1, 0) if relation & 1 else (0, 1)
    for k in range(0, WORD, EIGHT):
        x, y = (
            load_indirect_eight(places, 0, left, first + k),
            load_indirect_eight(places, 0, right, first + k),
        )
        word |= (bits_above(x, y) if relation < 2 else bits_at_least(x, y)) << k
    return np.uint64(word)


@compiled_uncounted
def value_of_formula(
    steps: Ints,
    begin: int,
    end: int,
    rows: Ints,
    numbers: Floats,
    p: int,
    bar: int,
    stack: Floats,
) -> float:
    """The value of a formula, steps `begin` to `end`, at one bar; 0 without steps.

    Args:
        steps: [S, 2] as above.
        begin: Its first step.
        end: One past its last.
        rows: [P, L] as above.
        numbers: [P, L] likewise.
        p: The individual.
        bar: The bar.
        stack: [D] of this thread.
    """
    value, top = 0.0, 0
    for s in range(begin, end):
        operation, leaf = load_value(steps, s, 0), load_value(steps, s, 1)
        # The uppermost place is held in a register, the others in memory.
        if operation == LEAF:
            stack[top] = value
            value = read_leaf(leaf, rows, numbers, p, bar)
            top += 1
        elif operation == ABS:
            value = magnitude(value)
        else:
            top -= 1
            value = apply_operation(operation, stack[top], value)
    # A zero has no sign.
    return value + 0.0


@compiled_uncounted
def read_leaf(leaf: int, rows: Ints, numbers: Floats, p: int, bar: int) -> float:
    """The value of a leaf at one bar."""
    value: float = load_value(numbers, p, leaf)
    if load_value(rows, p, leaf) != 0:
        value = load_indirect_value(rows, p, leaf, bar)
    return value


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
