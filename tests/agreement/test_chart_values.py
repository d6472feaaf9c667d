"""Values of indicators that TradingView exported, as PyneCore publishes them, column by column."""
# ruff: noqa: F403, F405

import re

import numpy as np
import pandas as pd
import pytest

from data.bars import Bars
from strategy.indicators.oscillators import mfi as compute_mfi
from strategy.words import *
from tests.support.agreement import (
    Suite,
    compute_row,
    describe_bound,
    group_rows,
    measure_distance,
)

PRICES = ("time", "open", "high", "low", "close", "Volume", "hl2")
"""Columns of a file that are no values of an indicator."""

HOUR_NS = 3600 * 10**9
UNKNOWN = 1e99
"""Numbers beyond it stand for an unknown value in one file."""


quick, slow, trend = ema_mean(close, 5), ema_mean(close, 11), ema_mean(close, 20)
line = lsma(close, 20)
day_high, day_low, day_close = (higher(1440, row, 120) for row in (high, low, close))
pivot, day_range = higher(1440, hlc3, 120), day_high - day_low
plus, minus = plus_di(17), minus_di(17)
CROSSED = (crosses_above(quick, slow), crosses_below(quick, slow))


CAMARILLA = day_range * 1.1 / 2
SWMA = (lag(hlc3, 3) + 2 * lag(hlc3, 2) + 2 * lag(hlc3, 1) + hlc3) / 6

WILLIAMS = where(
    close > lag(close, 1),
    close - minimum(low, lag(close, 1)),
    where(close < lag(close, 1), close - maximum(high, lag(close, 1)), 0),
)

