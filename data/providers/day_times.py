"""A column of dates and one of times of day, typed or written, as one column of times."""

import pyarrow as pa
import pyarrow.compute as pc

from data.errors import TableError
from data.providers.column_names import write_option
from data.timeframe import DAY_NS

DATE = r"^[0-9A-Za-z]{1,9}[-/., ]{0,2}[0-9A-Za-z]{1,9}[-/., ]{0,2}[0-9]{1,4}$"
TIME_OF_DAY = (
    r"^[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?"
    r"(?: ?(?:[AaPp]\.?[Mm]\.?|Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?))?$"
)
DIGITS = r"^[0-9]{1,9}$"

WHOLE_TIME = r"^\s*(?:[0-9]{12}|[0-9]{14}|[0-9]{17}|[0-9]{4}[-/.][0-9]{2}[-/.][0-9]{2}[ T].*)\s*$"

MINUTES = r"^([01][0-9]|2[0-3])([0-5][0-9])$"
SECONDS = r"^([01][0-9]|2[0-3])([0-5][0-9])([0-5][0-9])$"
MILLISECONDS = r"^([01][0-9]|2[0-3])([0-5][0-9])([0-5][0-9])([0-9]{3})$"
CLOCKS = ((4, MINUTES, r"\1:\2"), (6, SECONDS, r"\1:\2:\3"), (9, MILLISECONDS, r"\1:\2:\3.\4"))
"""Digits of a time of day that is written as a number: their count, pattern and clock."""


def join_date_and_time(columns: dict[str, pa.Array], where: str) -> pa.Array:
    """Times [N] from a column of dates and one of times of day, in this order.

    Text such as ``2024-01-31 09:30``, or the second column where it holds whole times on the days
    of the first.

    Raises:
        TableError: When the two are no dates and times of day.
    """
    (first, dates), (second, times) = columns.items()
    days = _write_days(dates)
    if days is not None and _has_whole_times(times, days):
        return times
    if days is not None and pa.types.is_timestamp(times.type):
        day_of_time = times.cast(pa.date32()).cast(pa.string())
        bare, day_of_time = (pc.replace_substring(text, "-", "") for text in (days, day_of_time))
        if pc.all(pc.equal(bare, day_of_time), min_count=0).as_py():
            return times
    clock = None if days is None else _write_clock(times)
    if clock is None:
        raise TableError(
            f"{where}: columns {first!r} and {second!r} could both be the time of a bar, and are "
            "no date (2024-01-31) and time of day (09:30) that belong together; say which is the "
            f"time with {write_option('timestamp', first)} or {write_option('timestamp', second)}"
        )
    return pc.binary_join_element_wise(days, clock, " ")


def _has_whole_times(times: pa.Array, days: pa.Array) -> bool:
    """Whether times are written whole, on these days: 20240102093500000 on 2024-01-02."""
    if _is_whole(times):
        times = times.cast(pa.int64()).cast(pa.string())
    if not pa.types.is_string(times.type) or not all_match(times, WHOLE_TIME):
        return False
    day_of_time, bare = (pc.replace_substring_regex(text, "[-/.]", "") for text in (times, days))
    day_of_time = pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(day_of_time), 0, 8)
    return bool(pc.all(pc.equal(day_of_time, bare), min_count=0).as_py())


def _write_days(dates: pa.Array) -> pa.Array | None:
    """Dates as text, None where the column holds others."""
    kind = dates.type
    if pa.types.is_timestamp(kind) and kind.tz is None:
        days = dates.cast(pa.date32())
        return days.cast(pa.string()) if days.cast(kind).equals(dates) else None
    if pa.types.is_date(kind):
        return dates.cast(pa.date32()).cast(pa.string())
    if _is_whole(dates):
        dates = dates.cast(pa.int64()).cast(pa.string())
    if not pa.types.is_string(dates.type):
        return None
    text = strip_blanks(dates)
    return text if all_match(text, DATE) else None


def _write_clock(times: pa.Array) -> pa.Array | None:
    """Times of day as text such as 09:30:00, None where the column holds others."""
    kind = times.type
    if pa.types.is_time(kind):
        return times.cast(pa.string())
    if pa.types.is_duration(kind):
        passed = times.cast(pa.duration("ns")).cast(pa.int64())
        is_clock = pc.and_(pc.greater_equal(passed, 0), pc.less(passed, DAY_NS))
        is_clock = pc.all(is_clock, min_count=0).as_py()
        return passed.cast(pa.time64("ns")).cast(pa.string()) if is_clock else None
    if _is_whole(times):
        return _part_digits(times.cast(pa.int64()).cast(pa.string()))
    if not pa.types.is_string(kind):
        return None
    text = strip_blanks(times)
    if all_match(text, DIGITS):
        return _part_digits(text)
    return text if all_match(text, TIME_OF_DAY) else None


def _part_digits(digits: pa.Array) -> pa.Array | None:
    """Numbers such as 931, 093100 or 93100000 as clocks; the longest counts its digits."""
    longest = pc.max(pc.utf8_length(digits)).as_py() or 0
    width, pattern, clock = next((form for form in CLOCKS if longest <= form[0]), CLOCKS[-1])
    padded = pc.utf8_lpad(digits, width, "0")
    is_clock = all_match(padded, pattern)
    return pc.replace_substring_regex(padded, pattern, clock) if is_clock else None


def _is_whole(column: pa.Array) -> bool:
    if pa.types.is_floating(column.type):
        return column.null_count < len(column) and bool(
            pc.all(pc.equal(column, pc.floor(column))).as_py()
        )
    return bool(pa.types.is_integer(column.type))


def strip_blanks(column: pa.Array) -> pa.Array:
    """Text without blanks at its ends; missing where nothing is left."""
    text = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, text.type), text)


def all_match(column: pa.Array, pattern: str) -> bool:
    """Whether a pattern occurs in every text that is there, and some is."""
    matches = pc.match_substring_regex(column.drop_null(), pattern)
    return len(matches) > 0 and pc.all(matches).as_py() is True
