"""Times of a file to nanoseconds UTC: recognised when there is one reading, else refused."""

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data.checks import (
    FIRST_S,
    LAST_S,
    NO_TIME,
    SHOWN,
    UNITS,
    Ints,
    format_time,
)
from data.errors import TableError
from data.providers.numbers import array_of
from data.providers.time_forms import as_iso, fitting, form_of
from data.zones import LocalZone, localise

ISO = (
    r"^(?P<date>(?:19|20)[0-9]{2}[-/.][0-9]{2}[-/.][0-9]{2})"
    r"(?:[T ](?P<time>[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?))?"
    r"[ ]?(?P<zone>Z|UTC|[+-][0-9]{2}:?[0-9]{2})?$"
)
DATE = r"^[0-9A-Za-z]{1,9}[-/., ]{0,2}[0-9A-Za-z]{1,9}[-/., ]{0,2}[0-9]{1,4}$"
TIME_OF_DAY = (
    r"^(?:[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?: ?[AaPp][Mm])?|[0-9]{4}|[0-9]{6})$"
)
DIGITS = r"^[0-9]{1,19}$"
WHOLE = r"^[0-9]{9,19}\.0+$"
ZONE_NAME = "[A-Z][A-Za-z]+/[A-Z][A-Za-z_/]+"
NAMED_ZONE = f"^(.*[^ ]) +{ZONE_NAME}$"
CALENDAR = r"^(?:19|20)[0-9]{2}[01][0-9][0-3][0-9](?:[0-2][0-9][0-5][0-9](?:[0-5][0-9])?)?$"
"""Dates written as numbers: none of them is a time since 1970 in any unit."""

AS_UTC = "times name no zone, read as UTC; --tz names another"
UTC_NAME = re.compile(r"(?<![a-z])(utc|gmt)(?![a-z])")


def read_times(
    columns: dict[str, pa.Array], tz: LocalZone | None, where: str, time_format: str | None = None
) -> tuple[Ints, tuple[str, ...]]:
    """Read the time column, or a column of dates and one of times of day.

    `columns` maps one or two names to values, [N] each; `tz` is the zone of times that name
    none. Returns [N] nanoseconds UTC, `NO_TIME` where a value is missing, and notes.

    Raises:
        TableError: When the values have no reading, or more than one.
    """
    time_ns, notes = _read(columns, tz, where, time_format)
    # A column that is called so says in which zone its times are.
    is_said = any(UTC_NAME.search(name.lower()) for name in columns)
    return time_ns, tuple(note for note in notes if not (is_said and note == AS_UTC))


def _read(
    columns: dict[str, pa.Array], tz: LocalZone | None, where: str, time_format: str | None
) -> tuple[Ints, tuple[str, ...]]:
    column = next(iter(columns.values())) if len(columns) == 1 else _join(columns, where)
    place = f"{where}: column {' and '.join(repr(name) for name in columns)}"
    column = _calendar_as_text(column)
    if pa.types.is_string(column.type):
        column = _strip(column)
        if time_format is not None:
            return _read_formatted(column, tz, place, time_format)
        if _all_match(column, WHOLE):
            column = pc.replace_substring_regex(column, r"\.0+$", "")
        if _all_match(column, DIGITS) and not _all_match(column, CALENDAR):
            return _read_whole(_digits(column, place), tz, place)
        return _read_text(column, tz, place)
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return _read_typed(column, tz, place)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return _read_whole(column, tz, place)
    raise TableError(f"{place} holds {column.type}, which is no time; write ISO 8601 times")


def named_zone(column: pa.Array) -> str | None:
    """The IANA zone that a column's type names, or that stands behind its first time."""
    name = getattr(column.type, "tz", None)
    if pa.types.is_string(column.type) and len(column):
        behind = re.fullmatch(f".* ({ZONE_NAME})", column[0].as_py() or "")
        name = behind[1] if behind else None
    try:
        return None if name is None else LocalZone(name).name
    except TableError:
        return None


def _digits(column: pa.Array, place: str) -> pa.Array:
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        raise _unknown_unit(place, pc.max(column).as_py()) from None


def _join(columns: dict[str, pa.Array], where: str) -> pa.Array:
    (first, dates), (second, times) = columns.items()
    texts = [_strip(c) for c in (_calendar_as_text(dates), times) if pa.types.is_string(c.type)]
    if len(texts) == 2 and _all_match(texts[0], DATE) and _all_match(texts[1], TIME_OF_DAY):
        clock = pc.replace_substring_regex(
            texts[1], r"^([0-9]{2})([0-9]{2})([0-9]{2})?$", r"\1:\2:\3"
        )
        return pc.binary_join_element_wise(
            texts[0], pc.replace_substring_regex(clock, ":$", ""), " "
        )
    raise TableError(
        f"{where}: columns {first!r} and {second!r} could both be the time of a bar, and are no "
        "date (2024-01-31) and time of day (09:30) that belong together; keep one of them"
    )


