"""Clocks that change within a series: sessions that begin and end by as much earlier or later."""

from dataclasses import dataclass

import numpy as np

from data.checks import Ints
from data.timeframe import DAY_NS, MINUTE_NS
from data.zones import HOUR_NS, to_local

BREAK_NS = 4 * HOUR_NS
"""Bars further apart belong to two sessions: nights and weekends, no break at noon."""

LEAST_SESSIONS, MOST_ALIKE_FRAC = 4, 0.75
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


def find_clock_changes(
    timestamp: Ints, steps: Ints, timeframe_ns: int, zone: str
) -> tuple[ClockChange, ...]:
    """Changes of the clock of a zone's bars [T], after some of which [K] the next is late.

    An exchange that opens for longer moves one end of its sessions; summer time moves both by an
    hour, in spring and in autumn: neither is one.
    """
    breaks = steps[timestamp[steps + 1] - timestamp[steps] >= BREAK_NS]
    if timeframe_ns > HOUR_NS or len(breaks) + 1 < 2 * LEAST_SESSIONS:
        return ()
    bars = np.concatenate(([0], breaks + 1))
    firsts = to_local(timestamp[bars], zone)
    lasts = to_local(timestamp[np.append(breaks, len(timestamp) - 1)], zone)
    found = []
    moves = np.abs(_turn(np.diff(firsts % DAY_NS))) >= HOUR_NS
    for at in (np.flatnonzero(moves) + 1).tolist():
        begins, ends = (_find_usual(times % DAY_NS, at) for times in (firsts, lasts))
        if begins is None or ends is None:
            continue
        later_ns = int(_turn(begins[1] - begins[0]))
        is_both = later_ns == int(_turn(ends[1] - ends[0]))
        # The first of the new sessions, and no day beside it on which summer time begins.
        is_both &= firsts[at] % DAY_NS == begins[1] or lasts[at] % DAY_NS == ends[1]
        if is_both and not _is_summer_time(int(firsts[at]), later_ns):
            found.append(ClockChange(int(bars[at]), int(firsts[at]), later_ns, *begins.tolist()))
    hours = [change for change in found if abs(change.later_ns) == HOUR_NS]
    if len(hours) > 1:
        # Some country's own summer time, or a month of fasting.
        found = [change for change in found if change not in hours]
    return tuple(found) if len(found) <= MOST_CHANGES else ()


def _find_usual(times: Ints, at: int) -> Ints | None:
    """Times of day [2] that most sessions before one, and from it on, have."""
    usual = []
    for part in (times[max(at - LEAST_SESSIONS, 0) : at], times[at : at + LEAST_SESSIONS]):
        values, counts = np.unique(part, return_counts=True)
        if len(part) < LEAST_SESSIONS or counts.max() < MOST_ALIKE_FRAC * len(part):
            return None
        usual.append(values[np.argmax(counts)])
    return np.array(usual)


def _is_summer_time(local_ns: int, later_ns: int) -> bool:
    day = str(np.datetime64(local_ns // DAY_NS, "D"))[5:]
    is_hour = abs(later_ns) <= HOUR_NS
    return is_hour and any(first <= day < end for first, end in SUMMER_TIME)


def _turn(times: Ints) -> Ints:
    """Differences of times of day, the shorter way round."""
    turned: Ints = (times + DAY_NS // 2) % DAY_NS - DAY_NS // 2
    return turned
