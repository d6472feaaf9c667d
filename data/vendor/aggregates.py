"""All pages of one range, followed only where they lead forward and stay with the vendor."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np

from data.errors import FetchError
from data.vendor.account import HOSTS
from data.vendor.client import Query, VendorClient
from data.vendor.page import MS_NS, Floats, Ints, Page, read_page

MOST_PAGES = 100
"""A range of one month has one or two."""

LIMIT = "50000"
"""Base bars a page, the most that the vendor allows."""


@dataclass(frozen=True)
class Fetched:
    """The bars of a range.

    Args:
        timestamp: [N], nanoseconds UTC, strictly ascending.
        values: open, high, low, close, volume, [N] each.
        is_delayed: Whether a page said that bars are held back.
    """

    timestamp: Ints
    values: Mapping[str, Floats]
    is_delayed: bool


class _Place(NamedTuple):
    query: Query
    extra: Mapping[str, str]


def fetch_bars(client: VendorClient, query: Query, timeframe_ns: int) -> Fetched:
    """Fetch all bars of a range.

    Args:
        client: Where to ask.
        query: What to ask for.
        timeframe_ns: Duration of a bar.

    Returns:
        Bars that open within the range.

    Raises:
        FetchError: When a page is wrong, or pages lead in a circle, backward or elsewhere.
    """
    first = {"adjusted": str(query.adjusted).lower(), "sort": "asc", "limit": LIMIT}
    place = _Place(query, first)
    seen: set[tuple[object, ...]] = set()
    pages: list[Page] = []
    while True:
        page = read_page(client.page(*place), query)
        _check_advance(query, [p for p in pages if len(p.timestamp)][-1:], page)
        pages.append(page)
        seen.add(_key(place))
        if page.next_url is None:
            return _join(query, pages, timeframe_ns)
        place = _follow(client.url, query, page.next_url)
        if _key(place) in seen:
            raise FetchError(f"polygon:{query.symbol}: pages lead in a circle, next_url repeats")
        if len(pages) == MOST_PAGES:
            raise FetchError(f"polygon:{query.symbol}: more than {MOST_PAGES} pages for one range")


def _check_advance(query: Query, before: list[Page], page: Page) -> None:
    if not (before and len(page.timestamp)):
        return
    last, first = int(before[0].timestamp[-1]), int(page.timestamp[0])
    if first <= last:
        raise FetchError(
            f"polygon:{query.symbol}: a page does not go on in time, it begins at "
            f"{first // MS_NS} ms after one that ended at {last // MS_NS} ms"
        )


def _follow(url: str, query: Query, next_url: str) -> _Place:
    """Where `next_url` leads; it is asked for at our own address, whatever host it names."""
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
    return _Place(replace(query, start_ms=start_ms, end_ms=end_ms), extra)


def _key(place: _Place) -> tuple[object, ...]:
    return (place.query.start_ms, place.query.end_ms, *sorted(place.extra.items()))


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
