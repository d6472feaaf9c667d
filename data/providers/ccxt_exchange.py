"""Bars of public exchanges through ccxt, page by page, only bars that have closed."""

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np

from data.checks import VALUES, format_time
from data.errors import FetchError, LimitError, SourceError, near_match
from data.table import LoadOptions, RawTable
from data.timeframe import parse_timeframe

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
PAGE = 500
RETRY_AFTER_S = (1.0, 2.0, 4.0, 8.0)
TIMEOUT_MS = 20_000
NS_PER_MS = 10**6

MOST_FETCHED = 16
"""Series that a process holds, to judge and show what it has searched on them."""

_FETCHED: dict[str, RawTable] = {}

Row = list[float]
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Request:
    """Range of bars to fetch from an exchange."""

    exchange: str
    symbol: str  # the market there, such as ``BTC/USDT``
    timeframe: str
    start_ms: int  # open of the first bar, milliseconds UTC
    end_ms: int  # bars that close by then count

    @property
    def step_ms(self) -> int:
        """Duration of a bar."""
        return parse_timeframe(self.timeframe) // NS_PER_MS


def read(address: str, options: LoadOptions) -> RawTable:
    """Bars fetched anew, or those that this process fetched last where no exchange may be asked.

    Days of the address ``EXCHANGE:SYMBOL:TIMEFRAME:FROM[:TO]`` are UTC, the last not included;
    `max_bytes` caps what the range may hold.

    Raises:
        SourceError: When exchange, symbol, timeframe or range make no sense.
        LimitError: When the range may hold more than allowed.
        FetchError: When the exchange does not answer, not as it should, or may not be asked.
    """
    if options.fetch.may_fetch:
        _FETCHED.pop(address, None)
        _FETCHED[address] = _fetch(address, options)
        while len(_FETCHED) > MOST_FETCHED:
            del _FETCHED[next(iter(_FETCHED))]
    if address not in _FETCHED:
        raise FetchError(
            f"ccxt:{address[:60]}: its bars are kept nowhere, and no exchange is asked for a run; "
            f"to fetch them anew name them: --data ccxt:{address[:60]}"
        )
    return _FETCHED[address]


def _fetch(address: str, options: LoadOptions) -> RawTable:
    request = parse_address(address, int(time.time() * 1000))
    most = (request.end_ms - request.start_ms) // request.step_ms
    if most * ROW_BYTES > options.max_bytes:
        raise LimitError(
            f"{request.symbol}: up to {most} bars take {most * ROW_BYTES} bytes, above the cap of "
            f"{options.max_bytes}; --max-bytes raises it"
        )
    exchange = open_exchange(request.exchange)
    try:
        _check_market(exchange, request)
        rows = [row for page in _pages(exchange, request) for row in page]
    finally:
        session = getattr(exchange, "session", None)
        if session is not None:
            session.close()
    if not rows:
        raise SourceError(f"{address}: {request.exchange} has no bars of {request.symbol} then")
    table = np.array(rows, dtype=np.float64)
    first_ms = int(table[0, 0])
    late: tuple[str, ...] = ()
    if first_ms >= request.start_ms + request.step_ms:
        late = (f"bars begin at {format_time(first_ms * NS_PER_MS)}, later than was asked for",)
    return RawTable(
        timestamp=table[:, 0].astype(np.int64) * NS_PER_MS,
        values={name: table[:, column] for column, name in enumerate(VALUES, start=1)},
        symbol=request.symbol,
        where=f"{request.exchange} {request.symbol}",
        notes=(f"fetched from {request.exchange} through ccxt {ccxt.__version__}", *late),
    )


