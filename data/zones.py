"""Clocks of time zones: local times to UTC and back, with the hours that a clock repeats."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np
import numpy.typing as npt

from data.checks import EARLIEST_NS, LATEST_NS, NO_TIME, SHOWN, Ints, format_time
from data.errors import TableError, list_some, near_match
from data.timeframe import DAY_NS, MINUTE_NS, SECOND_NS

AS_UTC = "times name no zone, read as UTC; --tz names another"
"""Note about local times that name no zone."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TWICE, NEVER = -(2**62), -(2**62) - 1
"""Stand in for an offset where a local time exists twice, or not at all."""

CLOCKS = (
    *("America/New_York", "America/Chicago", "Europe/London", "Europe/Berlin", "Europe/Helsinki"),
    "Australia/Sydney",
)

HOUR_NS, YEAR_NS = 60 * MINUTE_NS, 365 * DAY_NS

MOST_SKIPS = 100
"""Missing hours that are looked at: a file of more has other reasons for them."""

UNCHANGED_NS = 3 * DAY_NS
"""No clock was changed twice within a week since 1970: so far apart, equal offsets are one."""

KNOWN_CLOCKS = 256
"""Lists of changes that are remembered, for many files alike."""

Ambiguous = Literal["earlier", "later"]
"""Moment that a local time stands for, of its two in the hour that a clock repeats."""


@dataclass(frozen=True)
class LocalZone:
    """The zone of times that name none.

    Raises:
        TableError: When there is no such zone.
    """

    name: str  # IANA name
    # Reading of repeated times that the order of rows does not settle; None refuses them.
    ambiguous: Ambiguous | None = None

    def __post_init__(self) -> None:
        find_zone(self.name)

    def __str__(self) -> str:
        return self.name


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
    known = (local_ns != NO_TIME) & (local_ns >= EARLIEST_NS) & (local_ns < LATEST_NS)
    times = local_ns[known]
    earlier, later = _find_local_offsets(times, zone.name)
    shift_ns = np.where(earlier > later, TWICE, np.where(earlier < later, NEVER, earlier))
    notes = _settle_repeated(times, shift_ns, (earlier, later), zone, is_series)
    _refuse_impossible(local_ns, np.flatnonzero(known), shift_ns, label, zone)
    utc_ns = local_ns.copy()
    utc_ns[known] -= shift_ns
    return utc_ns, notes


def find_zone(tz: str) -> ZoneInfo:
    """Look up a zone by its IANA name."""
    try:
        return ZoneInfo(tz)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    if not available_timezones():
        raise TableError("this machine has no zone data; install the package tzdata to use --tz")
    hint = near_match(tz, available_timezones())
    raise TableError(
        f"--tz {tz[:64]!r} is no IANA zone; write one such as UTC or America/New_York{hint}"
    )


def clock_that_repeats(local_ns: int) -> str | None:
    """One of the zones that many files are written in whose clock shows a local time twice."""
    for name in CLOCKS:
        earlier, later = _find_local_offsets(np.array([local_ns]), name)
        if earlier[0] > later[0]:
            return name
    return None


def clock_that_skips(local_ns: Ints, timeframe_ns: int) -> str | None:
    """One of those zones whose clock skips the one hour that is missing from times [T] in spring.

    None where most single hours that are missing are others, as in a market that trades seldom.
    """
    rows = np.flatnonzero(np.diff(local_ns) == HOUR_NS + timeframe_ns)
    missing = local_ns[rows] + timeframe_ns
    for name in CLOCKS if len(missing) <= MOST_SKIPS else ():
        earlier, later = _find_local_offsets(missing, name)
        if 2 * (earlier < later).sum() > len(missing):
            return name
    return None


def find_utc_offsets(utc_ns: Ints, tz: str) -> Ints:
    """Nanoseconds by which a zone's clock is ahead of UTC at each time [N]."""
    changes, offsets = _find_changes(utc_ns, tz)
    ahead_ns: Ints = offsets[np.searchsorted(changes, utc_ns, side="right")]
    return ahead_ns


def to_local(utc_ns: Ints, tz: str) -> Ints:
    """Times [N] on the clock of a zone, nanoseconds since 1970-01-01T00:00 there."""
    return utc_ns if tz == "UTC" else utc_ns + find_utc_offsets(utc_ns, tz)


def earliest_moments(local_ns: Ints, tz: str) -> Ints:
    """UTC of local times [N]; the first of two moments, or the end of the hour that was skipped."""
    # A time that was skipped is read by the clock before the change: its end, in UTC.
    return local_ns - _find_local_offsets(local_ns, tz)[0]


