"""Bars from the vendor Polygon, now Massive: fetched once, then from the cache.

A page that is cut or contradicts itself is an error. The address of a next page is not followed;
its time is requested.

Days on which a market has bars follow a rule and no feed: crypto trades every day, currencies
Monday to Friday except 25 December and 1 January, American stocks and indices on weekdays outside
the holidays of the New York exchange, and options too rarely for a rule. A day is one of UTC, in
which the regular session of New York lies.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.tseries.holiday import (
    AbstractHolidayCalendar,
    GoodFriday,
    Holiday,
    USLaborDay,
    USMartinLutherKingJr,
    USMemorialDay,
    USPresidentsDay,
    USThanksgivingDay,
    nearest_workday,
    sunday_to_monday,
)

from data.bars import parse_time
from data.cache import PartBars, SeriesCache, SeriesKey, TimeRange
from data.checks import EARLIEST_NS, LATEST_NS, Floats, Ints, format_time
from data.errors import FetchError, SourceError, shorten
from data.progress import Watch
from data.table import FetchOptions, LoadOptions, RawTable
from data.timeframe import DAY_NS, MINUTE_NS, MS_NS, SECOND_NS, format_timeframe, parse_timeframe
from data.vendor.client import Pace, Tell, VendorClient, find_account
from data.vendor.paging import PageReader
from data.vendor.series import (
    Fetching,
    StepLog,
    cached_range,
    fetch_range,
    join_parts,
    name_days,
    set_all_aside,
    settled_end_ns,
    tell_note,
)

Days = npt.NDArray[np.datetime64]

CLOSED = (
    *("2001-09-11", "2001-09-12", "2001-09-13", "2001-09-14"),
    *("2004-06-11", "2007-01-02", "2012-10-29", "2012-10-30", "2018-12-05", "2025-01-09"),
)
"""Days on which the New York exchange stayed shut without a rule: attacks, storms, mourning."""

LIMIT = 50_000
"""Base bars a page, the most that the vendor allows."""

FIELDS = ("o", "h", "l", "c", "v")
STATUSES = ("OK", "DELAYED")
TIMESPANS = {"s": "second", "m": "minute", "h": "hour", "d": "day"}

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


class NewYorkHolidays(AbstractHolidayCalendar):
    """Full holidays of the New York exchange, by its rule 7.2."""

    rules = [  # noqa: RUF012 - the form that the base class reads
        Holiday("New Year", month=1, day=1, observance=sunday_to_monday),
        USMartinLutherKingJr,
        USPresidentsDay,
        GoodFriday,
        USMemorialDay,
        Holiday("Juneteenth", month=6, day=19, start_date="2022-06-19", observance=nearest_workday),
        Holiday("Independence", month=7, day=4, observance=nearest_workday),
        USLaborDay,
        USThanksgivingDay,
        Holiday("Christmas", month=12, day=25, observance=nearest_workday),
    ]


class PolygonSource:
    """Pages of one series."""

    def __init__(self, key: SeriesKey, tell: Tell) -> None:
        account = find_account()
        self._client, self._key = VendorClient(account, Pace(account.calls_per_minute, tell)), key
        self._step_ms = parse_timeframe(key.timeframe) // MS_NS
        self._end_ms, self._is_last = 0, False
        self._reader = PageReader(self._ask, self._step_ms, LIMIT, is_last=lambda: self._is_last)

    def pages(self, span: TimeRange) -> Iterator[Floats]:
        """Bars [N, 6] of a range, as `PageReader.pages`."""
        self._end_ms = span.end_ns // MS_NS
        return self._reader.pages(span.start_ns // MS_NS, self._end_ms)

    def missing_days(self, span: TimeRange, times_ns: Ints) -> tuple[str, ...]:
        """Days that should have bars and have none."""
        return tuple(map(str, missing_sessions(self._key.symbol, *span, times_ns)))

    def _ask(self, since_ms: int, limit: int, until_ms: int | None) -> Floats:
        symbol, timeframe = self._key.symbol, self._key.timeframe
        body = self._client.page(
            *(symbol, int(timeframe[:-1]), TIMESPANS[timeframe[-1]], since_ms, self._end_ms - 1),
            adjusted=str(self._key.adjusted).lower(),
            sort="asc",
            limit=str(limit),
        )
        fields = read_fields(body, self._key)
        if fields["status"] != "OK" and self._end_ms * MS_NS > time.time_ns() - DAY_NS:
            raise FetchError(
                f"{self._key}: the vendor holds back bars of the last day; end a day earlier "
                "with --to"
            )
        rows = read_rows(fields, symbol)
        # The bar that covers an edge belongs to the neighbour.
        within = (since_ms - self._step_ms < rows[:, 0]) & (
            rows[:, 0] < self._end_ms + self._step_ms
        )
        if not within.all():
            at = int(rows[~within, 0][0])
            raise FetchError(f"polygon:{symbol}: a bar at {at} ms lies outside of the range")
        self._is_last = fields.get("next_url") is None
        if not self._is_last and not (rows[:, 0] >= since_ms).any():
            raise FetchError(
                f"polygon:{symbol}: a page does not go on in time, it holds no bar from "
                f"{since_ms} ms on and says that more follow"
            )
        return rows


def has_calendar(symbol: str) -> bool:
    """True if a market has a rule."""
    return not symbol.startswith("O:")


def session_days(symbol: str, start_ns: int, end_ns: int) -> Days:
    """Days [D] that lie wholly in a range and on which a market has bars; none without a rule."""
    first, last = -(-start_ns // DAY_NS), end_ns // DAY_NS
    days = np.arange(first, max(first, last)).astype("datetime64[D]")
    if not has_calendar(symbol):
        return days[:0]
    if symbol.startswith("X:") or len(days) == 0:
        return days
    days = days[np.is_busday(days)]
    if symbol.startswith("C:"):
        is_open = [(day.month, day.day) not in ((12, 25), (1, 1)) for day in days.astype(object)]
        return days[np.array(is_open, dtype=np.bool_)]
    return days[~np.isin(days, _new_york_holidays(start_ns, end_ns))]


def missing_sessions(symbol: str, start_ns: int, end_ns: int, timestamp: Ints) -> Days:
    """Days [D] that should have bars and have none; `timestamp` [N] of the bars there are."""
    expected = session_days(symbol, start_ns, end_ns)
    present = np.unique(timestamp // DAY_NS).astype("datetime64[D]")
    return np.setdiff1d(expected, present)


def thin_sessions(symbol: str, start_ns: int, end_ns: int, timestamp: Ints) -> Days:
    """Days that have bars, but fewer than half of the usual; a short session has more."""
    days, counts = np.unique(timestamp // DAY_NS, return_counts=True)
    expected = session_days(symbol, start_ns, end_ns)
    inside = np.isin(days.astype("datetime64[D]"), expected)
    if not inside.any():
        return expected[:0]
    days, counts = days[inside], counts[inside]
    thin: Days = days[2 * counts < np.median(counts)].astype("datetime64[D]")
    return thin


def read_fields(body: bytes, key: SeriesKey) -> Mapping[str, object]:
    """Fields of a page's raw body, which must be of this series."""
    where = f"polygon:{key.symbol}"
    try:
        fields = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        start = body[:40].decode("ascii", "replace")
        raise FetchError(f"{where}: the page is no whole JSON, it begins {start!r}") from None
    if not isinstance(fields, dict):
        raise FetchError(f"{where}: the page is no JSON object but {_shorten_repr(fields)}")
    status = fields.get("status")
    if status not in STATUSES:
        raise FetchError(f"{where}: the page has the status {_shorten_repr(status)}, not OK")
    for name, expected in (("ticker", key.symbol), ("adjusted", key.adjusted)):
        if fields.get(name) != expected:
            raise FetchError(
                f"{where}: the page answers another question, {name} is "
                f"{_shorten_repr(fields.get(name))}"
            )
    return fields


