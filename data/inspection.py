"""Faults of a source, all of them, and oddities of bars that are legal.

`load_bars` stops at the first fault.
"""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from data.checks import faults, format_time, repeats
from data.errors import DataError, WindowError, list_some
from data.hours import Gaps, list_gaps
from data.jumps import jumps_of
from data.load import DEFAULTS, load_bars
from data.providers import find_provider
from data.repair import widen_roundings
from data.table import LoadOptions, RawTable

SHOWN_ROWS = 3
MOST_SHOWN = 5


@dataclass(frozen=True)
class Inspection:
    """The bars of a source, None where they cannot be used, and what is in the way."""

    spec: str
    bars: Bars | None
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Quality:
    """Bars of a part of a series, silent ones among them, and gaps.

    Args:
        bars: Bars of the part.
        silent: How many of them have no volume.
        gaps: Steps longer than a bar that end in the part, without closed hours.
    """

    bars: int
    silent: int
    gaps: Gaps


def inspect_source(spec: str, options: LoadOptions = DEFAULTS) -> Inspection:
    """The bars of a source, or every kind of fault with its rows and the option that helps."""
    try:
        return Inspection(spec, load_bars(spec, options), ())
    except DataError as error:
        message = str(error)
    try:
        provider, address = find_provider(spec)
        # Faults that a repair leaves are reported as loading reports them.
        problems = () if _has_repairs(options) else _problems(provider.read(address, options))
    except DataError:
        problems = ()
    return Inspection(spec, None, problems if len(problems) > 1 else (message,))


def quirks_of(bars: Bars) -> tuple[str, ...]:
    """Oddities of a series, one line each."""
    return (*_silent(bars), *_flat(bars), *jumps_of(bars))


def quality_of(bars: Bars, start: int = 0, end: int | None = None) -> Quality:
    """Measure bars [start, end) of a series, to its end where `end` is None.

    A gap belongs to the part that it ends in, so that the counts of parts add up.

    Raises:
        WindowError: When the range is empty or reaches beyond the series.
    """
    part = Window(0, start, len(bars) if end is None else end)
    if part.end > len(bars):
        raise WindowError(f"{bars.symbol} has {len(bars)} bars, not {part.end}")
    silent = int((bars.volume[part.start : part.end] == 0).sum())
    return Quality(len(part), silent, bars.gaps_in_open_hours(part.start, part.end))


def longest_gaps(bars: Bars, most: int = MOST_SHOWN) -> list[dict[str, object]]:
    """The longest gaps in open hours: the bars before and after, and how many miss."""
    gaps = bars.open_gaps or list_gaps(bars.timestamp, bars.timeframe_ns)
    inside = (gaps.starts_ns >= bars.timestamp[0]) & (gaps.ends_ns <= bars.timestamp[-1])
    starts, ends, missing = (
        column[inside] for column in (gaps.starts_ns, gaps.ends_ns, gaps.missing)
    )
    longest = np.argsort(starts - ends, kind="stable")[:most]
    return [
        {
            "from": format_time(starts[i]),
            "to": format_time(ends[i]),
            "missing_bars": int(missing[i]),
        }
        for i in longest.tolist()
    ]


def _has_repairs(options: LoadOptions) -> bool:
    repairs = (options.dedupe, options.drop_bad_bars, options.sort, options.tick)
    return any(repairs) or options.price_offset != 0


def _problems(table: RawTable) -> tuple[str, ...]:
    values, _ = widen_roundings(table.values)
    lines = [
        _line(table, what, "--drop-bad-bars", np.flatnonzero(bad))
        for what, bad in faults(table.timestamp, values, time.time_ns())
        if bad.any()
    ]
    backward = np.flatnonzero(np.diff(table.timestamp) < 0) + 1
    if len(backward):
        lines.append(_line(table, "earlier than the row before", "--sort", backward))
    same_time, same_row = repeats(table.timestamp, table.values)
    if same_row.any():
        lines.append(_line(table, "equal to the row before", "--dedupe", np.flatnonzero(same_row)))
    differs = np.flatnonzero(same_time & ~same_row)
    if len(differs):
        lines.append(_line(table, "with the time of the row before, but other values", "", differs))
    return tuple(lines)


def _line(
    table: RawTable, what: str, option: str, rows: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> str:
    first = (f"{row} ({format_time(table.timestamp[row])})" for row in rows[:SHOWN_ROWS].tolist())
    help_ = f"; {option}" if option else "; correct the file"
    count = f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}"
    return f"{count} {what}: {list_some(first, len(rows))}{help_}"


def _silent(bars: Bars) -> tuple[str, ...]:
    silent = bars.volume == 0
    if not silent.any():
        return ()
    share = f"{silent.mean():.1%}"
    return (
        f"{_bars(int(silent.sum()))} without volume ({share}), at most {_longest_run(silent)} in a "
        "row",
    )


def _flat(bars: Bars) -> tuple[str, ...]:
    flat = bars.high == bars.low
    if not flat.any():
        return ()
    return (f"{_bars(int(flat.sum()))} whose high is the low ({flat.mean():.1%})",)


def _bars(count: int) -> str:
    return "1 bar" if count == 1 else f"{count:,} bars"


def _longest_run(flags: npt.NDArray[np.bool_]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0]))))
    return int((edges[1::2] - edges[::2]).max())
