"""Symbols to scan, and the law of a row, section by section, bar by bar."""

from dataclasses import replace

import numpy as np

from data import LoadOptions, load_bars
from optimizer.trend_scan.params import ScanParams
from optimizer.trend_scan.scan import Ways, scan_series
from tests.support.worlds import make_bars

DEFAULTS = ScanParams({})
BOUNDS = (DEFAULTS.high, DEFAULTS.low)

REAL = ("aapl_1h", "bifiusdt_5m", "btcusdt_1h", "gbpjpy_1h", "spy_1m", "uniusdt_15m")
PIECES = (17, 17, 17, 16, 16, 16)
PIECE_BARS = 1500


def symbol(name="AAA", length=400, seed=1):
    """A small market with a name."""
    return replace(make_bars(seed, length, jump=0.05), symbol=name)


def scan_markets(*series, question=DEFAULTS, **ways):
    """A scan of some series that keeps nothing without a folder."""
    return scan_series(series, question, Ways(**ways))


def real_series(folder):
    """The six real series, exact duplicates dropped, by name."""
    options = LoadOptions(dedupe=True)
    return {name: load_bars(f"parquet:{folder / name}.parquet", options) for name in REAL}


def pieces(folder):
    """The law's 99 symbols: pieces of 1,500 bars, one after the other from bar 0."""
    for (name, bars), count in zip(real_series(folder).items(), PIECES, strict=True):
        for nth in range(count):
            start = PIECE_BARS * nth
            yield bars.cut(start, start + PIECE_BARS, symbol=f"{name}#{nth:02d}")


def list_bits(found):
    """All values of a scan, bit by bit, by symbol."""
    return {
        name: tuple(
            np.asarray(column).tobytes()
            for column in (row.trend, row.votes, row.classes, row.directions)
        )
        for name, row in found.rows.items()
    }
