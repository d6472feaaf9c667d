"""Compiled loop of `cscv`: the best of each half of the blocks, judged in the other half."""

import math

import numpy as np

from data.checks import Floats, Ints
from engine.runtime.compiling.loops import compiled_part, compiled_unlocked

AT_ONCE = 16
"""Splits whose ratios are held at a time."""

BLOCK = 4096
"""Trials whose totals are added together: those of all halves stay in a core's cache."""


@compiled_unlocked
def judge_splits(totals: Floats, choices: Ints, begin: int, end: int, out: Floats) -> None:
    """Judge splits from `begin` up to `end`, and their complements.

    Totals [S, 3, N] are trades, sum of R and of its squares of each trial in each block; choices
    [C, S / 2] the blocks of every half, ascending, the first complementing the last and so on
    inwards. `out` [C, 3] receives for the best of each half its ratio there and in the other half,
    and its rank in the other.
    """
    count = totals.shape[2]
    ratios = np.empty((2, AT_ONCE, count))
    sums = np.empty((choices.shape[1], 3, min(count, BLOCK)))
    for first in range(begin, end, AT_ONCE):
        last = min(first + AT_ONCE, end)
        for low in range(0, count, BLOCK):
            high = min(low + BLOCK, count)
            for side in range(2):
                shared = 0
                for at in range(first, last):
                    chosen = choices[_find_choice(at, side, choices)]
                    if at > first:
                        shared = _count_shared(choices[_find_choice(at - 1, side, choices)], chosen)
                    _add_blocks(totals, slice(low, high), chosen, shared, sums)
                    n, a, q = sums[-1]
                    ratio = ratios[side, at - first, low:high]
                    # In this loop, where the compiler sees that no array is another's part (SIMD).
                    for j in range(high - low):
                        spread = (q[j] - a[j] * a[j] / n[j]) / (n[j] - 1.0)
                        is_known = n[j] >= 2.0 and spread > 0.0
                        value = a[j] / n[j] / math.sqrt(spread)
                        ratio[j] = value if is_known else -math.inf
        for at in range(first, last):
            for side in range(2):
                here, there = ratios[side, at - first], ratios[1 - side, at - first]
                _judge_best(here, there, out[_find_choice(at, side, choices)])


@compiled_part
def _find_choice(at: int, side: int, choices: Ints) -> int:
    """Number of a split's half, or of its complement."""
    return at if side == 0 else len(choices) - 1 - at


@compiled_part
def _count_shared(before: Ints, chosen: Ints) -> int:
    """With how many of the same blocks two different halves begin."""
    shared = 0
    while chosen[shared] == before[shared]:
        shared += 1
    return shared


@compiled_part
def _add_blocks(totals: Floats, trials: slice, chosen: Ints, shared: int, sums: Floats) -> None:
    """Add up the totals of a half for some trials, block after block; the first sums are known."""
    for i in range(shared, len(chosen)):
        for k in range(3):
            part, total = totals[chosen[i], k, trials], sums[i, k]
            if i == 0:
                for j in range(len(part)):
                    total[j] = 0.0 + part[j]
            else:
                known = sums[i - 1, k]
                for j in range(len(part)):
                    total[j] = known[j] + part[j]


@compiled_part
def _judge_best(here: Floats, there: Floats, out: Floats) -> None:
    """Write the ratio of the best of one half, its ratio in the other half and its rank there."""
    # Not by `argmax`, for which every process imports a part of the compiler.
    best = 0
    for j in range(1, len(here)):
        if here[j] > here[best]:
            best = j
    value, below, equal = there[best], 0, 0
    for j in range(len(there)):
        below += there[j] < value
        equal += there[j] == value
    out[0], out[1], out[2] = here[best], value, below + (equal + 1) / 2
