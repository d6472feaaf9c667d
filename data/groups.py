"""Windows cut into parts of nearly equal length, and parts that touch joined again."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from data.bars import Window
from data.errors import WindowError


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
    found: list[Window] = []
    for window in windows:
        last = found[-1] if found else None
        if last and (last.series, last.end, last.role) == (
            window.series,
            window.start,
            window.role,
        ):
            found[-1] = replace(last, end=window.end)
        else:
            found.append(window)
    return tuple(found)
