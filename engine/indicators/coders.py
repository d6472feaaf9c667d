"""Codes of rows: monotone maps from values to one byte, so that most comparisons need no float.

A map gives each value of a row a code from 1 to `HIGHEST_CODE`, and never a lower one to a higher
value at the same bar; NaN has 0. Different codes compare as the values do, and where codes are
equal the values are looked at. So a map can be badly chosen, which costs time, but cannot be wrong.

Rows that are compared with a gene share a fixed map over the gene's bounds. Rows that are compared
with each other share a map centred on one of them, as wide as it usually wanders from its own slow
average.
"""

import math
from typing import NamedTuple

import numpy as np

from engine.backend import Floats, Ints
from engine.runtime.compiling.loops import compiled_loop
from engine.runtime.cpu.simd8 import EIGHT

HIGHEST_CODE = 254

WITHIN_BOUNDS = HIGHEST_CODE - 5
"""Codes between the bounds of a gene: values beyond these share no code with a bound."""

SPREADS = 4.0
"""Half the width of a wandering map, in mean distances from the slow average."""


class CodeMap(NamedTuple):
    """A map from values to codes."""

    low: Floats  # [T] value at which code 1 begins; [EIGHT] if the same at all bars
    scale: Floats  # likewise, codes per unit
    moves: int  # 0 if the same at all bars, else 1

    def encode(self, numbers: Floats) -> Ints:
        """Codes [n] of numbers, where the map is the same at all bars."""
        positions = np.fmin(np.fmax((numbers - self.low[0]) * self.scale[0], 0.0), HIGHEST_CODE - 1)
        return np.where(np.isnan(numbers), 0, 1 + positions.astype(np.int64))


def map_bounds(low: float, high: float) -> CodeMap:
    """The map of rows that are compared with a gene within bounds."""
    scale = WITHIN_BOUNDS / (high - low) if high > low else 1.0
    return CodeMap(np.full(EIGHT, low - 2.0 / scale), np.full(EIGHT, scale), 0)


def map_row(row: Floats, span: int) -> CodeMap:
    """The map of rows that are compared with each other: it wanders with one of them [T]."""
    known = np.isfinite(row)
    first = row[known.argmax()] if known.any() else 0.0
    return CodeMap(*map_wandering(np.where(known, row, first), span, HIGHEST_CODE), 1)


@compiled_loop
def map_wandering(source: Floats, span: int, highest: int) -> tuple[Floats, Floats]:
    """The map that follows a source [T]: value at which code 1 begins, and codes per unit."""
    low, scale = np.empty(source.size), np.empty(source.size)
    alpha = 2.0 / (span + 1.0)
    slow, spread = source[0], 0.0
    for t in range(source.size):
        value = source[t] if math.isfinite(source[t]) else slow
        slow = slow + alpha * (value - slow)
        spread = spread + alpha * (abs(value - slow) - spread)
        # A source that never moves still needs a width; any positive one keeps the map monotone.
        width = SPREADS * max(spread, 1e-9 * abs(value), 1e-300)
        low[t] = value - width
        scale[t] = (highest - 1) / (2.0 * width)
    return low, scale
