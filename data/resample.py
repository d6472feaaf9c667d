"""Coarser bars from finer ones: the one place that decides which edge a bar belongs to.

A bar is stamped with the time at which it opens and covers [open time, open time + duration).
A coarser bar covers the bars that open inside it, left edge included, right edge not. Edges lie
at whole multiples of the coarser duration since 1970-01-01T00:00 on the clock of the bars' zone;
edges of whole weeks lie on Mondays. Days that all open at another time than midnight count as the
date on which most of each lies, and their weeks open at that time. Where the clock is put forward
or back, a coarser bar of more than an hour lasts as much shorter or longer.

An extra column has the value of the last bar inside, which was known at that bar's close and so at
the coarser bar's; it is NaN where that value is NaN, whatever was known before.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from data.checks import Floats, Ints, format_time
from data.errors import TimeframeError
from data.hours import find_open_gaps, gap_lines
from data.timeframe import DAY_NS, HOUR_NS, MINUTE_NS, format_timeframe
from data.zones import earliest_moments, to_local

QUARTER_NS = 15 * MINUTE_NS
"""Clocks of zones differ by whole quarters of an hour."""

FIRST_MONDAY_NS = 4 * DAY_NS
"""1970-01-05, the first Monday of the epoch."""


def resample(bars: Bars, timeframe_ns: int, calendar: str | None = None) -> Bars:
    """Merge bars into coarser ones.

    Args:
        bars: The finer bars, [T].
        timeframe_ns: Duration of the coarser bars, a multiple of that of `bars`.
        calendar: Code of the exchange whose closed hours are no gaps; None for the rhythm of weeks.

    Returns:
        Bars with the first open, highest high, lowest low, last close, the volume summed oldest
        first, and of extra columns the last value. A coarser bar without any bar inside does not
        exist; one with fewer than it could hold is kept and counted in a note.

    Raises:
        TimeframeError: When the duration is finer, no multiple, or a bar reaches over an edge.
    """
    if timeframe_ns == bars.timeframe_ns:
        return bars
    left_edge = _left_edges(bars, timeframe_ns)
    first = np.flatnonzero(np.diff(left_edge, prepend=left_edge[0] - 1))
    count = np.diff(first, append=len(bars))
    opens, last = left_edge[first], first + count - 1
    finer_gaps = gap_lines(bars.timestamp, bars.timeframe_ns, bars.open_gaps)
    open_gaps = find_open_gaps(opens, timeframe_ns, bars.zone, calendar)
    volume = _sum_oldest_first(bars.volume, first, count)
    if not np.isfinite(volume).all():
        i = int(first[np.argmin(np.isfinite(volume))])
        raise TimeframeError(
            f"--timeframe {format_timeframe(timeframe_ns)}: volumes from "
            f"{format_time(bars.timestamp[i])} on add up to more than a number holds; "
            "leave it out or correct the file"
        )
    return replace(
        bars,
        timestamp=opens,
        open=bars.open[first],
        high=np.maximum.reduceat(bars.high, first),
        low=np.minimum.reduceat(bars.low, first),
        close=bars.close[last],
        volume=volume,
        extra={name: column[last] for name, column in bars.extra.items()},
        timeframe_ns=timeframe_ns,
        notes=(
            *(note for note in bars.notes if note not in finer_gaps),
            _note(bars, timeframe_ns, count),
            *gap_lines(opens, timeframe_ns, open_gaps),
        ),
        open_gaps=open_gaps,
    )


def _left_edges(bars: Bars, timeframe_ns: int) -> Ints:
    """Opening time of the coarser bar of each bar, [T] nanoseconds UTC."""
    wanted = f"--timeframe {format_timeframe(timeframe_ns)}"
    if timeframe_ns % bars.timeframe_ns:
        fault = "finer than" if timeframe_ns < bars.timeframe_ns else "no multiple of"
        raise TimeframeError(
            f"{wanted} is {fault} the {bars.timeframe} bars of the source; leave it out or ask for "
            f"a multiple of {bars.timeframe}"
        )
    local_ns = to_local(bars.timestamp, bars.zone)
    origin = FIRST_MONDAY_NS if timeframe_ns % (7 * DAY_NS) == 0 else 0
    inside_ns = (local_ns - origin - _day_start(bars, local_ns)) % timeframe_ns
    over = np.flatnonzero(inside_ns + bars.timeframe_ns > timeframe_ns)
    if len(over):
        # Bars may follow the clock of a zone that is not named.
        is_on_clock = bars.zone == "UTC" and not (bars.timestamp % QUARTER_NS).any()
        raise TimeframeError(
            f"{wanted}: {len(over)} bars of {bars.timeframe} reach over an edge, the first is bar "
            f"{over[0]} at {format_time(bars.timestamp[over[0]])}; "
            f"{'name the zone of their clock with --tz, ' if is_on_clock else ''}leave it out or "
            "ask for a duration whose edges the bars keep"
        )
    if bars.zone == "UTC" or HOUR_NS % timeframe_ns == 0:
        return bars.timestamp - inside_ns
    # A clock that goes back does not open a coarser bar a second time.
    edges = np.maximum.accumulate(local_ns - inside_ns)
    unique, edge_of_bar = np.unique(edges, return_inverse=True)
    return earliest_moments(unique, bars.zone)[edge_of_bar]


def _day_start(bars: Bars, local_ns: Ints) -> int:
    """Time from midnight to the one at which all days open, negative on the day before; else 0."""
    starts = (local_ns + DAY_NS // 2) % DAY_NS - DAY_NS // 2
    is_one = bars.timeframe_ns % DAY_NS == 0 and (starts == starts[0]).all()
    return int(starts[0]) if is_one else 0


def _sum_oldest_first(
    values: Floats, first: npt.NDArray[np.intp], count: npt.NDArray[np.intp]
) -> Floats:
    # One addition a bar, oldest first: numpy's own sums may add in another order.
    total = values[first].copy()
    for step in range(1, int(count.max())):
        longer = count > step
        with np.errstate(over="ignore"):
            total[longer] += values[first[longer] + step]
    return total


def _note(bars: Bars, timeframe_ns: int, count: npt.NDArray[np.intp]) -> str:
    full = timeframe_ns // bars.timeframe_ns
    usual = full if bars.open_gaps is None else int(np.bincount(count).argmax())
    return (
        f"merged {len(bars)} bars of {bars.timeframe} into {len(count)} of "
        f"{format_timeframe(timeframe_ns)}; {int((count < usual).sum())} hold fewer than "
        f"{full if usual == full else f'the usual {usual}'}"
    )
