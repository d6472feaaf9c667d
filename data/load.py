"""From a spec such as 'csv:bars.csv' to checked bars."""

import time
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fspath

import numpy as np
import numpy.typing as npt

from data.bars import Bars, check_symbol
from data.checks import NO_TIME, PRICES, Floats, Ints, check_bars, faults, keeps_law, repeats
from data.duration import clock_notes, decide_timeframe, open_times
from data.errors import BarsError, SourceError
from data.hours import find_open_gaps, gap_lines
from data.plain import takes_plain
from data.providers import find_provider
from data.resample import resample
from data.table import LoadOptions, RawTable
from data.timeframe import parse_timeframe
from data.zones import AS_UTC, clock_that_repeats, clock_that_skips, find_zone

ROUNDING_ULPS = 4
"""Units in the last place by which a high or low may miss open or close: prices that were adjusted
by a factor are rounded one by one."""

DEFAULTS = LoadOptions()


def repair_rows(
    table: RawTable, options: LoadOptions, now_ns: int
) -> tuple[Ints, Mapping[str, Floats], tuple[str, ...]]:
    """Times and values of legal bars, [T] each, with a note for each repair.

    Raises:
        BarsError: When rows are no legal bars, and no option repairs them.
    """
    timestamp, values, notes = table.timestamp, table.values, []
    if options.price_offset:
        with np.errstate(over="ignore"):
            raised = {name: values[name] + options.price_offset for name in PRICES}
        values = {**values, **raised}
        notes.append(f"{options.price_offset:g} was added to every price")
    if len(timestamp) and keeps_law(timestamp, values, now_ns):
        return timestamp, values, tuple(notes)
    rows = np.arange(len(timestamp), dtype=np.int64)
    values, rounded = widen_roundings(values)
    notes += _note_repairs(
        rounded,
        "bar",
        "widened to open and close, which high or low missed by a "
        f"rounding ({ROUNDING_ULPS} units in the last place or less)",
    )
    if options.tick:
        values, widened = _widen(values, options.tick)
        notes += _note_repairs(
            widened, "bar", f"widened to open and close, by {options.tick:g} or less"
        )
    if options.drop_bad_bars:
        good = np.ones(len(timestamp), dtype=np.bool_)
        for _, bad in faults(timestamp, values, now_ns):
            good &= ~bad
        notes += _count_dropped("bad", len(good) - int(good.sum()))
        timestamp, values, rows = _select_rows(timestamp, values, rows, good)
    if options.sort:
        order = np.argsort(timestamp, kind="stable")
        late = int((timestamp[1:] < timestamp[:-1]).sum())
        notes += _note_repairs(late, "row", "earlier than the one before, sorted by time")
        timestamp, values, rows = _select_rows(timestamp, values, rows, order)
    if options.dedupe:
        _, same_row = repeats(timestamp, values)
        notes += _count_dropped("repeated", int(same_row.sum()))
        timestamp, values, rows = _select_rows(timestamp, values, rows, ~same_row)
    if len(timestamp) == 0:
        left = "" if len(table.timestamp) == 0 else " left after dropping bad rows"
        raise BarsError(f"{table.where}: there are no bars{left}")
    try:
        check_bars(timestamp, values, rows, table.where, now_ns)
    except BarsError as error:
        raise BarsError(f"{error}{_name_clock(table, timestamp)}") from None
    return timestamp, values, tuple(notes)


def widen_roundings(values: Mapping[str, Floats]) -> tuple[Mapping[str, Floats], int]:
    """Highs and lows [N] that miss open or close by a rounding put right, and in how many rows."""
    is_missed = any(
        (values["high"] < values[name]).any() or (values["low"] > values[name]).any()
        for name in ("open", "close")
    )
    if not is_missed:
        return values, 0
    top = np.maximum(np.abs(values["open"]), np.abs(values["close"]))
    return _widen(values, ROUNDING_ULPS * np.spacing(top))


