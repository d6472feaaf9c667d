"""Columns: the sources of a strategy on one series, as arrays that streamed loops read."""

from typing import NamedTuple

import numpy as np

from engine.backends.cpu.codes import HIGHEST_CODE
from engine.backends.cpu.streamed.lowering import CODE, SOURCE, Course
from engine.backends.cpu.types import Codes, Floats, Slots


class Columns(NamedTuple):
    """The sources that a strategy reads, of one series.

    Args:
        values: [S, T].
        runs: [S, T] int32, how many equal values end at each bar.
        codes: [C, T] uint8, codes of the levels that are compared with genes: the higher, the
            sooner the comparison holds, and 0 where it never does.
    """

    values: Floats
    runs: Slots
    codes: Codes


def columns_of(sources: dict[str, Floats], names: list[str], course: Course) -> Columns:
    """Sources by number.

    Args:
        sources: Name to source [T].
        names: Of the sources, in the order of their numbers.
        course: The strategy.

    Returns:
        The columns.
    """
    values = np.stack([sources[name] for name in names])
    bars = np.arange(values.shape[1], dtype=np.int32)
    is_new = np.ones(values.shape, np.bool_)
    is_new[:, 1:] = values[:, 1:] != values[:, :-1]
    since = np.maximum.accumulate(np.where(is_new, bars, 0), axis=1)
    codes = np.zeros((len(course.scales), values.shape[1]), np.uint8)
    for row, _, _, sign, code in course.early[course.early[:, CODE] >= 0]:
        level, (low, scale) = values[course.rows[row, SOURCE]], course.scales[code]
        codes[code] = _level_codes(level, low, scale, sign)
    return Columns(values, (bars - since + 1).astype(np.int32), codes)


def _level_codes(values: Floats, low: float, scale: float, sign: int) -> Codes:
    """Codes [T] as `cpu.codes` has them; those for ``<`` in the opposite order."""
    is_known = ~np.isnan(values)
    positions = (np.where(is_known, values, low) - low) * scale
    codes = 1 + np.clip(positions, 0.0, HIGHEST_CODE - 1.0).astype(np.uint8)
    return np.where(is_known, codes if sign > 0 else HIGHEST_CODE + 1 - codes, 0).astype(np.uint8)
