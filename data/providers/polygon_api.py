"""Bars from the vendor Polygon, now Massive: fetched once, then from the cache."""

import re
import time
from collections.abc import Iterator

import numpy as np

from data.bars import parse_time
from data.cache import PartBars, SeriesCache, SeriesKey, TimeRange
from data.checks import Ints, format_time
from data.errors import SourceError
from data.progress import Watch
from data.table import FetchOptions, LoadOptions, RawTable
from data.timeframe import DAY_NS, MINUTE_NS, SECOND_NS, format_timeframe, parse_timeframe
from data.vendor.aggregates import has_calendar, opening, thin_sessions
from data.vendor.series import (
    Fetching,
    StepLog,
    cached_bars,
    cached_range,
    fetch_range,
    join_parts,
    name_days,
    set_all_aside,
    settled_end_ns,
    tell_note,
)

PROVIDER = "polygon"
SYMBOL = re.compile(r"(?:[XCIO]:)?[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
DEFAULT_TIMEFRAME = "15m"
EARLIEST = "1990-01-01"

OFFERED_NS = (
    DAY_NS,
    *(n * unit for unit in (MINUTE_NS, SECOND_NS) for n in range(60, 0, -1) if 60 % n == 0),
)
"""Durations that are fetched as they are, longest first: their edges lie at the same places for
the vendor and for us. Longer ones are merged here from the longest of these that divides them."""


def read(address: str, options: LoadOptions) -> RawTable:
    """Read bars, fetching the part of the wanted range that the cache lacks.

    `timeframe` (15m when None) and `fetch` state the wanted range, and allow calls to the vendor.
    Notes name the times of the fetches and missing sessions.
    """
    cache = open_series(address, options)
    wanted, notes = _resolve_range(cache, options.fetch)
    bring = fetch_range if options.fetch.may_fetch else cached_bars
    parts = bring(cache, wanted, _fetching(address, options, StepLog()))
    timestamp, values, fetched = join_parts(cache, wanted, parts, options.max_bytes)
    if options.timeframe is None:
        notes.insert(0, f"bars of {DEFAULT_TIMEFRAME}, as --timeframe names no other")
    kind = "adjusted for splits" if cache.key.adjusted else "not adjusted for splits"
    notes.append(f"prices {kind}, fetched {fetched}")
    return RawTable(
        timestamp,
        values,
        cache.key.symbol,
        str(cache.key),
        notes=(*notes, *_note_days(cache.key.symbol, wanted, parts, timestamp)),
        timeframe_ns=parse_timeframe(cache.key.timeframe),
    )


def fetch(
    address: str, options: LoadOptions, watch: Watch, *, refetch: bool = False
) -> SeriesCache:
    """Bring a range into the cache.

    Without an end, up to the last day that is complete; `refetch` sets all that is cached of
    the series aside first.
    """
    cache = open_series(address, options)
    wanted, notes = _resolve_range(cache, options.fetch, is_fetch=True)
    if refetch and (had := set_all_aside(cache)) is not None:
        start_ns = min(wanted.start_ns, had.start_ns)
        wanted = TimeRange(start_ns, max(wanted.end_ns, had.end_ns))
    for note in notes:
        tell_note(cache, note)
    fetch_range(cache, wanted, _fetching(address, options, watch))
    return cache


def _fetching(address: str, options: LoadOptions, watch: Watch) -> Fetching:
    return Fetching(opening, f"{PROVIDER}:{address}", watch, options.fetch.accept_missing)


def open_series(address: str, options: LoadOptions) -> SeriesCache:
    """The cached series that an address and options mean."""
    if not SYMBOL.fullmatch(address):
        shown = ascii(address[:40])
        raise SourceError(
            f"polygon: {shown} is no symbol; write it as the vendor does, such as "
            "polygon:AAPL, polygon:X:ADAUSD or polygon:C:EURUSD"
        )
    wanted_ns = parse_timeframe(options.timeframe or DEFAULT_TIMEFRAME)
    fetched_ns = next(offered for offered in OFFERED_NS if wanted_ns % offered == 0)
    key = SeriesKey(PROVIDER, address, format_timeframe(fetched_ns), options.fetch.adjusted)
    return SeriesCache(options.fetch.cache, key)


def _resolve_range(
    cache: SeriesCache, options: FetchOptions, *, is_fetch: bool = False
) -> tuple[TimeRange, list[str]]:
    """Whole days that hold the stated range, and notes about them."""
    had = cached_range(cache)
    settled_ns = settled_end_ns(time.time_ns())
    if options.start is not None:
        earliest_ns = parse_time(EARLIEST, "--from")
        start_ns = max(parse_time(options.start, "--from"), earliest_ns) // DAY_NS * DAY_NS
    elif had is not None:
        start_ns = had.start_ns
    else:
        raise SourceError(
            f"{cache.key}: nothing is cached; --from (and --to) say what to fetch, such as "
            "--from 2024-01-01"
        )
    end_ns = settled_ns if had is None or is_fetch else had.end_ns
    if options.end is not None:
        end_ns = -(-parse_time(options.end, "--to") // DAY_NS) * DAY_NS
    notes = []
    if end_ns > settled_ns + DAY_NS:
        end_ns = settled_ns + DAY_NS
        notes.append(f"bars end at {format_time(end_ns)}, later days are not over")
    if start_ns >= end_ns:
        start, end = format_time(start_ns), format_time(end_ns)
        raise SourceError(f"{cache.key}: no day lies from {start} to {end}")
    return TimeRange(start_ns, end_ns), notes


def _note_days(
    symbol: str, wanted: TimeRange, parts: list[PartBars], timestamp: Ints
) -> Iterator[str]:
    """Days of a range that lack bars [N], all of them or most."""
    first, last = (str(np.datetime64(ns // DAY_NS, "D")) for ns in wanted)
    days = tuple(day for part in parts for day in part.missing if first <= day < last)
    if days:
        yield f"{name_days(days)} without any bar"
    thin = thin_sessions(symbol, *wanted, timestamp)
    if len(thin):
        yield f"{name_days(tuple(map(str, thin)))} with fewer than half of the usual bars"
    if not has_calendar(symbol):
        yield "no calendar is known for this market: missing sessions do not show"
