"""Everything that is wrong with a source, and what is legal but odd in bars.

`load_bars` stops at the first fault.
"""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from data.checks import Floats, faults, format_time, repeats
from data.errors import DataError, WindowError
from data.load import DEFAULTS, load_bars
from data.providers import find_provider
from data.repair import widen_roundings
from data.table import LoadOptions, RawTable
from data.timeframe import Gaps

SHOWN_ROWS = 3


JUMP_FRAC = 0.25
"""Opens that differ more from the close before are looked at: no more than a few are real."""

SPLITS = (2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 25, 30, 50, 100)
SPLIT_TOLERANCE = 0.05
MOST_PERCENT = 1000
"""Times from which on a change is not shown in percent."""
MOST_SHOWN = 5


@dataclass(frozen=True)
class Inspection:
    """The bars of a source, None where they cannot be used, and what is in the way."""

    spec: str
    bars: Bars | None
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Quality:
    """What a part of a series lacks.

    Args:
        bars: Bars of the part.
        silent: How many of them have no volume.
        gaps: Steps longer than a bar that end in the part.
    """

    bars: int
    silent: int
    gaps: Gaps


def inspect_source(spec: str, options: LoadOptions = DEFAULTS) -> Inspection:
    """The bars of a source, or every kind of fault with its rows and the option that helps."""
    try:
        return Inspection(spec, load_bars(spec, options), ())
    except DataError as error:
        told = str(error)
    try:
        provider, address = find_provider(spec)
        # What is left after a repair is told as loading tells it.
        found = () if _repairs(options) else _problems(provider.read(address, options))
    except DataError:
        found = ()
    return Inspection(spec, None, found if len(found) > 1 else (told,))


def quirks_of(bars: Bars) -> tuple[str, ...]:
    """What is odd about a series, one line each."""
    return (*_silent(bars), *_flat(bars), *_jumps(bars))


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
    return Quality(len(part), silent, bars.gaps(part.start, part.end))


def splits_of(bars: Bars) -> tuple[str, ...]:
    """Name the jumps that look like splits which prices are not adjusted for.

    A trade across one has a result that nobody had, so that whoever searches must know.
    """
    ratio, places = _jumping(bars)
    return _told(bars, ratio, [i for i in places if _split(float(ratio[i]))])


def longest_gaps(bars: Bars, most: int = MOST_SHOWN) -> list[dict[str, object]]:
    """The longest steps between neighbours: the bars before and after, and how many miss."""
    steps = np.diff(bars.timestamp)
    longest = np.argsort(-steps, kind="stable")[:most]
    return [
        {
            "from": format_time(bars.timestamp[i]),
            "to": format_time(bars.timestamp[i + 1]),
            "missing_bars": int(steps[i] // bars.timeframe_ns - 1),
        }
        for i in longest.tolist()
        if steps[i] > bars.timeframe_ns
    ]


def _repairs(options: LoadOptions) -> bool:
    asked = (options.dedupe, options.drop_bad_bars, options.sort, options.tick)
    return any(asked) or options.price_offset != 0


def _problems(table: RawTable) -> tuple[str, ...]:
    values, _ = widen_roundings(table.values)
    told = [
        _line(table, what, "--drop-bad-bars", np.flatnonzero(bad))
        for what, bad in faults(table.timestamp, values, time.time_ns())
        if bad.any()
    ]
    backward = np.flatnonzero(np.diff(table.timestamp) < 0) + 1
    if len(backward):
        told.append(_line(table, "earlier than the row before", "--sort", backward))
    same_time, same_row = repeats(table.timestamp, table.values)
    if same_row.any():
        told.append(_line(table, "equal to the row before", "--dedupe", np.flatnonzero(same_row)))
    differs = np.flatnonzero(same_time & ~same_row)
    if len(differs):
        told.append(_line(table, "with the time of the row before, but other values", "", differs))
    return tuple(told)


def _line(
    table: RawTable, what: str, option: str, rows: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> str:
    shown = ", ".join(
        f"{row} ({format_time(table.timestamp[row])})" for row in rows[:SHOWN_ROWS].tolist()
    )
    more = f" and {len(rows) - SHOWN_ROWS} more" if len(rows) > SHOWN_ROWS else ""
    help_ = f"; {option}" if option else "; correct the file"
    return f"{len(rows)} {'row' if len(rows) == 1 else 'rows'} {what}: {shown}{more}{help_}"


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


def _jumps(bars: Bars) -> tuple[str, ...]:
    return _told(bars, *_jumping(bars))


def _jumping(bars: Bars) -> tuple[Floats, list[int]]:
    """Opens over the closes before them [T - 1], and where these are far from 1."""
    with np.errstate(over="ignore"):
        ratio: Floats = bars.open[1:] / bars.close[:-1]
    found = np.flatnonzero((ratio > 1 + JUMP_FRAC) | (ratio < 1 / (1 + JUMP_FRAC)))
    return ratio, found.tolist()


def _told(bars: Bars, ratio: Floats, found: list[int]) -> tuple[str, ...]:
    told = []
    for i in found[:MOST_SHOWN]:
        at, found_ratio = format_time(bars.timestamp[i + 1]), float(ratio[i])
        change = f"{found_ratio - 1:+.0%} from"
        if found_ratio >= MOST_PERCENT:
            change = f"{found_ratio:.3g} times"
        told.append(f"the open of {at} is {change} the close before{_split(found_ratio)}")
    more = [f"{len(found) - MOST_SHOWN} more such opens"] if len(found) > MOST_SHOWN else []
    return (*told, *more)


def _split(ratio: float) -> str:
    """A remark where a jump is about as large as a split that prices are not adjusted for."""
    for parts in SPLITS:
        if abs(ratio * parts - 1) < SPLIT_TOLERANCE:
            return f", as a {parts}:1 split makes that is not adjusted for"
        if abs(ratio / parts - 1) < SPLIT_TOLERANCE:
            return f", as a 1:{parts} split makes that is not adjusted for"
    return ""


def _bars(count: int) -> str:
    return "1 bar" if count == 1 else f"{count:,} bars"


def _longest_run(flags: npt.NDArray[np.bool_]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0]))))
    return int((edges[1::2] - edges[::2]).max())
