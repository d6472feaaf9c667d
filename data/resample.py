"""Series from others: coarser bars, files of one market joined, a series cut at long gaps.

Here alone is decided which edge of a coarser bar a bar belongs to.

A bar is stamped with the time at which it opens and covers [open time, open time + duration).
A coarser bar covers the bars that open inside it, left edge included, right edge not. Edges lie
at whole multiples of the coarser duration since 1970-01-01T00:00 on the clock of the bars' zone;
edges of whole weeks lie on Mondays. Days that all open at another time than midnight count as the
date on which most of each lies, and their weeks open at that time. Where the clock is put forward
or back, a coarser bar of more than an hour lasts as much shorter or longer.

An extra column has the value of the last bar inside, which was known at that bar's close and so at
the coarser bar's; it is NaN where that value is NaN, whatever was known before.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from data.checks import COLUMNS, VALUES, Floats, Ints, format_time
from data.errors import BarsError, TimeframeError
from data.hours import find_open_gaps, gap_lines
from data.timeframe import DAY_NS, HOUR_NS, MINUTE_NS, format_timeframe
from data.zones import earliest_moments, to_local

QUARTER_NS = 15 * MINUTE_NS
"""Clocks of zones differ by whole quarters of an hour."""

FIRST_MONDAY_NS = 4 * DAY_NS
"""1970-01-05, the first Monday of the epoch."""


def join_bars(series: Sequence[Bars], symbol: str) -> Bars:
    """Put series of one market together, oldest first.

    Series are of equal durations and with the same extra columns, in any order; bars of one time
    must be equal. Notes are kept once.

    Raises:
        BarsError: When durations or extra columns differ, or two parts have different values at
            one time.
    """
    durations = {bars.timeframe_ns: bars for bars in series}
    if len(durations) != 1:
        named = ", ".join(f"{bars.timeframe} ({bars.symbol})" for bars in durations.values())
        raise BarsError(f"parts of one series must have bars of one duration, there are {named}")
    for bars in series:
        odd = set(series[0].extra) ^ set(bars.extra) or set(series[0].dated) ^ set(bars.dated)
        if odd:
            raise BarsError(
                "parts of one series must have the same extra columns: "
                f"'{min(odd)}' is not in both {series[0].source} and {bars.source}"
            )
    ordered = sorted(series, key=lambda bars: int(bars.timestamp[0]))
    parts = [{**{name: getattr(bars, name) for name in COLUMNS}, **bars.extra} for bars in ordered]
    stacked = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(stacked["timestamp"], kind="stable")
    columns: dict[str, Any] = {name: column[order] for name, column in stacked.items()}
    is_new = np.append(True, np.diff(columns["timestamp"]) != 0)
    twice = np.flatnonzero(~is_new)
    for name in (*VALUES, *series[0].extra):
        now, before = columns[name][twice], columns[name][twice - 1]
        differs = twice[(now != before) & ~(np.isnan(now) & np.isnan(before))]
        if len(differs):
            i = int(differs[0])
            raise BarsError(
                f"two parts differ about {format_time(columns['timestamp'][i])}: {name} is "
                f"{float(columns[name][i - 1])!r} and {float(columns[name][i])!r}; leave one of "
                "them out"
            )
    # The gaps of the whole are not those of its parts.
    notes = dict.fromkeys(
        note
        for bars in ordered
        for gaps in [gap_lines(bars.timestamp, bars.timeframe_ns, bars.open_gaps)]
        for note in bars.notes
        if note not in gaps
    )
    kept = {name: column[is_new] for name, column in columns.items()}
    opens, timeframe_ns = kept["timestamp"], ordered[0].timeframe_ns
    zones = {bars.zone for bars in series}
    calendars = {bars.open_gaps.calendar for bars in series if bars.open_gaps is not None}
    zone = zones.pop() if len(zones) == 1 else "UTC"
    calendar = calendars.pop() if len(calendars) == 1 else None
    open_gaps = find_open_gaps(opens, timeframe_ns, zone, calendar)
    overlap = (f"{len(twice)} bars stood in two parts, equal in both",) if len(twice) else ()
    gaps = gap_lines(opens, timeframe_ns, open_gaps)
    return replace(
        ordered[0],
        extra={name: kept.pop(name) for name in series[0].extra},
        **kept,
        symbol=symbol,
        source=", ".join(bars.source for bars in ordered),
        is_simulated=any(bars.is_simulated for bars in series),
        zone=zone,
        open_gaps=open_gaps,
        notes=(f"joined from {len(series)} parts", *notes, *overlap, *gaps),
    )


def cut_at_gaps(bars: Bars, max_gap_ns: int) -> tuple[tuple[int, Bars], ...]:
    """Cut a series into parts that know nothing of each other.

    For each part the number of its first bar in the series, and its bars. `max_gap_ns` is the
    longest step between opens within a part; a series without a longer one is its only part,
    unchanged.
    """
    starts = np.flatnonzero(np.diff(bars.timestamp) > max_gap_ns) + 1
    edges = [0, *starts.tolist(), len(bars)]
    if len(edges) == 2:
        return ((0, bars),)
    note = f"cut into {len(edges) - 1} parts at gaps longer than {format_timeframe(max_gap_ns)}"
    return tuple(
        (start, bars.cut(start, end, notes=() if start else (*bars.notes, note)))
        for start, end in pairwise(edges)
    )


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