VALUES = {
    "accdist+pvi+pvt+wad+wvad": {
        "ta.accdist": (accumulation(), 0), "ta.pvt": (price_volume_trend(), 0),
        "ta.wad": (total(WILLIAMS), 0), "ta.wvad": ((close - open) / (high - low) * volume, 0),
    },
    "bb": {
        "ta.bb(close, 20, 2).base": (sma(close, 20), 1e-14),
        "ta.bb(close, 20, 2).upper": (bollinger_upper(close, 20, 2), 1e-11),
        "ta.bb(close, 20, 2).lower": (bollinger_lower(close, 20, 2), 1e-11),
        "ta.bbw(close, 20, 2.1)": (bollinger_width(close, 20, 2.1), 1e-8),
    },
    "cci+cmo+cog": {
        "ta.cmo(close, 20)": (cmo(close, 20), 1e-13),
        "ta.cci(close, 20)": (cci(close, 20), 1e-10),
        "ta.cog(close, 21)": (gravity(close, 21), 1e-13),
    },
    "cross": {
        "ta.cross(ema1, ema2)": (any_of(*CROSSED), 0),
        "ta.crossover(ema1, ema2)": (CROSSED[0], 0),
        "ta.crossunder(ema1, ema2)": (CROSSED[1], 0),
    },
    "dmi": {
        "ta.dmi(17, 14).dip": (plus, 1e-14), "ta.dmi(17, 14).dim": (minus, 1e-14),
        "ta.dmi(17, 14).adx": (rma(100 * (abs(plus - minus) / (plus + minus)), 14), 1e-14),
    },
    "falling+rising": {
        "ta.falling(ema, 5)": (held(trend < lag(trend, 1), 5), 0),
        "ta.rising(ema, 5)": (held(trend > lag(trend, 1), 5), 0),
    },
    "highest+lowest": {
        "ta.highest(10)": (highest(high, 10), 0),
        "ta.highest(close, 10)": (highest(close, 10), 0),
        "ta.lowest(10)": (lowest(low, 10), 0), "ta.lowest(close, 10)": (lowest(close, 10), 0),
        "ta.highestbars(10)": (-bars_since_highest(high, 10), 0),
        "ta.highestbars(close, 10)": (-bars_since_highest(close, 10), 0),
        "ta.lowestbars(10)": (-bars_since_lowest(low, 10), 0),
        "ta.lowestbars(close, 10)": (-bars_since_lowest(close, 10), 0),
    },
    "iii+nvi+obv": {
        "ta.iii": ((2 * close - high - low) / ((high - low) * volume), 1e-14),
        "ta.obv": (obv(), 0),
    },
    "kc": {
        "ta.kc(close, 20, 2).base": (ema_mean(close, 20), 0),
        "ta.kc(close, 20, 2).upper": (keltner_upper(close, 20, 2), 1e-10),
        "ta.kc(close, 20, 2).lower": (keltner_lower(close, 20, 2), 1e-10),
        "ta.kcw(close, 20, 2.1, useTrueRange=false)": (
            4.2 * (ema_mean(high - low, 20) / ema_mean(close, 20)), 1e-14),
    },
    "linreg": {
        "ta.linreg(close, 20, 0)": (line, 1e-14),
        "ta.linreg(close, 20, 10)": (linreg(close, 20, 10), 1e-14),
    },
    "ma": {
        "ta.sma(close, 10)": (sma(close, 10), 1e-14), "ta.sma(hl2, 20)": (sma(hl2, 20), 1e-14),
        "ta.sma(hlc3, 15)": (sma(hlc3, 15), 1e-14), "ta.ema(close, 20)": (trend, 0),
        "ta.ema(ohlc4, 10)": (ema_mean(ohlc4, 10), 0),
        "ta.rma(hlcc4, 5)": (rma((high + low + close + close) / 4, 5), 1e-14),
        "ta.rma(high, 15)": (rma(high, 15), 1e-14),
        "ta.alma(close, 5, 0.85, 6)": (alma(close, 5, 0.85, 6), 1e-14),
        "ta.alma(close, 10, 0.55, 12)": (alma(close, 10, 0.55, 12), 1e-14),
        "ta.wma(close, 5)": (wma(close, 5), 1e-14), "ta.wma(close, 20)": (wma(close, 20), 1e-14),
        "ta.hma(close, 9)": (hma(close, 9), 1e-14), "ta.hma(close, 20)": (hma(close, 20), 1e-14),
        "ta.swma(hlc3)": (SWMA, 1e-14), "ta.vwma(close, 20)": (vwma(close, 20), 1e-14),
    },
    "macd": {
        "ta.macd(close, 12, 26, 9).macd": (macd(close, 12, 26), 0),
        "ta.macd(close, 12, 26, 9).signal": (macd_signal(close, 12, 26, 9), 0),
        "ta.macd(close, 12, 26, 9).hist": (macd_histogram(close, 12, 26, 9), 0),
    },
    "mfi+rsi+stoch": {
        "ta.rsi(close, 14)": (rsi(close, 14), 1e-14),
        "ta.stoch(close, high, low, 20)": (stoch(20), 1e-14),
    },
    "min+max+median+mode": {"median(close)": (median(close, 20), 0)},
    "pivot": {
        "ta.pivothigh(10, 5)": (pivot_high(high, 10, 5), 0),
        "ta.pivothigh(close, 10, 5)": (pivot_high(close, 10, 5), 0),
        "ta.pivotlow(10, 5)": (pivot_low(low, 10, 5), 0),
        "ta.pivotlow(close, 10, 5)": (pivot_low(close, 10, 5), 0),
    },
    "ppp": {"ta.percentrank(close, 33)": (percent_rank(close, 33), 0)},
    "rci": {
        "ta.rci(close, 5)": (rank_correlation(close, 5), 1e-14),
        "ta.rci(close, 20)": (rank_correlation(close, 20), 1e-14),
    },
    "pivot_point_levels": {
        "P_trad": (pivot, 0),
        "R1_trad": (2 * pivot - day_low, 0), "S1_trad": (2 * pivot - day_high, 0),
        "R2_trad": (pivot + day_range, 0), "S2_trad": (pivot - day_range, 0),
        "R3_trad": (2 * pivot + (day_high - 2 * day_low), 0),
        "S3_trad": (2 * pivot - (2 * day_high - day_low), 0),
        "P_fib": (pivot, 0),
        "R1_fib": (pivot + 0.382 * day_range, 0), "S1_fib": (pivot - 0.382 * day_range, 0),
        "P_cam": (pivot, 0), "R4_cam": (day_close + CAMARILLA, 0),
        "S4_cam": (day_close - CAMARILLA, 0),
    },
    "range": {"ta.range(close, 20)": (highest(close, 20) - lowest(close, 20), 0)},
    "sar": {"ta.sar(0.02, 0.02, 0.2)": (sar(2, 2, 20), 0)},
    "supertrend": {
        "ta.supertrend(3, 10).up": (supertrend(10, 30), 0),
        "ta.supertrend(3, 10).down": (supertrend(10, 30), 0),
    },
    "tr": {
        "ta.tr(false)": (true_range, 0), "ta.tr(true)": (true_range, 0), "ta.tr": (true_range, 0),
        "ta.atr(14)": (atr_wilder(14), 1e-14),
    },
    "tsi": {"ta.tsi(close, 12, 26)": (tsi(close, 12, 26), 1e-14)},
    "wpr": {"ta.wpr(20)": (williams_r(20), 1e-14)},
}  # fmt: skip
"""By file and column: what it is in words, and how near its values are, relative above 1."""

