"""Gaps while a market is open, apart from its closed hours.

Open hours are those of an exchange's calendar, or of the rhythm of the series' own weeks: a
quarter of an hour in which most weeks have bars is open. Whole days without a bar are taken for
holidays then, and days that end early or begin late for short ones; both are named.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from data.checks import Ints, format_time
from data.clocks import ClockChange, find_clock_changes
from data.timeframe import DAY_NS, LONGEST_NS
from data.week_rhythm import WeekGrid, count_cells, expect_by_rhythm, make_grid, set_days_aside
from data.zones import find_steps

ZONES = ("UTC", "America/New_York", "Europe/London")
"""Clocks by which sessions may be held; other countries change theirs with one of these, or not."""

LEAST_AGREEMENT = 0.9
"""Share of a series' quarters of an hour that a rhythm must have right."""

ALWAYS_OPEN_SHARE = 0.97
"""A market with bars in more of all quarters of an hour has no closed hours worth a search."""

BY_RHYTHM, MOST_NAMED = "the rhythm of its weeks", 5


@dataclass(frozen=True)
class Gaps:
    """Gaps between neighbouring bars."""

    count: int  # steps longer than one bar
    missing_bars: int  # bars that would fill them
    longest_ns: int  # longest step, nanoseconds; 0 without gaps
    longest_at: int  # number of the bar that ends it; -1 without gaps


