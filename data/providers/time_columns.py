"""Times at which bars open, or close where a person states so, of all columns that hold them."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data.checks import FIRST_S, LAST_S, NO_TIME, Ints, format_time
from data.errors import TableError
from data.providers.columns import (
    SAYS_OPEN,
    Layout,
    find_local_zone,
    find_role,
    plain,
    write_option,
)
from data.providers.time_forms import all_match, plain_blanks
from data.providers.times import (
    TIME_OF_DAY,
    drop_words,
    place,
    read_column,
    read_written,
    take_sample,
)
from data.table import LoadOptions
from data.timeframe import DAY_NS, MINUTE_NS, SECOND_NS, find_lead, format_timeframe
from data.zones import AS_UTC, LocalZone

Names = tuple[str, ...]
"""A column of times, or one of dates and one of times of day."""

Read = tuple[Ints, tuple[str, ...]]
"""Times [N], and notes about how they were read."""

MOST, FEWEST = 0.5, 4
"""Share of bars whose close shows at which end their times lie, and bars that show a rhythm."""

DATE = r"^[0-9A-Za-z]{1,9}[-/., ]{0,2}[0-9A-Za-z]{1,9}[-/., ]{0,2}[0-9]{1,4}$"

HOURS = "^([01][0-9]|2[0-3])"
CLOCKS = (
    (4, HOURS + r"([0-5][0-9])$", r"\1:\2"),
    (6, HOURS + r"([0-5][0-9])([0-5][0-9])$", r"\1:\2:\3"),
    (9, HOURS + r"([0-5][0-9])([0-5][0-9])([0-9]{3})$", r"\1:\2:\3.\4"),
)
"""Digits of a time of day that is written as a number: their count, pattern and clock."""

SERIAL_1970 = 25_569
"""Days that spreadsheets count at the first one of 1970."""

UTC_NAME = re.compile(r"(?<![a-z])(utc|gmt)(?![a-z])(?! ?[+-] ?0?[1-9])")


def read_times(
    columns: Mapping[str, pa.Array],
    tz: LocalZone | None,
    where: str,
    time_format: str | None = None,
) -> Read:
    """Read the time column, or a column of dates and one of times of day.

    `columns` maps one or two names to values, [N] each; `tz` is the zone of times that name
    none. Returns [N] nanoseconds UTC, `NO_TIME` where a value is missing, and notes. Times with
    no reading, or more than one, are refused.
    """
    label = f"{where}: column{'s' * (len(columns) > 1)} {' and '.join(map(repr, columns))}"
    if len(columns) == 1:
        (column,) = columns.values()
        if time_format is None and not pa.types.is_temporal(column.type):
            _refuse_serials(take_sample(column), label)
        time_ns, notes = read_column(column, tz, label, time_format)
    else:
        time_ns, notes = _read_two(columns, tz, label, time_format)
    for name in columns if AS_UTC in notes else ():
        if (zone := find_local_zone(name)) is not None:
            raise TableError(
                f"{where}: column {name!r} names a zone that its times do not, and short names do "
                f"not tell whether summer is counted; say which clock it is, such as --tz {zone}"
            )
        if UTC_NAME.search(name.lower()):
            notes = tuple(note for note in notes if note != AS_UTC)
    return time_ns, notes


def read_alike(
    arrays: Mapping[str, pa.Array], layout: Layout, options: LoadOptions, where: str
) -> Read:
    """Times [N] at the wanted end of bars, on which all columns with such times agree."""

    def read(names: Names) -> Read:
        columns = {name: arrays[name] for name in names}
        return read_times(columns, options.zone, where, options.time_format)

    times = _read_each(read, (layout.times, *layout.same_times))
    closes = _read_closes(read, layout.closes)
    wanted, others = {}, {}
    for names, each in times.items():
        end, words = _find_end(names, each[0], closes, options, where)
        if end in (None, options.stamped):
            wanted[names] = each
        else:
            others[names] = words
    if not wanted:
        raise TableError(f"{where}: column {layout.times[-1]!r} {others[layout.times]}")
    time_ns, notes = _agree(wanted, where)
    if others:
        end = "close" if options.stamped == "open" else "open"
        unread = " and ".join(repr(names[0]) for names in others)
        notes = (*notes, f"column {unread} is not read: it says when bars {end}")
    return time_ns, notes


def _read_each(read: Callable[[Names], Read], columns: tuple[Names, ...]) -> dict[Names, Read]:
    """Times of each column that may hold them; the error about one names the others."""
    times = {}
    for names in columns:
        try:
            times[names] = read(names)
        except TableError as error:
            others = " or ".join(_options(other) for other in columns if other != names)
            if not others:
                raise
            raise TableError(f"{error}; {others} reads times without it") from None
    return times


def _read_closes(read: Callable[[Names], Read], names: Names) -> dict[str, Ints]:
    """Times at which bars close [N], by column, on whole minutes where they lie a moment before."""
    closes = {}
    for name in names:
        # A column that is called so may hold something else.
        with suppress(TableError):
            time_ns, _ = read((name,))
            moment_ns, _ = find_lead(time_ns)
            closes[name] = np.where(time_ns == NO_TIME, NO_TIME, time_ns + moment_ns)
    return closes


def _find_end(
    names: Names, time_ns: Ints, closes: Mapping[str, Ints], options: LoadOptions, where: str
) -> tuple[str | None, str]:
    """The end of bars at which times [N] lie, and how it shows, with what else helps.

    A close shows by a name, by times a moment before whole minutes, or beside a column of closes.
    """
    as_open = f"says when bars open; leave --stamped out, or {_options(names)} lets it be closes"
    if find_role(names[0]) == "close_time":
        return "close", "says when bars close; --stamped close reads it so"
    if len(time_ns) > 1 and find_lead(time_ns)[0]:
        return "close", (
            f"holds times such as {format_time(time_ns[0])}, a moment before a whole minute, at "
            "which bars close; --stamped close reads them"
        )
    is_stated = bool({"timestamp", "date", "time"} & options.columns.keys())
    says_open = not is_stated and SAYS_OPEN.search(plain(names[0])) is not None
    for name, close_ns in closes.items():
        rows = np.flatnonzero((time_ns != NO_TIME) & (close_ns != NO_TIME))
        if not len(rows):
            continue
        opens, ends, starts = time_ns[rows], close_ns[rows], time_ns[time_ns != NO_TIME]
        starts = starts if (np.diff(starts) > 0).all() else np.unique(starts)
        if (misfit := _find_misfit(opens, ends, starts)) is not None:
            what, i = misfit[0], rows[misfit[1]]
            raise TableError(
                f"{where}: {what}: row {i} has {format_time(time_ns[i])} in column {names[-1]!r} "
                f"and {format_time(close_ns[i])} in column {name!r}; {_options(names)} reads it "
                "without the other"
            )
        if options.source_timeframe is None and (found := _find_short(ends - opens, starts)):
            longest, step = map(format_timeframe, found)
            raise TableError(
                f"{where}: bars close {longest} after they open by column {name!r}, or sooner, "
                f"and {step} lie between them; --source-timeframe {longest} reads bars with gaps, "
                f"and {_options(names)} reads them without their closes"
            )
        if not says_open:
            if (ends > opens).mean() > 1 - MOST:
                return "open", as_open
            return "close", (
                f"holds the times of column {name!r}, at which bars close; --stamped close reads "
                f"them so, and {_options(names)} as opens"
            )
    return ("open" if says_open else None), as_open


def _agree(times: Mapping[Names, Read], where: str) -> Read:
    """The times of columns [N] that could each be those of bars."""
    (first, (time_ns, _)), *others = times.items()
    for names, (other_ns, _) in others:
        differs = np.flatnonzero(other_ns != time_ns)
        if len(differs):
            i = int(differs[0])
            raise TableError(
                f"{where}: columns {first[0]!r} and {names[0]!r} could both be the time of a bar, "
                f"and differ: row {i} has {format_time(time_ns[i])} and "
                f"{format_time(other_ns[i])}; say which with {_options(first)} or {_options(names)}"
            )
    # The column that needs fewest words leaves least to doubt.
    return min(times.values(), key=lambda read: len(read[1]))


def _find_misfit(opens: Ints, ends: Ints, starts: Ints) -> tuple[str, int] | None:
    """Reason why times [N] are no opens of bars with ends [N], and the first row to show it.

    Most bars would close before they open or after the next opens, or begin and end at trades,
    with times that follow no step. `starts` are all opens in order, each once [M].
    """
    nexts = np.append(starts[1:], starts[-1])
    if not np.array_equal(starts, opens):
        nexts = nexts[np.searchsorted(starts, opens)]
    is_early, is_late = ends < opens, (opens < nexts) & (ends > nexts)
    if is_early.mean() >= MOST:
        return "bars would close before they open", int(np.argmax(is_early))
    if is_late.mean() >= MOST:
        return "bars would close after the next one opens", int(np.argmax(is_late))
    if len(starts) < FEWEST or not (starts % MINUTE_NS).any():
        return None
    steps, counts = np.diff(starts), np.unique(ends - opens, return_counts=True)[1]
    if (steps % steps.min() != 0).mean() < MOST or counts.max() >= MOST * len(opens):
        return None
    return "bars would begin and end at their trades, in no regular step", 0


def _find_short(left_ns: Ints, starts: Ints) -> tuple[int, int] | None:
    """How long bars last and how far they lie apart, where they last half of their step or less.

    A day's bar may close with its session.
    """
    if len(starts) < 2:
        return None
    step_ns = int(np.median(np.diff(starts)))
    longest_ns = int(np.quantile(left_ns, 0.99, method="higher"))
    unit_ns = MINUTE_NS if longest_ns > MINUTE_NS else SECOND_NS
    longest_ns = -(-longest_ns // unit_ns) * unit_ns
    is_short = step_ns != DAY_NS and 0 < 2 * longest_ns <= step_ns
    return (longest_ns, step_ns) if is_short else None


def _options(names: Names) -> str:
    """The options that name the column, or the two columns, of the time."""
    meanings = ("timestamp",) if len(names) == 1 else ("date", "time")
    return " ".join(map(write_option, meanings, names))


def _read_two(
    columns: Mapping[str, pa.Array], tz: LocalZone | None, label: str, time_format: str | None
) -> Read:
    """Times [N] from a column of dates and one of times of day, in this order.

    The second alone is read if it holds whole times on the days of the first.
    """
    dates, times = columns.values()
    days, clocks = _write_each(dates, _write_days), _write_each(times, _write_clock)
    if days is not None and clocks is not None:
        whole = pc.binary_join_element_wise(days, clocks, " ", null_handling="emit_null")
        return place(read_written(whole, label, time_format), tz, label)
    if days is not None and _are_whole(days, times):
        return read_column(times, tz, label, time_format)
    raise TableError(
        f"{label} could both be the time of a bar, and are no date (2024-01-31) and time of day "
        "(09:30) that belong together; say which is the time with "
        f"{' or '.join(write_option('timestamp', name) for name in columns)}"
    )


def _write_each(column: pa.Array, write: Callable[[pa.Array], pa.Array | None]) -> pa.Array | None:
    """Texts of a column [N]; equal values are written once."""
    coded = column.dictionary_encode()
    texts = write(coded.dictionary)
    if texts is None:
        return None
    return column if texts.equals(coded.dictionary) else texts.take(coded.indices)


def _are_whole(dates: pa.Array, times: pa.Array) -> bool:
    """True if the second column [N] holds whole times on the days of the first."""
    try:
        (day_ns, _), (time_ns, _) = (read_column(each, None, "", None) for each in (dates, times))
    except TableError:
        return False
    both = (day_ns != NO_TIME) & (time_ns != NO_TIME)
    return bool(both.any() and (day_ns // DAY_NS == time_ns // DAY_NS)[both].all())


def _write_days(dates: pa.Array) -> pa.Array | None:
    """Dates as text, None where the column holds others."""
    kind = dates.type
    if pa.types.is_timestamp(kind) and kind.tz is None:
        days = dates.cast(pa.date32())
        return days.cast(pa.string()) if days.cast(kind).equals(dates) else None
    if pa.types.is_date(kind):
        return dates.cast(pa.date32()).cast(pa.string())
    texts = _write_plain(dates)
    return texts if texts is not None and all_match(texts, DATE) else None


def _write_clock(times: pa.Array) -> pa.Array | None:
    """Times of day as text such as 09:30:00, None where the column holds others."""
    if pa.types.is_duration(times.type):
        passed = times.cast(pa.duration("ns")).cast(pa.int64())
        inside = pc.and_(pc.greater_equal(passed, 0), pc.less(passed, DAY_NS))
        if not pc.all(inside, min_count=0).as_py():
            return None
        times = passed.cast(pa.time64("ns"))
    texts = times.cast(pa.string()) if pa.types.is_time(times.type) else _write_plain(times)
    if texts is None or not all_match(texts, r"^[0-9]{1,9}$"):
        return texts if texts is not None and all_match(texts, TIME_OF_DAY) else None
    # Numbers such as 931, 093100 or 93100000: the longest counts the digits.
    longest = pc.max(pc.utf8_length(texts)).as_py()
    width, pattern, clock = next(form for form in CLOCKS if longest <= form[0])
    padded = pc.utf8_lpad(texts, width, "0")
    is_clock = all_match(padded, pattern)
    return pc.replace_substring_regex(padded, pattern, clock) if is_clock else None


def _write_plain(column: pa.Array) -> pa.Array | None:
    """Texts or whole numbers as bare texts, None where the column holds others."""
    kind = column.type
    is_whole = pa.types.is_integer(kind) or (
        pa.types.is_floating(kind) and pc.all(pc.equal(column, pc.floor(column))).as_py()
    )
    if not is_whole and not pa.types.is_string(kind):
        return None
    texts = (column.cast(pa.int64()) if is_whole else column).cast(pa.string())
    return plain_blanks(drop_words(texts))


def _refuse_serials(sample: pa.Array, label: str) -> None:
    """Refuse days as spreadsheets count them: their first day depends on the program."""
    first = next((value for value in sample.to_pylist()[:100] if value), None)
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
