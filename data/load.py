"""From a spec such as 'csv:bars.csv' to checked bars."""

import time
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fspath

from data.bars import Bars, check_symbol
from data.checks import Floats
from data.duration import clock_notes, decide_timeframe, open_times
from data.errors import SourceError
from data.hours import find_open_gaps, gap_lines
from data.plain import takes_plain
from data.providers import find_provider
from data.repair import repair_rows
from data.resample import resample
from data.table import LoadOptions
from data.timeframe import parse_timeframe
from data.zones import AS_UTC, clock_that_skips, find_zone

DEFAULTS = LoadOptions()


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


def _warnings(values: Mapping[str, Floats]) -> tuple[str, ...]:
    if not values["volume"].any():
        return ("volume is zero in every bar: volume rules can never fire",)
    return ()
