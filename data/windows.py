"""Windows cut into parts and joined again, and bars kept from a search."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from itertools import pairwise

import numpy as np

from data.bars import Bars, Window, parse_time
from data.errors import WindowError

SHARE = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,6})?)%")


@dataclass(frozen=True)
class Holdout:
    """Bars to keep from a search, as a share or by date."""

    # Share of a window's bars, above 0 and below 1; None where a date decides.
    share: Fraction | None = None
    # ISO 8601 time from which bars are held out; None where a share decides.
    start: str | None = None


def groups(start: int, end: int, count: int) -> list[tuple[int, int]]:
    """Cut bars [start, end) into neighbours of nearly equal length.

    >>> groups(0, 103, 5)
    [(0, 20), (20, 41), (41, 61), (61, 82), (82, 103)]
    """
    cuts = [start + i * (end - start) // count for i in range(count + 1)]
    return list(pairwise(cuts))


def parts(windows: Sequence[Window], count: int) -> tuple[Window, ...]:
    """Each window cut into so many windows of its own, which keep its role.

    Raises:
        WindowError: When a window has fewer bars than that.
    """
    for window in windows:
        if not 1 <= count <= len(window):
            raise WindowError(f"a window of {len(window):,} bars cannot be cut into {count} parts")
    return tuple(
        replace(window, start=start, end=end)
        for window in windows
        for start, end in groups(window.start, window.end, count)
    )


def joined(windows: Sequence[Window]) -> tuple[Window, ...]:
    """Windows in their order, neighbours of one series and role that touch as one.

    >>> whole = (Window(0, 0, 9), Window(1, 3, 9))
    >>> joined(parts(whole, 3)) == whole
    True
    """
    merged: list[Window] = []
    for window in windows:
        start = (window.series, window.start, window.role)
        if merged and (merged[-1].series, merged[-1].end, merged[-1].role) == start:
            merged[-1] = replace(merged[-1], end=window.end)
        else:
            merged.append(window)
    return tuple(merged)


def parse_holdout(text: str) -> Holdout:
    """Read what to hold out: ``20%``, or an ISO 8601 time such as ``2024-01-01``.

    >>> parse_holdout("12.5%").share
    Fraction(1, 8)
    """
    match = SHARE.fullmatch(text.strip())
    if match is not None and (share := Fraction(match[1]) / 100) > 0:
        return Holdout(share=share)
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise WindowError(
            f"--holdout {text[:40]!r} must be a share above 0% and below 100%, such as 20%, or the "
            "time from which bars are held out, such as 2024-01-31"
        ) from None
    return Holdout(start=text)


def split_window(bars: Bars, window: Window, holdout: Holdout) -> tuple[Window, Window]:
    """Part a window into bars to search on, and later ones to judge the result on.

    The two are neighbours; a share is rounded down to whole bars.

    Raises:
        WindowError: When one of them would be empty.
    """
    if holdout.share is not None:
        cut = window.end - int(len(window) * holdout.share)
    else:
        start_ns = parse_time(str(holdout.start), "--holdout")
        cut = max(int(np.searchsorted(bars.timestamp, start_ns)), window.start)
    if not window.start < cut < window.end:
        part = "none left to search on" if cut <= window.start else "none held out"
        share = holdout.share
        told = holdout.start if share is None else f"{float(share * 100):g}%"
        raise WindowError(
            f"--holdout {told}: {bars.symbol} has {len(window)} bars in the window, {part}"
        )
    return replace(window, end=cut), Window(window.series, cut, window.end, "held_out")