def read_rows(fields: Mapping[str, object], symbol: str) -> Floats:
    """Bars [N, 6] of a page: time (milliseconds UTC), open, high, low, close, volume."""
    where = f"polygon:{symbol}"
    rows, count = fields.get("results", []), fields.get("resultsCount")
    if not isinstance(rows, list) or type(count) is not int or count != len(rows):
        held = len(rows) if isinstance(rows, list) else _shorten_repr(rows)
        raise FetchError(
            f"{where}: the page is cut: it says {_shorten_repr(count)} bars and holds {held}"
        )
    bars: list[Mapping[str, object]] = [row if isinstance(row, dict) else {} for row in rows]
    times = [bar.get("t") for bar in bars]
    for number, at in enumerate(times):
        if type(at) is not int or not EARLIEST_NS <= at * MS_NS < LATEST_NS:
            raise FetchError(f"{where}: bar {number} of the page has the time {_shorten_repr(at)}")
    # An index is a number that is not traded: its bars have no volume.
    absent = {"v": 0} if symbol.startswith("I:") else {}
    columns = [_column(bars, key, absent.get(key), where) for key in FIELDS]
    table = np.column_stack([np.array(times, dtype=np.float64), *columns])
    back = np.flatnonzero(np.diff(table[:, 0]) <= 0)
    if len(back):
        raise FetchError(
            f"{where}: bars {back[0]} and {back[0] + 1} of the page have the times "
            f"{times[back[0]]} and {times[back[0] + 1]}, which do not rise"
        )
    return table


