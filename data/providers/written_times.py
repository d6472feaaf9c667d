"""Times that are written as text: recognised where one reading fits every row, else refused."""

import re
from dataclasses import dataclass
from zoneinfo import available_timezones

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data.checks import EARLIEST_NS, LATEST_NS, NO_TIME, SHOWN, Ints
from data.errors import TableError, list_some
from data.providers.column_names import find_local_zone
from data.providers.day_times import TIME_OF_DAY, all_match
from data.providers.numbers import to_array
from data.providers.time_format import parse_time_format, suggest_format
from data.providers.time_forms import (
    FORMS,
    ISO,
    Moments,
    TimeForm,
    find_forms,
    parse_times,
    read_offset,
)

ZONE_UTC = "UTC"

EPOCH_DIGITS = TimeForm("whole numbers since 1970", r"^[0-9]{9,19}$")

OFFSET_AT_END = r"(?:Z|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)$"

NAMED_ZONE = (
    r"^(?P<time>.*[^ ]) *[ \[]"
    r"(?P<zone>[A-Z][A-Za-z]+(?:/[A-Za-z0-9_+-]+)+|[A-Z][a-z]{3,}|UTC)\]?$"
)
"""As Interactive Brokers and Java write them: behind a blank, or in brackets behind an offset.

Short names such as EST and CET are none: whether they stand for summer too is not known.
"""

NAMED_ZONE_PATTERN = re.compile(NAMED_ZONE)

SHORT_ZONE = "[0-9] ?[A-Z]{2,5}$"
SHORT_YEAR = r"^[0-9]{1,2}[/.-][0-9]{1,2}[/.-][0-9]{2}(?:[ ,T].*)?$"

BLANKS = "[\u00a0\u202f\u2009]"
"""Blanks that programs put before AM and PM, or between date and time."""


@dataclass(frozen=True)
class WrittenTimes:
    """Times of a column of text."""

    time_ns: Ints  # nanoseconds since 1970 on the clock of `zone`, [N]; `NO_TIME` where missing
    zone: str | None  # name of the zone that the times themselves name, None where they name none
    notes: tuple[str, ...] = ()  # one line for each assumption


def read_written(column: pa.Array, label: str, time_format: str | None = None) -> WrittenTimes:
    """Read text without blanks at its ends, [N]; missing values have no time.

    `label` begins errors, such as ``bars.csv: column 'time'``.

    Raises:
        TableError: When the times have no reading, or more than one.
    """
    if time_format is not None:
        return _read_formatted(column, label, parse_time_format(time_format))
    written = _read_plain_iso(column)
    if written is not None:
        return written
    present = column.drop_null()
    if pc.all(pc.match_substring_regex(present, ISO.pattern), min_count=0).as_py():
        return _read_form(column, label, ISO)
    return _read_other_form(pc.replace_substring_regex(column, BLANKS, " "), label)


def find_named_zone(text: str) -> str | None:
    """The IANA zone that a time names, as in ``09:30:00 US/Eastern``; None without one."""
    match = NAMED_ZONE_PATTERN.match(text)
    return match["zone"] if match and match["zone"] in available_timezones() else None


def _read_plain_iso(column: pa.Array) -> WrittenTimes | None:
    """Times as most files have them, at once; None where one is written in another way."""
    first = column.drop_null().slice(0, 1)
    zone = next((zone for zone in (None, ZONE_UTC) if _cast_times(first, zone) is not None), "")
    times = None if zone == "" else _cast_times(column, zone)
    if times is None or (zone and not _has_real_offsets(column)):
        return None
    known = times[times != NO_TIME]
    if not ((known >= EARLIEST_NS) & (known < LATEST_NS)).all():
        return None
    return WrittenTimes(times, zone if len(known) else ZONE_UTC)


def _cast_times(column: pa.Array, zone: str | None) -> Ints | None:
    try:
        return to_array(column.cast(pa.timestamp("ns", tz=zone)).cast(pa.int64()), NO_TIME)
    except pa.ArrowInvalid:
        return None


def _read_form(column: pa.Array, label: str, form: TimeForm) -> WrittenTimes:
    moments = parse_times(column, form)
    if moments.is_wrong.any():
        raise _refuse(label, column, np.flatnonzero(moments.is_wrong))
    return _settle_zones(column, label, moments)


def _settle_zones(column: pa.Array, label: str, moments: Moments) -> WrittenTimes:
    """Times in UTC where all of them name a zone, as they were written where none does."""
    has_zone = pc.fill_null(pc.not_equal(moments.zones, ""), False)
    n_zoned, n_present = pc.sum(has_zone).as_py() or 0, len(column) - column.null_count
    if n_zoned == 0:
        return WrittenTimes(moments.local_ns, None)
    if n_zoned < n_present:
        raise TableError(f"{label}: {n_zoned} of {n_present} times name a zone; write all or none")
    time_ns = moments.local_ns.copy()
    for zone in pc.unique(pc.filter(moments.zones, has_zone)).to_pylist():
        offset_ns = read_offset(zone)
        if offset_ns is None:
            raise TableError(f"{label} names the zone {zone!r}, which is none")
        at = pc.fill_null(pc.equal(moments.zones, zone), False).to_numpy(zero_copy_only=False)
        time_ns[at] -= offset_ns
    return WrittenTimes(time_ns, ZONE_UTC)


