"""Local times to UTC; times that a change of clocks makes ambiguous or impossible are refused."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np
import numpy.typing as npt

from data.checks import EARLIEST_NS, LATEST_NS, NO_TIME, SHOWN, format_time
from data.errors import TableError, near_match

Ints = npt.NDArray[np.int64]

DAY_NS = 86_400 * 10**9
EPOCH = datetime(1970, 1, 1)


def localise(local_ns: Ints, tz: str, place: str) -> Ints:
    """Turn local times into UTC.

    Args:
        local_ns: [N], nanoseconds of local time since 1970-01-01T00:00 local.
        tz: IANA name of the zone.
        place: What errors start with.

    Returns:
        [N], nanoseconds UTC; `NO_TIME` and times outside 1900 to 2100 are left as they are.

    Raises:
        TableError: When the zone is unknown, or a time exists twice or not at all in it.
    """
    zone = find_zone(tz)
    known = (local_ns != NO_TIME) & (local_ns >= EARLIEST_NS) & (local_ns < LATEST_NS)
    days, day_of_row = np.unique(local_ns[known] // DAY_NS, return_inverse=True)
    offsets = [_constant_offset_ns(int(day), zone) for day in days]
    is_constant = np.array([offset is not None for offset in offsets], dtype=np.bool_)
    shift_ns = np.array([offset or 0 for offset in offsets], dtype=np.int64)[day_of_row]
    for row in np.flatnonzero(~is_constant[day_of_row]):
        shift_ns[row] = _offset_ns(int(local_ns[known][row]), zone)
    _refuse_impossible(local_ns, known, shift_ns, f"{place}, in --tz {tz}")
    utc_ns = local_ns.copy()
    utc_ns[known] -= shift_ns
    return utc_ns


def find_zone(tz: str) -> ZoneInfo:
    """Look up a zone.

    Args:
        tz: IANA name.

    Returns:
        The zone.

    Raises:
        TableError: When there is none of that name.
    """
    try:
        return ZoneInfo(tz)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    if not available_timezones():
        raise TableError("this machine has no zone data; install the package tzdata to use --tz")
    lower = {name.lower(): name for name in available_timezones()}
    hint = near_match(tz, list(lower)).split("'")
    near = f"; did you mean '{lower[hint[1]]}'?" if len(hint) == 3 else ""
    raise TableError(
        f"--tz {tz[:64]!r} is no IANA zone; write one such as UTC or America/New_York{near}"
    )


TWICE, NEVER = -(2**62), -(2**62) - 1
"""Stand in for an offset where a local time exists twice, or not at all."""


def _constant_offset_ns(day: int, zone: ZoneInfo) -> int | None:
    try:
        instants = [EPOCH + timedelta(days=day + k) for k in (-1, 0, 1, 2)]
    except OverflowError:
        return None
    offsets = {instant.replace(tzinfo=UTC).astimezone(zone).utcoffset() for instant in instants}
    only = offsets.pop()
    return None if offsets or only is None else only // timedelta(microseconds=1) * 1000


def _offset_ns(local_ns: int, zone: ZoneInfo) -> int:
    local = EPOCH + timedelta(microseconds=local_ns // 1000)
    readings = [local.replace(tzinfo=zone, fold=fold) for fold in (0, 1)]
    real = {
        reading.utcoffset()
        for reading in readings
        if reading.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == local
    }
    if len(real) != 1:
        return TWICE if real else NEVER
    offset = real.pop() or timedelta(0)
    return offset // timedelta(microseconds=1) * 1000


def _refuse_impossible(local_ns: Ints, known: npt.NDArray[np.bool_], shift: Ints, at: str) -> None:
    rows = np.flatnonzero(known)
    for mark, words in ((TWICE, "exist twice"), (NEVER, "do not exist")):
        bad = rows[shift == mark]
        if len(bad):
            shown = ", ".join(f"row {i} {format_time(int(local_ns[i]))}" for i in bad[:SHOWN])
            more = f" and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
            raise TableError(
                f"{at}: {len(bad)} local times {words} because clocks change: {shown}{more}; "
                "write the times in UTC or with their offset"
            )
