"""A series cut where bars are missing for long, so that nothing reaches over the gap."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from data.bars import Bars
from data.checks import COLUMNS
from data.timeframe import format_timeframe


def cut_at_gaps(bars: Bars, max_gap_ns: int) -> tuple[tuple[int, Bars], ...]:
    """Cut a series into parts that know nothing of each other.

    Args:
        bars: The series.
        max_gap_ns: Longest step between the opens of neighbours within a part, nanoseconds.

    Returns:
        For each part the number of its first bar in the series, and its bars. A series without
        such a gap is its only part, and unchanged; else all parts bear its symbol, and the first
        has its notes.
    """
    starts = np.flatnonzero(np.diff(bars.timestamp) > max_gap_ns) + 1
    edges = [0, *starts.tolist(), len(bars)]
    if len(edges) == 2:
        return ((0, bars),)
    note = f"cut into {len(edges) - 1} parts at gaps longer than {format_timeframe(max_gap_ns)}"
    return tuple(
        (start, _part(bars, start, end, () if start else (*bars.notes, note)))
        for start, end in pairwise(edges)
    )


def _part(bars: Bars, start: int, end: int, notes: tuple[str, ...]) -> Bars:
    return replace(bars, **{name: getattr(bars, name)[start:end] for name in COLUMNS}, notes=notes)
