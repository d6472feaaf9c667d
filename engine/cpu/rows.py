"""Stage 1, rows: each distinct indicator row [T] of a series, float64, and its codes."""

import math

import numpy as np
from numba import prange

from engine.compiling.loops import compiled, compiled_parallel
from engine.cpu.codes import encode_row
from engine.cpu.kinds import EMA, LEVEL, ZSCORE
from engine.cpu.types import Codes, Floats, Ints

EMA_LANES = 8
"""Spans that one thread carries along the bars together; the recurrence alone waits on itself."""


@compiled_parallel
def fill_rows(
    values: Floats,
    kind: int,
    lengths: Ints,
    slots: Ints,
    low: Floats,
    scale: Floats,
    rows: Floats,
    codes: Codes,
) -> None:
    """Compute rows of one kind and their codes, spread over threads.

    All kinds are one parallel loop: to compile another one costs a second.

    Args:
        values: [T] the source.
        kind: A number of `exact.KINDS`.
        lengths: [n] of each row, in bars; not read for levels.
        slots: [n] where each row goes.
        low: [T] value at which code 1 begins; empty where the rows are not compared.
        scale: [T] codes per unit.
        rows: [slots, T] receives the rows.
        codes: [slots, T] receives their codes.
    """
    step = EMA_LANES if kind == EMA else 1
    for part in prange((slots.size + step - 1) // step):
        first = part * step
        _fill_part(values, kind, lengths, slots[first : first + step], first, low, scale, rows,
                   codes)  # fmt: skip


@compiled
def _fill_part(
    values: Floats,
    kind: int,
    lengths: Ints,
    slots: Ints,
    first: int,
    low: Floats,
    scale: Floats,
    rows: Floats,
    codes: Codes,
) -> None:
    if kind == EMA:
        _ema_rows(values, lengths[first : first + slots.size], slots, rows)
    for i in range(slots.size):
        if kind == LEVEL:
            for t in range(values.size):
                rows[slots[i], t] = values[t]
        elif kind != EMA:
            _rolling_row(values, lengths[first + i], kind == ZSCORE, rows[slots[i]])
        if low.size:
            encode_row(rows[slots[i]], low, scale, codes[slots[i]])


@compiled
def _ema_rows(values: Floats, spans: Ints, slots: Ints, rows: Floats) -> None:
    """EMA of values [T] for each of up to eight spans, into their slots of rows [slots, T]."""
    alpha = np.zeros(EMA_LANES)
    average = np.empty(EMA_LANES)
    for lane in range(spans.size):
        alpha[lane] = 2.0 / (spans[lane] + 1.0)
    for lane in range(EMA_LANES):
        average[lane] = values[0]
    tile = np.empty((EMA_LANES, 64))
    for start in range(0, values.size, 64):
        width = min(64, values.size - start)
        for k in range(width):
            x = values[start + k]
            for lane in range(EMA_LANES):
                # At bar 0 the difference is exactly 0, which leaves the seed as it is.
                average[lane] = average[lane] + alpha[lane] * (x - average[lane])
                tile[lane, k] = average[lane]
        for lane in range(spans.size):
            slot, known_from = slots[lane], spans[lane] - 1
            for k in range(width):
                rows[slot, start + k] = tile[lane, k] if start + k >= known_from else np.nan


@compiled
def _rolling_row(values: Floats, window: int, is_score: bool, out: Floats) -> None:
    """Mean or standard score of values [T] over a window, into out [T]."""
    sum1 = np.empty(window)
    sum2 = np.empty(window)
    for start in range(0, values.size, window):
        width = _block_sums(values, start, window, sum1, sum2)
        anchor = values[start]
        if is_score:
            for k in range(width):
                mean = anchor + sum1[k] / window
                variance = (sum2[k] - sum1[k] * sum1[k] / window) / window
                score = (values[start + k] - mean) / math.sqrt(max(variance, 0.0))
                out[start + k] = score if variance > 0.0 else np.nan
        else:
            for k in range(width):
                out[start + k] = anchor + sum1[k] / window
    for t in range(min(window - 1, values.size)):
        out[t] = np.nan


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
