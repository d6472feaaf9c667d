"""Times of a column to nanoseconds UTC: recognised when there is one reading, else refused."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple
from zoneinfo import available_timezones

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data.checks import FIRST_S, LAST_S, NO_TIME, SHOWN, UNITS, Ints, format_time
from data.errors import TableError, list_some
from data.providers import time_forms as forms
from data.providers.columns import find_local_zone
from data.providers.numbers import NO_NUMBER, to_array
from data.providers.time_forms import TimeForm, all_match, plain_blanks
from data.shell import quote_word
from data.zones import AS_UTC, LocalZone, localise, look_up, note_server

DIGITS = r"^[0-9]{1,19}$"
WHOLE = r"^[0-9]{9,19}\.0+$"
CALENDAR = (
    r"^(?:19|20)[0-9]{2}[01][0-9][0-3][0-9](?:[0-2][0-9][0-5][0-9](?:[0-5][0-9](?:[0-9]{3})?)?)?$"
)
"""Dates written as numbers: none of them is a time since 1970 in any unit."""

TIME_OF_DAY = (
    r"^[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?"
    r"(?: ?(?:[AaPp]\.?[Mm]\.?|Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?))?$"
)
SHORT_ZONE = "[0-9] ?[A-Z]{2,5}$"

NAMED_ZONE = (
    r"^(?P<time>.*[^ ]) *[ \[]"
    r"(?P<zone>[A-Z][A-Za-z]+(?:/[A-Za-z0-9_+-]+)+|[A-Z][a-z]{3,}|UTC)\]?$"
)
"""As Interactive Brokers and Java write them, in brackets behind an offset. Short names such as EST
are none: whether they stand for summer too is not known."""

READABLE = (pa.types.is_string, pa.types.is_integer, pa.types.is_floating)

UTC, SAMPLE = "UTC", 1000
"""Values from all of a column's length that rule most readings out before all are looked at."""

TICKS_1970, TICKS_S = 621_355_968_000_000_000, 10**7
"""Ticks of .NET, which count from year 1: those of 1970 and of a second."""

