"""Bars of public exchanges through ccxt: only bars that have closed, whole months kept."""

import contextlib
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from data.bars import parse_time
from data.cache import SeriesCache, SeriesKey, TimeRange
from data.checks import VALUES, Floats, Ints, format_time
from data.errors import FetchError, SourceError, near_match, refuse_size
from data.progress import Watch
from data.providers.source_file import first_line
from data.shell import write_command
from data.table import LoadOptions, RawTable
from data.timeframe import DAY_NS, MS_NS, SECOND_NS, format_timeframe, parse_timeframe
from data.vendor.client import CallError, Pace, Tell, parse_retry_delay
from data.vendor.paging import NONE, PageReader
from data.vendor.series import Fetching, StepLog, fetch_range, join_parts, set_all_aside

try:
    import ccxt
except ImportError:
    raise SourceError(
        "ccxt:... needs the package ccxt, which is not installed; install it with: "
        "pip install 'exhaustion-optimizer[exchanges]'"
    ) from None

FORM = "ccxt:EXCHANGE:SYMBOL:TIMEFRAME:FROM[:TO]"
ADDRESS = re.compile(
    r"(?P<exchange>[a-z0-9]+):(?P<symbol>.+?):(?P<timeframe>[0-9]+[smhdw])"
    r":(?P<start>[0-9]{4}-[0-9]{2}-[0-9]{2})(?::(?P<end>[0-9]{4}-[0-9]{2}-[0-9]{2}))?"
)
ROW_BYTES = 6 * 8
LIMIT = 500
"""Bars that are asked for where an exchange does not say how many it gives."""

UNITS = {"s": "D", "m": "M", "h": "Y", "d": "Y", "w": "Y"}
"""Length of a piece for the unit of a timeframe."""

LATE_NS = 60 * 10**9
"""Time within which an exchange publishes a bar that has closed."""

TIMEOUT_MS = 20_000

MALFORMED = (RecursionError, TypeError, ValueError, LookupError, AttributeError)
"""Errors of ccxt's own code on an answer that has another form, or is nested without an end."""

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Request:
    """Range of bars to fetch from an exchange."""

    exchange: str
    symbol: str  # the market there, such as ``BTC/USDT``
    timeframe: str
    span: TimeRange  # bars that open in it, and close by its end
    is_open: bool  # whether the range ends with the newest bar

    @property
    def step_ns(self) -> int:
        """Duration of a bar."""
        return parse_timeframe(self.timeframe)


def read(address: str, options: LoadOptions) -> RawTable:
    """Bars of ``EXCHANGE:SYMBOL:TIMEFRAME:FROM[:TO]``; days are UTC, the last not included.

    Whole months (days of seconds, years of hours and days) come from the cache once they were
    fetched. The rest is fetched anew, or comes from the last fetch where no exchange may be used.
    """
    request, cache = _open_series(address, options)
    span, step_ns = request.span, request.step_ns
    if request.is_open and not options.fetch.may_fetch:
        # It ends where the last fetch did.
        kept = [part.end_ns for part in (*cache.parts(), *cache.list_asked())]
        last_ns = max([end_ns for end_ns in kept if end_ns > span.start_ns], default=span.end_ns)
        span = TimeRange(span.start_ns, min(span.end_ns, last_ns))
    how = replace(_fetching(address, request, StepLog()), may_fetch=options.fetch.may_fetch)
    parts = fetch_range(cache, span, how)
    times, values, fetched = join_parts(cache, span, parts, options.max_bytes)
    is_closed = times + step_ns <= span.end_ns
    times, values = times[is_closed], {name: values[name][is_closed] for name in VALUES}
    if len(times) == 0:
        raise SourceError(f"{address}: {request.exchange} has no bars of {request.symbol} then")
    return RawTable(
        timestamp=times,
        values=values,
        symbol=request.symbol,
        where=f"{request.exchange} {request.symbol}",
        notes=(
            f"fetched from {request.exchange} through ccxt {ccxt.__version__}, {fetched}",
            *_note_range(request, times, span.end_ns),
        ),
        timeframe_ns=step_ns,
    )


def fetch(
    address: str, options: LoadOptions, watch: Watch, *, refetch: bool = False
) -> SeriesCache:
    """Bring the range of an address into the cache, as `read` does.

    `refetch` sets all that is cached of the series aside first.
    """
    request, cache = _open_series(address, options)
    if refetch:
        set_all_aside(cache)
    fetch_range(cache, request.span, _fetching(address, request, watch))
    return cache