def _read_typed(column: pa.Array, tz: LocalZone | None, place: str) -> tuple[Ints, tuple[str, ...]]:
    zone = getattr(column.type, "tz", None)
    try:
        exact = column.cast(pa.timestamp("ns", tz=zone))
    except pa.ArrowInvalid:
        raise TableError(f"{place} holds times outside 1678 to 2262{_fit(column)}") from None
    time_ns = array_of(exact.cast(pa.int64()), NO_TIME)
    return (time_ns, _unused(tz, "name their zone")) if zone else _naive(time_ns, tz, place)


def _fit(column: pa.Array) -> str:
    """The end of an error about typed times that are numbers of another unit, else empty."""
    numbers = array_of(column.cast(pa.int64()).drop_null(), NO_TIME)
    unit = _unit_of(numbers)
    if unit is None:
        return ""
    first = format_time(int(numbers[0]) * unit[1])
    return (
        f": it is typed {column.type}, and numbers such as {int(numbers[0])} are {unit[0]} since "
        f"1970 ({first}); write the column anew with that unit"
    )


def _unit_of(numbers: npt.NDArray[Any]) -> tuple[str, int] | None:
    """The unit in which all numbers [N] lie between 1980 and 2100, and its nanoseconds."""
    for unit, unit_ns in UNITS:
        first, last = (edge * (10**9 // unit_ns) for edge in (FIRST_S, LAST_S))
        if len(numbers) and ((numbers >= first) & (numbers < last)).all():
            return unit, unit_ns
    return None


def _read_whole(column: pa.Array, tz: LocalZone | None, place: str) -> tuple[Ints, tuple[str, ...]]:
    if pa.types.is_floating(column.type):
        present = column.cast(pa.float64()).drop_null().to_numpy(zero_copy_only=False)
        present = present[~np.isnan(present)]
        if (np.abs(present) > 2**53).any() or (present != np.floor(present)).any():
            raise TableError(
                f"{place} holds numbers with fractions or beyond 2^53, such as "
                f"{float(present[np.flatnonzero(present != np.floor(present))[:1]].sum())!r}; "
                "write ISO 8601 times or whole numbers"
            )
        column = pc.if_else(pc.is_nan(column), None, column)
    try:
        whole = column.cast(pa.int64())
    except pa.ArrowInvalid:
        raise _unknown_unit(place, column.drop_null()[0].as_py()) from None
    known = whole.drop_null()
    if len(known) == 0:
        return np.full(len(whole), NO_TIME, dtype=np.int64), ()
    found = _unit_of(array_of(known, NO_TIME))
    if found is None:
        raise _unknown_unit(place, known[0])
    unit, unit_ns = found
    note = f"times are whole numbers, read as {unit} since 1970 UTC"
    time_ns = pc.multiply(whole, unit_ns)
    return array_of(time_ns, NO_TIME), (note, *_unused(tz, "count from 1970 UTC"))


def _unknown_unit(place: str, example: object) -> TableError:
    return TableError(
        f"{place} holds whole numbers such as {example}, which do not all lie between 1980 and "
        "2100 as s, ms, us or ns; write ISO 8601 times such as 2024-01-31T09:30:00Z"
    )


def _read_text(column: pa.Array, tz: LocalZone | None, place: str) -> tuple[Ints, tuple[str, ...]]:
    parts = pc.extract_regex(column, ISO)
    given = pc.fill_null(pc.not_equal(pc.binary_length(column), 0), False)
    strange = pc.indices_nonzero(pc.and_(given, pc.is_null(parts))).to_numpy()
    if len(strange):
        return _read_other_form(column, tz, place, strange)
    zones = pc.struct_field(parts, "zone")
    has_zone = pc.fill_null(pc.not_equal(zones, ""), False)
    n_zoned, n_given = pc.sum(has_zone).as_py() or 0, pc.sum(given).as_py() or 0
    if 0 < n_zoned < n_given:
        raise TableError(f"{place}: {n_zoned} of {n_given} times name a zone; write all or none")
    local_ns = _parse(column, parts, place)
    if n_zoned == 0:
        return _naive(local_ns, tz, place) if n_given else (local_ns, ())
    shift_ns = np.zeros(len(local_ns), dtype=np.int64)
    for zone in pc.unique(zones.drop_null()).to_pylist():
        at = pc.fill_null(pc.equal(zones, zone), False).to_numpy(zero_copy_only=False)
        shift_ns[at] = _offset_ns(zone, place)
    return np.where(local_ns == NO_TIME, NO_TIME, local_ns - shift_ns), _unused(
        tz, "name their zone"
    )


def _read_other_form(
    column: pa.Array, tz: LocalZone | None, place: str, strange: npt.NDArray[np.intp]
) -> tuple[Ints, tuple[str, ...]]:
    forms = fitting(column)
    example = column[int(strange[0])].as_py()[:40]
    if len(forms) > 1:
        named = " and ".join(form.words for form in forms)
        raise TableError(
            f"{place} holds times such as {example!r}, which can be read as {named}; "
            "--time-format says which, such as --time-format '%d/%m/%Y %H:%M'"
        )
    if not forms and (zone := _only_zone(column)) is not None:
        bare = pc.replace_substring_regex(column, NAMED_ZONE, r"\1")
        time_ns, notes = _read_text(
            bare, LocalZone(zone, None if tz is None else tz.ambiguous), place
        )
        return time_ns, (*notes, *_unused(tz, "name their zone"))
    if not forms:
        raise _strange(place, column, strange)
    time_ns, notes = _read_text(as_iso(column, forms[0]), tz, place)
    return time_ns, (f"times such as {example!r} are read as {forms[0].words}", *notes)


def _only_zone(column: pa.Array) -> str | None:
    """The IANA zone that stands behind every time, as in ``09:30:00 US/Eastern``."""
    zones = pc.struct_field(
        pc.extract_regex(column, f"(?P<time>.*) (?P<zone>{ZONE_NAME})$"), "zone"
    )
    named = pc.unique(zones.drop_null()).to_pylist()
    is_everywhere = zones.null_count == column.null_count
    return str(named[0]) if len(named) == 1 and is_everywhere else None


def _read_formatted(
    column: pa.Array, tz: LocalZone | None, place: str, time_format: str
) -> tuple[Ints, tuple[str, ...]]:
    form = form_of(time_format)
    fits = pc.match_substring_regex(column, form.pattern)
    strange = pc.indices_nonzero(pc.invert(pc.fill_null(fits, True))).to_numpy()
    if len(strange):
        shown = ", ".join(f"row {i} {column[int(i)].as_py()[:40]!r}" for i in strange[:SHOWN])
        raise TableError(f"{place} holds times that are not as --time-format says: {shown}")
    time_ns, notes = _read_text(as_iso(column, form), tz, place)
    return time_ns, (f"times are read as {time_format}", *notes)


def _parse(column: pa.Array, parts: pa.Array, place: str) -> Ints:
    dates = pc.replace_substring_regex(pc.struct_field(parts, "date"), "[/.]", "-")
    clock = pc.struct_field(parts, "time")
    clock = pc.if_else(pc.equal(clock, ""), "00:00", clock)
    joined = pc.fill_null(pc.binary_join_element_wise(dates, clock, "T"), "NaT")
    text = joined.to_numpy(zero_copy_only=False).astype("U")
    try:
        time_ns: Ints = text.astype("datetime64[ns]").astype(np.int64)
    except ValueError:
        raise _strange(place, column, _unreadable(text)) from None
    return time_ns


def _unreadable(text: npt.NDArray[np.str_]) -> npt.NDArray[np.intp]:
    bad = []
    for row, one in enumerate(text):
        try:
            np.datetime64(one, "ns")
        except ValueError:
            bad.append(row)
    return np.array(bad, dtype=np.intp)


def _strange(place: str, column: pa.Array, rows: npt.NDArray[np.intp]) -> TableError:
    shown = ", ".join(f"row {i} {column[int(i)].as_py()[:40]!r}" for i in rows[:SHOWN])
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    return TableError(
        f"{place} holds times that have no single reading: {shown}{more}; "
        "write ISO 8601 times such as 2024-01-31T09:30:00Z, or name their form with --time-format"
    )


def _offset_ns(zone: str, place: str) -> int:
    if zone in ("", "Z", "UTC"):
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    if hours > 14 or minutes > 59:
        raise TableError(f"{place} names the zone {zone!r}, which is none")
    return (-1 if zone[0] == "-" else 1) * (hours * 60 + minutes) * 60 * 10**9


def _naive(local_ns: Ints, tz: LocalZone | None, place: str) -> tuple[Ints, tuple[str, ...]]:
    if tz is not None:
        time_ns, notes = localise(local_ns, tz, place)
        return time_ns, (f"times name no zone, read as {tz}", *notes)
    return local_ns, (AS_UTC,)


def _unused(tz: LocalZone | None, why: str) -> tuple[str, ...]:
    return () if tz is None else (f"--tz {tz} changes no time: they {why}",)


def _calendar_as_text(column: pa.Array) -> pa.Array:
    """A column as it is, but dates that were written as numbers as text."""
    if pa.types.is_integer(column.type) and _all_match(column.cast(pa.string()), CALENDAR):
        return column.cast(pa.string())
    return column


def _strip(column: pa.Array) -> pa.Array:
    stripped = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.equal(stripped, ""), pa.scalar(None, stripped.type), stripped)


def _all_match(column: pa.Array, pattern: str) -> bool:
    matches = pc.match_substring_regex(column.drop_null(), pattern)
    return len(matches) > 0 and pc.all(matches).as_py() is True
