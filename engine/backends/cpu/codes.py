"""Codes of rows on the CPU: one byte a bar, compared many at a time by vector instructions."""

import math

from numba import prange

from engine.backends.compiled import compiled_inline, compiled_parallel
from engine.backends.cpu.types import Codes, Floats, Ints

HIGHEST_CODE = 254


@compiled_inline
def encode(value: float, low: float, scale: float) -> int:
    """Code of one value; monotone, because each step of it is."""
    if math.isnan(value):
        return 0
    position = (value - low) * scale
    return 1 + int(min(max(position, 0.0), HIGHEST_CODE - 1.0))


@compiled_parallel
def code_rows(slots: Ints, low: Floats, scale: Floats, rows: Floats, codes: Codes) -> None:
    """Codes of the rows in slots [n], into the same slots of codes [slots, T]."""
    for i in prange(slots.size):
        row, out = rows[slots[i]], codes[slots[i]]
        for t in range(row.size):
            out[t] = encode(row[t], low[t], scale[t])
