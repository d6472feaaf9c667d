"""An index of times beside columns whose names sound like times: which of them is the time."""

import numpy as np
import pandas as pd

from data.checks import NO_TIME, Ints, format_time
from data.providers.column_names import bare_name, find_role
from data.table import LoadOptions
from data.timeframe import DAY_NS
from optimizer.errors import ConfigError
from optimizer.run.frame_columns import CLOSE, TIMES, TIMESTAMP, FrameColumns, has_times


def name_index(frame: pd.DataFrame, options: LoadOptions) -> str:
    """The column as which an index of times is read; empty where there is none.

    It keeps its name where that is one of a time.
    """
    names = [str(name).lower() for name in frame.columns]
    if not _is_time(frame, names, options):
        return ""
    index_name = str(frame.index.name)
    named = options.columns.get(TIMESTAMP, "")
    if named.lower() in (index_name.lower(), TIMESTAMP) and named.lower() not in names:
        return named
    name = index_name if _find_role(index_name) else TIMESTAMP
    # The settings may name the column of that name as the times.
    return "" if is_overruled(options) and name.lower() in names else name


def is_overruled(options: LoadOptions) -> bool:
    """Whether settings name the columns that hold the times."""
    return not options.columns.keys().isdisjoint(TIMES)


def list_closes(columns: FrameColumns, index: str, options: LoadOptions) -> list[str]:
    """Columns of closing times, by which the reader knows an index of closes.

    Days before those of the index are none.
    """
    opens = columns.find_times((index,), options)
    closes = []
    for name in columns:
        time_ns = columns.find_times((name,), options) if _find_role(name) == CLOSE else None
        if time_ns is None or opens is None:
            continue
        if _has_clock(time_ns) or not ((time_ns < opens) & (time_ns != NO_TIME)).any():
            closes.append(name)
    return closes


def refuse_other_times(columns: FrameColumns, index: str, options: LoadOptions) -> None:
    """Refuse columns that could be the time of a bar as well as the index, and differ from it.

    Days beside an index are no times of bars, nor are times of day.

    Raises:
        ConfigError: Naming them, and how to pass either.
    """
    index_times = columns.find_times((index,), options)
    if index_times is None:
        return
    times = _list_times(columns, index, options)
    differing = [
        name for name, other in times.items() if _find_difference(index_times, other) is not None
    ]
    if not differing:
        return
    name = differing[0]
    row = _find_difference(index_times, times[name]) or 0
    rest = [other for other in times if _find_difference(times[name], times[other]) is not None]
    further = f".drop(columns={_list_labels(rest)})" if rest else ""
    raise ConfigError(
        f"{columns.where}: its index and its column {bare_name(name)!r} could both be the time of "
        f"a bar, and differ: row {row} has {format_time(int(index_times[row]))} and "
        f"{format_time(int(times[name][row]))}; pass {columns.code}.drop(columns="
        f"{_list_labels(differing)}) or {columns.code}.set_index({bare_name(name)!r}){further}"
    )


def _is_time(frame: pd.DataFrame, names: list[str], options: LoadOptions) -> bool:
    """Whether an index holds times, or texts where nothing else can be the time."""
    if has_times(frame.index, options):
        return True
    is_text = frame.index.dtype == object or pd.api.types.is_string_dtype(frame.index.dtype)
    return (
        is_text
        and not is_overruled(options)
        and not any(_find_role(name) in TIMES for name in names)
    )


def _find_role(name: str) -> str:
    """The time that a name sounds like, of bars that open or close; empty for other names."""
    role = find_role(name) or ""
    return role if role in (*TIMES, CLOSE) else ""


def _list_times(columns: FrameColumns, index: str, options: LoadOptions) -> dict[str, Ints]:
    """Times [N] of columns that sound like the time of a bar and hold such."""
    taken = {index, *options.columns.values(), *options.aligned.values()}
    times = {}
    for name in columns:
        role = _find_role(name)
        if role not in TIMES or name in taken:
            continue
        time_ns = columns.find_times((name,), options)
        if time_ns is not None and (role == TIMESTAMP or _has_clock(time_ns)):
            times[name] = time_ns
    return times


def _list_labels(names: list[str]) -> str:
    return repr(list(map(bare_name, names)))


def _has_clock(time_ns: Ints) -> bool:
    return bool((time_ns[time_ns != NO_TIME] % DAY_NS).any())


def _find_difference(times: Ints, other: Ints) -> int | None:
    """The first row in which two columns hold different times."""
    rows = np.flatnonzero((times != other) & (times != NO_TIME) & (other != NO_TIME))
    return int(rows[0]) if len(rows) else None
