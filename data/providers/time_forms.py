"""Forms of written times: patterns with a group for each part, and the times that they make."""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data.checks import NO_TIME, Ints
from data.providers.day_times import all_match
from data.providers.numbers import to_array
from data.timeframe import DAY_NS, SECOND_NS

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

YEAR = r"(?P<Y>(?:19|20)[0-9]{2})"
MONTH = r"(?P<m>0?[1-9]|1[0-2])"
DAY = r"(?P<d>0?[1-9]|[12][0-9]|3[01])"
NAME = (
    r"(?P<b>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))\.?"
)
WEEKDAY = r"(?:(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?"
HALF = r"(?: ?(?P<p>[AaPp])(?:[Mm]|\. ?[Mm]\.))?"
OFFSET = r"[+-][0-9]{2}:?[0-9]{2}"
ZONE = (
    rf"(?: ?(?P<z>[Zz]|{OFFSET}|[+-][0-9]{{2}}|"
    rf"(?:GMT|UTC)(?:{OFFSET}|[+-][0-9]{{1,2}})?)(?: \([A-Za-z ]+\))?)?"
)
ZONE_ALONE = rf" ?(?P<Z>[Zz]|UTC|GMT|{OFFSET})"
"""Behind a date: an offset of hours alone would look like one more part of it."""

CLOCK = (
    r"(?:[T ,]+(?P<H>[01]?[0-9]|2[0-3]):(?P<M>[0-5][0-9])"
    rf"(?::(?P<S>[0-5][0-9])(?:[.,](?P<f>[0-9]{{1,9}}))?)?{HALF}{ZONE}|{ZONE_ALONE})?"
)
DATE_DIGITS = r"(?P<Y>(?:19|20)[0-9]{2})(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12][0-9]|3[01])"
MINUTE_DIGITS = r"(?P<H>[01][0-9]|2[0-3]):?(?P<M>[0-5][0-9])"
SECOND_DIGITS = r":?(?P<S>[0-5][0-9])(?:[.,]?(?P<f>[0-9]{3}(?:[0-9]{3}){0,2}))?"


@dataclass(frozen=True)
class TimeForm:
    """One way to write a time."""

    words: str  # its name
    # Regular expression with groups that are called as the directives of `strptime`; `Z` is a
    # zone that follows a date without a time of day, `rest` must stay empty.
    pattern: str


ISO = TimeForm(
    "ISO 8601",
    r"^(?P<Y>(?:19|20)[0-9]{2})[-/.](?P<m>[0-9]{2})[-/.](?P<d>[0-9]{2})"
    r"(?:[Tt ](?P<H>[0-9]{2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
    rf"{ZONE}|{ZONE_ALONE})?$",
)
FORMS = (
    TimeForm("YYYYMMDD", rf"^{DATE_DIGITS}(?:[T ]*{MINUTE_DIGITS}(?:{SECOND_DIGITS})?{ZONE})?$"),
    TimeForm("YYYYMMDD-HHMMSS", f"^{DATE_DIGITS}-{MINUTE_DIGITS}{SECOND_DIGITS}{ZONE}$"),
    TimeForm("day.month.year", rf"^{DAY}\.{MONTH}\.{YEAR}{CLOCK}$"),
    TimeForm("day/month/year", f"^{DAY}[/-]{MONTH}[/-]{YEAR}{CLOCK}$"),
    TimeForm("month/day/year", f"^{MONTH}[/-]{DAY}[/-]{YEAR}{CLOCK}$"),
    TimeForm("year-month-day", f"^{YEAR}[/.-]{MONTH}[/.-]{DAY}{CLOCK}$"),
    TimeForm(
        "year-month-day hour-AM/PM",
        f"^{YEAR}-{MONTH}-{DAY} (?P<H>0?[1-9]|1[0-2])-(?P<p>[AaPp])[Mm]$",
    ),
    TimeForm("month name, day, year", f"^{WEEKDAY}{NAME} {DAY},? {YEAR}{CLOCK}$"),
    TimeForm("day, month name, year", f"^{WEEKDAY}{DAY}[ -]{NAME}[ -]{YEAR}{CLOCK}$"),
    TimeForm("year, month name, day", f"^{YEAR}[ -]{NAME}[ -]{DAY}{CLOCK}$"),
)

LOOKED_AT_FIRST = 1000
"""Values that rule most forms out before all are looked at."""

TWO_DIGIT_PIVOT = 69
"""Two-digit years from here on belong to the last century, as POSIX has it."""

FIRST_YEAR, LAST_YEAR = 1900, 2099
LARGEST_OFFSET_NS = 14 * 3600 * SECOND_NS


@dataclass(frozen=True)
class Moments:
    """Times of a column as a form reads them."""

    # Nanoseconds since 1970-01-01T00:00 on the clock that was written, [N]; `NO_TIME` where a
    # value is missing or no time.
    local_ns: Ints
    # Flags of values [N] that are there and no time, such as 30 February.
    is_wrong: npt.NDArray[np.bool_]
    zones: pa.Array  # zone of each value [N], empty or missing where it names none


