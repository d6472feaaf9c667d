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
from data.providers.column_names import find_local_zone
from data.providers.day_times import all_match, join_date_and_time, strip_blanks
from data.providers.numbers import to_array
from data.providers.written_times import ZONE_UTC, find_named_zone, read_written
from data.server_clock import note_server
from data.zones import AS_UTC, LocalZone, localise

DIGITS = r"^[0-9]{1,19}$"
WHOLE = r"^[0-9]{9,19}\.0+$"
CALENDAR = (
    r"^(?:19|20)[0-9]{2}[01][0-9][0-3][0-9](?:[0-2][0-9][0-5][0-9](?:[0-5][0-9](?:[0-9]{3})?)?)?$"
)
"""Dates written as numbers: none of them is a time since 1970 in any unit."""

TICKS_1970, TICKS_S = 621_355_968_000_000_000, 10**7
"""Ticks of .NET, which count from year 1: those of 1970 and of a second."""

SERIAL_1970 = 25_569
"""Days that spreadsheets count at the first one of 1970."""

UTC_NAME = re.compile(r"(?<![a-z])(utc|gmt)(?![a-z])(?! ?[+-] ?0?[1-9])")


def read_times(
    columns: dict[str, pa.Array], tz: LocalZone | None, where: str, time_format: str | None = None
) -> tuple[Ints, tuple[str, ...]]:
    """Read the time column, or a column of dates and one of times of day.

    `columns` maps one or two names to values, [N] each; `tz` is the zone of times that name
    none. Returns [N] nanoseconds UTC, `NO_TIME` where a value is missing, and notes.

    Raises:
        TableError: When the values have no reading, or more than one.
    """
    columns = {name: _whole_decimals(column) for name, column in columns.items()}
    time_ns, notes = _read(columns, tz, where, time_format)
    # A column of such a name holds times in UTC.
    is_utc = any(UTC_NAME.search(name.lower()) for name in columns)
    for name in columns if AS_UTC in notes else ():
        if (zone := find_local_zone(name)) is not None:
            raise TableError(
                f"{where}: column {name!r} names a zone that its times do not, and short names do "
                f"not tell whether summer is counted; say which clock it is, such as --tz {zone}"
            )
    return time_ns, tuple(note for note in notes if not (is_utc and note == AS_UTC))


def _read(
    columns: dict[str, pa.Array], tz: LocalZone | None, where: str, time_format: str | None
) -> tuple[Ints, tuple[str, ...]]:
    column = (
        next(iter(columns.values())) if len(columns) == 1 else join_date_and_time(columns, where)
    )
    label = f"{where}: column {' and '.join(repr(name) for name in columns)}"
    column = _calendar_as_text(column)
    if time_format is None:
        _refuse_serials(column, label)
    if pa.types.is_string(column.type):
        column = strip_blanks(column)
        if time_format is not None:
            return _read_text(column, tz, label, time_format)
        if all_match(column, WHOLE):
            column = pc.replace_substring_regex(column, r"\.0+$", "")
        if all_match(column, DIGITS) and not all_match(column, CALENDAR):
            return _read_whole(_digits(column, label), tz, label)
        return _read_text(column, tz, label, None)
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return _read_typed(column, tz, label)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return _read_whole(column, tz, label)
    raise TableError(f"{label} holds {column.type}, which is no time; write ISO 8601 times")


def _whole_decimals(column: pa.Array) -> pa.Array:
    """A column as it is, but whole decimals as integers: databases write these so."""
    if pa.types.is_decimal(column.type):
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            return column
    return column


def find_column_zone(column: pa.Array) -> str | None:
    """The IANA zone that a column's type names, or that stands behind its first time."""
    if pa.types.is_string(column.type) and len(column):
        return find_named_zone(column[0].as_py() or "")
    name = getattr(column.type, "tz", None)
    try:
        return None if name is None else LocalZone(name).name
    except TableError:
        return None


def _digits(column: pa.Array, label: str) -> pa.Array:
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        raise _unknown_unit(label, pc.max(column).as_py()) from None


