"""Codes of rows on the CPU: one byte a bar, compared many at a time by vector instructions."""

import math

from engine.compiling.loops import compiled, compiled_inline
from engine.cpu.types import Codes, Floats

HIGHEST_CODE = 254


@compiled_inline
def encode(value: float, low: float, scale: float) -> int:
    """Code of one value; monotone, because each step of it is."""
    if math.isnan(value):
        return 0
    position = (value - low) * scale
    return 1 + int(min(max(position, 0.0), HIGHEST_CODE - 1.0))


@compiled
def encode_row(row: Floats, low: Floats, scale: Floats, codes: Codes) -> None:
    """Codes of a row [T] into codes [T], by a map of `low` and `scale` [T]."""
    for t in range(row.size):
        codes[t] = encode(row[t], low[t], scale[t])