def find_forms(column: pa.Array) -> list[TimeForm]:
    """The forms that fit every value of a column [N]; missing values fit all."""
    present = column.drop_null()
    few = present.slice(0, LOOKED_AT_FIRST)
    return [
        form for form in FORMS if all_match(few, form.pattern) and all_match(present, form.pattern)
    ]


def parse_times(column: pa.Array, form: TimeForm) -> Moments:
    """Read times [N] as a form has them."""
    groups = pc.extract_regex(column, form.pattern)
    part = {field.name: pc.struct_field(groups, field.name) for field in groups.type}
    days, is_day = _count_days(part)
    clock_ns, is_clock = _count_clock(part)
    is_there = pc.is_valid(column).to_numpy(zero_copy_only=False)
    is_time = is_there & pc.is_valid(groups).to_numpy(zero_copy_only=False) & is_day & is_clock
    if "rest" in part:
        is_time &= _lengths(part["rest"]) == 0
    zones = part.get("z", pa.nulls(len(column), pa.string()))
    if "Z" in part:
        zones = pc.if_else(pc.equal(zones, ""), part["Z"], zones)
    local_ns = np.where(is_time, days * DAY_NS + clock_ns, NO_TIME)
    return Moments(local_ns, is_there & ~is_time, zones)


def read_offset(zone: str) -> int | None:
    """Nanoseconds by which a written zone is ahead of UTC; None where there is no such zone.

    >>> read_offset("UTC+1") == read_offset("+01:00") == 3600 * 10**9
    True
    """
    bare = re.sub("^(?:utc|gmt|z)", "", zone.lower())
    if not bare:
        return 0
    digits = bare[1:].replace(":", "")
    whole, _, fraction = digits.partition(".")
    hours, minutes, seconds = (int(text or 0) for text in (whole[:2], whole[2:4], whole[4:6]))
    offset_ns = ((hours * 60 + minutes) * 60 + seconds) * SECOND_NS + int(fraction.ljust(9, "0"))
    is_zone = offset_ns <= LARGEST_OFFSET_NS and minutes < 60 and seconds < 60
    return (-offset_ns if bare[0] == "-" else offset_ns) if is_zone else None


def _count_days(part: dict[str, pa.Array]) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Days since 1970-01-01, and which of them there are."""
    years = _numbers(part["Y"] if "Y" in part else part["y"], FIRST_YEAR)
    if "y" in part:
        years = np.where(years >= TWO_DIGIT_PIVOT, years + 1900, years + 2000)
    is_known = (years >= FIRST_YEAR) & (years <= LAST_YEAR)
    years = np.where(is_known, years, FIRST_YEAR)
    if "j" in part:
        first, after = (_first_days(years - 1970 + k, "Y") for k in (0, 1))
        day = _numbers(part["j"], 1)
    else:
        month = _months(part)
        is_known &= (month >= 1) & (month <= 12)
        months = (years - 1970) * 12 + month - 1
        first, after = (_first_days(months + k, "M") for k in (0, 1))
        day = _numbers(part["d"], 1)
    days = first + day - 1
    return days, is_known & (day >= 1) & (days < after)


def _count_clock(part: dict[str, pa.Array]) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Nanoseconds since midnight, and which of them a clock shows."""
    length = len(next(iter(part.values())))
    hours, minutes, seconds, fraction = (
        _numbers(part[name], 0) if name in part else np.zeros(length, dtype=np.int64)
        for name in ("I" if "I" in part else "H", "M", "S", "f")
    )
    if "f" in part:
        fraction = fraction * 10 ** (9 - np.clip(_lengths(part["f"]), 0, 9))
    if "p" in part:
        half = pc.utf8_lower(part["p"])
        is_half, is_later = (
            pc.fill_null(test, False).to_numpy(zero_copy_only=False)
            for test in (pc.not_equal(half, ""), pc.equal(half, "p"))
        )
        hours = np.where(is_half, hours % 12 + 12 * is_later, hours)
    is_clock = (hours < 24) & (minutes < 60) & (seconds < 60)
    return ((hours * 60 + minutes) * 60 + seconds) * SECOND_NS + fraction, is_clock


def _first_days(periods: Ints, unit: str) -> Ints:
    """The first day of each month or year since 1970, as days since then."""
    days: Ints = periods.astype(f"datetime64[{unit}]").astype("datetime64[D]").astype(np.int64)
    return days


def _months(part: dict[str, pa.Array]) -> Ints:
    if "m" in part:
        return _numbers(part["m"], 1)
    short = pc.utf8_lower(pc.utf8_slice_codeunits(part["b"], 0, 3))
    return to_array(pc.add(pc.index_in(short, pa.array(MONTHS)).cast(pa.int64()), 1), 1)


def _numbers(texts: pa.Array, missing: int) -> Ints:
    """Digits as whole numbers, `missing` where there are none."""
    bare = pc.utf8_ltrim_whitespace(texts)
    if pc.any(pc.equal(bare, "")).as_py():
        bare = pc.if_else(pc.equal(bare, ""), str(missing), bare)
    return to_array(bare.cast(pa.int64()), missing)


def _lengths(texts: pa.Array) -> Ints:
    return to_array(pc.binary_length(texts).cast(pa.int64()), 0)