def _read_typed(column: pa.Array, tz: LocalZone | None, label: str) -> tuple[Ints, tuple[str, ...]]:
    zone = getattr(column.type, "tz", None)
    try:
        exact = column.cast(pa.timestamp("ns", tz=zone))
    except pa.ArrowInvalid:
        raise TableError(f"{label} holds times outside 1678 to 2262{_fit(column)}") from None
    time_ns = to_array(exact.cast(pa.int64()), NO_TIME)
    return (
        (time_ns, _note_unused_zone(tz, "name their zone")) if zone else _naive(time_ns, tz, label)
    )


def _fit(column: pa.Array) -> str:
    """The end of an error about typed times that are numbers of another unit, else empty."""
    numbers = to_array(column.cast(pa.int64()).drop_null(), NO_TIME)
    unit = _find_unit(numbers)
    if unit is None:
        return ""
    first = format_time(int(numbers[0]) * unit[1])
    return (
        f": it is typed {column.type}, and numbers such as {int(numbers[0])} are {unit[0]} since "
        f"1970 ({first}); write the column anew with that unit"
    )


def find_unit(column: pa.Array) -> str | None:
    """The unit in which the numbers of a column, typed or written, are times; None without one."""
    try:
        numbers = to_array(column.cast(pa.float64()).drop_null(), np.nan)
    except pa.ArrowException:
        return None
    unit = _find_unit(numbers)
    return None if unit is None else unit[0]


