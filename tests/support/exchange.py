"""A fake exchange on loopback that speaks as much of Binance's protocol as bars need."""

import json
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import ccxt

from tests.support.series import START_NS, make_columns

START_MS = START_NS // 10**6
HOUR_MS = 3_600_000


class FakeExchange:
    """Bars of one market, and a list of faults to answer with first.

    Args:
        count: Bars that the market has, from 2024 on.
        hole: First and last number of bars that are missing.
        cap: Bars of an answer at most.
        step_ms: Duration of a bar.
    """

    def __init__(self, count, hole=(0, 0), cap=1000, step_ms=HOUR_MS):
        columns = make_columns(count, step_ns=step_ms * 10**6)
        names = ("open", "high", "low", "close", "volume")
        self.rows = [
            [START_MS + step_ms * i, *(repr(float(columns[name][i])) for name in names)]
            for i in range(count)
            if not hole[0] <= i < hole[1]
        ]
        self.cap, self.asked = cap, []
        self.faults = []

    def answer(self, path, query):
        """Status and object for a request, and headers where it fails with some."""
        if path.endswith("/exchangeInfo"):
            return 200, {"symbols": [MARKET]}
        if self.faults:
            return self.faults.pop(0)
        since, limit = int(query["startTime"][0]), min(int(query["limit"][0]), self.cap)
        self.asked.append(since)
        page = [row for row in self.rows if row[0] >= since][:limit]
        return 200, [[*row, row[0] + HOUR_MS - 1, "1", 1, "1", "1", "0"] for row in page]


@contextmanager
def serve_exchange(fake):
    """The fake at work; gives a function that opens ccxt's own client of it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            """Answer as the fake does."""
            address = urlsplit(self.path)
            status, answer, *more = fake.answer(address.path, parse_qs(address.query))
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            for header in more:
                self.send_header(*header)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    try:
        yield partial(open_binance, port=server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def open_binance(_, port):
    """The real client of an exchange that answers on loopback."""
    client = ccxt.binance({"options": {"fetchMarkets": {"types": ["spot"]}}, "timeout": 2000})
    client.urls["api"]["public"] = f"http://127.0.0.1:{port}/api/v3"
    client.options["fetchCurrencies"] = False
    client.has["fetchCurrencies"] = False
    return client


MARKET = {
    "symbol": "BTCUSDT",
    "status": "TRADING",
    "baseAsset": "BTC",
    "baseAssetPrecision": 8,
    "quoteAsset": "USDT",
    "quotePrecision": 8,
    "quoteAssetPrecision": 8,
    "orderTypes": ["LIMIT"],
    "isSpotTradingAllowed": True,
    "isMarginTradingAllowed": False,
    "permissions": ["SPOT"],
    "permissionSets": [["SPOT"]],
    "filters": [
        {"filterType": "PRICE_FILTER", "minPrice": "0.01", "maxPrice": "1e6", "tickSize": "0.01"},
        {"filterType": "LOT_SIZE", "minQty": "0.00001", "maxQty": "9e3", "stepSize": "0.00001"},
    ],
}
