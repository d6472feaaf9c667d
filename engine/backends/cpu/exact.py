"""The law's own formulas for rows at one bar (engine/README.md, section 3)."""

import math

import numpy as np

from engine.backends.compiled import compiled
from engine.backends.cpu.types import Floats, Slots

LEVEL, EMA, SMA, ZSCORE = range(4)

KINDS = {"level": LEVEL, "ema": EMA, "sma": SMA, "zscore": ZSCORE}
"""Form of an indicator to its number."""


@compiled
def mean_at(values: Floats, window: int, bar: int) -> float:
    """Mean of the window of values [T] that ends at a bar; the bar is at least window - 1."""
    start = np.uint64((bar // window) * window)
    anchor = values[start]
    to_right = np.uint64(bar + 1) - start
    to_left = np.uint64(window) - to_right
    if to_left == 0:
        right = 0.0
        for k in range(to_right):
            right = right + (values[start + k] - anchor)
        return float(anchor + right / window)
    # Both parts side by side: each waits for its own last addition only.
    last = start - np.uint64(1)
    right, left = 0.0, 0.0
    shared = min(to_right, to_left)
    for k in range(shared):
        right = right + (values[start + k] - anchor)
        left = left + (values[last - k] - anchor)
    for k in range(shared, to_right):
        right = right + (values[start + k] - anchor)
    for k in range(shared, to_left):
        left = left + (values[last - k] - anchor)
    return float(anchor + (left + right) / window)


@compiled
def score_at(values: Floats, runs: Slots, window: int, bar: int) -> float:
    """Standard score among the window that ends at a bar; NaN where the variance is not above 0."""
    # Nothing to sum where all values are equal, which in silent markets is often.
    if runs[bar] >= window:
        return math.nan
    start = (bar // window) * window
    anchor = values[start]
    total1 = 0.0
    total2 = 0.0
    for value in values[start : bar + 1]:
        d = value - anchor
        total1 = total1 + d
        total2 = total2 + d * d
    if bar - start < window - 1:
        left1 = values[start - 1] - anchor
        left2 = left1 * left1
        for value in values[bar + 1 - window : start - 1][::-1]:
            d = value - anchor
            left1 = left1 + d
            left2 = left2 + d * d
        total1 = left1 + total1
        total2 = left2 + total2
    mean = anchor + total1 / window
    variance = (total2 - total1 * total1 / window) / window
    if not variance > 0.0:
        return math.nan
    return float((values[bar] - mean) / math.sqrt(variance))


@compiled
def value_at(values: Floats, runs: Slots, kind: int, window: int, bar: int) -> float:
    """A row's value at a bar; of any kind but an EMA.

    Args:
        values: [T] the source.
        runs: [T] how many equal values end at each bar.
        kind: A number of `KINDS`.
        window: Length in bars, where the row has one.
        bar: At least window - 1.

    Returns:
        The value; NaN where the law says so.
    """
    if kind == LEVEL:
        return float(values[bar])
    if kind == SMA:
        return mean_at(values, window, bar)
    return score_at(values, runs, window, bar)