def _find_unit(numbers: npt.NDArray[Any]) -> tuple[str, int] | None:
    """The unit in which all numbers [N] lie between 1980 and 2100, and its nanoseconds."""
    for unit, unit_ns in UNITS:
        first, last = (edge * (10**9 // unit_ns) for edge in (FIRST_S, LAST_S))
        if len(numbers) and ((numbers >= first) & (numbers < last)).all():
            return unit, unit_ns
    return None


def _read_whole(column: pa.Array, tz: LocalZone | None, label: str) -> tuple[Ints, tuple[str, ...]]:
    if pa.types.is_floating(column.type):
        present = column.cast(pa.float64()).drop_null().to_numpy(zero_copy_only=False)
        present = present[~np.isnan(present)]
        if (np.abs(present) > 2**53).any() or (present != np.floor(present)).any():
            raise TableError(
                f"{label} holds numbers with fractions or beyond 2^53, such as "
                f"{float(present[np.flatnonzero(present != np.floor(present))[:1]].sum())!r}; "
                "write ISO 8601 times or whole numbers"
            )
        column = pc.if_else(pc.is_nan(column), None, column)
    try:
        whole = column.cast(pa.int64())
    except pa.ArrowInvalid:
        raise _unknown_unit(label, column.drop_null()[0].as_py()) from None
    known = whole.drop_null()
    if len(known) == 0:
        return np.full(len(whole), NO_TIME, dtype=np.int64), ()
    unused = _note_unused_zone(tz, "count from 1970 UTC")
    unit_of_all = _find_unit(to_array(known, NO_TIME))
    if unit_of_all is None:
        time_ns, note = _read_units(to_array(whole, NO_TIME), label)
        return time_ns, (note, *unused)
    unit, unit_ns = unit_of_all
    _refuse_ticks(to_array(known, NO_TIME), label)
    note = f"times are whole numbers, read as {unit} since 1970 UTC"
    return to_array(pc.multiply(whole, unit_ns), NO_TIME), (note, *unused)


def _refuse_serials(column: pa.Array, label: str) -> None:
    """Refuse days as spreadsheets count them: their first day depends on the program."""
    kind = column.type
    if not (pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return
    first = next((value for value in column.slice(0, 100).to_pylist() if value), None)
    if isinstance(first, str):
        first = first.strip().replace(",", ".")
        first = float(first) if re.fullmatch(r"[0-9]{5}(?:\.[0-9]+)?", first) else None
    if not isinstance(first, int | float) or not FIRST_S <= (first - SERIAL_1970) * 86400 < LAST_S:
        return
    time = format_time(round((first - SERIAL_1970) * 86400) * 10**9)
    raise TableError(
        f"{label} holds numbers such as {first:.12g}, which look like days since 1899-12-30 as "
        f"spreadsheets count them ({time}); give the column the form of a date and time there, and "
        "save it anew"
    )


def _refuse_ticks(numbers: Ints, label: str) -> None:
    """Refuse ticks of .NET, tenths of microseconds since year 1: as ns they all lie in 1990."""
    ticks = numbers - TICKS_1970
    is_near = (ticks >= FIRST_S * TICKS_S) & (ticks < LAST_S * TICKS_S)
    if not is_near.all() or (ticks % TICKS_S).any() or not (numbers % (60 * 10**9)).any():
        return
    both = (format_time(int(numbers[0])), format_time(int(ticks[0]) * 100))
    raise TableError(
        f"{label} holds numbers such as {numbers[0]}, which are {both[0]} in ns since 1970 and "
        f"{both[1]} in ticks of .NET; write ISO 8601 times such as 2024-01-31T09:30:00Z"
    )


def _read_units(numbers: Ints, label: str) -> tuple[Ints, str]:
    """Times of numbers [N] whose unit changes from one row to the next, as Binance's did in 2025.

    No number lies between 1980 and 2100 in two units. Each unit must have its rows behind one
    another, and the order of times must go on where it changes.
    """
    unit_ns = np.zeros_like(numbers)
    for _, each_ns in UNITS:
        first, last = (edge * (10**9 // each_ns) for edge in (FIRST_S, LAST_S))
        unit_ns[(numbers >= first) & (numbers < last)] = each_ns
    rows = np.flatnonzero(numbers != NO_TIME)
    strange = rows[unit_ns[rows] == 0]
    if len(strange):
        raise _unknown_unit(label, int(numbers[strange[0]]))
    _refuse_ticks(numbers[rows][unit_ns[rows] == 1], label)
    time_ns = np.where(numbers == NO_TIME, NO_TIME, numbers * unit_ns)
    names = {each_ns: unit for unit, each_ns in UNITS}
    changes = np.flatnonzero(np.diff(unit_ns[rows])) + 1
    steps = time_ns[rows[changes]] - time_ns[rows[changes - 1]]
    goes_on = np.sign(steps) * np.sign(time_ns[rows[-1]] - time_ns[rows[0]]) > 0
    blocks = [(int(row), names[int(unit_ns[row])]) for row in rows[[0, *changes]]]
    if len({unit for _, unit in blocks}) < len(blocks) or not goes_on.all():
        shown = ", ".join(f"{unit} from row {row}" for row, unit in blocks[:SHOWN])
        raise TableError(
            f"{label} holds whole numbers of several units since 1970 ({shown}), whose times do "
            "not go on where the unit changes; write all in one unit"
        )
    others = "".join(f", from row {row} on as {unit}" for row, unit in blocks[1:])
    return time_ns, f"times are whole numbers, read as {blocks[0][1]} since 1970 UTC{others}"


def _unknown_unit(label: str, example: object) -> TableError:
    return TableError(
        f"{label} holds whole numbers such as {example}, which do not all lie between 1980 and "
        "2100 as s, ms, us or ns; write ISO 8601 times such as 2024-01-31T09:30:00Z"
    )


def _read_text(
    column: pa.Array, tz: LocalZone | None, label: str, time_format: str | None
) -> tuple[Ints, tuple[str, ...]]:
    written = read_written(column, label, time_format)
    if written.zone is None:
        time_ns, notes = _naive(written.time_ns, tz, label)
        return time_ns, (*written.notes, *notes)
    unused = _note_unused_zone(tz, "name their zone")
    if written.zone == ZONE_UTC:
        return written.time_ns, (*written.notes, *unused)
    zone = LocalZone(written.zone, None if tz is None else tz.ambiguous)
    time_ns, notes = _naive(written.time_ns, zone, label)
    return time_ns, (*written.notes, *notes, *unused)


def _naive(local_ns: Ints, tz: LocalZone | None, label: str) -> tuple[Ints, tuple[str, ...]]:
    if tz is not None:
        time_ns, notes = localise(local_ns, tz, label)
        server = note_server(local_ns, tz.name)
        return time_ns, (f"times name no zone, read as {tz}", *notes, *server)
    return local_ns, (AS_UTC, *note_server(local_ns, "UTC"))


def _note_unused_zone(tz: LocalZone | None, why: str) -> tuple[str, ...]:
    return () if tz is None else (f"--tz {tz} changes no time: they {why}",)


def _calendar_as_text(column: pa.Array) -> pa.Array:
    """A column as it is, but dates that were written as numbers as text."""
    if pa.types.is_integer(column.type) and all_match(column.cast(pa.string()), CALENDAR):
        return column.cast(pa.string())
    return column
