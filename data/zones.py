"""Clocks of time zones: local times to UTC and back, with the hours that a clock repeats."""

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np
import numpy.typing as npt

from data.checks import EARLIEST_NS, LATEST_NS, SHOWN, Ints, format_time
from data.errors import TableError, list_some, near_match
from data.timeframe import DAY_NS, HOUR_NS, MINUTE_NS, SECOND_NS, WEEK_NS

AS_UTC = "times name no zone, read as UTC; --tz names another"
"""Note about local times that name no zone."""

TWICE, NEVER = -(2**62), -(2**62) - 1
"""Stand in for an offset where a local time exists twice, or not at all."""

NEW_YORK = "America/New_York"
SERVER_CLOCK = f"{NEW_YORK}+7h"
"""Clock of most servers of MetaTrader."""

SERVERS = (SERVER_CLOCK, "EET")
"""Clocks of MetaTrader's servers: with American summer time, and with European."""

SUNDAY_NS = 3 * DAY_NS

LONGEST_PAUSE_NS, WEEKEND_NS, LONGEST_WEEKEND_NS = 4 * HOUR_NS, 40 * HOUR_NS, 5 * DAY_NS
"""A market that trades around the clock pauses so long within its weeks, and between them."""

WEEK_OPENS = (17, 18)
"""Hours of New York's Sunday in which currencies, metals and indices open."""

MOST_ODD_WEEKS, LEAST_MORE_WEEKS = 0.1, 2
"""Share of weeks that holidays change, and weeks that one clock must explain beyond any other."""

CLOCKS = (
    *(NEW_YORK, "America/Chicago", "Europe/London", "Europe/Berlin", "Europe/Helsinki"),
    "Australia/Sydney",
)

YEAR_NS = 365 * DAY_NS
MOST_SKIPS = 100
"""Missing hours that are looked at: a file of more has other reasons for them."""

UNCHANGED_NS = 3 * DAY_NS
"""No clock was changed twice within a week since 1970: so far apart, equal offsets are one."""

MOST_SHIFT_MIN, REACH_NS = 14 * 60, 2 * DAY_NS
"""A shift is no larger than the offset of a zone; no clock is further from UTC than both."""

MOST_ETC_HOURS, KNOWN_CLOCKS = 12, 256
"""Offset up to which zones of fixed hours lie both ways, and lists of changes that are kept."""

BLOCK = 1 << 16
"""Rows that are looked at together: most blocks lie between two changes of a clock."""

SHIFTED = re.compile(
    r"(?P<zone>.+)(?P<sign>[+-])"
    r"(?:(?P<h>[0-9]{1,2})(?:h(?:(?P<hm>[0-5]?[0-9])m)?|:(?P<m>[0-5][0-9]))|(?P<mm>[0-9]{1,3})m)"
)
Ambiguous = Literal["earlier", "later"]
"""Moment that a local time stands for, of its two in the hour that a clock repeats."""