def parse_address(address: str, now_ns: int) -> Request:
    """Read ``EXCHANGE:SYMBOL:TIMEFRAME:FROM[:TO]``; the end never lies after `now_ns`."""
    match = ADDRESS.fullmatch(address)
    if match is None:
        raise SourceError(
            f"ccxt:{address[:60]} must look like {FORM}, such as "
            "ccxt:kraken:BTC/USD:1h:2024-01-01:2024-07-01"
        )
    if match["exchange"] not in ccxt.exchanges:
        hint = near_match(match["exchange"], ccxt.exchanges)
        raise SourceError(f"ccxt knows no exchange {match['exchange']!r}{hint}")
    start_ns = parse_time(match["start"])
    end_ns = now_ns if match["end"] is None else min(parse_time(match["end"]), now_ns)
    if start_ns >= end_ns:
        raise SourceError(f"ccxt:{address[:60]}: the range is empty, or lies in the future")
    span = TimeRange(start_ns, end_ns)
    names = match["exchange"], match["symbol"], match["timeframe"]
    return Request(*names, span, is_open=end_ns == now_ns)


def open_exchange(name: str) -> ccxt.Exchange:
    """An exchange that keeps to its own pace; no key is needed or read."""
    exchange: ccxt.Exchange = getattr(ccxt, name)({"enableRateLimit": True, "timeout": TIMEOUT_MS})
    return exchange


def stated_limit(exchange: ccxt.Exchange, symbol: str, timeframe: str) -> int:
    """Bars of an answer that an exchange states for a market, or `LIMIT`."""
    market = exchange.market(symbol)
    kind = market.get("type") or "spot"
    features = (exchange.features or {}).get(kind) or {}
    if kind != "spot":
        features = features.get("inverse" if market.get("inverse") else "linear") or {}
    limit = (features.get("fetchOHLCV") or {}).get("limit") or LIMIT
    rules = (exchange.options.get("fetchOHLCV") or {}).get("spot" if kind == "spot" else "swap")
    longest = ((rules or {}).get("maxLimitPerTimeframe") or {}).get(timeframe)
    return int(min(limit, longest or limit))


def _open_series(address: str, options: LoadOptions) -> tuple[Request, SeriesCache]:
    request = parse_address(address, int(time.time()) * SECOND_NS)
    most = (request.span.end_ns - request.span.start_ns) // request.step_ns
    if most * ROW_BYTES > options.max_bytes:
        size = f"up to {most} bars take {most * ROW_BYTES} bytes"
        raise refuse_size(request.symbol, size, options.max_bytes)
    key = SeriesKey(f"ccxt:{request.exchange}", request.symbol, request.timeframe, adjusted=None)
    return request, SeriesCache(options.fetch.cache, key)


def _fetching(address: str, request: Request, watch: Watch) -> Fetching:
    @contextlib.contextmanager
    def opening(_: SeriesKey, tell: Tell) -> Iterator[ExchangeSource]:
        exchange = open_exchange(request.exchange)
        try:
            yield ExchangeSource(exchange, request, f"ccxt:{address}", tell)
        finally:
            session = getattr(exchange, "session", None)
            if session is not None:
                session.close()

    return Fetching(opening, f"ccxt:{address}", watch, units=UNITS, is_whole_only=True)


