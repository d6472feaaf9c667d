"""Stage 1, rows: each distinct indicator row [T] of a series, float64."""

import math

import numpy as np
from numba import prange

from engine.backends.compiled import compiled, compiled_parallel
from engine.backends.cpu.types import Floats, Ints

EMA_LANES = 8
"""Spans that one thread carries along the bars together; the recurrence alone waits on itself."""


@compiled_parallel
def level_rows(values: Floats, slots: Ints, rows: Floats) -> None:
    """Copy a source [T] into its slots of rows [slots, T]."""
    for i in prange(slots.size):
        rows[slots[i], :] = values


@compiled_parallel
def ema_rows(values: Floats, spans: Ints, slots: Ints, rows: Floats) -> None:
    """EMA of values [T] for each span [n], into slots [n] of rows [slots, T]."""
    n_groups = (spans.size + EMA_LANES - 1) // EMA_LANES
    for group in prange(n_groups):
        first = group * EMA_LANES
        lanes = min(EMA_LANES, spans.size - first)
        alpha = np.zeros(EMA_LANES)
        average = np.empty(EMA_LANES)
        known_from = np.zeros(EMA_LANES, np.int64)
        for lane in range(lanes):
            alpha[lane] = 2.0 / (spans[first + lane] + 1.0)
            known_from[lane] = spans[first + lane] - 1
        average[:] = values[0]
        tile = np.empty((EMA_LANES, 64))
        for start in range(0, values.size, 64):
            width = min(64, values.size - start)
            for k in range(width):
                x = values[start + k]
                for lane in range(EMA_LANES):
                    # At bar 0 the difference is exactly 0, which leaves the seed as it is.
                    average[lane] = average[lane] + alpha[lane] * (x - average[lane])
                    tile[lane, k] = average[lane]
            for lane in range(lanes):
                slot = slots[first + lane]
                for k in range(width):
                    is_known = start + k >= known_from[lane]
                    rows[slot, start + k] = tile[lane, k] if is_known else np.nan


@compiled_parallel
def sma_rows(values: Floats, windows: Ints, slots: Ints, rows: Floats) -> None:
    """Mean of values [T] over each window [n], into slots [n] of rows [slots, T]."""
    for i in prange(windows.size):
        out = rows[slots[i]]
        sum1 = np.empty(windows[i])
        sum2 = np.empty(windows[i])
        for start in range(0, values.size, windows[i]):
            width = _block_sums(values, start, windows[i], sum1, sum2)
            anchor = values[start]
            for k in range(width):
                out[start + k] = anchor + sum1[k] / windows[i]
        out[: min(windows[i] - 1, values.size)] = np.nan


@compiled_parallel
def zscore_rows(values: Floats, windows: Ints, slots: Ints, rows: Floats) -> None:
    """Standard score of values [T] over each window [n], into slots [n] of rows [slots, T]."""
    for i in prange(windows.size):
        w = windows[i]
        out = rows[slots[i]]
        sum1 = np.empty(w)
        sum2 = np.empty(w)
        for start in range(0, values.size, w):
            width = _block_sums(values, start, w, sum1, sum2)
            anchor = values[start]
            for k in range(width):
                mean = anchor + sum1[k] / w
                variance = (sum2[k] - sum1[k] * sum1[k] / w) / w
                score = (values[start + k] - mean) / math.sqrt(max(variance, 0.0))
                out[start + k] = score if variance > 0.0 else np.nan
        out[: min(w - 1, values.size)] = np.nan


@compiled
def _block_sums(values: Floats, start: int, w: int, sum1: Floats, sum2: Floats) -> int:
    """Anchored sums of the windows that end in the block at `start`; returns the block's width.

    sum1[k], sum2[k] hold the sums of d and d * d over the window that ends at bar start + k, with
    d the distance from the block's first value: the left block's tail summed backwards, then the
    right part summed forwards. In the first block they hold the right part alone.
    """
    width = min(w, values.size - start)
    anchor = values[start]
    if start > 0:
        # The tail that the window ending at start + k needs begins at start + k + 1 - w.
        total1 = values[start - 1] - anchor
        total2 = total1 * total1
        sum1[w - 2] = total1
        sum2[w - 2] = total2
        for k in range(w - 3, -1, -1):
            d = values[start + k + 1 - w] - anchor
            total1 = total1 + d
            total2 = total2 + d * d
            sum1[k] = total1
            sum2[k] = total2
    right1 = 0.0
    right2 = 0.0
    for k in range(width):
        d = values[start + k] - anchor
        right1 = right1 + d
        right2 = right2 + d * d
        if start > 0 and k < w - 1:
            sum1[k] = sum1[k] + right1
            sum2[k] = sum2[k] + right2
        else:
            sum1[k] = right1
            sum2[k] = right2
    return width