class ZoneClock(NamedTuple):
    """The clock of a zone, or one at a fixed time from it."""

    zone: ZoneInfo
    shift_ns: int = 0

    @property
    def key(self) -> str:
        """Name of the clock, alike however its shift was written."""
        hours, minutes = divmod(abs(self.shift_ns) // MINUTE_NS, 60)
        sign = "-" if self.shift_ns < 0 else "+"
        shift = f"{sign}{hours}:{minutes:02}" if minutes else f"{sign}{hours}h"
        return self.zone.key + (shift if self.shift_ns else "")


@dataclass(frozen=True)
class LocalZone:
    """The zone of times that name none."""

    name: str  # IANA name, or one with a shift such as America/New_York+7h
    # Reading of repeated times that the order of rows does not settle; None refuses them.
    ambiguous: Ambiguous | None = None

    def __post_init__(self) -> None:
        find_zone(self.name)

    def __str__(self) -> str:
        return self.name


def note_server(local_ns: Ints, tz: str) -> tuple[str, ...]:
    """A note where weeks begin at one hour of New York by another clock than that of `tz`.

    They are those of local times [N], oldest or newest first.
    """
    times = local_ns[::-1] if len(local_ns) and local_ns[0] > local_ns[-1] else local_ns
    opens = times[find_steps(times, WEEKEND_NS, LONGEST_WEEKEND_NS) + 1]
    pauses = find_steps(times, LONGEST_PAUSE_NS + 1, WEEKEND_NS - 1)
    if not len(opens) or len(pauses) > len(opens):
        return ()
    alike = {clock: _count_alike(opens, clock) for clock in (tz, *SERVERS)}
    best = max(SERVERS, key=lambda clock: alike[clock])
    least = max(
        (1 - MOST_ODD_WEEKS) * len(opens),
        *(count + LEAST_MORE_WEEKS for clock, count in alike.items() if clock != best),
    )
    if best == tz or alike[best] < least:
        return ()
    return (
        f"{alike[best]} of {len(opens)} weeks begin at one hour of New York with --tz {best}, as "
        f"MetaTrader's servers have it, and {alike[tz]} as they are read now",
    )


def localise(
    local_ns: Ints, zone: LocalZone, label: str, *, is_series: bool = True
) -> tuple[Ints, tuple[str, ...]]:
    """Turn local times into UTC, with a note where repeated hours were settled.

    `local_ns` [N] counts from 1970-01-01T00:00 local. `NO_TIME` and times outside 1900 to 2100
    are left as they are. In an hour that the clock repeats, rows before the clock went back have
    the earlier offset and rows after it the later one, if rows are those of one series;
    `zone.ambiguous` decides where no step back shows when that was.

    Raises:
        TableError: When a time exists twice and nothing settles which is meant, or not at all.
    """
    utc_ns, odd = local_ns.copy(), [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(local_ns), BLOCK):
        times, out = (each[start : start + BLOCK] for each in (local_ns, utc_ns))
        earlier, later = _find_offsets(times, zone.name)
        is_known = (times >= EARLIEST_NS) & (times < LATEST_NS)
        is_odd = is_known & (earlier != later)
        np.subtract(times, earlier, out=out, where=is_known & ~is_odd)
        odd.append(start + np.flatnonzero(is_odd))
    rows = np.concatenate(odd)
    if not len(rows):
        return utc_ns, ()
    earlier, later = _find_offsets(local_ns[rows], zone.name)
    shift_ns = np.where(earlier > later, TWICE, NEVER)
    notes: tuple[str, ...] = ()
    if (shift_ns == TWICE).any():
        apart = np.flatnonzero((local_ns < EARLIEST_NS) | (local_ns >= LATEST_NS))
        known_ns = np.delete(local_ns, apart) if len(apart) else local_ns
        # Rows without a time do not part those beside them.
        places = rows - np.searchsorted(apart, rows)
        notes = _settle_repeated(
            known_ns, places, shift_ns, (earlier, later), zone.ambiguous, is_series
        )
    _refuse_impossible(local_ns, rows, shift_ns, label, zone)
    utc_ns[rows] -= shift_ns
    return utc_ns, notes


def find_zone(tz: str) -> ZoneClock:
    """Look up a clock by an IANA name, which a shift such as ``+7h`` or ``-0:30`` may follow.

    >>> find_zone("America/New_York+7:00").key, find_zone("Etc/GMT+5").key
    ('America/New_York+7h', 'Etc/GMT+5')
    """
    if (clock := _parse_clock(tz)) is not None:
        return clock
    if not available_timezones():
        raise TableError("this machine has no zone data; install the package tzdata to use --tz")
    meant = next(filter(_parse_clock, (tz.replace(" ", ""), f"{tz}h")), None)
    # Signs of zones such as Etc/GMT+5 count the other way.
    known = available_timezones() if meant is None or tz.startswith("Etc/") else (meant,)
    raise TableError(
        f"--tz {tz[:64]!r} is no IANA zone; write one such as UTC or America/New_York, with up to "
        f"14 hours added as in {SERVER_CLOCK}{near_match(tz, known)}"
    )


def clock_that_repeats(local_ns: int) -> str | None:
    """A common zone of files with a clock that shows a local time twice."""
    return _find_clock(np.array([local_ns]), np.greater)


def clock_that_skips(local_ns: Ints, timeframe_ns: int) -> str | None:
    """A common zone with a clock that skips the one hour missing from times [T] in spring.

    None where most single missing hours are others, as in a market that trades seldom.
    """
    step_ns = HOUR_NS + timeframe_ns
    missing = local_ns[find_steps(local_ns, step_ns, step_ns)] + timeframe_ns
    return _find_clock(missing, np.less) if 0 < len(missing) <= MOST_SKIPS else None


def find_steps(times: Ints, least_ns: int, most_ns: int) -> npt.NDArray[np.intp]:
    """Rows behind which times [T] step on by so much, the least and the most included."""
    found = [np.zeros(0, dtype=np.intp)]
    for start in range(0, len(times), BLOCK):
        steps = np.diff(times[start : start + BLOCK + 1])
        found.append(start + np.flatnonzero((steps >= least_ns) & (steps <= most_ns)))
    return np.concatenate(found)


def to_local(utc_ns: Ints, tz: str) -> Ints:
    """Times [N] on the clock of a zone, nanoseconds since 1970-01-01T00:00 there."""
    return utc_ns if tz == "UTC" else _shift(utc_ns, *_find_changes(utc_ns, tz))


def earliest_moments(local_ns: Ints, tz: str) -> Ints:
    """UTC of local times [N]; the first of two moments, or the end of the hour that was skipped."""
    # A time that was skipped is read by the clock before the change: its end, in UTC.
    changes, offsets = _find_changes(local_ns, tz)
    return _shift(local_ns, changes + np.maximum(offsets[:-1], offsets[1:]), -offsets)


def look_up(times: Ints, edges: Ints, offsets: Ints) -> Ints:
    """The offset that holds at each time [N]."""
    first, last = np.searchsorted(edges, (times.min(), times.max()), side="right")
    if first == last:
        return np.broadcast_to(offsets[first], times.shape)
    return offsets[np.searchsorted(edges, times, side="right")]


def _count_alike(opens: Ints, tz: str) -> int:
    """Weeks that begin at the most common hour of New York's Sunday, of local opens [K]."""
    in_york = to_local(earliest_moments(opens, tz), NEW_YORK)
    hours = (in_york - SUNDAY_NS) % WEEK_NS // HOUR_NS
    return max(int((hours == hour).sum()) for hour in WEEK_OPENS)


def _parse_clock(tz: str) -> ZoneClock | None:
    try:
        return ZoneClock(ZoneInfo(tz))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        shifted = SHIFTED.fullmatch(tz)
    zone = None if shifted is None else _parse_clock(shifted["zone"])
    if shifted is None or zone is None or zone.shift_ns:
        return None
    minutes = 60 * int(shifted["h"] or 0) + int(shifted["hm"] or shifted["m"] or shifted["mm"] or 0)
    shift_ns = minutes * (-MINUTE_NS if shifted["sign"] == "-" else MINUTE_NS)
    return ZoneClock(zone.zone, shift_ns) if minutes <= MOST_SHIFT_MIN else None


def _find_clock(local_ns: Ints, is_changed: np.ufunc) -> str | None:
    """The first of `CLOCKS` with such differences of offsets at most local times [N]."""
    return next(
        (
            name
            for name in CLOCKS
            if 2 * is_changed(*_find_offsets(local_ns, name)).sum() > len(local_ns)
        ),
        None,
    )


def _shift(times: Ints, edges: Ints, offsets: Ints) -> Ints:
    """Times [N] with the offset added that holds before, between or after edges [K]."""
    shifted = np.empty_like(times)
    for start in range(0, len(times), BLOCK):
        part = slice(start, start + BLOCK)
        np.add(times[part], look_up(times[part], edges, offsets), out=shifted[part])
    return shifted


def _find_offsets(local_ns: Ints, tz: str) -> tuple[Ints, Ints]:
    """Offsets of local times [N] by the clock before a change and by the one after it.

    They are equal except near a change: a repeated time has the greater one first, a skipped one
    the smaller, as `fold` has it in PEP 495.
    """
    changes, offsets = _find_changes(local_ns, tz)
    before, after = offsets[:-1], offsets[1:]
    shifts = (np.maximum(before, after), np.minimum(before, after))
    earlier, later = (look_up(local_ns, changes + shift, offsets) for shift in shifts)
    return earlier, later


def _find_changes(times_ns: Ints, tz: str) -> tuple[Ints, Ints]:
    """Changes [K] and offsets [K + 1], as `_list_changes` has them, that reach beyond times [N]."""
    edges = (times_ns.min(), times_ns.max()) if len(times_ns) else (0, 0)
    first, last = (min(max(int(edge), EARLIEST_NS), LATEST_NS) for edge in edges)
    return _list_changes(tz, (first - REACH_NS) // YEAR_NS, (last + REACH_NS) // YEAR_NS)


@lru_cache(KNOWN_CLOCKS)
def _list_changes(tz: str, first_year: int, last_year: int) -> tuple[Ints, Ints]:
    """Times at which a clock is changed [K], and its offsets before, between and after [K + 1].

    Years are those of 365 days since 1970.
    """
    clock = find_zone(tz)
    edges = range(first_year * YEAR_NS, (last_year + 1) * YEAR_NS + UNCHANGED_NS, UNCHANGED_NS)
    offsets = [_utc_offset_ns(edge, clock.zone) for edge in edges]
    changes, between = [], [offsets[0]]
    for edge, before, after in zip(edges, offsets, offsets[1:], strict=False):
        if before != after:
            # The first second at which it is no longer as before.
            seconds = range(edge // SECOND_NS, (edge + UNCHANGED_NS) // SECOND_NS + 1)
            at = bisect_left(
                seconds, True, key=lambda s: _utc_offset_ns(s * SECOND_NS, clock.zone) != before
            )
            changes.append(seconds[at] * SECOND_NS)
            between.append(after)
    return np.array(changes, dtype=np.int64), np.array(between, dtype=np.int64) + clock.shift_ns


def _utc_offset_ns(utc_ns: int, clock: ZoneInfo) -> int:
    moment = datetime.fromtimestamp(utc_ns // SECOND_NS, clock)
    return (moment.utcoffset() or timedelta(0)) // timedelta(seconds=1) * SECOND_NS


def _settle_repeated(
    known_ns: Ints,
    places: Ints,
    shift_ns: Ints,
    offsets: tuple[Ints, Ints],
    ambiguous: Ambiguous | None,
    is_series: bool,
) -> tuple[str, ...]:
    """Give repeated times of a clock their offset in `shift_ns` [K], if it has one reading.

    `known_ns` are local times [N], and `places` [K] the doubtful ones.
    """
    twice = np.flatnonzero(shift_ns == TWICE)
    before, behind = known_ns[:-1], known_ns[1:]
    is_newest_first = np.count_nonzero(behind < before) > np.count_nonzero(behind > before)
    settled: Counter[str] = Counter()
    for run in np.split(twice, np.flatnonzero(np.diff(places[twice]) > 1) + 1):
        ordered, how = run[::-1] if is_newest_first else run, "by the order of rows"
        turn = _find_turn(known_ns[places[ordered]]) if is_series else None
        if turn is None and ambiguous is not None:
            turn, how = len(run) if ambiguous == "earlier" else 0, f"by --ambiguous {ambiguous}"
        if turn is not None:
            for part, of_fold in zip((ordered[:turn], ordered[turn:]), offsets, strict=True):
                shift_ns[part] = of_fold[part]
            settled[how] += len(run)
    return tuple(
        f"{count} local times that clocks show twice are told apart {how}"
        for how, count in settled.items()
    )


def _find_turn(times: Ints) -> int | None:
    """The row at which the clock went back among times [N] that it shows twice; None if unclear.

    An equal time is a turn where both passes show the same times, else it may be a repeated row.
    """
    steps = np.diff(times)
    turns = np.flatnonzero(steps <= 0) + 1
    if len(turns) != 1:
        return None
    turn = int(turns[0])
    is_back = steps[turn - 1] < 0 or np.array_equal(times[:turn], times[turn:])
    return turn if is_back else None


def _refuse_impossible(
    local_ns: Ints, rows: npt.NDArray[np.intp], shift_ns: Ints, label: str, zone: LocalZone
) -> None:
    for mark, words in ((TWICE, "exist twice"), (NEVER, "do not exist")):
        bad = rows[shift_ns == mark]
        if not len(bad):
            continue
        shown = list_some((f"row {i} {format_time(local_ns[i])}" for i in bad[:SHOWN]), len(bad))
        remedy = (
            "the order of rows does not show which is meant, "
            f"--tz {zone} --ambiguous earlier (or later) says so"
            if mark == TWICE
            else _fixed_clock(local_ns[bad[:1]], zone.name)
        )
        raise TableError(
            f"{label}, in --tz {zone}: {len(bad)} local times {words} because clocks change: "
            f"{shown}; {remedy}"
        )


def _fixed_clock(local_ns: Ints, tz: str) -> str:
    """The end of an error about a time [1] that a zone skips: a zone of the same hours without."""
    hours, odd_ns = divmod(int(_find_offsets(local_ns, tz)[0][0]), HOUR_NS)
    if odd_ns or not 0 < abs(hours) <= MOST_ETC_HOURS:
        return "name the zone that they were written in, or write them in UTC"
    return f"--tz Etc/GMT{-hours:+d} reads a clock that is not put forward, --tz UTC one of UTC"