FIRST_RANGE = "theirs begins a bar later, without the range of bar 0"
RULES = {
    "ta.obv": "theirs is unknown at bar 0 and leaves out its volume: apart by that everywhere",
    "ta.kc(close, 20, 2).upper": FIRST_RANGE,
    "ta.kc(close, 20, 2).lower": FIRST_RANGE,
    "ta.tr(false)": "theirs is unknown at bar 0",
    "ta.wad": "theirs is 0 at bar 0, ours unknown",
    "ta.tr": "theirs is unknown at bar 0",
}
"""Why columns differ."""

NOTES = {
    **dict.fromkeys(VALUES["pivot_point_levels"], "as P_trad"),
    **dict.fromkeys(VALUES["rci"], "theirs begins a bar later"),
    "median(close)": "of 20 bars",
    "P_trad": "ours ends the day with its last bar, theirs with the first of the next; compared on "
    "the bars of winter, whose days end at 22:00 UTC",
}
"""What is to be known of columns that are equal."""


def read_values(path):
    """Bars [T] of a file and its columns by name."""
    table = pd.read_csv(path)
    stamps = table["time"].to_numpy(np.int64) * 10**9
    columns = [
        table[name].to_numpy(np.float64) for name in ("open", "high", "low", "close", "Volume")
    ]
    bars = Bars(stamps, *columns, symbol="EURUSD", timeframe_ns=int(np.diff(stamps).min()))
    return bars, table.drop(columns=[name for name in PRICES if name in table])


def compare_column(name, column, bars, theirs):
    """Values of one column that can be compared, ours and theirs."""
    row, _ = VALUES[name][column]
    ours = compute_row(row, bars)
    if name in ("cross", "falling+rising"):
        return ours, (theirs != 0).astype(float)
    if name == "rci":
        # Theirs begins a bar later.
        first = np.flatnonzero(~np.isnan(ours))[0] + 1
        return ours[first:], theirs[first:]
    if name == "supertrend":
        rises = compute_row(supertrend_side(10, 30), bars) == (1 if column.endswith("up") else -1)
        # Their lower band is 0 at bar 0.
        return np.where(rises, ours, np.nan)[1:], theirs[1:]
    if name == "pivot_point_levels":
        local = pd.to_datetime(bars.timestamp, utc=True).tz_convert("America/New_York")
        is_last = np.append(np.diff(bars.timestamp) > bars.timeframe_ns, False) | (
            (local.hour == 16) & (local.minute == 30)
        )
        is_winter = np.array([moment.dst().total_seconds() == 0 for moment in local])
        kept = is_winter & ~is_last & ~np.isnan(ours) & (theirs < UNKNOWN)
        return ours[kept], theirs[kept]
    return ours, theirs


