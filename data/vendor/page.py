"""One raw page to arrays; whatever is cut, or contradicts itself, is an error and never bars."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from data.checks import EARLIEST_NS, LATEST_NS
from data.errors import FetchError
from data.vendor.client import Query

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MS_NS = 1_000_000
FIELDS = {"open": "o", "high": "h", "low": "l", "close": "c", "volume": "v"}
STATUSES = ("OK", "DELAYED")


@dataclass(frozen=True)
class Page:
    """What one page says.

    Args:
        timestamp: [N], nanoseconds UTC, strictly ascending.
        values: open, high, low, close, volume, [N] each, as sent.
        next_url: Where the next page is, None on the last.
        is_delayed: Whether the vendor says that it holds bars back.
    """

    timestamp: Ints
    values: Mapping[str, Floats]
    next_url: str | None
    is_delayed: bool


def read_page(body: bytes, query: Query) -> Page:
    """Read and check a page.

    Args:
        body: Raw.
        query: What was asked for.

    Returns:
        The page.

    Raises:
        FetchError: When the page is no whole answer to the query.
    """
    where = f"polygon:{query.symbol}"
    said = _object(body, where)
    status = said.get("status")
    if status not in STATUSES:
        raise FetchError(f"{where}: the page has the status {_shown(status)}, not OK")
    for name, asked in (("ticker", query.symbol), ("adjusted", query.adjusted)):
        if said.get(name) != asked:
            raise FetchError(
                f"{where}: the page answers another question, {name} is {_shown(said.get(name))}"
            )
    rows, count = said.get("results", []), said.get("resultsCount")
    if not isinstance(rows, list) or type(count) is not int or count != len(rows):
        held = len(rows) if isinstance(rows, list) else _shown(rows)
        raise FetchError(f"{where}: the page is cut: it says {_shown(count)} bars and holds {held}")
    next_url = said.get("next_url")
    if next_url is not None and not isinstance(next_url, str):
        raise FetchError(f"{where}: next_url is {_shown(next_url)}")
    timestamp = _times(rows, where)
    # An index is a number that nobody trades: its bars have no volume.
    absent = {"v": 0} if query.symbol.startswith("I:") else {}
    values = {n: _column(rows, key, absent.get(key), where) for n, key in FIELDS.items()}
    return Page(timestamp, values, next_url, status == "DELAYED")


def _object(body: bytes, where: str) -> Mapping[str, object]:
    try:
        said = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        start = body[:40].decode("ascii", "replace")
        raise FetchError(f"{where}: the page is no whole JSON, it begins {start!r}") from None
    if not isinstance(said, dict):
        raise FetchError(f"{where}: the page is no JSON object but {_shown(said)}")
    return said


def _times(rows: list[object], where: str) -> Ints:
    found = [row.get("t") if isinstance(row, dict) else None for row in rows]
    bounds = (EARLIEST_NS // MS_NS, LATEST_NS // MS_NS)
    for number, time in enumerate(found):
        if type(time) is not int or not bounds[0] <= time < bounds[1]:
            raise FetchError(f"{where}: bar {number} of the page has the time {_shown(time)}")
    timestamp: Ints = np.array(found, dtype=np.int64) * MS_NS
    back = np.flatnonzero(np.diff(timestamp) <= 0)
    if len(back):
        raise FetchError(
            f"{where}: bars {back[0]} and {back[0] + 1} of the page have the times "
            f"{found[back[0]]} and {found[back[0] + 1]}, which do not rise"
        )
    return timestamp


def _column(rows: list[object], key: str, absent: int | None, where: str) -> Floats:
    found = [row.get(key, absent) if isinstance(row, dict) else None for row in rows]
    for number, value in enumerate(found):
        if type(value) is not float and type(value) is not int:
            raise FetchError(f"{where}: bar {number} of the page has {key} = {_shown(value)}")
    try:
        column: Floats = np.array(found, dtype=np.float64)
    except OverflowError:
        raise FetchError(f"{where}: {key} holds a number beyond all measure") from None
    if not np.isfinite(column).all():
        raise FetchError(f"{where}: {key} holds a number beyond all measure")
    return column


def _refuse(constant: str) -> object:
    raise ValueError(constant)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "..."
