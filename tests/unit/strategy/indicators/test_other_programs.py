"""Rows against TA-Lib and pandas on real series, which share nothing with this project."""
# ruff: noqa: F403, F405

import numpy as np
import pandas as pd
import pytest
import talib

from data import LoadOptions, load_bars
from strategy.rows import Rows
from strategy.series import Series
from strategy.words import *
from tests.support.references import FORMS


@pytest.fixture(scope="module", params=["btcusdt_1h", "spy_1m", "bifiusdt_5m"])
def real(request, real_folder):
    """Bars of a real series, and what a row says on them."""
    spec = f"parquet:{real_folder / request.param}.parquet"
    bars = load_bars(spec, LoadOptions(dedupe=True))
    rows = Rows(Series.of(bars), FORMS["compiled_reference"])
    return bars, lambda row: rows.values(row.tree, {})


def largest_difference(found, expected, start=0):
    """Relative to the value where that is above 1; where one is unknown, both must be."""
    found, expected = found[start:], expected[start:]
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    known = ~np.isnan(found)
    scale = np.maximum(np.abs(expected[known]), 1.0)
    return float((np.abs(found[known] - expected[known]) / scale).max())


def test_exact_rows_equal_talib(real):
    """Extremes, rate of change and on-balance volume in every bit."""
    bars, said = real
    pairs = (
        (said(highest(high, 55)), talib.MAX(bars.high, 55)),
        (said(lowest(low, 55)), talib.MIN(bars.low, 55)),
        (said(roc(close, 12)), talib.ROCP(bars.close, 12)),
        (said(obv()), talib.OBV(bars.close, bars.volume)),
    )
    for found, expected in pairs:
        assert largest_difference(found, expected) == 0.0


def test_stochastics_equal_talib_where_they_are_known(real):
    """An empty range is 0 there, and unknown here."""
    bars, said = real
    found = said(stoch(14))
    fast, _ = talib.STOCHF(bars.high, bars.low, bars.close, 14, 1, 0)
    known = ~np.isnan(found)
    np.testing.assert_allclose(found[known], fast[known], rtol=0, atol=1e-12)


def test_averages_equal_talib(real):
    """Up to the drift of its running sums."""
    bars, said = real
    close_prices = bars.close
    assert largest_difference(said(sma(close, 20)), talib.SMA(close_prices, 20)) <= 1e-10
    assert largest_difference(said(wma(close, 21)), talib.WMA(close_prices, 21)) <= 1e-9
    upper, _, _ = talib.BBANDS(close_prices, 20, 2, 2)
    assert largest_difference(said(sma(close, 20) + 2 * std(close, 20)), upper) <= 1e-5


def test_strength_equals_talib(real):
    """But where nothing has moved, which is 0 there."""
    bars, said = real
    found = said(rsi(close, 14))
    known = ~np.isnan(found)
    assert known.mean() > 0.99
    assert largest_difference(found[known], talib.RSI(bars.close, 14)[known]) <= 1e-11


def test_rows_of_other_seeds_equal_talib_after_a_while(real):
    """MACD, Wilder's range, directional movement: TA-Lib begins them otherwise."""
    bars, said = real
    prices = bars.high, bars.low, bars.close
    line = ema(close, 12) - ema(close, 26)
    macd, signal, _ = talib.MACD(bars.close, 12, 26, 9)
    pairs = (
        (said(line), macd, 900, 1e-11),
        (said(ema(line, 9)), signal, 900, 1e-11),
        (said(rma(true_range, 14)), talib.ATR(*prices, 14), 900, 1e-11),
        (said(plus_di(14)), talib.PLUS_DI(*prices, 14), 900, 1e-9),
        (said(minus_di(14)), talib.MINUS_DI(*prices, 14), 900, 1e-9),
        (said(adx(14)), talib.ADX(*prices, 14), 1200, 1e-9),
    )
    for found, expected, start, allowed in pairs:
        assert largest_difference(found, expected, start) <= allowed


def frame(bars):
    """Bars in a table of pandas, by the time at which they open."""
    columns = {name: getattr(bars, name) for name in ("high", "low", "close", "volume")}
    return pd.DataFrame(columns, index=pd.to_datetime(bars.timestamp, unit="ns", utc=True))


def test_sessions_equal_pandas(real):
    """The session's average price to 1e-12; minutes and days in every bit, in a place too."""
    bars, said = real
    table = frame(bars)
    day = table.index.normalize()
    traded = (table["high"] + table["low"] + table["close"]) / 3 * table["volume"]
    sums = traded.groupby(day).cumsum() / table["volume"].groupby(day).cumsum()
    expected = np.where(day == day[0], np.nan, sums)
    assert largest_difference(said(vwap(0)), expected) <= 1e-12
    for offset, zone in ((0, "UTC"), ("America/New_York", "America/New_York")):
        local = table.index.tz_convert(zone)
        minutes = np.asarray(local.hour * 60 + local.minute, np.float64)
        np.testing.assert_array_equal(said(minute_of_day(offset)), minutes)
        days = np.asarray(local.day_of_week, np.float64)
        np.testing.assert_array_equal(said(day_of_week(offset)), days)


@pytest.mark.parametrize(("minutes", "rule"), [(240, "240min"), (1440, "1D"), (10_080, "W-MON")])
def test_higher_closes_equal_pandas(real, minutes, rule):
    """The last close of each period that has ended, but the first."""
    bars, said = real
    closes = frame(bars)["close"].resample(rule, closed="left", label="right").last().dropna()
    ends = closes.index.as_unit("ns").asi8
    newest = np.searchsorted(ends, bars.timestamp + bars.timeframe_ns, side="right") - 1
    expected = np.where(newest < 1, np.nan, closes.to_numpy()[np.maximum(newest, 0)])
    np.testing.assert_array_equal(said(higher(minutes, close)), expected)