def is_equal(name, column, bars, theirs):
    """Whether a column is ours, as near as in `VALUES`."""
    return measure_distance(*compare_column(name, column, bars, theirs)) <= VALUES[name][column][1]


def measure(agree_folder):
    """The suite."""
    cases, rows = 0, []
    for path in sorted((agree_folder / "indicators").glob("*.csv")):
        bars, columns = read_values(path)
        cases += len(columns.columns)
        for column, (_, within) in VALUES.get(path.stem, {}).items():
            equal = is_equal(path.stem, column, bars, columns[column].to_numpy(float))
            near = describe_bound(within) if equal else "no"
            short = re.sub(r"\([^)]*[,\d][^)]*\)", "", column)
            rows.append((f"`{short}`", near, RULES.get(column, NOTES.get(column, ""))))
    equal = sum(near != "no" for _, near, _ in rows)
    head = ("columns", "equal within", "difference")
    rule = "indices that compound, modes and values of scripts that are not published"
    groups = group_rows(dict.fromkeys(rows))
    return Suite("TradingView, values", "columns", cases, len(rows), equal, rule, head, groups)


CASES = [(name, column) for name, columns in VALUES.items() for column in columns]


@pytest.fixture(scope="module")
def published_table(agree_folder):
    """Bars and columns of a file, each read once."""
    known = {}

    def read(name):
        if name not in known:
            known[name] = read_values(agree_folder / "indicators" / f"{name}.csv")
        return known[name]

    return read


@pytest.mark.parametrize(("name", "column"), CASES, ids=lambda part: part)
def test_a_column_is_ours(name, column, published_table):
    """Known at the same bars, and as near as stated; those that are not are named with a rule."""
    bars, columns = published_table(name)
    theirs = columns[column].to_numpy(np.float64)
    ours, kept = compare_column(name, column, bars, theirs)
    assert np.isfinite(ours).sum() > 10
    if column not in RULES:
        assert measure_distance(ours, kept) <= VALUES[name][column][1]


def test_what_differs_follows_its_rule(published_table):
    """A volume, a bar, or an average that begins a bar later and forgets it."""
    bars, columns = published_table("iii+nvi+obv")
    apart = compute_row(obv(), bars) - columns["ta.obv"]
    assert set(apart[1:]) == {bars.volume[0]}
    bars, columns = published_table("tr")
    for column in ("ta.tr", "ta.tr(false)"):
        assert np.isnan(columns[column][0])
        assert measure_distance(compute_true_ranges(bars), columns[column].to_numpy(), start=1) == 0
    bars, columns = published_table("kc")
    for column in ("ta.kc(close, 20, 2).upper", "ta.kc(close, 20, 2).lower"):
        ours, theirs = compute_row(VALUES["kc"][column][0], bars), columns[column].to_numpy()
        assert 1e-6 < measure_distance(ours, theirs, start=20) < 1e-3
        assert measure_distance(ours, theirs, start=149) < 1e-9


def compute_true_ranges(bars):
    """True ranges of bars."""
    return compute_row(true_range, bars)


def test_money_flow_of_closes_begins_with_bar_0_there(published_table):
    """Their first money counts as one that rose; from the bar after its window on all is equal."""
    bars, columns = published_table("mfi+rsi+stoch")
    ours, theirs = compute_mfi(bars.close, bars.volume, 14), columns["ta.mfi(close, 14)"].to_numpy()
    assert not np.isnan(theirs[13])
    assert measure_distance(ours, theirs, start=14) <= 1e-14
