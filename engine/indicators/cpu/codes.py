"""Codes of rows on the CPU: one byte a bar, compared many at a time by vector instructions."""

import math

from engine.runtime.compiling.loops import compiled_inline, compiled_part
from engine.runtime.cpu.simd4 import LANES, load, store_codes
from engine.runtime.cpu.types import Codes, Floats

HIGHEST_CODE = 254


@compiled_inline
def encode(value: float, low: float, scale: float) -> int:
    """Code of one value; monotone, because each step of it is."""
    if math.isnan(value):
        return 0
    position = (value - low) * scale
    # Also for a map so wide that its step is no number.
    above = position if position > 0.0 else 0.0
    return 1 + int(above if above < HIGHEST_CODE - 1.0 else HIGHEST_CODE - 1.0)


@compiled_part
def encode_row(
    rows: Floats,
    place: int,
    count: int,
    low: Floats,
    scale: Floats,
    at: int,
    moves: int,
    codes: Codes,
) -> None:
    """Codes of some bars of a row.

    Args:
        rows: The row among others.
        place: Where the bars are.
        count: How many.
        low: Value at which code 1 begins, of each bar; the map among others.
        scale: Codes per unit, the same way.
        at: Where the map of the first bar is.
        moves: 0 where the map is the same at all bars, so that its first ones serve for all.
        codes: Receives the codes, in the same places as the bars.
    """
    eights = count - count % (2 * LANES)
    for k in range(0, eights, 2 * LANES):
        a, b, of_a, of_b = (
            load(rows, place + k),
            load(rows, place + k + LANES),
            at + k * moves,
            at + k * moves + LANES,
        )
        at_a = (a - load(low, of_a)) * load(scale, of_a)
        at_b = (b - load(low, of_b)) * load(scale, of_b)
        store_codes(codes, place + k, a, b, at_a, at_b, HIGHEST_CODE - 1.0)
    for k in range(eights, count):
        codes[place + k] = encode(rows[place + k], low[at + k * moves], scale[at + k * moves])
