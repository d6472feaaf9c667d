"""The vendor's own client: one call, with limits on bytes and time, and words that hold no key.

The client builds each request and hands it to a pool of connections. Another pool takes the place
of that one, which follows no redirect and decides how an answer is read.
"""

import contextlib
import json
import time
import zlib
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import urllib3
from urllib3.exceptions import HTTPError

from data.errors import FetchError, SourceError
from data.vendor.account import VendorAccount, check_url
from data.vendor.calls import CallError, Pace, parse_retry_delay

CLIENTS = ("massive", "polygon")
"""Names under which the vendor's client is installed, the maintained one first."""

CONNECT_S, READ_S, CALL_S = 10.0, 30.0, 120.0
"""Seconds to connect, between two pieces of an answer, and for one call from end to end."""

LARGEST_PAGE_BYTES = 32_000_000
"""A page of 50,000 bars has 6 MB; anything of this size is something else."""

PIECE_BYTES = 65_536
LARGEST_ERROR_BYTES, SHOWN_CHARACTERS = 2_000, 160

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same call may be made again."""

REFUSED = {
    401: "the vendor does not know this key",
    403: "the vendor's plan does not cover this",
    404: "the vendor does not know this",
}


class VendorClient:
    """Requests pages at the pace of an account."""

    def __init__(self, account: VendorAccount, pace: Pace) -> None:
        self._account, self._pace = account, pace
        self._rest = _load_client(account)
        check_url(self._rest.BASE)

    def page(self, *place: str | int, **params: str) -> bytes:
        """The body of one page, requested again after failures that may pass.

        `place` is symbol, multiplier, timespan, and first and last time in milliseconds.
        """
        try:
            body: bytes = self._pace.call(
                lambda: self._rest.list_aggs(*place, params=params, raw=True).data
            )
        except CallError as error:
            words = REFUSED.get(error.status, "the vendor gives no bars")
            own_words = self._account.redact(_message(error.body))[:SHOWN_CHARACTERS]
            says = f", it says {own_words!r}" if own_words else ""
            raise FetchError(f"polygon:{place[0]}: {words} ({error}{says}){error.wait}") from None
        return body


class BoundedPool:
    """Stands where the vendor's client keeps its pool of connections."""

    def __init__(self, pool: urllib3.PoolManager) -> None:
        self._pool = pool

    def request(
        self,
        method: str,
        url: str,
        fields: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> SimpleNamespace:
        """Make one call, once; the answer has `status` and `data`, unpacked.

        Raises:
            CallError: When no whole answer of status 200 came; its words show no header.
        """
        deadline = time.monotonic() + CALL_S
        try:
            response = self._pool.request(
                method,
                url,
                fields={name: str(value) for name, value in (fields or {}).items()},
                headers=headers,
                preload_content=False,
                redirect=False,
                retries=False,
                timeout=urllib3.Timeout(connect=CONNECT_S, read=READ_S),
            )
            with contextlib.closing(response):
                return _answer(response, deadline)
        except (HTTPError, OSError) as error:
            # Messages of the library show the address; its class is enough.
            what = type(error).__name__
            raise CallError(f"the connection failed ({what})", can_repeat=True) from None


def _answer(response: urllib3.BaseHTTPResponse, deadline: float) -> SimpleNamespace:
    status, body = response.status, b""
    if status == 200:
        return SimpleNamespace(
            status=status, data=_read_body(response, deadline, LARGEST_PAGE_BYTES)
        )
    # The status counts even where the body of an error does not come.
    with contextlib.suppress(HTTPError, OSError, CallError):
        body = _read_body(response, deadline, LARGEST_ERROR_BYTES)
    delay = parse_retry_delay(response.headers.get("Retry-After"))
    raise CallError(f"status {status}", status, status in AGAIN, delay, body)


def _read_body(response: urllib3.BaseHTTPResponse, deadline: float, most: int) -> bytes:
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding not in ("", "identity", "gzip"):
        raise CallError(f"the answer is packed as {coding[:20]!r}")
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if coding == "gzip" else None
    body = bytearray()
    while piece := response.read1(PIECE_BYTES, decode_content=False):
        try:
            body += unpack.decompress(piece, most + 1 - len(body)) if unpack else piece
        except zlib.error:
            raise CallError("the answer cannot be unpacked") from None
        if len(body) > most:
            raise CallError(f"the answer has more than {most:,} bytes")
        if time.monotonic() > deadline:
            raise CallError(f"the answer took more than {CALL_S:g} s", can_repeat=True)
    stated = response.headers.get("Content-Length", "")
    is_whole = unpack.eof if unpack else not stated.isdigit() or int(stated) == len(body)
    if not is_whole:
        raise CallError("the answer was cut off", can_repeat=True)
    return bytes(body)


def _load_client(account: VendorAccount) -> Any:  # noqa: ANN401 - the client ships no types
    name = next((name for name in CLIENTS if find_spec(name)), None)
    if name is None:
        raise SourceError("polygon needs the vendor's client: pip install polygon-api-client")
    options = {} if account.url is None else {"base": account.url}
    make = import_module(name).RESTClient
    rest = make(api_key=account.key, retries=0, pagination=False, **options)
    rest.client = BoundedPool(rest.client)
    return rest


def _message(body: bytes) -> str:
    """The vendor's own words about an error; nothing where there are none."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    words = [fields.get(name) for name in ("error", "message")] if isinstance(fields, dict) else []
    text = next((word for word in words if isinstance(word, str)), "")
    return "".join(c if c.isprintable() else " " for c in text)
