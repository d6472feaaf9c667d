"""From a spec such as 'csv:bars.csv' to checked bars."""

import time
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from data.bars import Bars, check_symbol
from data.checks import PRICES, Floats, Ints, check_bars, faults, repeats, wrong_unit
from data.errors import BarsError, SourceError, TimeframeError
from data.providers import find_provider
from data.resample import resample
from data.table import LoadOptions, RawTable
from data.timeframe import (
    SECOND_NS,
    check_spacing,
    format_timeframe,
    gap_notes,
    infer_timeframe,
    parse_timeframe,
)

DEFAULTS = LoadOptions()


def load_bars(spec: str, options: LoadOptions = DEFAULTS) -> Bars:
    """Read bars from a source.

    Args:
        spec: ``sample``, ``csv:PATH``, ``parquet:PATH``, ``feather:PATH``, or the path of such a
            file; ``PATH#MARKET`` for one of several markets in it.
        options: How to read; nothing is repaired unless it says so.

    Returns:
        Checked bars with a note for each repair and assumption.

    Raises:
        DataError: When the source cannot be read without guessing, or breaks the law of bars.

    >>> bars = load_bars("sample")
    >>> bars.symbol, len(bars), bars.timeframe
    ('SIMULATED', 35040, '15m')
    """
    wanted_ns = None if options.timeframe is None else parse_timeframe(options.timeframe)
    provider, address = find_provider(spec)
    if options.aligned and not provider.endings:
        raise SourceError(
            f"--aligned-column {next(iter(options.aligned))}: '{provider.name}' is no file, and "
            "has no further columns"
        )
    table = provider.read(address, options)
    timestamp, values, repairs = _repair(table, options)
    timeframe_ns, assumed = _decide_timeframe(table, timestamp, wanted_ns)
    is_merged = wanted_ns not in (None, timeframe_ns)
    gaps = () if is_merged else gap_notes(timestamp, timeframe_ns)
    bars = Bars(
        timestamp,
        values["open"],
        values["high"],
        values["low"],
        values["close"],
        values["volume"],
        symbol=check_symbol(table.symbol),
        timeframe_ns=timeframe_ns,
        source=spec,
        is_simulated=table.is_simulated,
        notes=(*table.notes, *repairs, *assumed, *_warnings(values), *gaps),
        extra={name: values[name] for name in options.aligned},
    )
    return bars if wanted_ns is None else resample(bars, wanted_ns)


def _repair(
    table: RawTable, options: LoadOptions
) -> tuple[Ints, Mapping[str, Floats], tuple[str, ...]]:
    timestamp, values, notes = table.timestamp, table.values, []
    now_ns = time.time_ns()
    rows = np.arange(len(timestamp), dtype=np.int64)
    if options.price_offset:
        with np.errstate(over="ignore"):
            raised = {name: values[name] + options.price_offset for name in PRICES}
        values = {**values, **raised}
        notes.append(f"{options.price_offset:g} was added to every price")
    if options.tick:
        values, widened = _widened(values, options.tick)
        notes += _counted(widened, "bar", f"widened to open and close, by {options.tick:g} or less")
    if options.drop_bad_bars:
        good = np.ones(len(timestamp), dtype=np.bool_)
        for _, bad in faults(timestamp, values, now_ns):
            good &= ~bad
        notes += _count_dropped("bad", len(good) - int(good.sum()))
        timestamp, values, rows = _picked(timestamp, values, rows, good)
    if options.sort:
        order = np.argsort(timestamp, kind="stable")
        late = int((np.diff(timestamp) < 0).sum())
        notes += _counted(late, "row", "earlier than the one before, sorted by time")
        timestamp, values, rows = _picked(timestamp, values, rows, order)
    if options.dedupe:
        _, same_row = repeats(timestamp, values)
        notes += _count_dropped("repeated", int(same_row.sum()))
        timestamp, values, rows = _picked(timestamp, values, rows, ~same_row)
    if len(timestamp) == 0:
        left = "" if len(table.timestamp) == 0 else " left after dropping bad rows"
        raise BarsError(f"{table.where}: there are no bars{left}")
    check_bars(timestamp, values, rows, table.where, now_ns)
    notes += _counted(int((timestamp > now_ns).sum()), "bar", "ahead of the clock of this machine")
    return timestamp, values, tuple(notes)