def _read_other_form(column: pa.Array, label: str) -> WrittenTimes:
    forms = find_forms(column)
    if len(forms) > 1:
        raise _refuse_two_forms(column, label, forms)
    if forms:
        written = _read_form(column, label, forms[0])
        example = column.drop_null()[0].as_py()[:40]
        note = f"times such as {example!r} are read as {forms[0].words}"
        return WrittenTimes(written.time_ns, written.zone, (note, *written.notes))
    named = _find_named_zone(column)
    if named is None:
        raise _refuse(label, column, _odd_rows(column))
    bare, zone = named
    written = read_written(bare, label)
    # An offset beside the name decides: in autumn it settles a repeated hour.
    return WrittenTimes(written.time_ns, written.zone or zone, written.notes)


def _read_formatted(column: pa.Array, label: str, form: TimeForm) -> WrittenTimes:
    column = pc.replace_substring_regex(column, BLANKS, " ")
    moments = parse_times(column, form)
    wrong = np.flatnonzero(moments.is_wrong)
    if len(wrong):
        raise TableError(
            f"{label} holds times that are not as --time-format says: {_show(column, wrong)}"
        )
    written = _settle_zones(column, label, moments)
    note = f"times are read as {form.words}"
    return WrittenTimes(written.time_ns, written.zone, (note, *written.notes))


def _find_named_zone(column: pa.Array) -> tuple[pa.Array, str] | None:
    """Times [N] without the one IANA zone that stands behind all of them, and that zone."""
    groups = pc.extract_regex(column, NAMED_ZONE)
    if groups.null_count != column.null_count:
        return None
    zones = pc.unique(pc.struct_field(groups, "zone").drop_null()).to_pylist()
    if len(zones) != 1 or zones[0] not in available_timezones():
        return None
    return pc.struct_field(groups, "time"), zones[0]


def _refuse_two_forms(column: pa.Array, label: str, forms: list[TimeForm]) -> TableError:
    """Dates whose day and month may be exchanged."""
    example = column.drop_null()[0].as_py()[:40]
    named = " and ".join(form.words for form in forms)
    dates = {"day/month/year": "%d/%m/%Y", "month/day/year": "%m/%d/%Y"}
    formats = [suggest_format(example, dates[form.words]) for form in forms]
    return TableError(
        f"{label} holds times such as {example!r}, which can be read as {named}; "
        f"--time-format says which, such as --time-format '{formats[0]}' or "
        f"--time-format '{formats[1]}'"
    )


def _odd_rows(column: pa.Array) -> npt.NDArray[np.intp]:
    """The rows that do not fit the form of most others; all where there is no such form."""
    present = np.flatnonzero(pc.is_valid(column).to_numpy(zero_copy_only=False))
    odd = [_unlike(column, form) for form in (EPOCH_DIGITS, ISO, *FORMS)]
    fewest = min(odd, key=len)
    return fewest if 2 * len(fewest) < len(present) else present


def _unlike(column: pa.Array, form: TimeForm) -> npt.NDArray[np.intp]:
    fits = pc.fill_null(pc.match_substring_regex(column, form.pattern), True)
    return np.flatnonzero(~fits.to_numpy(zero_copy_only=False))


def _refuse(label: str, column: pa.Array, rows: npt.NDArray[np.intp]) -> TableError:
    if len(rows) < len(column) - column.null_count:
        return TableError(
            f"{label} holds times unlike most others: {_show(column, rows)}; correct these rows or "
            "take them out"
        )
    if all_match(column, TIME_OF_DAY):
        return TableError(
            f"{label} holds times of day without a date: {_show(column, rows)}; where another "
            "column holds dates, name both with --column date=NAME --column time=NAME"
        )
    zone = find_local_zone(column.drop_null()[0].as_py())
    if zone is not None and all_match(column, SHORT_ZONE):
        return TableError(
            f"{label} holds times that end in short names of zones, of which each stands for "
            f"several: {_show(column, rows)}; write them without, and --tz {zone} says which"
        )
    such_as = ""
    if all_match(column, SHORT_YEAR):
        example = column.drop_null()[0].as_py()[:40]
        formats = [suggest_format(example, date) for date in ("%d/%m/%y", "%m/%d/%y")]
        such_as = ", such as " + " or ".join(f"--time-format '{form}'" for form in formats)
    return TableError(
        f"{label} holds times that have no single reading: {_show(column, rows)}; "
        "write ISO 8601 times such as 2024-01-31T09:30:00Z, or name their form with --time-format"
        f"{such_as}"
    )


def _show(column: pa.Array, rows: npt.NDArray[np.intp]) -> str:
    shown = (f"row {i} {column[int(i)].as_py()[:40]!r}" for i in rows[:SHOWN])
    return list_some(shown, len(rows))


def _has_real_offsets(column: pa.Array) -> bool:
    """Whether each time ends in Z, or in an offset that some zone has."""
    is_utc = pc.all(pc.ends_with(column, "Z"), min_count=0).as_py()
    return is_utc or all_match(column, OFFSET_AT_END)
