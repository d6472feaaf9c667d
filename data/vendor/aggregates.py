"""All pages of one range to arrays, followed only forward and only with the vendor.

Whatever is cut, or contradicts itself, is an error and never bars.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np

from data.checks import EARLIEST_NS, LATEST_NS, Floats, Ints
from data.errors import FetchError
from data.vendor.account import HOSTS
from data.vendor.client import Query, VendorClient

MOST_PAGES = 100
"""A range of one month has one or two."""

LIMIT = "50000"
"""Base bars a page, the most that the vendor allows."""


MS_NS = 1_000_000
FIELDS = {"open": "o", "high": "h", "low": "l", "close": "c", "volume": "v"}
STATUSES = ("OK", "DELAYED")


@dataclass(frozen=True)
class Fetched:
    """The bars of a range."""

    timestamp: Ints  # [N], nanoseconds UTC, strictly ascending
    values: Mapping[str, Floats]  # open, high, low, close, volume, [N] each
    is_delayed: bool  # whether a page states that bars are held back


class _PageRequest(NamedTuple):
    query: Query
    extra: Mapping[str, str]


def fetch_bars(client: VendorClient, query: Query, timeframe_ns: int) -> Fetched:
    """All bars that open within a range.

    Raises:
        FetchError: When a page is wrong, or pages lead in a circle, backward or elsewhere.
    """
    first = {"adjusted": str(query.adjusted).lower(), "sort": "asc", "limit": LIMIT}
    request = _PageRequest(query, first)
    seen: set[tuple[object, ...]] = set()
    pages: list[Page] = []
    while True:
        page = read_page(client.page(*request), query)
        _check_advance(query, [p for p in pages if len(p.timestamp)][-1:], page)
        pages.append(page)
        seen.add(_key(request))
        if page.next_url is None:
            return _join(query, pages, timeframe_ns)
        request = _follow(client.url, query, page.next_url)
        if _key(request) in seen:
            raise FetchError(f"polygon:{query.symbol}: pages lead in a circle, next_url repeats")
        if len(pages) == MOST_PAGES:
            raise FetchError(f"polygon:{query.symbol}: more than {MOST_PAGES} pages for one range")


@dataclass(frozen=True)
class Page(Fetched):
    """Bars of one page; `next_url` is the address of the next one, None on the last."""

    next_url: str | None


def read_page(body: bytes, query: Query) -> Page:
    """Read a page's raw body and check that it answers the query."""
    where = f"polygon:{query.symbol}"
    fields = _object(body, where)
    status = fields.get("status")
    if status not in STATUSES:
        raise FetchError(f"{where}: the page has the status {_shorten_repr(status)}, not OK")
    for name, expected in (("ticker", query.symbol), ("adjusted", query.adjusted)):
        if fields.get(name) != expected:
            raise FetchError(
                f"{where}: the page answers another question, {name} is "
                f"{_shorten_repr(fields.get(name))}"
            )
    rows, count = fields.get("results", []), fields.get("resultsCount")
    if not isinstance(rows, list) or type(count) is not int or count != len(rows):
        held = len(rows) if isinstance(rows, list) else _shorten_repr(rows)
        raise FetchError(
            f"{where}: the page is cut: it says {_shorten_repr(count)} bars and holds {held}"
        )
    next_url = fields.get("next_url")
    if next_url is not None and not isinstance(next_url, str):
        raise FetchError(f"{where}: next_url is {_shorten_repr(next_url)}")
    timestamp = _times(rows, where)
    # An index is a number that is not traded: its bars have no volume.
    absent = {"v": 0} if query.symbol.startswith("I:") else {}
    values = {n: _column(rows, key, absent.get(key), where) for n, key in FIELDS.items()}
    return Page(timestamp, values, status == "DELAYED", next_url)


def _check_advance(query: Query, before: list[Page], page: Page) -> None:
    if not (before and len(page.timestamp)):
        return
    last, first = int(before[0].timestamp[-1]), int(page.timestamp[0])
    if first <= last:
        raise FetchError(
            f"polygon:{query.symbol}: a page does not go on in time, it begins at "
            f"{first // MS_NS} ms after one that ended at {last // MS_NS} ms"
        )


