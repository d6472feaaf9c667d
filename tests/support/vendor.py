"""A vendor of bars on this machine, which speaks the real protocol and fails by plan."""

import contextlib
import gzip
import json
import socket
import struct
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np

from data.providers.polygon_api import session_days

KEY = "canary+KEY/0123456789=%end"
"""The one key that the vendor knows; its forms differ in addresses and in base64."""

SPANS_MS = {"second": 1000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
BASE_MS = {"second": 1000, "minute": 60_000, "hour": 60_000, "day": 86_400_000}
"""What the vendor counts by for each timespan: its limit is in these."""

HEADERS = {"Content-Type": "application/json", "Connection": "close"}
"""Headers of every answer."""

DAY_MS = 86_400_000
OPEN_MS, CLOSE_MS = 14.5 * 3_600_000, 21 * 3_600_000


class FakeClock:
    """A clock that sleeping moves, so that waits take no time.

    Args:
        start: Seconds.
    """

    def __init__(self, start=1000.0):
        self.now = start
        self.slept = []

    def monotonic(self):
        """The time."""
        return self.now

    def sleep(self, seconds):
        """Move on."""
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Call:
    """One request, as the vendor saw it."""

    path: str  # with its query
    headers: dict  # names in lower case


@dataclass
class Vendor:
    """What the vendor does, and what was asked of it.

    Args:
        url: Its address.
        calls: All requests, in their order.
        faults: What happens to the next requests, one each; None for nothing.
        page_bases: Base bars a page at most, whatever limit is asked for.
        factor: What prices are multiplied with, as a split does.
        without: Days, as text, without any bar.
        status: The status of good pages.
        always: What happens to every request that has no fault of its own.
        key: The one that it knows.
    """

    url: str = ""
    calls: list = field(default_factory=list)
    faults: deque = field(default_factory=deque)
    page_bases: int = 50_000
    factor: float = 1.0
    without: tuple = ()
    status: str = "OK"
    always: object = None
    key: str = KEY

    def fail(self, *faults):
        """Let faults happen to the next requests."""
        self.faults.extend(faults)


@contextlib.contextmanager
def running_vendor():
    """A vendor on loopback, until the context ends."""
    vendor = Vendor()

    class Handler(_Handler):
        state = vendor

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    vendor.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield vendor
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def list_vendor_times(symbol, start_ms, end_ms, step_ms, without=()):
    """Times at which the market has bars, [N] milliseconds, from start to end included."""
    first = -(-start_ms // step_ms) * step_ms
    times = np.arange(first, end_ms + 1, step_ms, dtype=np.int64)
    days = times // DAY_MS
    if not symbol.startswith("X:"):
        whole = (start_ms // DAY_MS * DAY_MS, (end_ms // DAY_MS + 1) * DAY_MS)
        open_days = session_days(symbol, whole[0] * 10**6, whole[1] * 10**6).astype(np.int64)
        inside = times % DAY_MS
        is_day = step_ms == DAY_MS
        times = times[np.isin(days, open_days)
                      & (is_day | ((inside >= OPEN_MS) & (inside < CLOSE_MS)))]  # fmt: skip
    shut = np.array(without, dtype="datetime64[D]").astype(np.int64)
    return times[~np.isin(times // DAY_MS, shut)]


def make_vendor_bars(times, factor=1.0):
    """Bars of an invented market: any part of it is the same whenever it is asked for."""

    def noise(salt):
        mixed = (times.astype(np.uint64) // 1000 + salt) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        return (mixed >> np.uint64(40)).astype(np.float64) / 2**24

    middle = 100 + 10 * np.sin(times / 9e8) + 5 * np.sin(times / 4e7)
    opening, close = middle + noise(1) - 0.5, middle + noise(2) - 0.5
    top, bottom = np.maximum(opening, close) + noise(3), np.minimum(opening, close) - noise(4)
    prices = [np.round(column * factor, 6) for column in (opening, top, bottom, close)]
    return [*prices, np.round(1000 * noise(5) ** 4, 3)]


def status(code, retry_after=None, body=None, place=None):
    """A fault: another status, which may ask to wait or to go elsewhere."""

    def fault(handler, reply):
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        headers |= {} if place is None else {"Location": place}
        answer = {"status": "ERROR", "error": f"failed with {code}"} if body is None else body
        handler.send_json(code, answer, headers)

    return fault


def edit_page(change):
    """A fault: another page; `change` alters it in place."""

    def fault(handler, reply):
        change(reply)
        handler.send_json(200, reply)

    return fault


def send_content(content, coding=None, length=None):
    """A fault: status 200 and these bytes, which may be fewer than are announced."""

    def fault(handler, reply):
        headers = {"Content-Encoding": coding} if coding else {}
        handler.send_bytes(200, content, headers, length)

    return fault


def reset(handler, reply):
    """A fault: the connection breaks in the middle of the body."""
    content = json.dumps(reply).encode()
    handler.send_bytes(200, content[: len(content) // 2], {}, len(content))
    linger = struct.pack("ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.connection.close()


def refused_connection(handler, reply):
    """A fault: the connection breaks before any answer."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def hanging(handler, reply):
    """A fault: nothing comes, until the other side gives up."""
    with contextlib.suppress(OSError):
        handler.connection.settimeout(20)
        handler.connection.recv(1)


def cut(handler, reply):
    """A fault: JSON that ends in the middle, sent as if it were whole."""
    content = json.dumps(reply).encode()
    handler.send_bytes(200, content[: len(content) // 2], {})


def bomb(handler, reply):
    """A fault: 40 kB that unpack to 40 MB."""
    handler.send_bytes(200, gzip.compress(b" " * 40_000_000, 1), {"Content-Encoding": "gzip"})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Vendor

    def log_message(self, *_):
        """Say nothing."""

    def do_GET(self):
        """Answer one request."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.state.calls.append(Call(self.path, headers))
        self.close_connection = True
        if headers.get("authorization") != f"Bearer {self.state.key}":
            key = headers.get("authorization", "nothing")
            self.send_json(401, {"status": "ERROR", "error": f"Unknown API Key {key}"})
            return
        fault = self.state.faults.popleft() if self.state.faults else self.state.always
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if fault is None:
                self.send_json(200, self._page())
            else:
                fault(self, self._page())

    def send_json(self, code, answer, headers=None):
        """Send an object, packed when the other side takes that."""
        content, packed = json.dumps(answer).encode(), {}
        if "gzip" in self.headers.get("Accept-Encoding", ""):
            content, packed = gzip.compress(content, 1), {"Content-Encoding": "gzip"}
        self.send_bytes(code, content, {**packed, **(headers or {})})

    def send_bytes(self, code, content, headers, length=None):
        """Send bytes and say how many there are."""
        self.send_head(code, {**headers, "Content-Length": str(length or len(content))})
        self.wfile.write(content)
        self.wfile.flush()

    def send_head(self, code, headers):
        """Send a status and headers."""
        self.send_response(code)
        for name, value in {**HEADERS, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _page(self):
        address = urlsplit(self.path)
        query = dict(parse_qsl(address.query))
        _, _, _, _, symbol, _, multiplier, span, start, end = unquote(address.path).split("/")
        step_ms = int(multiplier) * SPANS_MS[span]
        start_ms, end_ms = int(start), int(end)
        limit = min(int(query.get("limit", 5000)), self.state.page_bases)
        last_ms = min(end_ms, start_ms + limit * BASE_MS[span] - 1)
        last_ms = max(last_ms, start_ms + step_ms - 1)
        times = list_vendor_times(symbol, start_ms, last_ms, step_ms, self.state.without)
        rows = list(zip(times.tolist(), *(c.tolist() for c in self._columns(times)), strict=True))
        page = {
            "ticker": symbol,
            "queryCount": len(rows),
            "resultsCount": len(rows),
            "adjusted": query.get("adjusted", "true") == "true",
            "status": self.state.status,
            "request_id": "0123456789abcdef",
            "count": len(rows),
        }
        if rows:
            page["results"] = [
                {"v": v, "vw": o, "o": o, "c": c, "h": h, "l": low, "t": t, "n": 1}
                for t, o, h, low, c, v in rows
            ]
        if last_ms < end_ms:
            next_page = f"/v2/aggs/ticker/{symbol}/range/{multiplier}/{span}/{last_ms + 1}/{end_ms}"
            extra = f"adjusted={query.get('adjusted', 'true')}&limit={limit}&sort=asc"
            page["next_url"] = f"{self.state.url}{next_page}?cursor=bGltaXQ&{extra}"
        return page

    def _columns(self, times):
        return make_vendor_bars(times, self.state.factor)