class ExchangeSource:
    """Pages of one market."""

    def __init__(self, exchange: ccxt.Exchange, request: Request, spec: str, tell: Tell) -> None:
        self._pace = Pace(None, tell)
        self._exchange, self._request, self._spec = exchange, request, spec
        self._check_market()
        limit = stated_limit(exchange, request.symbol, request.timeframe)
        days, step_ms = None, request.step_ns // MS_NS
        if request.step_ns < DAY_NS and "1d" in (exchange.timeframes or ()):
            days = PageReader(self._asking("1d"), DAY_NS // MS_NS, limit)
        self._reader = PageReader(self._asking(request.timeframe), step_ms, limit, days)

    def pages(self, span: TimeRange) -> Iterator[Floats]:
        """Bars [N, 6] of a range that have closed, as `PageReader.pages`."""
        # At the end of the wanted range, a bar counts when it has closed.
        last_ms = (max(span.end_ns, self._request.span.end_ns) - self._request.step_ns) // MS_NS
        for page in self._reader.pages(span.start_ns // MS_NS, span.end_ns // MS_NS):
            yield page[page[:, 0] <= last_ms]

    def missing_days(self, span: TimeRange, times_ns: Ints) -> tuple[str, ...]:
        """Nothing: no exchange states on which days it trades."""
        return ()

    def _check_market(self) -> None:
        exchange, request = self._exchange, self._request
        if not exchange.has.get("fetchOHLCV"):
            raise SourceError(f"{request.exchange} offers no bars to the public")
        timeframes = list(exchange.timeframes or ())
        if timeframes and request.timeframe not in timeframes:
            raise SourceError(
                f"{request.exchange} has no bars of {request.timeframe}; it has "
                f"{', '.join(timeframes)}"
            )
        markets: dict[str, object] = self._call(exchange.load_markets)
        if request.symbol not in markets:
            hint = near_match(request.symbol, markets)
            raise SourceError(f"{request.exchange} has no market {request.symbol[:40]!r}{hint}")

    def _asking(self, timeframe: str) -> Callable[[int, int, int | None], Floats]:
        exchange, request = self._exchange, self._request

        def ask(since_ms: int, limit: int, until_ms: int | None) -> Floats:
            def page() -> Sequence[Sequence[float | None]]:
                params = {} if until_ms is None else {"until": until_ms}
                rows: Sequence[Sequence[float | None]] = exchange.fetch_ohlcv(
                    request.symbol, timeframe, since_ms, limit, params
                )
                if not rows:
                    _refuse_nonsense(exchange.last_http_response)
                return rows

            try:
                return _to_rows(self._call(page), request.exchange)
            except FetchError:
                if until_ms is None:
                    raise
                return NONE  # the exchange knows no last time

        return ask

    def _call(self, question: Callable[[], Answer]) -> Answer:
        try:
            return self._pace.call(lambda: self._call_once(question))
        except CallError as error:
            goes_on = f"{write_command('data', 'fetch', self._spec)} goes on behind them"
            again = f"; pages that came are kept, {goes_on}" if error.can_repeat else ""
            raise FetchError(f"{self._request.exchange}: {error}{error.wait}{again}") from None

    def _call_once(self, question: Callable[[], Answer]) -> Answer:
        self._exchange.last_response_headers = None
        try:
            return question()
        except ccxt.OperationFailed as error:
            headers = self._exchange.last_response_headers or {}
            delay = next((v for name, v in headers.items() if name.lower() == "retry-after"), None)
            raise CallError(
                _describe(error), can_repeat=True, retry_after_s=parse_retry_delay(delay)
            ) from None
        except (ccxt.BaseError, *MALFORMED) as error:
            raise CallError(_describe(error)) from None


def _refuse_nonsense(answer: str | None) -> None:
    """Raise where ccxt takes an answer that is cut off, or no JSON at all, for no bars."""
    try:
        json.loads(answer or "")
    except ValueError:
        raise ccxt.ExchangeNotAvailable("the answer is no JSON") from None


def _to_rows(page: Sequence[Sequence[float | None]], exchange: str) -> Floats:
    """Bars [N, 6]; NaN where a number is missing."""
    for row in page:
        if len(row) <= len(VALUES) or row[0] is None:
            raise FetchError(f"{exchange} gave a bar that is none: {str(list(row))[:80]}")
    rows = [[np.nan if value is None else value for value in row[:6]] for row in page]
    table: Floats = np.array(rows, dtype=np.float64).reshape(-1, 6)
    table[:, 0] = np.floor(table[:, 0])
    return table


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {first_line(error)}"


def _note_range(request: Request, times: Ints, end_ns: int) -> Iterator[str]:
    """Differences of bars [N] from the request: they begin late, end early, or last otherwise."""
    step_ns, behind_ns = request.step_ns, int(times[-1]) + request.step_ns
    if times[0] >= request.span.start_ns + step_ns:
        yield f"bars begin at {format_time(times[0])}, later than requested"
    if request.is_open and behind_ns <= end_ns < behind_ns + step_ns:
        yield f"the bar of {format_time(behind_ns)} is still open, and is left out"
    if behind_ns + step_ns + (LATE_NS if request.is_open else 0) <= end_ns:
        yield f"bars end at {format_time(behind_ns)}, earlier than requested"
    steps, counts = np.unique(np.diff(times), return_counts=True)
    if len(steps) and (common := int(steps[np.argmax(counts)])) != step_ns:
        yield (
            f"bars of {request.timeframe} were requested, and {counts.max()} of {counts.sum()} "
            f"steps between bars are {format_timeframe(common)}"
        )