@dataclass(frozen=True, eq=False)
class OpenGaps:
    """Gaps of a series while its market is open, or all where no closed hours are known."""

    starts_ns: Ints  # [K], when the bar before each gap opens, nanoseconds UTC
    ends_ns: Ints  # [K], when the bar after it opens
    missing: Ints  # [K], bars that are missing in it; at least 1 where closed hours are known
    rule: str = ""  # how closed hours are known, in words; empty where they are not
    # Code of the exchange of the calendar; None for the rhythm of the weeks.
    calendar: str | None = None
    pauses: int = 0  # further steps longer than a bar: hours in which the market is closed
    # Days without a bar that most weeks have, or holidays of the calendar.
    days_off: tuple[str, ...] = ()
    short_days: tuple[str, ...] = ()  # days that end early or begin late
    clocks: str = ""  # a question about a clock that changes within the series

    def count(self, timestamp: Ints, start: int, end: int | None) -> Gaps:
        """Gaps that end at bars [start, end) of bars that open at times [T]."""
        part = timestamp[max(start, 1) - 1 : end]
        first, last = (
            np.searchsorted(self.ends_ns, part[[0, -1]], side="right") if len(part) else (0, 0)
        )
        if first == last:
            return Gaps(count=0, missing_bars=0, longest_ns=0, longest_at=-1)
        steps = (self.ends_ns - self.starts_ns)[first:last]
        at = int(np.argmax(steps))
        ends_at = int(np.searchsorted(timestamp, self.ends_ns[first + at]))
        return Gaps(len(steps), int(self.missing[first:last].sum()), int(steps[at]), ends_at)

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines about the gaps, and about closed hours."""
        lines = [self.clocks] if self.clocks else []
        if self.missing.any():
            longest = int(np.argmax(self.ends_ns - self.starts_ns))
            start, end = (format_time(times[longest]) for times in (self.starts_ns, self.ends_ns))
            gaps = _count(len(self.missing), "gap") + (" in open hours" if self.rule else "")
            lacking = _count(int(self.missing.sum()), "bar")
            lines.insert(0, f"{gaps}, {lacking} missing; the longest from {start} to {end}")
        if self.pauses:
            is_known = self.calendar is not None
            off, short = ("holiday", "half day") if is_known else ("day without a bar", "short day")
            pauses = f"{_count(self.pauses, 'pause')} in closed hours, by {self.rule}"
            named = (_name(off, self.days_off), _name(short, self.short_days))
            lines.append("; ".join(filter(None, (pauses, *named))))
        return tuple(lines)


def find_open_gaps(
    timestamp: Ints, timeframe_ns: int, zone: str = "UTC", calendar: str | None = None
) -> OpenGaps | None:
    """Gaps of ascending bars [T] while their market is open; None without known closed hours.

    `zone` is that of the bars; in place of UTC the clock is used on which weeks agree best.

    Raises:
        SourceError: When there is no such calendar, or its package is not installed.
    """
    if calendar is not None:
        return _by_calendar(timestamp, timeframe_ns, zone, calendar)
    if changes := find_clock_changes(timestamp, timeframe_ns, zone):
        return _join_clocks(timestamp, timeframe_ns, zone, changes)
    every = list_gaps(timestamp, timeframe_ns)
    cells = count_cells(timestamp, timeframe_ns) if len(every.starts_ns) else None
    if cells is None or len(cells.times) > ALWAYS_OPEN_SHARE * cells.span:
        return None
    grids = [make_grid(cells, clock) for clock in (ZONES if zone == "UTC" else (zone,))]
    rhythms = [(*expect_by_rhythm(grid), grid) for grid in grids]
    agreement, expected, grid = max(rhythms, key=lambda rhythm: rhythm[0])
    if agreement < LEAST_AGREEMENT:
        return None
    on_clock = "" if grid.zone == "UTC" else f" on the clock of {grid.zone}"
    lacking, *days = set_days_aside(grid, expected)
    return _measure(every, grid, lacking, f"{BY_RHYTHM}{on_clock}", None, *days)


def list_gaps(timestamp: Ints, timeframe_ns: int) -> OpenGaps:
    """All steps between bars [T] that are longer than one."""
    before = find_steps(timestamp, timeframe_ns + 1, LONGEST_NS)
    starts, ends = timestamp[before], timestamp[before + 1]
    return OpenGaps(starts, ends, (ends - starts) // timeframe_ns - 1)


def gap_lines(timestamp: Ints, timeframe_ns: int, open_gaps: OpenGaps | None) -> tuple[str, ...]:
    """Notes about the gaps of bars [T]: those in open hours, where these are known."""
    return (open_gaps or list_gaps(timestamp, timeframe_ns)).notes


def _by_calendar(timestamp: Ints, timeframe_ns: int, zone: str, calendar: str) -> OpenGaps | None:
    # Takes a second to load, and may not be installed.
    from data.calendars import find_sessions

    sessions = find_sessions(calendar, int(timestamp[0]), int(timestamp[-1]))
    cells = count_cells(timestamp, timeframe_ns)
    if cells is None:
        return None
    is_daily = timeframe_ns == DAY_NS
    grid = make_grid(cells, zone if is_daily else sessions.zone)
    if is_daily:
        expected = np.isin(grid.days, sessions.days).astype(np.int64)
    else:
        expected = grid.count_slots(sessions.opens, sessions.closes)
    lacking = np.maximum(expected - grid.counts, 0)
    first, last = int(grid.days[0]), int(grid.days[-1])
    every = np.arange(first, last + 1)
    # Day 0 was a Thursday: the week is counted from there.
    is_weekday = np.isin(every % 7, sessions.days % 7)
    holidays = every[is_weekday & ~np.isin(every, sessions.days)]
    short = sessions.short_days[(sessions.short_days >= first) & (sessions.short_days <= last)]
    every_gap, rule = list_gaps(timestamp, timeframe_ns), f"the calendar of {calendar}"
    return _measure(every_gap, grid, lacking, rule, calendar, holidays, short)


def _join_clocks(
    timestamp: Ints, timeframe_ns: int, zone: str, changes: Sequence[ClockChange]
) -> OpenGaps:
    """Gaps of bars [T] with a clock that changes: those of each part, by its own rhythm."""
    edges = [0, *(change.bar for change in changes), len(timestamp)]
    parts = [find_open_gaps(timestamp[a:b], timeframe_ns, zone) for a, b in pairwise(edges)]
    known, named = [part for part in parts if part is not None], "; ".join(map(str, changes))
    if len(known) < len(parts):
        return replace(list_gaps(timestamp, timeframe_ns), clocks=named)
    return OpenGaps(
        np.concatenate([part.starts_ns for part in known]),
        np.concatenate([part.ends_ns for part in known]),
        np.concatenate([part.missing for part in known]),
        rule=BY_RHYTHM,
        pauses=sum(part.pauses for part in known) + len(changes),
        days_off=tuple(day for part in known for day in part.days_off),
        short_days=tuple(day for part in known for day in part.short_days),
        clocks=named,
    )


def _measure(
    every: OpenGaps, grid: WeekGrid, lacking: Ints, rule: str, calendar: str | None, *days: Ints
) -> OpenGaps:
    """Gaps at cells that lack so many bars [C], the rest as pauses; `days` off, and short ones."""
    missing = grid.sum_between(lacking, every.starts_ns + grid.timeframe_ns, every.ends_ns)
    is_gap = missing > 0
    off, short = (tuple(part.astype("datetime64[D]").astype(str).tolist()) for part in days)
    starts, ends = every.starts_ns[is_gap], every.ends_ns[is_gap]
    pauses = int((~is_gap).sum())
    return OpenGaps(starts, ends, missing[is_gap], rule, calendar, pauses, off, short)


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _name(noun: str, days: tuple[str, ...]) -> str:
    """The first of some days, as "3 half days: 2024-07-03, ..."; empty where there are none."""
    counted = _count(len(days), noun).replace("day without a bars", "days without a bar")
    more = f" and {len(days) - MOST_NAMED:,} more" if len(days) > MOST_NAMED else ""
    return f"{counted}: {', '.join(days[:MOST_NAMED])}{more}" if days else ""
