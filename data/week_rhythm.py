"""Open hours of a market, as the weeks of its own bars show: cells of time on a local clock."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from data.checks import Flags, Ints
from data.timeframe import DAY_NS, MINUTE_NS, WEEK_NS
from data.zones import to_local

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
    off = _short_runs(np.flatnonzero(due > 0), had == 0)
    lacking[np.isin(days, off)] = 0
    is_odd = (had > 0) & (due - had > SHORT_SHARE * due)
    odd = np.flatnonzero(is_odd)
    if len(odd) > max(1, MOST_SHORT_DAYS * (due > 0).sum()):
        odd = odd[:0]
    short = [day for day in odd.tolist() if _close_early(expected, lacking, days, day)]
    return lacking, off + grid.days[0], np.array(short, dtype=np.int64) + grid.days[0]


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


def _short_runs(days: Ints, is_empty: Flags) -> Ints:
    """Empty ones of ascending days, but for runs that are longer than holidays."""
    edges = np.flatnonzero(np.diff(np.pad(is_empty[days].astype(np.int8), 1)))
    runs = [(a, b) for a, b in edges.reshape(-1, 2).tolist() if b - a <= MOST_HOLIDAYS]
    return np.concatenate([days[:0], *(days[a:b] for a, b in runs)])


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
