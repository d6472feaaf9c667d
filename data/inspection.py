"""Faults of a source, all of them, and oddities of bars that are legal.

`load_bars` stops at the first fault.
"""

import time
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from data.bars import Bars, Window
from data.checks import faults, format_time, repeats
from data.errors import DataError, WindowError, count_nouns, list_some
from data.hours import Gaps, list_gaps
from data.jumps import jumps_of
from data.load import DEFAULTS, load_bars, widen_roundings
from data.providers import find_provider
from data.table import LoadOptions, RawTable

SHOWN_ROWS, MOST_SHOWN = 3, 5


@dataclass(frozen=True)
class Inspection:
    """The bars of a source, None where they cannot be used, and all obstacles."""

    spec: str
    bars: Bars | None
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Quality:
    """Bars of a part of a series, silent ones among them, and gaps."""

    bars: int
    silent: int  # bars that have no volume
    gaps: Gaps  # steps longer than a bar that end in the part, without closed hours


def inspect_source(spec: str, options: LoadOptions = DEFAULTS) -> Inspection:
    """The bars of a source, or every kind of fault with its rows and the option that helps."""
    try:
        return Inspection(spec, load_bars(spec, options), ())
    except DataError as error:
        message = str(error)
    repairs = (options.dedupe, options.drop_bad_bars, options.sort, options.tick)
    problems: tuple[str, ...] = ()
    # Faults that a repair leaves are reported as loading reports them.
    if not any(repairs) and not options.price_offset:
        with suppress(DataError):
            provider, address = find_provider(spec)
            problems = _problems(provider.read(address, options))
    return Inspection(spec, None, problems if len(problems) > 1 else (message,))


def quirks_of(bars: Bars) -> tuple[str, ...]:
    """Oddities of a series, one line each."""
    silent, flat = bars.volume == 0, bars.high == bars.low
    lines = []
    if count := int(silent.sum()):
        edges = np.flatnonzero(np.diff(np.pad(silent.astype(np.int8), 1)))
        share, longest = f"{silent.mean():.1%}", (edges[1::2] - edges[::2]).max()
        named = count_nouns(count, "bar")
        lines.append(f"{named} without volume ({share}), at most {longest} in a row")
    if count := int(flat.sum()):
        lines.append(f"{count_nouns(count, 'bar')} whose high is the low ({flat.mean():.1%})")
    return (*lines, *jumps_of(bars))


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
    longest = np.argsort(np.where(inside, gaps.starts_ns - gaps.ends_ns, 0), kind="stable")
    return [
        {
            "from": format_time(gaps.starts_ns[i]),
            "to": format_time(gaps.ends_ns[i]),
            "missing_bars": int(gaps.missing[i]),
        }
        for i in longest[: min(most, int(inside.sum()))].tolist()
    ]


def _problems(table: RawTable) -> tuple[str, ...]:
    """A line for each kind of fault, with its first rows and the option against it."""
    values, _ = widen_roundings(table.values)
    same_time, same_row = repeats(table.timestamp, table.values)
    kinds = [
        (*fault, "--drop-bad-bars") for fault in faults(table.timestamp, values, time.time_ns())
    ]
    kinds += [
        ("earlier than the row before", np.append(False, np.diff(table.timestamp) < 0), "--sort"),
        ("equal to the row before", same_row, "--dedupe"),
        (
            "with the time of the row before, but other values",
            same_time & ~same_row,
            "correct the file",
        ),
    ]
    lines = []
    for what, bad, remedy in kinds:
        rows = np.flatnonzero(bad)
        first = (f"{i} ({format_time(table.timestamp[i])})" for i in rows[:SHOWN_ROWS].tolist())
        if len(rows):
            count = count_nouns(len(rows), "row")
            lines.append(f"{count} {what}: {list_some(first, len(rows))}; {remedy}")
    return tuple(lines)
