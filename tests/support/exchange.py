"""A fake exchange on loopback that speaks as much of Binance's protocol as bars need."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import ccxt

from tests.support.series import START_NS, make_columns

START_MS = START_NS // 10**6
HOUR_MS = 3_600_000


class FakeExchange:
    """Hourly bars of one market, and a list of faults to answer with first.

    Args:
        count: Bars that the market has, from 2024 on.
        hole: First and last number of bars that are missing.
    """

    def __init__(self, count, hole=(0, 0)):
        columns = make_columns(count, step_ns=HOUR_MS * 10**6)
        names = ("open", "high", "low", "close", "volume")
        self.rows = [
            [START_MS + HOUR_MS * i, *(repr(float(columns[name][i])) for name in names)]
            for i in range(count)
            if not hole[0] <= i < hole[1]
        ]
        self.asked = []
        self.faults = []

    def answer(self, path, query):
        """Status and object for a request."""
        if path.endswith("/exchangeInfo"):
            return 200, {"symbols": [MARKET]}
        if self.faults:
            return self.faults.pop(0)
        since, limit = int(query["startTime"][0]), int(query["limit"][0])
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
            status, answer = fake.answer(address.path, parse_qs(address.query))
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def open_exchange(_):
        client = ccxt.binance({"options": {"fetchMarkets": {"types": ["spot"]}}, "timeout": 2000})
        client.urls["api"]["public"] = f"http://127.0.0.1:{server.server_port}/api/v3"
        client.options["fetchCurrencies"] = False
        client.has["fetchCurrencies"] = False
        return client

    try:
        yield open_exchange
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


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
