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
def means_at(values: Floats, window: int, bars: Slots, sums: Floats, out: Floats) -> None:
    """Means of the windows that end at several bars.

    Bars of one block share its sums: those to the left of each are parts of one sum that runs
    backwards, those to the right of one that runs forwards.

    Args:
        values: [T] the source.
        window: Length in bars.
        bars: [S] ascending, each at least window - 1.
        sums: [2, window + 1] scratch.
        out: [S] receives the means.
    """
    to_left, to_right = sums[0], sums[1]
    to_left[0] = 0.0
    one = np.uint64(1)
    begun = 0
    while begun < bars.size:
        start = np.uint64((bars[begun] // window) * window)
        last = start - one
        done = begun + 1
        while done < bars.size and bars[done] < start + np.uint64(window):
            done += 1
        n_right = np.uint64(bars[done - 1]) + one - start
        n_left = np.uint64(window) - (np.uint64(bars[begun]) + one - start)
        anchor = values[start]
        right, left = 0.0, 0.0
        # Both side by side: each waits for its own last addition only.
        shared = min(n_right, n_left)
        for k in range(shared):
            right = right + (values[start + k] - anchor)
            left = left + (values[last - k] - anchor)
            to_right[k + one] = right
            to_left[k + one] = left
        for k in range(shared, n_right):
            right = right + (values[start + k] - anchor)
            to_right[k + one] = right
        for k in range(shared, n_left):
            left = left + (values[last - k] - anchor)
            to_left[k + one] = left
        for i in range(begun, done):
            n = np.uint64(bars[i]) + one - start
            out[i] = anchor + (to_left[np.uint64(window) - n] + to_right[n]) / window
        begun = done


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
def values_at(
    values: Floats,
    runs: Slots,
    kind: int,
    window: int,
    bars: Slots,
    sums: Floats,
    out: Floats,
) -> None:
    """A row's values at several bars; of any kind but an EMA.

    Args:
        values: As in `value_at`, and so are those not named here.
        runs: The same.
        kind: The same.
        window: The same.
        bars: [S] ascending.
        sums: [2, window + 1] scratch.
        out: [S] receives the values.
    """
    if kind == SMA:
        means_at(values, window, bars, sums, out)
        return
    for i in range(bars.size):
        out[i] = value_at(values, runs, kind, window, bars[i])


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
