"""Times at which bars open, or close where a person states so, of all columns that hold them."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import pyarrow as pa

from data.checks import NO_TIME, Ints, format_time
from data.errors import TableError
from data.providers.column_names import SAYS_OPEN, find_role, plain, write_option
from data.providers.columns import Layout
from data.providers.times import read_times
from data.table import LoadOptions
from data.timeframe import find_lead

Names = tuple[str, ...]
"""A column of times, or one of dates and one of times of day."""

Read = tuple[Ints, tuple[str, ...]]
"""Times [N], and notes about how they were read."""

End = Literal["open", "close"]

MOST = 0.5
"""Share of bars whose close shows at which end their times lie."""


def read_alike(
    arrays: dict[str, pa.Array], layout: Layout, options: LoadOptions, where: str
) -> Read:
    """Times at the end of bars that is wanted [N], on which all columns that hold them agree.

    Raises:
        TableError: When columns differ, or all hold times of the other end.
    """

    def read(names: Names) -> Read:
        return read_times(
            {name: arrays[name] for name in names}, options.zone, where, options.time_format
        )

    times = _read_each(read, (layout.times, *layout.same_times))
    closes = _read_closes(read, layout.closes)
    ends = {
        names: _find_end(names, time_ns, closes, options, where)
        for names, (time_ns, _) in times.items()
    }
    wanted = {
        names: read for names, read in times.items() if ends[names] in (None, options.stamped)
    }
    if not wanted:
        raise _refuse_end(layout.times, times[layout.times][0], closes, options, where)
    others = " and ".join(repr(names[0]) for names in times if names not in wanted)
    time_ns, notes = _agree(wanted, where)
    if not others:
        return time_ns, notes
    end = "close" if options.stamped == "open" else "open"
    return time_ns, (*notes, f"column {others} is not read: it says when bars {end}")


def _read_each(read: Callable[[Names], Read], columns: tuple[Names, ...]) -> dict[Names, Read]:
    """Times of each column that may hold them; of one that does not, the error names the others."""
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
        try:
            time_ns, _ = read((name,))
        except TableError:
            # A column that is called so may hold something else.
            continue
        moment_ns, _ = find_lead(time_ns)
        closes[name] = np.where(time_ns == NO_TIME, NO_TIME, time_ns + moment_ns)
    return closes


def _find_end(
    names: Names, time_ns: Ints, closes: Mapping[str, Ints], options: LoadOptions, where: str
) -> End | None:
    """The end of bars at which times [N] lie, by what they hold, a column of closes, or a name."""
    if find_role(names[0]) == "close_time" or (len(time_ns) > 1 and find_lead(time_ns)[0]):
        return "close"
    for name, close_ns in closes.items():
        both = (time_ns != NO_TIME) & (close_ns != NO_TIME)
        left_ns = close_ns[both] - time_ns[both]
        if len(left_ns) and (left_ns < 0).mean() >= MOST:
            raise _refuse_late(names, name, time_ns, close_ns, where)
        if len(left_ns):
            return "close" if (left_ns <= 0).mean() >= MOST else "open"
    is_stated = bool({"timestamp", "date", "time"} & options.columns.keys())
    return "open" if not is_stated and SAYS_OPEN.search(plain(names[0])) else None


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


def _refuse_end(
    names: Names, time_ns: Ints, closes: Mapping[str, Ints], options: LoadOptions, where: str
) -> TableError:
    """The error about times of the other end of bars than the wanted one."""
    column = f"{where}: column {names[-1]!r}"
    if options.stamped == "close":
        return TableError(
            f"{column} says when bars open; leave --stamped out, or {_options(names)} lets it be "
            "closes"
        )
    if find_role(names[0]) == "close_time":
        return TableError(f"{column} says when bars close; --stamped close reads it so")
    if not find_lead(time_ns)[0]:
        return TableError(
            f"{column} holds the times of column {next(iter(closes))!r}, at which bars close; "
            f"--stamped close reads them so, and {_options(names)} as opens"
        )
    return TableError(
        f"{column} holds times such as {format_time(time_ns[0])}, a moment before a whole minute, "
        "at which bars close; --stamped close reads them"
    )


def _refuse_late(names: Names, name: str, time_ns: Ints, close_ns: Ints, where: str) -> TableError:
    """The error about bars of which most would close before they open."""
    late = (time_ns > close_ns) & (close_ns != NO_TIME)
    i = int(np.flatnonzero(late)[0])
    return TableError(
        f"{where}: bars would close before they open: row {i} has {format_time(time_ns[i])} in "
        f"column {names[-1]!r} and {format_time(close_ns[i])} in column {name!r}; "
        f"{_options(names)} reads it without the other"
    )


def _options(names: Names) -> str:
    """The options that name the column, or the two columns, of the time."""
    meanings = ("timestamp",) if len(names) == 1 else ("date", "time")
    return " ".join(map(write_option, meanings, names))
