"""Clocks that change within a series: sessions that begin and end by as much earlier or later."""

from dataclasses import dataclass

import numpy as np

from data.checks import Ints
from data.timeframe import DAY_NS, HOUR_NS, LONGEST_NS, MINUTE_NS
from data.zones import find_steps, to_local

BREAK_NS = 4 * HOUR_NS
"""Bars further apart belong to two sessions: nights and weekends, no break at noon."""

LEAST_SESSIONS, MOST_ALIKE_FRAC, NOT_ALIKE = 4, 0.75, -1
"""So many sessions on each side of a change, of which at least that share begin and end alike."""

MOST_CHANGES = 2
"""A series with more follows a timetable of its own."""

SUMMER_TIME = ("02-10", "05-01"), ("09-01", "11-16")
"""Days of a year between which countries change their clocks by an hour."""


@dataclass(frozen=True)
class ClockChange:
    """A session from which on all begin and end by as much later."""

    bar: int  # its first
    start_ns: int  # when that opens, on the clock of the series
    later_ns: int  # negative where they begin earlier
    before_ns: int  # time of day at which sessions before it begin
    after_ns: int

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
    found = [change for change in (ClockChange(*row) for row in rows) if not _is_summer(change)]
    if sum(abs(change.later_ns) == HOUR_NS for change in found) > 1:
        # Some country's own summer time, or a month of fasting.
        found = [change for change in found if abs(change.later_ns) != HOUR_NS]
    return tuple(found) if len(found) <= MOST_CHANGES else ()


def _find_usual(times: Ints) -> tuple[Ints, Ints]:
    """Times of day that most sessions have before one, and from it on, each [N]."""
    windows = np.sort(np.lib.stride_tricks.sliding_window_view(times, LEAST_SESSIONS), axis=1)
    middle = windows[:, LEAST_SESSIONS // 2]
    is_alike = (windows == middle[:, None]).mean(axis=1) >= MOST_ALIKE_FRAC
    usual = np.where(is_alike, middle, NOT_ALIKE)
    return usual[:-LEAST_SESSIONS], usual[LEAST_SESSIONS:]


def _is_summer(change: ClockChange) -> bool:
    day = str(np.datetime64(change.start_ns // DAY_NS, "D"))[5:]
    is_hour = abs(change.later_ns) <= HOUR_NS
    return is_hour and any(first <= day < end for first, end in SUMMER_TIME)


def _turn(times: Ints) -> Ints:
    """Differences of times of day, the shorter way round."""
    turned: Ints = (times + DAY_NS // 2) % DAY_NS - DAY_NS // 2
    return turned