UNIT_NAMES = {unit_ns: unit for unit, unit_ns in UNITS}
EDGES = np.array([edge * 10**9 // unit_ns for unit_ns in UNIT_NAMES for edge in (FIRST_S, LAST_S)])
BETWEEN = np.array([0, *(part for unit_ns in UNIT_NAMES for part in (unit_ns, 0))])
"""Numbers at which a unit begins or ends to mean 1980 to 2100, and the units between them."""

INSTEAD = "write ISO 8601 times such as 2024-01-31T09:30:00Z"


class Written(NamedTuple):
    """Times of a column of text."""

    time_ns: Ints  # nanoseconds since 1970 on the clock of `zone`, [N]; `NO_TIME` where missing
    zone: str | None  # name of the zone that the times themselves name, None where they name none
    notes: tuple[str, ...] = ()  # one line for each assumption


def read_column(
    column: pa.Array, tz: LocalZone | None, label: str, time_format: str | None
) -> tuple[Ints, tuple[str, ...]]:
    """Read one column [N] as `read_times` does; `label` begins errors."""
    if pa.types.is_decimal(column.type):
        # Databases write whole numbers so.
        column = _try_cast(column, pa.int64()) or column
    kind = column.type
    if pa.types.is_string(kind):
        column = drop_words(column)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _read_typed(column, tz, label)
    if not any(is_kind(kind) for is_kind in READABLE):
        raise TableError(f"{label} holds {kind}, which is no time; {INSTEAD}")
    sample = take_sample(column).cast(pa.string())
    if pa.types.is_integer(kind) and all_match(sample, CALENDAR):
        column = column.cast(pa.string())
    if pa.types.is_string(column.type) and time_format is None:
        column = _read_digits(column, sample, label)
    if not pa.types.is_string(column.type):
        return _read_whole(column, tz, label)
    return place(read_written(column, label, time_format), tz, label)


def drop_words(texts: pa.Array) -> pa.Array:
    """Texts [N], missing where a word such as NaT stands for no time."""
    is_word = pc.match_substring_regex(texts, NO_NUMBER)
    return pc.if_else(is_word, None, texts) if pc.any(is_word).as_py() else texts


def place(written: Written, tz: LocalZone | None, label: str) -> tuple[Ints, tuple[str, ...]]:
    """Times [N] in UTC by the zone that they name, or else by `tz`, and notes."""
    time_ns, named, notes = written
    if tz is not None and named is not None:
        notes = (*notes, f"--tz {tz} changes no time: they name their zone")
    if named == UTC:
        return time_ns, notes
    zone = tz if named is None else LocalZone(named, None if tz is None else tz.ambiguous)
    if zone is None:
        return time_ns, (*notes, AS_UTC, *note_server(time_ns, UTC))
    utc_ns, settled = localise(time_ns, zone, label)
    server = () if named else note_server(time_ns, zone.name)
    return utc_ns, (*notes, f"times name no zone, read as {zone}", *settled, *server)


def read_written(column: pa.Array, label: str, time_format: str | None = None) -> Written:
    """Read text [N] in one of the forms, or in that which a person names."""
    if time_format is not None:
        form = forms.parse_time_format(time_format)
        moments = forms.parse_times(column, form)
        if odd := sorted(moments.misfits + moments.wrong):
            raise TableError(
                f"{label} holds times that are not as --time-format says: {_show(column, odd)}"
            )
        return _settle_zones(moments, label, f"times are read as {form.words}")
    sample = plain_blanks(take_sample(column)).drop_null()
    if not len(sample):
        return Written(np.full(len(column), NO_TIME), UTC)
    fitting = _find_forms(column, sample)
    example = sample[0].as_py()[:40]
    if len(fitting) > 1:
        words = " and ".join(form.words for form, _ in fitting)
        raise TableError(
            f"{label} holds times such as {example!r}, which can be read as {words}; --time-format "
            f"says which, {_name_formats(sample[0].as_py(), [form for form, _ in fitting])}"
        )
    if fitting:
        ((form, moments),) = fitting
        if moments.wrong:
            raise _refuse(column, sample, moments.wrong, label)
        note = f"times such as {example!r} are read as {form.words}"
        return _settle_zones(moments, label, *(() if form is forms.ISO else (note,)))
    named = _part_named_zone(column)
    if named is None:
        raise _refuse(column, sample, _find_odd_rows(column, sample), label)
    written = read_written(named[0], label)
    # An offset beside the name decides: in autumn it settles a repeated hour.
    return written._replace(zone=written.zone or named[1])


def _find_forms(column: pa.Array, sample: pa.Array) -> list[tuple[TimeForm, forms.Moments]]:
    """The forms that every value fits, and the times that they make of them."""
    fitting: list[tuple[TimeForm, forms.Moments]] = []
    for form in forms.FORMS:
        if (not fitting or fitting[0][0] is not forms.ISO) and all_match(sample, form.pattern):
            moments = forms.parse_times(column, form, must_fit=True)
            fitting += [] if moments.misfits else [(form, moments)]
    return fitting


def find_column_zone(column: pa.Array) -> str | None:
    """The IANA zone that a column's type names, or that stands behind its first time."""
    name = getattr(column.type, "tz", None)
    if pa.types.is_string(column.type) and len(column):
        match = re.match(NAMED_ZONE, column[0].as_py() or "")
        name = match["zone"] if match and match["zone"] in available_timezones() else None
    try:
        return None if name is None else LocalZone(name).name
    except TableError:
        return None


def find_unit(column: pa.Array) -> str | None:
    """The unit in which the numbers of a column, typed or written, are times; None without one."""
    numbers = _try_cast(column, pa.float64())
    return None if numbers is None else UNIT_NAMES.get(_find_unit(np.asarray(numbers.drop_null())))


def take_sample(column: pa.Array) -> pa.Array:
    """Values from all of a column's length, about `SAMPLE`, or the first present ones."""
    sample = column[:: max(-(-len(column) // SAMPLE), 1)]
    is_any = len(sample) == len(column) or sample.null_count < len(sample)
    return sample if is_any else column.drop_null().slice(0, SAMPLE)


def _try_cast(column: pa.Array, kind: pa.DataType) -> pa.Array | None:
    try:
        return column.cast(kind)
    except pa.ArrowException:
        return None


def _to_ints(column: pa.Array) -> Ints:
    """Whole numbers [N], `NO_TIME` where one is missing."""
    return to_array(column.cast(pa.int64()), NO_TIME)


def _read_typed(column: pa.Array, tz: LocalZone | None, label: str) -> tuple[Ints, tuple[str, ...]]:
    zone = getattr(column.type, "tz", None)
    exact = _try_cast(column, pa.timestamp("ns", tz=zone))
    if exact is not None:
        return place(Written(_to_ints(exact), zone and UTC), tz, label)
    numbers, help_ = _try_cast(column.drop_null(), pa.int64()), ""
    if numbers is not None and (unit_ns := _find_unit(_to_ints(numbers))):
        first = numbers[0].as_py()
        help_ = (
            f": it is typed {column.type}, and numbers such as {first} are {UNIT_NAMES[unit_ns]} "
            f"since 1970 ({format_time(first * unit_ns)}); write the column anew with that unit"
        )
    raise TableError(f"{label} holds times outside 1678 to 2262{help_}")


def _read_digits(column: pa.Array, sample: pa.Array, label: str) -> pa.Array:
    """Whole numbers written as text; other text stays."""
    sample = plain_blanks(sample)
    if all_match(sample, WHOLE):
        column, sample = (
            pc.replace_substring_regex(plain_blanks(each), r"\.0+$", "")
            for each in (column, sample)
        )
    if not all_match(sample, DIGITS) or all_match(sample, CALENDAR):
        return column
    if not pc.all(pc.ascii_is_decimal(column), min_count=0).as_py():
        column = plain_blanks(column)
        if not all_match(column, DIGITS):
            return column
    whole = _try_cast(column, pa.int64())
    if whole is None:
        raise _unknown_unit(label, pc.max(column).as_py())
    return whole


def _read_whole(column: pa.Array, tz: LocalZone | None, label: str) -> tuple[Ints, tuple[str, ...]]:
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
        present = np.asarray(column.cast(pa.float64()).drop_null())
        is_odd = (present != np.floor(present)) | (np.abs(present) > 2**53)
        if is_odd.any():
            raise TableError(
                f"{label} holds numbers with fractions or beyond 2^53, such as "
                f"{float(present[np.argmax(is_odd)])!r}; {INSTEAD}, or whole numbers"
            )
    whole = _try_cast(column, pa.int64())
    if whole is None:
        raise _unknown_unit(label, column.drop_null()[0].as_py())
    numbers = _to_ints(whole)
    if whole.null_count == len(whole):
        return numbers, ()
    known = numbers[numbers != NO_TIME] if whole.null_count else numbers
    unit_ns = look_up(known, EDGES, BETWEEN)
    if not unit_ns.all():
        raise _unknown_unit(label, known[np.argmin(unit_ns)])
    _refuse_ticks(known[unit_ns == 1], label)
    time_ns = known * unit_ns
    words = f"times are whole numbers, read as {_name_units(time_ns, unit_ns, numbers, label)}"
    if whole.null_count:
        time_ns, known_ns = np.full(len(numbers), NO_TIME), time_ns
        time_ns[numbers != NO_TIME] = known_ns
    unused = () if tz is None else (f"--tz {tz} changes no time: they count from 1970 UTC",)
    return time_ns, (words, *unused)


def _find_unit(numbers: npt.NDArray[Any]) -> int:
    """Nanoseconds of the unit in which all numbers [N] lie between 1980 and 2100; 0 without one."""
    unit_ns = look_up(numbers, EDGES, BETWEEN) if len(numbers) else np.zeros(1, np.int64)
    return int(unit_ns[0]) if (unit_ns == unit_ns[0]).all() else 0


def _name_units(time_ns: Ints, unit_ns: Ints, numbers: Ints, label: str) -> str:
    """The units of times [n], of numbers [N], in words; they may change, as Binance's did in 2025.

    Each unit must have its rows behind one another, and times must go on at a change.
    """
    starts = np.append(0, np.flatnonzero(unit_ns[1:] != unit_ns[:-1]) + 1)
    first, *others = (UNIT_NAMES[unit] for unit in unit_ns[starts[: SHOWN + 1]].tolist())
    if not others:
        return f"{first} since 1970 UTC"
    at = np.flatnonzero(numbers != NO_TIME)[starts[1:]]
    words = "".join(f", from row {row} on as {unit}" for row, unit in zip(at, others, strict=False))
    steps = np.append(time_ns[starts[1:]] - time_ns[starts[1:] - 1], time_ns[-1] - time_ns[0])
    goes_on = (steps > 0).all() or (steps < 0).all()
    if len(set(unit_ns[starts].tolist())) < len(starts) or not goes_on:
        raise TableError(
            f"{label} holds whole numbers of several units since 1970 ({first}{words}), whose "
            "times do not go on where the unit changes; write all in one unit"
        )
    return f"{first} since 1970 UTC{words}"


def _refuse_ticks(numbers: Ints, label: str) -> None:
    """Refuse ticks of .NET, tenths of microseconds since year 1: as ns they all lie in 1990."""
    first, last = (edge * TICKS_S + TICKS_1970 for edge in (FIRST_S, LAST_S))
    if not len(numbers) or numbers.min() < first or numbers.max() >= last:
        return
    if not ((numbers - TICKS_1970) % TICKS_S).any() and (numbers % (60 * 10**9)).any():
        as_ns, as_ticks = numbers[0], (numbers[0] - TICKS_1970) * 100
        raise TableError(
            f"{label} holds numbers such as {as_ns}, which are {format_time(as_ns)} in ns since "
            f"1970 and {format_time(as_ticks)} in ticks of .NET; {INSTEAD}"
        )


def _unknown_unit(label: str, example: object) -> TableError:
    return TableError(
        f"{label} holds whole numbers such as {example}, which do not all lie between 1980 and "
        f"2100 as s, ms, us or ns; {INSTEAD}"
    )


def _settle_zones(moments: forms.Moments, label: str, *notes: str) -> Written:
    """Times in UTC where all of them name a zone, as they were written where none does."""
    n_present = moments.zones.total()
    n_zoned = n_present - moments.zones[""]
    if 0 < n_zoned < n_present:
        raise TableError(f"{label}: {n_zoned} of {n_present} times name a zone; write all or none")
    for zone in moments.zones:
        if forms.read_offset(zone) is None:
            raise TableError(f"{label} names the zone {zone!r}, which is none")
    return Written(moments.time_ns, UTC if n_zoned else None, notes)


def _part_named_zone(column: pa.Array) -> tuple[pa.Array, str] | None:
    """Times [N] without the one IANA zone that stands behind all of them, and that zone."""
    groups = pc.extract_regex(texts := plain_blanks(column), NAMED_ZONE)
    zones = pc.unique(pc.struct_field(groups, "zone").drop_null()).to_pylist()
    is_one = len(zones) == 1 and zones[0] in available_timezones()
    if groups.null_count != texts.null_count or not is_one:
        return None
    return pc.struct_field(groups, "time"), zones[0]


def _name_formats(example: str, fitting: Iterable[TimeForm]) -> str:
    """The options that read a time as each of some forms has it."""
    options = (f"--time-format {quote_word(form.write_format(example))}" for form in fitting)
    return f"such as {' or '.join(options)}"


def _find_odd_rows(column: pa.Array, sample: pa.Array) -> list[int]:
    """The rows that do not fit the form of most others; all where there is no such form."""
    match, texts = pc.match_substring_regex, plain_blanks(column)
    patterns = (r"^[0-9]{9,19}$", *(form.pattern for form in forms.FORMS))
    best = max(patterns, key=lambda pattern: pc.sum(match(sample, pattern)).as_py())
    odd: list[int] = pc.indices_nonzero(pc.invert(match(texts, best))).to_pylist()
    present: list[int] = pc.indices_nonzero(pc.is_valid(texts)).to_pylist()
    return odd if 0 < 2 * len(odd) < len(present) else present


def _refuse(column: pa.Array, sample: pa.Array, rows: list[int], label: str) -> TableError:
    """The error about rows that are no times, or are unlike most others."""
    example = sample[0].as_py()
    zone = find_local_zone(example)
    if len(rows) < len(column) - plain_blanks(column).null_count:
        what, help_ = "unlike most others", "correct these rows or take them out"
    elif all_match(sample, TIME_OF_DAY):
        what = "of day without a date"
        help_ = "name a column of dates too: --column date=NAME --column time=NAME"
    elif zone is not None and all_match(sample, SHORT_ZONE):
        what = "that end in short names of zones, of which each stands for several"
        help_ = f"write them without, and --tz {zone} says which"
    else:
        short = [form for form in forms.SHORT_FORMS if all_match(sample, form.pattern)]
        what = "that have no single reading"
        help_ = f"{INSTEAD}, or name their form with --time-format"
        help_ += f", {_name_formats(example, short)}" if short else ""
    return TableError(f"{label} holds times {what}: {_show(column, rows)}; {help_}")


def _show(column: pa.Array, rows: list[int]) -> str:
    texts = plain_blanks(column.take(pa.array(rows[:SHOWN]))).to_pylist()
    shown = (f"row {row} {text[:40]!r}" for row, text in zip(rows, texts, strict=False))
    return list_some(shown, len(rows))