def _find_local_offsets(local_ns: Ints, tz: str) -> tuple[Ints, Ints]:
    """Offsets of local times [N] by the clock before a change and by the one after it.

    They are equal but near a change: a time that exists twice has the greater one first, one that
    does not exist the smaller one, as `fold` has it in PEP 495.
    """
    changes, offsets = _find_changes(local_ns, tz)
    before, after = offsets[:-1], offsets[1:]
    earlier, later = (
        offsets[np.searchsorted(changes + shift, local_ns, side="right")]
        for shift in (np.maximum(before, after), np.minimum(before, after))
    )
    return earlier, later


def _find_changes(times_ns: Ints, tz: str) -> tuple[Ints, Ints]:
    """Changes and offsets, as `_list_changes` has them, that reach a day beyond times [N]."""
    edges = (times_ns.min() - DAY_NS, times_ns.max() + DAY_NS) if len(times_ns) else (0, 0)
    return _list_changes(tz, *(int(edge) // YEAR_NS for edge in edges))


@lru_cache(KNOWN_CLOCKS)
def _list_changes(tz: str, first_year: int, last_year: int) -> tuple[Ints, Ints]:
    """Times at which a clock is changed [K], and its offsets before, between and after [K + 1].

    Years are those of 365 days since 1970.
    """
    clock = find_zone(tz)
    edges = range(first_year * YEAR_NS, (last_year + 1) * YEAR_NS + UNCHANGED_NS, UNCHANGED_NS)
    offsets = [_utc_offset_ns(edge, clock) for edge in edges]
    changes, between = [], [offsets[0]]
    for edge, before, after in zip(edges, offsets, offsets[1:], strict=False):
        if before == after:
            continue
        # Bisected to the second at which the clock changes.
        early, late = edge, edge + UNCHANGED_NS
        while late - early > SECOND_NS:
            middle = (early + late) // 2 // SECOND_NS * SECOND_NS
            is_before = _utc_offset_ns(middle, clock) == before
            early, late = (middle, late) if is_before else (early, middle)
        changes.append(late)
        between.append(after)
    return np.array(changes, dtype=np.int64), np.array(between, dtype=np.int64)


def _utc_offset_ns(utc_ns: int, clock: ZoneInfo) -> int:
    moment = EPOCH + timedelta(microseconds=utc_ns // 1000)
    offset = moment.astimezone(clock).utcoffset() or timedelta(0)
    return offset // timedelta(microseconds=1) * 1000


def _settle_repeated(
    times: Ints, shift_ns: Ints, offsets: tuple[Ints, Ints], zone: LocalZone, is_series: bool
) -> tuple[str, ...]:
    """Give rows of repeated hours [N] their offset in `shift_ns`, where there is one reading."""
    rows = np.flatnonzero(shift_ns == TWICE)
    if not len(rows):
        return ()
    ambiguous = zone.ambiguous
    is_newest_first = bool((np.diff(times) < 0).sum() > (np.diff(times) > 0).sum())
    counts = {"by the order of rows": 0, f"by --ambiguous {ambiguous}": 0}
    for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1):
        ordered = run[::-1] if is_newest_first else run
        turn = _find_turn(times[ordered]) if is_series else None
        if turn is None and ambiguous is None:
            continue
        first_later = (len(run) if ambiguous == "earlier" else 0) if turn is None else turn
        parts = (ordered[:first_later], ordered[first_later:])
        for part, offsets_of_fold in zip(parts, offsets, strict=True):
            shift_ns[part] = offsets_of_fold[part]
        counts[list(counts)[turn is None]] += len(run)
    return tuple(
        f"{count} local times that clocks show twice are told apart {how}"
        for how, count in counts.items()
        if count
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
    kinds = ((TWICE, "exist twice"), (NEVER, "do not exist"))
    for mark, words in kinds:
        bad = rows[shift_ns == mark]
        if len(bad):
            first = (f"row {i} {format_time(local_ns[i])}" for i in bad[:SHOWN])
            shown = list_some(first, len(bad))
            remedy = (
                "the order of rows does not show which is meant, "
                f"--tz {zone} --ambiguous earlier (or later) says so"
                if mark == TWICE
                else _fixed_clock(int(local_ns[bad[0]]), zone.name)
            )
            raise TableError(
                f"{label}, in --tz {zone}: {len(bad)} local times {words} because clocks change: "
                f"{shown}; {remedy}"
            )


def _fixed_clock(local_ns: int, tz: str) -> str:
    """The end of an error about times that a zone skips: a zone of the same hours that does not."""
    offset_ns = int(_find_local_offsets(np.array([local_ns]), tz)[0][0])
    if offset_ns % HOUR_NS or not offset_ns:
        return "name the zone that they were written in, or write them in UTC"
    fixed = f"Etc/GMT{-offset_ns // HOUR_NS:+d}"
    return f"--tz {fixed} reads a clock that is not put forward, --tz UTC one that shows UTC"