def _picked(
    timestamp: Ints, values: Mapping[str, Floats], rows: Ints, which: npt.NDArray[np.generic]
) -> tuple[Ints, Mapping[str, Floats], Ints]:
    return timestamp[which], {name: column[which] for name, column in values.items()}, rows[which]


def _widened(values: Mapping[str, Floats], tick: float) -> tuple[Mapping[str, Floats], int]:
    """Highs and lows that miss open or close by a tick or less, put right, and how many bars."""
    top = np.maximum(values["open"], values["close"])
    bottom = np.minimum(values["open"], values["close"])
    # The difference of two prices is rounded: one part in 10^9 decides nothing else.
    reach = tick * (1 + 1e-9)
    is_low = (values["high"] < top) & (top - values["high"] <= reach)
    is_high = (values["low"] > bottom) & (values["low"] - bottom <= reach)
    high = np.where(is_low, top, values["high"])
    low = np.where(is_high, bottom, values["low"])
    return {**values, "high": high, "low": low}, int((is_low | is_high).sum())


def _counted(count: int, noun: str, words: str) -> list[str]:
    return [f"{count} {noun}{'' if count == 1 else 's'} {words}"] if count else []


def _count_dropped(kind: str, count: int) -> list[str]:
    rows = "row" if count == 1 else "rows"
    return [f"dropped {count} {kind} {rows}"] if count else []


def _decide_timeframe(
    table: RawTable, timestamp: Ints, wanted_ns: int | None
) -> tuple[int, tuple[str, ...]]:
    if table.timeframe_ns is not None:
        return table.timeframe_ns, ()
    where = table.where
    try:
        timeframe_ns = infer_timeframe(timestamp)
    except TimeframeError as error:
        if wanted_ns is None:
            raise TimeframeError(f"{where}: {error}") from None
        return _trust(where, timestamp, wanted_ns)
    if timeframe_ns % SECOND_NS:
        larger = next(n for n in (1000, 1000**2, 1000**3) if timeframe_ns * n % SECOND_NS == 0)
        fitting = wrong_unit(timestamp) or (
            f"; {larger:,} times as far apart they last {format_timeframe(timeframe_ns * larger)}"
        )
        shown = f"{timeframe_ns / SECOND_NS:g} s"
        raise TimeframeError(f"{where}: bars of {shown} do not last whole seconds{fitting}")
    try:
        check_spacing(timestamp, timeframe_ns)
    except TimeframeError as error:
        if wanted_ns != timeframe_ns:
            raise TimeframeError(f"{where}: {error}") from None
        return _trust(where, timestamp, wanted_ns)
    shorter = int((np.diff(timestamp) < timeframe_ns).sum())
    if shorter == 0:
        return timeframe_ns, ()
    steps = "step is" if shorter == 1 else "steps are"
    return timeframe_ns, (f"{shorter} {steps} shorter than {format_timeframe(timeframe_ns)}",)


def _trust(where: str, timestamp: Ints, wanted_ns: int) -> tuple[int, tuple[str, ...]]:
    wanted = format_timeframe(wanted_ns)
    if len(timestamp) > 1:
        steps, counts = np.unique(np.diff(timestamp), return_counts=True)
        common_ns = int(steps[np.argmax(counts)])
        if wanted_ns > common_ns:
            raise TimeframeError(
                f"{where}: --timeframe {wanted} is longer than the most common step, "
                f"{format_timeframe(common_ns)}; bars whose own duration is unclear cannot be "
                "merged, so name their own duration"
            )
    return wanted_ns, (f"bars read as {wanted} because --timeframe says so",)


def _warnings(values: Mapping[str, Floats]) -> tuple[str, ...]:
    if not values["volume"].any():
        return ("volume is zero in every bar: volume rules can never fire",)
    return ()
