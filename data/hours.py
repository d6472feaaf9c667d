"""Gaps while a market is open, apart from its closed hours.

Open hours are those of an exchange's calendar, or of the rhythm of the series' own weeks: a
quarter of an hour in which most weeks have bars is open. Whole days without a bar are taken for
holidays then, and days that end early or begin late for short ones; both are named.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from data.checks import Flags, Ints, format_time
from data.errors import count_nouns
from data.timeframe import DAY_NS, HOUR_NS, LONGEST_NS, MINUTE_NS, WEEK_NS
from data.zones import find_steps, to_local

BREAK_NS = 4 * HOUR_NS
"""Bars further apart belong to two sessions: nights and weekends, no break at noon."""

LEAST_SESSIONS, MOST_ALIKE_FRAC, NOT_ALIKE = 4, 0.75, -1
"""So many sessions on each side of a change, of which at least that share begin and end alike."""

MOST_CHANGES = 2
"""A series with more follows a timetable of its own."""

SUMMER_TIME = ("02-10", "05-01"), ("09-01", "11-16")
"""Days of a year between which countries change their clocks by an hour."""

CELL_NS = 15 * MINUTE_NS
"""Shorter bars are counted by quarters of an hour: also in a market that trades in few minutes."""

BLOCK = 1 << 20
"""Bars that are looked at in one go: a series may be as large as memory."""

MOST_CELLS = 3_000_000

LEAST_WEEKS, LEAST_DAYS, BLOCK_WEEKS = 4, 3, 26
"""Shorter series show a rhythm of days, and still shorter ones none; a market may change its hours:
each half year has a rhythm of its own."""

OPEN_SHARE, LEAST_CLOSED, LEAST_FILLED = 0.5, 0.02, 0.8
"""Share of weeks that have bars at a time at which a market is open; and shares of a rhythm: so
many cells at least are closed, and so many of the open ones have bars."""

USUAL_QUANTILE = 0.9

SHORT_SHARE, INNER_SHARE, THIN_SHARE, MOST_SHORT_DAYS = 0.1, 0.15, 0.7, 0.1
"""A short day lacks more than the first share of its bars, and no more than the second before it
thins out to less than the third; where more days than the last share do, none is short."""

MOST_HOLIDAYS = 10
"""Days in a row without a bar that may be holidays; more are a gap."""

ZONES = ("UTC", "America/New_York", "Europe/London")
"""Clocks by which sessions may be held; other countries change theirs with one of these, or not."""

LEAST_AGREEMENT = 0.9
"""Share of a series' quarters of an hour that a rhythm must have right."""

ALWAYS_OPEN_SHARE = 0.97
"""A market with bars in more of all quarters of an hour has no closed hours worth a search."""

BY_RHYTHM, MOST_NAMED = "the rhythm of its weeks", 5


