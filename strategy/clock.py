"""The clock: sessions, minutes and days of bars, by a fixed offset or by a place's own time."""

import hashlib
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np

from data.errors import near_match
from data.plain import quote_value
from data.timeframe import DAY_NS, MINUTE_NS, SECOND_NS
from strategy.errors import StrategyError
from strategy.genes import Floats, Ints

MOST_OFFSET = 840
"""No place on earth is further from UTC, minutes."""

Offset = int | str
"""Minutes added to UTC, or the IANA name of a zone."""


def check_offset(offset: Offset) -> None:
    """Refuse anything but whole minutes within 14 hours or a zone's name."""
    if isinstance(offset, str):
        _zone(offset)
    elif isinstance(offset, bool) or not isinstance(offset, int) or abs(offset) > MOST_OFFSET:
        raise StrategyError(
            f"an offset is whole minutes from -{MOST_OFFSET} to {MOST_OFFSET}, or a zone such as "
            f"'America/New_York', got {quote_value(offset)}"
        )


def local_time(timestamp: Ints, offset: Offset) -> Ints:
    """Nanoseconds [T] of local time, counted as UTC counts its own."""
    if isinstance(offset, int):
        return timestamp + offset * MINUTE_NS
    zone = _zone(offset)
    seconds = timestamp // SECOND_NS
    shifts = [_shift_s(zone, second) for second in seconds.tolist()]
    return timestamp + np.array(shifts, np.int64) * SECOND_NS


def number_sessions(local: Ints) -> Ints:
    """Number of the local day that holds each bar, [T]."""
    return local // DAY_NS


def minutes_of_day(local: Ints) -> Floats:
    """Whole minutes since local midnight, [T]."""
    return ((local % DAY_NS) // MINUTE_NS).astype(np.float64)


def days_of_week(local: Ints) -> Floats:
    """Monday 0 to Sunday 6, [T]; the first of January 1970 was a Thursday."""
    return ((number_sessions(local) + 3) % 7).astype(np.float64)


def zone_version(name: str) -> str:
    """Version of a zone's data: its release where that is known, and the digest of its file."""
    _zone(name)
    for folder in TZPATH:
        file = Path(folder) / name
        if file.is_file():
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            return f"{_release(Path(folder))} sha256:{digest}"
    return f"tzdata {metadata.version('tzdata')}"


def _release(folder: Path) -> str:
    release_file = folder / "tzdata.zi"
    if not release_file.is_file():
        return "system"
    with release_file.open(encoding="utf-8") as lines:
        return lines.readline().removeprefix("# version").strip()


@cache
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        hint = near_match(name, sorted(available_timezones()))
        raise StrategyError(
            f"zone '{name}' is unknown; write one such as 'Europe/Berlin'{hint}"
        ) from None


def _shift_s(zone: ZoneInfo, second: int) -> int:
    shift = datetime.fromtimestamp(second, UTC).astimezone(zone).utcoffset()
    return 0 if shift is None else round(shift.total_seconds())
