"""Rows of sessions and higher bars against pandas, which shares nothing with this project."""
# ruff: noqa: F403, F405

import numpy as np
import pandas as pd
import pytest

from data import LoadOptions, load_bars
from strategy.rows import Rows
from strategy.series import Series
from strategy.words import *
from tests.support.references import FORMS


@pytest.fixture(scope="module", params=["btcusdt_1h", "spy_1m", "bifiusdt_5m"])
def real(request, real_folder):
    """Bars of a real series, and a row's values on them."""
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


def frame(bars):
    """Bars in a table of pandas, by the time at which they open."""
    columns = {name: getattr(bars, name) for name in ("high", "low", "close", "volume")}
    return pd.DataFrame(columns, index=pd.to_datetime(bars.timestamp, unit="ns", utc=True))


def test_sessions_equal_pandas(real):
    """The session's average price to 1e-12; minutes and days in every bit, in a place too."""
    bars, message = real
    table = frame(bars)
    day = table.index.normalize()
    traded = (table["high"] + table["low"] + table["close"]) / 3 * table["volume"]
    sums = traded.groupby(day).cumsum() / table["volume"].groupby(day).cumsum()
    expected = np.where(day == day[0], np.nan, sums)
    assert largest_difference(message(vwap(0)), expected) <= 1e-12
    for offset, zone in ((0, "UTC"), ("America/New_York", "America/New_York")):
        local = table.index.tz_convert(zone)
        minutes = np.asarray(local.hour * 60 + local.minute, np.float64)
        np.testing.assert_array_equal(message(minute_of_day(offset)), minutes)
        days = np.asarray(local.day_of_week, np.float64)
        np.testing.assert_array_equal(message(day_of_week(offset)), days)


@pytest.mark.parametrize(("minutes", "rule"), [(240, "240min"), (1440, "1D"), (10_080, "W-MON")])
def test_higher_closes_equal_pandas(real, minutes, rule):
    """The last close of each period that has ended, but the first."""
    bars, message = real
    closes = frame(bars)["close"].resample(rule, closed="left", label="right").last().dropna()
    ends = closes.index.as_unit("ns").asi8
    newest = np.searchsorted(ends, bars.timestamp + bars.timeframe_ns, side="right") - 1
    expected = np.where(newest < 1, np.nan, closes.to_numpy()[np.maximum(newest, 0)])
    np.testing.assert_array_equal(message(higher(minutes, close)), expected)