@dataclass(frozen=True)
class ClockChange:
    """A session from which on all begin and end by as much later."""

    bar: int  # its first
    start_ns: int  # when that opens, on the clock of the series
    later_ns: int  # negative where they begin earlier
    before_ns: int  # time of day at which sessions before it begin
    after_ns: int

    @property
    def is_summer(self) -> bool:
        """True if countries change their clocks so, at that time of the year."""
        day = str(np.datetime64(self.start_ns // DAY_NS, "D"))[5:]
        is_hour = abs(self.later_ns) <= HOUR_NS
        return is_hour and any(first <= day < end for first, end in SUMMER_TIME)

    def __str__(self) -> str:
        until, since = (str(np.datetime64(self.start_ns // DAY_NS - days, "D")) for days in (1, 0))
        before, after = (
            f"{time // HOUR_NS:02}:{time % HOUR_NS // MINUTE_NS:02}"
            for time in (self.before_ns, self.after_ns)
        )
        return (
            f"sessions begin at {before} until {until} and at {after} from {since} on: is it one "
            "clock? If not, part the file there and name the zone of each part with --tz"
        )


@dataclass(frozen=True)
class Cells:
    """Cells of time that have bars."""

    times: Ints  # [U], when each begins, or its bar opens, nanoseconds UTC, ascending
    counts: Ints  # [U], bars in it
    cell_ns: int  # length of a cell
    timeframe_ns: int  # duration of a bar

    @property
    def span(self) -> int:
        """Cells from the first to the last, with bars or without."""
        return int((self.times[-1] - self.times[0]) // self.cell_ns) + 1


@dataclass(frozen=True)
class WeekGrid:
    """All cells of a series from its first to its last, on a local clock."""

    counts: Ints  # [C], bars in each
    first: int  # number of the first cell since 1970
    phase_ns: int  # how long after a multiple of its length a cell begins
    zone: str  # IANA zone of the clock
    cell_ns: int
    timeframe_ns: int

    @property
    def full(self) -> int:
        """Bars that a cell can hold."""
        return self.cell_ns // self.timeframe_ns

    @cached_property
    def numbers(self) -> Ints:
        """Number of each cell since 1970, [C]."""
        return self.first + np.arange(len(self.counts), dtype=np.int64)

    @cached_property
    def days(self) -> Ints:
        """Day of each cell since 1970, [C]; that of its middle for cells of one bar."""
        middle_ns = (self.cell_ns - 1) // 2 if self.full == 1 else 0
        days: Ints = (self.numbers * self.cell_ns + self.phase_ns + middle_ns) // DAY_NS
        return days

    def count_slots(self, opens: Ints, closes: Ints) -> Ints:
        """Bars that each cell [C] holds if one opens with each session and others follow it."""
        starts = to_local(opens, self.zone) - self.phase_ns
        counts = -(-(closes - opens) // self.timeframe_ns)
        # Bars of each session numbered from 0.
        known_slots = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        times = np.repeat(starts, counts) + known_slots * self.timeframe_ns
        cells = times // self.cell_ns - self.first
        inside = cells[(cells >= 0) & (cells < len(self.counts))]
        slots_of_cell: Ints = np.bincount(inside, minlength=len(self.counts))
        return slots_of_cell

    def sum_between(self, lacking: Ints, starts: Ints, ends: Ints) -> Ints:
        """Bars that cells lack [C], summed from each time [K] to another, parts of cells too."""
        starts, ends = (to_local(times, self.zone) - self.phase_ns for times in (starts, ends))
        first, last = (
            np.clip(times // self.cell_ns - self.first, 0, len(lacking) - 1)
            for times in (starts, ends - 1)
        )
        edge_first, edge_last = ((cells + self.first) * self.cell_ns for cells in (first + 1, last))
        # Bars that fit from a time to the edge of its cell, rounded up.
        room_first = -(-(np.minimum(ends, edge_first) - starts) // self.timeframe_ns)
        room_last = -(-(ends - np.maximum(starts, edge_last)) // self.timeframe_ns)
        until = np.concatenate(([0], np.cumsum(lacking)))
        total: Ints = np.minimum(lacking[first], np.maximum(room_first, 0))
        total += np.maximum(until[last] - until[np.minimum(first + 1, len(lacking))], 0)
        total += (last > first) * np.minimum(lacking[last], np.maximum(room_last, 0))
        return total * (last >= first)


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
            gaps = count_nouns(len(self.missing), "gap") + (" in open hours" if self.rule else "")
            lacking = count_nouns(int(self.missing.sum()), "bar")
            lines.insert(0, f"{gaps}, {lacking} missing; the longest from {start} to {end}")
        if self.pauses:
            is_known = self.calendar is not None
            off, short = ("holiday", "half day") if is_known else ("day without a bar", "short day")
            pauses = f"{count_nouns(self.pauses, 'pause')} in closed hours, by {self.rule}"
            named = (_name(off, self.days_off), _name(short, self.short_days))
            lines.append("; ".join(filter(None, (pauses, *named))))
        return tuple(lines)


def find_clock_changes(timestamp: Ints, timeframe_ns: int, zone: str) -> tuple[ClockChange, ...]:
    """Changes of the clock of a zone's bars [T].

    An exchange that opens for longer moves one end of its sessions; summer time moves both by an
    hour, in spring and in autumn: neither is one.
    """
    breaks = find_steps(timestamp, BREAK_NS, LONGEST_NS)
    if timeframe_ns > HOUR_NS or len(breaks) + 1 < 2 * LEAST_SESSIONS:
        return ()
    bars = np.concatenate(([0], breaks + 1))
    firsts = to_local(timestamp[bars], zone)
    begins = firsts % DAY_NS
    ends = to_local(timestamp[np.append(breaks, len(timestamp) - 1)], zone) % DAY_NS
    at = np.arange(LEAST_SESSIONS, len(bars) - LEAST_SESSIONS + 1)
    (before, after), (end_before, end_after) = _find_usual(begins), _find_usual(ends)
    later = _turn(after - before)
    is_change = (later != 0) & (later == _turn(end_after - end_before))
    is_change &= np.abs(_turn(begins[at] - begins[at - 1])) >= HOUR_NS
    is_change &= np.min((before, after, end_before, end_after), axis=0) != NOT_ALIKE
    # The first of the new sessions, and no day beside it on which summer time begins.
    is_change &= (begins[at] == after) | (ends[at] == end_after)
    columns = (bars[at], firsts[at], later, before, after)
    rows = np.stack([column[is_change] for column in columns], axis=1).tolist()
    found = [change for change in (ClockChange(*row) for row in rows) if not change.is_summer]
    if sum(abs(change.later_ns) == HOUR_NS for change in found) > 1:
        # Some country's own summer time, or a month of fasting.
        found = [change for change in found if abs(change.later_ns) != HOUR_NS]
    return tuple(found) if len(found) <= MOST_CHANGES else ()


def count_cells(timestamp: Ints, timeframe_ns: int) -> Cells | None:
    """Cells of ascending bars [T]; None where no week has a rhythm of such bars."""
    is_short = CELL_NS % timeframe_ns == 0
    cell_ns = CELL_NS if is_short else timeframe_ns
    too_many = (timestamp[-1] - timestamp[0]) // cell_ns >= MOST_CELLS
    if timeframe_ns > DAY_NS or WEEK_NS % cell_ns or too_many:
        return None
    if cell_ns == timeframe_ns:
        return Cells(timestamp, np.ones(len(timestamp), dtype=np.int64), cell_ns, timeframe_ns)
    starts, last = [], timestamp[:1] // cell_ns - 1
    for at in range(0, len(timestamp), BLOCK):
        numbers = timestamp[at : at + BLOCK] // cell_ns
        starts.append(np.flatnonzero(np.diff(numbers, prepend=last)) + at)
        last = numbers[-1:]
    begins = np.concatenate(starts)
    counts = np.diff(begins, append=len(timestamp))
    return Cells(timestamp[begins] // cell_ns * cell_ns, counts, cell_ns, timeframe_ns)


def make_grid(cells: Cells, zone: str) -> WeekGrid:
    """The cells of a series on the clock of a zone."""
    local_ns = to_local(cells.times, zone)
    phase_ns = 0
    if cells.cell_ns == cells.timeframe_ns:
        phases, counts = np.unique(local_ns % cells.cell_ns, return_counts=True)
        # Half a bar before the usual time: bars a little early or late are in its cell.
        phase_ns = int(phases[np.argmax(counts)]) - (cells.cell_ns - 1) // 2
    numbers = (local_ns - phase_ns) // cells.cell_ns
    first = int(numbers.min())
    counts = np.bincount(numbers - first, weights=cells.counts).astype(np.int64)
    return WeekGrid(counts, first, phase_ns, zone, cells.cell_ns, cells.timeframe_ns)


def expect_by_rhythm(grid: WeekGrid) -> tuple[float, Ints]:
    """Bars that each cell [C] should hold, and the share of cells that the rhythm has right.

    The share is 0 where there is none: too short a series, or no closed hours.
    """
    has_bars = grid.counts > 0
    per_week, per_day = WEEK_NS // grid.cell_ns, max(DAY_NS // grid.cell_ns, 1)
    is_counted = np.ones(len(has_bars), dtype=np.bool_)
    if len(has_bars) < LEAST_WEEKS * per_week:
        # A short series has a rhythm of days, on weekdays that have bars.
        seen_days = np.unique(grid.days[has_bars])
        if per_day == 1 or len(seen_days) < LEAST_DAYS:
            return 0.0, grid.counts
        slot = grid.numbers % per_week % per_day
        is_counted = np.isin(grid.days % 7, seen_days % 7)
    else:
        blocks = (grid.numbers - grid.first) // (per_week * BLOCK_WEEKS)
        last_block = max(len(blocks) // per_week // BLOCK_WEEKS - 1, 0)
        slot = grid.numbers % per_week + np.minimum(blocks, last_block) * per_week
    occurrences = np.bincount(slot[is_counted], minlength=int(slot.max()) + 1)
    with_bars = np.bincount(slot[has_bars], minlength=len(occurrences))
    is_often = (with_bars > 0) & (with_bars >= OPEN_SHARE * occurrences)
    is_open = is_often[slot] & is_counted
    share_open = is_open[is_counted].mean()
    if not 0 < share_open <= 1 - LEAST_CLOSED or has_bars[is_open].mean() < LEAST_FILLED:
        return 0.0, grid.counts
    expected = np.where(is_open, grid.full, 0)
    if grid.full > 1:
        _lower_edges(grid, slot, is_open, expected)
    return float((is_open == has_bars).mean()), expected


def set_days_aside(grid: WeekGrid, expected: Ints) -> tuple[Ints, Ints, Ints]:
    """Bars that cells lack [C] but for days off and short days, and the numbers of these days."""
    days = grid.days - grid.days[0]
    lacking = np.maximum(expected - grid.counts, 0)
    due = np.bincount(days, weights=expected)
    had = np.bincount(days, weights=expected - lacking)
    open_days = np.flatnonzero(due > 0)
    edges = np.flatnonzero(np.diff(np.pad((had[open_days] == 0).astype(np.int8), 1)))
    runs = [(a, b) for a, b in edges.reshape(-1, 2).tolist() if b - a <= MOST_HOLIDAYS]
    off = np.concatenate([open_days[:0], *(open_days[a:b] for a, b in runs)])
    lacking[np.isin(days, off)] = 0
    is_odd = (had > 0) & (due - had > SHORT_SHARE * due)
    odd = np.flatnonzero(is_odd)
    if len(odd) > max(1, MOST_SHORT_DAYS * (due > 0).sum()):
        odd = odd[:0]
    short = [day for day in odd.tolist() if _close_early(expected, lacking, days, day)]
    return lacking, off + grid.days[0], np.array(short, dtype=np.int64) + grid.days[0]


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


def _find_usual(times: Ints) -> tuple[Ints, Ints]:
    """Times of day that most sessions have before one, and from it on, each [N]."""
    windows = np.sort(np.lib.stride_tricks.sliding_window_view(times, LEAST_SESSIONS), axis=1)
    middle = windows[:, LEAST_SESSIONS // 2]
    is_alike = (windows == middle[:, None]).mean(axis=1) >= MOST_ALIKE_FRAC
    usual = np.where(is_alike, middle, NOT_ALIKE)
    return usual[:-LEAST_SESSIONS], usual[LEAST_SESSIONS:]


def _turn(times: Ints) -> Ints:
    """Differences of times of day, the shorter way round."""
    turned: Ints = (times + DAY_NS // 2) % DAY_NS - DAY_NS // 2
    return turned


def _lower_edges(grid: WeekGrid, slot: Ints, is_open: Flags, expected: Ints) -> None:
    """Expect the usual content of cells at the edge of a session: an auction, a half cell."""
    beside = np.pad(is_open, 1)
    edges = np.flatnonzero(is_open & ~(beside[:-2] & beside[2:]))
    filled = edges[grid.counts[edges] > 0]
    # By slot, and by bars within one: a quantile of each slot is one position in its run.
    filled = filled[np.lexsort((grid.counts[filled], slot[filled]))]
    known, starts, sizes = np.unique(slot[filled], return_index=True, return_counts=True)
    usual = np.full(int(slot.max()) + 1, grid.full)
    usual[known] = grid.counts[filled[starts + (USUAL_QUANTILE * (sizes - 1)).astype(np.int64)]]
    expected[edges] = usual[slot[edges]]


def _close_early(expected: Ints, lacking: Ints, days: Ints, day: int) -> bool:
    """True if a day lacks bars at one end alone; then `lacking` [C] is cleared there."""
    start, end = np.searchsorted(days, (day, day + 1))
    # Forwards, then backwards: a cut clears what lacks behind it.
    for step in (1, -1):
        due, lacks = expected[start:end][::step], lacking[start:end][::step]
        due_before, lacks_before = (np.cumsum(part) - part for part in (due, lacks))
        due_after, lacks_after = due.sum() - due_before, lacks.sum() - lacks_before
        is_cut = lacks_after > (1 - THIN_SHARE) * due_after
        is_cut &= lacks_before <= INNER_SHARE * due_before
        is_cut &= lacks_after > SHORT_SHARE * due.sum()
        cuts = np.flatnonzero(is_cut & (due_before > 0))
        if len(cuts):
            lacks[cuts[0] :] = 0
            return True
    return False


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


def _name(noun: str, days: tuple[str, ...]) -> str:
    """The first of some days, as "3 half days: 2024-07-03, ..."; empty where there are none."""
    counted = count_nouns(len(days), noun).replace("day without a bars", "days without a bar")
    more = f" and {len(days) - MOST_NAMED:,} more" if len(days) > MOST_NAMED else ""
    return f"{counted}: {', '.join(days[:MOST_NAMED])}{more}" if days else ""