def read(address: str, options: LoadOptions) -> RawTable:
    """Read bars, fetching the part of the wanted range that the cache lacks.

    `timeframe` (15m when None) and `fetch` state the wanted range, and allow calls to the vendor.
    Notes name the times of the fetches and missing sessions.
    """
    cache = open_series(address, options)
    wanted, notes = _resolve_range(cache, options.fetch)
    parts = fetch_range(cache, wanted, _fetching(address, options, StepLog()))
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


def _new_york_holidays(start_ns: int, end_ns: int) -> Days:
    # Asked with some days to spare: a holiday may be kept on the working day beside it.
    around = pd.Timedelta(days=7)
    start, end = pd.Timestamp(start_ns) - around, pd.Timestamp(end_ns) + around
    holidays = NewYorkHolidays().holidays(start.normalize(), end.normalize())
    ruled = holidays.to_numpy().astype("datetime64[D]")
    return np.union1d(ruled, np.array(CLOSED, dtype="datetime64[D]"))


def _column(bars: list[Mapping[str, object]], key: str, absent: int | None, where: str) -> Floats:
    numbers = [bar.get(key, absent) for bar in bars]
    for number, value in enumerate(numbers):
        if type(value) not in (float, int):
            raise FetchError(
                f"{where}: bar {number} of the page has {key} = {_shorten_repr(value)}"
            )
    try:
        column: Floats = np.array(numbers, dtype=np.float64)
    except OverflowError:
        column = np.array([np.inf])
    if not np.isfinite(column).all():
        raise FetchError(f"{where}: {key} holds a number beyond all measure")
    return column


def _refuse(constant: str) -> object:
    raise ValueError(constant)


def _shorten_repr(value: object) -> str:
    return shorten(repr(value), 40)


def _fetching(address: str, options: LoadOptions, watch: Watch) -> Fetching:
    def opening(key: SeriesKey, tell: Tell) -> nullcontext[PolygonSource]:
        return nullcontext(PolygonSource(key, tell))

    how = options.fetch
    return Fetching(
        opening, f"{PROVIDER}:{address}", watch, how.accept_missing, may_fetch=how.may_fetch
    )


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