@takes_plain(SourceError)
def load_bars(
    spec: str | PathLike[str], options: LoadOptions = DEFAULTS, *, now_ns: int | None = None
) -> Bars:
    """Read bars from a source.

    Args:
        spec: ``sample``, ``csv:PATH``, ``parquet:PATH``, ``feather:PATH``, or the path of such a
            file; ``PATH#MARKET`` for one of several markets in it.
        options: Rules of reading and repairs; none is made unless asked for.
        now_ns: The time by which bars have closed, nanoseconds UTC; None for now.

    Returns:
        Checked bars with a note for each repair and assumption.

    Raises:
        DataError: When the source cannot be read without guessing, or breaks the law of bars.

    >>> bars = load_bars("sample")
    >>> bars.symbol, len(bars), bars.timeframe
    ('SIMULATED', 35040, '15m')
    """
    spec = fspath(spec)
    wanted_ns = None if options.timeframe is None else parse_timeframe(options.timeframe)
    provider, address = find_provider(spec)
    if options.aligned and not provider.endings:
        raise SourceError(
            f"--aligned-column {next(iter(options.aligned))}: '{provider.name}' is no file, and "
            "has no further columns"
        )
    table = provider.read(address, options)
    now_ns = time.time_ns() if now_ns is None else now_ns
    if options.tz is not None:
        table = replace(table, zone=find_zone(options.tz).key)
    stamps, values, repairs = repair_rows(table, options, now_ns)
    timeframe_ns, assumed = decide_timeframe(table, stamps, options, wanted_ns)
    timestamp, stamped = open_times(table, stamps, timeframe_ns, options)
    is_merged = wanted_ns not in (None, timeframe_ns)
    notes = (*table.notes, *repairs, *assumed, *stamped, *_warnings(values))
    if AS_UTC in notes and (zone := clock_that_skips(timestamp, timeframe_ns)) is not None:
        notes = (
            *notes,
            f"times skip the hour that clocks such as that of {zone} skip in spring: --tz {zone} "
            "reads them so",
        )
    open_gaps = find_open_gaps(timestamp, timeframe_ns, table.zone, options.calendar)
    if not is_merged:
        gaps = gap_lines(timestamp, timeframe_ns, open_gaps)
        notes = (*notes, *gaps, *clock_notes(timestamp, timeframe_ns, now_ns))
    bars = Bars.adopt(
        {"timestamp": timestamp, **values},
        symbol=check_symbol(table.symbol),
        timeframe_ns=timeframe_ns,
        source=spec,
        is_simulated=table.is_simulated,
        notes=notes,
        zone=table.zone,
        open_gaps=open_gaps,
    )
    if wanted_ns is None or not is_merged:
        return bars
    merged = resample(bars, wanted_ns, options.calendar)
    late = clock_notes(merged.timestamp, wanted_ns, now_ns)
    return replace(merged, notes=(*merged.notes, *late))


def _widen(values: Mapping[str, Floats], reach: float | Floats) -> tuple[Mapping[str, Floats], int]:
    """Highs and lows that miss open or close by `reach` or less, put right, and how many bars."""
    top = np.maximum(values["open"], values["close"])
    bottom = np.minimum(values["open"], values["close"])
    # The difference of two prices is rounded: one part in 10^9 decides nothing else.
    most = reach * (1 + 1e-9)
    is_low = (values["high"] < top) & (top - values["high"] <= most)
    is_high = (values["low"] > bottom) & (values["low"] - bottom <= most)
    high = np.where(is_low, top, values["high"])
    low = np.where(is_high, bottom, values["low"])
    return {**values, "high": high, "low": low}, int((is_low | is_high).sum())


def _name_clock(table: RawTable, timestamp: Ints) -> str:
    """The end of an error about times that step back where a clock does, and name no zone."""
    back = np.flatnonzero(timestamp[1:] <= timestamp[:-1])
    if AS_UTC not in table.notes or not len(back) or (timestamp == NO_TIME).any():
        return ""
    zone = clock_that_repeats(int(timestamp[back[0] + 1]))
    if zone is None:
        return ""
    return f"; clocks such as that of {zone} showed this hour twice: --tz {zone} reads it so"


def _select_rows(
    timestamp: Ints, values: Mapping[str, Floats], rows: Ints, which: npt.NDArray[np.generic]
) -> tuple[Ints, Mapping[str, Floats], Ints]:
    return timestamp[which], {name: column[which] for name, column in values.items()}, rows[which]


def _note_repairs(count: int, noun: str, words: str) -> list[str]:
    return [f"{count} {noun}{'' if count == 1 else 's'} {words}"] if count else []


def _count_dropped(kind: str, count: int) -> list[str]:
    rows = "row" if count == 1 else "rows"
    return [f"dropped {count} {kind} {rows}"] if count else []


def _warnings(values: Mapping[str, Floats]) -> tuple[str, ...]:
    if not values["volume"].any():
        return ("volume is zero in every bar: volume rules can never fire",)
    return ()
