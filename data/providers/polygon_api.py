"""Bars from the vendor Polygon, now Massive: fetched once, then from the cache."""

import re
import time
from pathlib import Path

import numpy as np

from data.bars import parse_time
from data.cache import PartBars, SeriesCache, SeriesKey, TimeRange
from data.checks import format_time
from data.errors import SourceError
from data.table import FetchOptions, LoadOptions, RawTable
from data.timeframe import (
    DAY_NS,
    MINUTE_NS,
    SECOND_NS,
    format_timeframe,
    parse_timeframe,
)
from data.vendor.aggregates import opening
from data.vendor.pieces import settled_end_ns
from data.vendor.series import (
    Fetching,
    FetchStep,
    StepLog,
    Watch,
    cached_bars,
    cached_range,
    fetch_range,
    join_parts,
    name_days,
    set_all_aside,
)
from data.vendor.sessions import has_calendar, thin_sessions

PROVIDER = "polygon"
SYMBOL = re.compile(r"(?:[XCIO]:)?[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
DEFAULT_TIMEFRAME = "15m"
EARLIEST = "1990-01-01"

OFFERED_NS = tuple(
    sorted(
        {DAY_NS, 60 * MINUTE_NS}
        | {n * unit for unit in (MINUTE_NS, SECOND_NS) for n in range(1, 60) if 60 % n == 0},
        reverse=True,
    )
)
"""Durations that are fetched as they are, longest first: their edges lie at the same places for
the vendor and for us. Longer ones are merged here from the longest of these that divides them."""


def read(address: str, options: LoadOptions) -> RawTable:
    """Read bars, fetching what the cache lacks of the range that is asked for.

    `timeframe` (15m when None) and `fetch` state the wanted range, and whether to ask the vendor.
    Notes name the times of the fetches and missing sessions.

    Raises:
        SourceError: When the symbol is none, or no range is stated or cached.
        FetchError, CacheError: When bars cannot be had.
    """
    cache = open_series(address, options)
    wanted, notes = _resolve_range(cache, options.fetch)
    bring = fetch_range if options.fetch.may_fetch else cached_bars
    parts = bring(cache, wanted, _fetching(address, options, StepLog()))
    if options.timeframe is None:
        notes = (f"bars of {DEFAULT_TIMEFRAME}, as --timeframe names no other", *notes)
    return _join_parts(cache, wanted, parts, notes, options.max_bytes)


def fetch(
    address: str, options: LoadOptions, watch: Watch, *, refetch: bool = False
) -> SeriesCache:
    """Bring a range into the cache.

    Without an end, up to the last day that is complete; `refetch` sets all that is cached of
    the series aside first.
    """
    cache = open_series(address, options)
    wanted, notes = _resolve_range(cache, options.fetch, is_fetch=True)
    if refetch:
        had = set_all_aside(cache, watch)
        if had is not None:
            start_ns = min(wanted.start_ns, had.start_ns)
            wanted = TimeRange(start_ns, max(wanted.end_ns, had.end_ns))
    for note in notes:
        watch(FetchStep(cache.key.short, note=note))
    fetch_range(cache, wanted, _fetching(address, options, watch))
    return cache


def _fetching(address: str, options: LoadOptions, watch: Watch) -> Fetching:
    again = f"{PROVIDER}:{address} --from {{start}} --to {{end}}"
    return Fetching(opening, again, watch, options.fetch.accept_missing)


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
    root = None if options.fetch.cache is None else Path(options.fetch.cache)
    timeframe = format_timeframe(fetched_ns)
    return SeriesCache(root, SeriesKey(PROVIDER, address, timeframe, options.fetch.adjusted))


def _resolve_range(
    cache: SeriesCache, options: FetchOptions, *, is_fetch: bool = False
) -> tuple[TimeRange, tuple[str, ...]]:
    """Whole days that hold the stated range, and notes about them."""
    had = cached_range(cache)
    settled_ns = settled_end_ns(time.time_ns())
    last_ns = settled_ns + DAY_NS
    if options.start is None and had is None:
        raise SourceError(
            f"{cache.key}: nothing is cached; --from (and --to) say what to fetch, such as "
            "--from 2024-01-01"
        )
    start_ns = had.start_ns if options.start is None and had is not None else 0
    if options.start is not None:
        start_ns = (
            max(parse_time(options.start, "--from"), parse_time(EARLIEST, "--from"))
            // DAY_NS
            * DAY_NS
        )
    if options.end is not None:
        end_ns = -(-parse_time(options.end, "--to") // DAY_NS) * DAY_NS
    else:
        end_ns = settled_ns if had is None or is_fetch else had.end_ns
    notes: tuple[str, ...] = ()
    if end_ns > last_ns:
        end_ns = last_ns
        notes = (f"bars end at {format_time(end_ns)}, later days are not over",)
    if start_ns >= end_ns:
        start, end = format_time(start_ns), format_time(end_ns)
        raise SourceError(f"{cache.key}: no day lies from {start} to {end}")
    return TimeRange(start_ns, end_ns), notes


def _join_parts(
    cache: SeriesCache,
    wanted: TimeRange,
    parts: list[PartBars],
    notes: tuple[str, ...],
    max_bytes: int,
) -> RawTable:
    timestamp, values = join_parts(cache, wanted, parts, max_bytes)
    kind = "adjusted for splits" if cache.key.adjusted else "not adjusted for splits"
    fetched = sorted(part.fetched_at for part in parts)
    notes = (*notes, f"prices {kind}, fetched from {fetched[0]} to {fetched[-1]}")
    first, last = (np.datetime64(ns // DAY_NS, "D") for ns in (wanted.start_ns, wanted.end_ns))
    days = tuple(
        day for part in parts for day in part.missing if first <= np.datetime64(day) < last
    )
    if days:
        notes = (*notes, f"{name_days(days)} without any bar")
    thin = thin_sessions(cache.key.symbol, wanted.start_ns, wanted.end_ns, timestamp)
    if len(thin):
        named = name_days(tuple(str(day) for day in thin))
        notes = (*notes, f"{named} with fewer than half of the usual bars")
    if not has_calendar(cache.key.symbol):
        notes = (*notes, "no calendar is known for this market: missing sessions do not show")
    return RawTable(
        timestamp,
        values,
        cache.key.symbol,
        str(cache.key),
        notes=notes,
        timeframe_ns=parse_timeframe(cache.key.timeframe),
    )