def _follow(url: str, query: Query, next_url: str) -> _PageRequest:
    """Request for the page of `next_url`, at our own address, whatever host it names."""
    where = f"polygon:{query.symbol}"
    base = urlsplit(url)
    parts = urlsplit(next_url)
    hosts = HOSTS if base.netloc in HOSTS else (base.netloc,)
    if parts.scheme != base.scheme or parts.netloc not in hosts:
        raise FetchError(f"{where}: next_url leads to another host; it was not followed")
    expected = f"/v2/aggs/ticker/{query.symbol}/range/{query.multiplier}/{query.timespan}/"
    path = unquote(parts.path)
    ends = path.removeprefix(expected).split("/")
    if not path.startswith(expected) or len(ends) != 2 or not all(e.isdecimal() for e in ends):
        raise FetchError(f"{where}: next_url leads to other bars; it was not followed")
    start_ms, end_ms = (int(end) for end in ends)
    if not query.start_ms <= start_ms <= end_ms <= query.end_ms:
        raise FetchError(f"{where}: next_url leads outside of what was asked for")
    # A key in an address would end in logs; it travels in a header only.
    extra = {name: text for name, text in parse_qsl(parts.query) if name.lower() != "apikey"}
    return _PageRequest(replace(query, start_ms=start_ms, end_ms=end_ms), extra)


def _key(request: _PageRequest) -> tuple[object, ...]:
    return (request.query.start_ms, request.query.end_ms, *sorted(request.extra.items()))


def _join(query: Query, pages: list[Page], timeframe_ns: int) -> Fetched:
    timestamp = np.concatenate([page.timestamp for page in pages])
    start_ns, end_ns = query.start_ms * MS_NS, (query.end_ms + 1) * MS_NS
    # The bar that covers an edge belongs to the neighbour; anything further off was not asked for.
    far = (timestamp <= start_ns - timeframe_ns) | (timestamp >= end_ns + timeframe_ns)
    if far.any():
        at = int(timestamp[far][0]) // MS_NS
        raise FetchError(f"polygon:{query.symbol}: a bar at {at} ms lies outside of the range")
    within = (timestamp >= start_ns) & (timestamp < end_ns)
    names = pages[0].values
    values = {name: np.concatenate([p.values[name] for p in pages])[within] for name in names}
    return Fetched(timestamp[within], values, any(page.is_delayed for page in pages))


def _object(body: bytes, where: str) -> Mapping[str, object]:
    try:
        fields = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        start = body[:40].decode("ascii", "replace")
        raise FetchError(f"{where}: the page is no whole JSON, it begins {start!r}") from None
    if not isinstance(fields, dict):
        raise FetchError(f"{where}: the page is no JSON object but {_shorten_repr(fields)}")
    return fields


def _times(rows: list[object], where: str) -> Ints:
    times = [row.get("t") if isinstance(row, dict) else None for row in rows]
    bounds = (EARLIEST_NS // MS_NS, LATEST_NS // MS_NS)
    for number, time_ms in enumerate(times):
        if type(time_ms) is not int or not bounds[0] <= time_ms < bounds[1]:
            raise FetchError(
                f"{where}: bar {number} of the page has the time {_shorten_repr(time_ms)}"
            )
    timestamp: Ints = np.array(times, dtype=np.int64) * MS_NS
    back = np.flatnonzero(np.diff(timestamp) <= 0)
    if len(back):
        raise FetchError(
            f"{where}: bars {back[0]} and {back[0] + 1} of the page have the times "
            f"{times[back[0]]} and {times[back[0] + 1]}, which do not rise"
        )
    return timestamp


def _column(rows: list[object], key: str, absent: int | None, where: str) -> Floats:
    numbers = [row.get(key, absent) if isinstance(row, dict) else None for row in rows]
    for number, value in enumerate(numbers):
        if type(value) is not float and type(value) is not int:
            raise FetchError(
                f"{where}: bar {number} of the page has {key} = {_shorten_repr(value)}"
            )
    try:
        column: Floats = np.array(numbers, dtype=np.float64)
    except OverflowError:
        raise FetchError(f"{where}: {key} holds a number beyond all measure") from None
    if not np.isfinite(column).all():
        raise FetchError(f"{where}: {key} holds a number beyond all measure")
    return column


def _refuse(constant: str) -> object:
    raise ValueError(constant)


def _shorten_repr(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "..."