def parse_address(address: str, now_ms: int) -> Request:
    """Read ``EXCHANGE:SYMBOL:TIMEFRAME:FROM[:TO]``; the end never lies after `now_ms`."""
    match = ADDRESS.fullmatch(address)
    if match is None:
        raise SourceError(
            f"ccxt:{address[:60]} must look like {FORM}, such as "
            "ccxt:kraken:BTC/USD:1h:2024-01-01:2024-07-01"
        )
    if match["exchange"] not in ccxt.exchanges:
        hint = near_match(match["exchange"], ccxt.exchanges)
        raise SourceError(f"ccxt knows no exchange {match['exchange']!r}{hint}")
    start = _day_ms(match["start"])
    end = now_ms if match["end"] is None else min(_day_ms(match["end"]), now_ms)
    if start >= end:
        raise SourceError(f"ccxt:{address[:60]}: the range is empty, or lies in the future")
    return Request(match["exchange"], match["symbol"], match["timeframe"], start, end)


def open_exchange(name: str) -> ccxt.Exchange:
    """An exchange that keeps to its own pace; no key is needed or read."""
    exchange: ccxt.Exchange = getattr(ccxt, name)({"enableRateLimit": True, "timeout": TIMEOUT_MS})
    return exchange


def _check_market(exchange: ccxt.Exchange, request: Request) -> None:
    if not exchange.has.get("fetchOHLCV"):
        raise SourceError(f"{request.exchange} offers no bars to the public")
    timeframes = list(exchange.timeframes or ())
    if timeframes and request.timeframe not in timeframes:
        raise SourceError(
            f"{request.exchange} has no bars of {request.timeframe}; it has {', '.join(timeframes)}"
        )
    markets: dict[str, object] = _call_with_retries(exchange.load_markets, request)
    if request.symbol not in markets:
        hint = near_match(request.symbol, markets)
        raise SourceError(f"{request.exchange} has no market {request.symbol[:40]!r}{hint}")


def _pages(exchange: ccxt.Exchange, request: Request) -> Iterator[list[Row]]:
    """Pages of closed bars, each beginning where the last one ended."""
    since = request.start_ms
    while since + request.step_ms <= request.end_ms:
        page = _page(exchange, request, since)
        fresh = [row for row in page if row[0] >= since]
        yield [row for row in fresh if row[0] + request.step_ms <= request.end_ms]
        # A page without bars may be a hole in the market: go on behind it.
        since = int(fresh[-1][0]) + request.step_ms if fresh else since + PAGE * request.step_ms


def _page(exchange: ccxt.Exchange, request: Request, since: int) -> list[Row]:
    def ask() -> list[Sequence[float | None]]:
        rows: list[Sequence[float | None]] = exchange.fetch_ohlcv(
            request.symbol, request.timeframe, since=since, limit=PAGE
        )
        if not rows:
            _refuse_nonsense(exchange.last_http_response)
        return rows

    page = _call_with_retries(ask, request)
    for row in page:
        if len(row) <= len(VALUES) or row[0] is None:
            raise FetchError(f"{request.exchange} gave a bar that is none: {str(list(row))[:80]}")
    return [[np.nan if value is None else value for value in row[:6]] for row in page]


def _refuse_nonsense(answer: str | None) -> None:
    """Raise where ccxt takes an answer that is cut off, or no JSON at all, for no bars."""
    try:
        json.loads(answer or "")
    except ValueError:
        raise ccxt.ExchangeNotAvailable("the answer is no JSON") from None


def _call_with_retries(question: Callable[[], Answer], request: Request) -> Answer:
    """Ask, and ask again for a while when the network is at fault."""
    for wait_s in (*RETRY_AFTER_S, None):
        try:
            return question()
        except ccxt.NetworkError as error:
            if wait_s is None:
                raise FetchError(_describe_error(error, request, len(RETRY_AFTER_S))) from None
            time.sleep(wait_s)
        except (ccxt.BaseError, RecursionError) as error:
            # An answer may be nested without an end.
            raise FetchError(_describe_error(error, request, 0)) from None
    raise AssertionError("the last attempt returns or raises")


def _describe_error(error: Exception, request: Request, retries: int) -> str:
    text = " ".join(str(error).split())
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)[:160]
    after = f", after {retries} retries" if retries else ""
    return f"{request.exchange}: {type(error).__name__}{after}: {shown}"


def _day_ms(day: str) -> int:
    try:
        return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        raise SourceError(f"{day!r} is no day; write it as 2024-01-31") from None
