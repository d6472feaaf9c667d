"""freqtrade without a network: a list of one market stands in for that of the exchange.

A program of its own, for the Python that freqtrade is installed in.
"""

import sys

from freqtrade.exchange import Exchange
from freqtrade.main import main

LIMIT = {"min": None, "max": None}

MARKET = {
    "id": "BTCUSDT", "symbol": "BTC/USDT", "base": "BTC", "quote": "USDT", "active": True,
    "type": "spot", "spot": True, "swap": False, "future": False, "margin": False,
    "contract": False, "linear": None, "contractSize": None, "maker": 0.001, "taker": 0.001,
    "precision": {"amount": 1e-8, "price": 1e-8}, "info": {},
    "limits": dict.fromkeys(("amount", "price", "cost", "leverage"), LIMIT),
}  # fmt: skip


async def load_markets(self, reload=False):
    """Load the one market, as `Exchange._api_reload_markets`."""
    return self._api_async.set_markets([MARKET])


Exchange._api_reload_markets = load_markets

if __name__ == "__main__":
    main(sys.argv[1:])
