"""Files of one market joined to one series, and a series cut where bars are missing for long."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from data.bars import Bars
from data.checks import COLUMNS, VALUES, format_time
from data.errors import BarsError
from data.hours import find_open_gaps, gap_lines
from data.timeframe import format_timeframe


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
