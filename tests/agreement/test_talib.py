"""Rows against TA-Lib on real series, which shares nothing with this project."""
# ruff: noqa: F403, F405

import ast
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import talib

from data import LoadOptions, load_bars
from strategy import words
from strategy.language import Term
from strategy.words import *
from tests.support.agreement import (
    Suite,
    compute_row,
    describe_bound,
    group_rows,
    measure_distance,
)
from tests.support.worlds import make_bars

SEED = "theirs begins with other values, which fade"
EMPTY = "0 there where the range is empty, unknown here"

move = momentum(close, 1)
plus, minus = plus_di(14), minus_di(14)
mean, line = sma(close, 14), lsma(close, 14)
slope = (line - mean) / 6.5
turns = bars_since_lowest(low, 15) - bars_since_highest(high, 15)
before = lag(close, 1)
reached = close - minimum(low, before)
room = maximum(high, before) - minimum(low, before)


def compute_close_shares(n):
    """Share of the true range that closes reached, of n bars."""
    return sma(reached, n) / sma(room, n)


ultimate = 100 * (
    (4 * compute_close_shares(7) + 2 * compute_close_shares(14) + compute_close_shares(28)) / 7
)


@dataclass(frozen=True)
class Case:
    """A function of TA-Lib and what it is here."""

    function: str  # its name there
    row: Term
    reads: str  # first letters of the columns that it takes
    numbers: tuple[float, ...] = ()  # that it takes behind them
    within: float = 0.0  # relative above 1; 0 is every bit
    start: int = 0  # first bar that is compared
    rule: str = ""
    differs: bool = False  # whether values differ for that rule
    output: int = 0  # which of its rows

    def theirs(self, bars):
        """Its values."""
        names = {name[0]: name for name in ("open", "high", "low", "close", "volume")}
        columns = [getattr(bars, names[letter]) for letter in self.reads]
        found = getattr(talib, self.function)(*columns, *self.numbers)
        return found[self.output] if isinstance(found, tuple) else found


KAMA = "ours has factors of three digits, 0.602 and 0.064, and begins with the first bar"
ATR = "theirs begins a bar later, without the range of bar 0, which fades"
CMO = "theirs has Wilder's averages; `cmo`, as TradingView, has sums"
MFI = "prices that differ by rounding alone are equal there, and below 1 of money it is 0"
SAR = (
    "theirs moves the stop out of the two bars before it asks whether it was met, ours after, "
    "as TradingView"
)
EQUAL = "of equal extremes the newest counts there, the oldest here, as at TradingView"
STOCH = (14, 3, 0, 3, 0)

CASES = (
    Case("SMA", sma(close, 20), "c", (20,), 1e-12),
    Case("EMA", ema_mean(close, 20), "c", (20,), 1e-14),
    Case("WMA", wma(close, 21), "c", (21,), 1e-12),
    Case("DEMA", dema(close, 20), "c", (20,), 1e-14),
    Case("TEMA", tema(close, 20), "c", (20,), 1e-14),
    Case("TRIMA", sma(sma(close, 11), 10), "c", (20,), 1e-12),
    Case("KAMA", kama(close, 20), "c", (20,), 1e-2, 20, KAMA, differs=True),
    Case("MACD", macd(close), "c", (), 1e-11, 400, SEED),
    Case("MACD", macd_signal(close), "c", (), 1e-11, 400, SEED, output=1),
    Case("MACD", macd_histogram(close), "c", (), 1e-11, 400, SEED, output=2),
    Case("APO", macd(close), "c", (12, 26, 1), 1e-12),
    Case("PPO", 100 * (macd(close) / ema_mean(close, 26)), "c", (12, 26, 1), 1e-12),
    Case("BBANDS", bollinger_upper(close), "c", (20, 2, 2), 1e-11),
    Case("BBANDS", bollinger_lower(close), "c", (20, 2, 2), 1e-11, output=2),
    Case("STDDEV", std(close, 20), "c", (20,), 1e-9),
    Case("VAR", std(close, 20) * std(close, 20), "c", (20,), 1e-9),
    Case("RSI", rsi(close, 14), "c", (14,), 1e-11, 0, EMPTY),
    Case("STOCHF", stoch(14), "hlc", (14, 1, 0), 0, 0, EMPTY),
    Case("STOCH", sma(stoch(14), 3), "hlc", STOCH, 1e-11, 17, EMPTY),
    Case("STOCH", sma(sma(stoch(14), 3), 3), "hlc", STOCH, 1e-11, 0, EMPTY, output=1),
    Case("STOCHRSI", stoch_rsi(close, 14), "c", (14, 14, 1, 0), 1e-11, 0, EMPTY),
    Case("WILLR", williams_r(14), "hlc", (14,), 1e-12, 0, EMPTY),
    Case("ATR", atr_wilder(14), "hlc", (14,), 1e-11, 600, ATR),
    Case("NATR", 100 * (atr_wilder(14) / close), "hlc", (14,), 1e-11, 600, "as ATR"),
    Case("TRANGE", true_range, "hlc", (), 0, 1, "theirs is unknown at bar 0"),
    Case("ADX", adx(14), "hlc", (14,), 1e-11, 800, SEED),
    Case("ADXR", (adx(14) + lag(adx(14), 13)) / 2, "hlc", (14,), 1e-11, 800, SEED),
    Case("DX", 100 * (abs(plus - minus) / (plus + minus)), "hlc", (14,), 1e-11, 800, SEED),
    Case("PLUS_DI", plus, "hlc", (14,), 1e-11, 800, SEED),
    Case("MINUS_DI", minus, "hlc", (14,), 1e-11, 800, SEED),
    Case("OBV", obv(), "cv"),
    Case("AD", accumulation(), "hlcv", (), 1e-9),
    Case("AROON", (100 / 14) * (14 - bars_since_lowest(low, 15)), "hl", (14,), 0, 0, EQUAL, True),
    Case("AROONOSC", (100 / 14) * turns, "hl", (14,), 0, 0, EQUAL, differs=True),
    Case("CORREL", correlation(high, low, 30), "hl", (30,), 1e-7),
    Case("SQRT", square_root(close), "c"),
    Case("MOM", momentum(close, 10), "c", (10,)),
    Case("ROC", 100 * roc(close, 10), "c", (10,), 1e-12),
    Case("ROCP", roc(close, 12), "c", (12,)),
    Case("ROCR", close / lag(close, 10), "c", (10,)),
    Case("ROCR100", 100 * (close / lag(close, 10)), "c", (10,)),
    Case("MAX", highest(high, 55), "h", (55,)),
    Case("MIN", lowest(low, 55), "l", (55,)),
    Case("SUM", 20 * sma(close, 20), "c", (20,), 1e-12),
    Case("CCI", cci(hlc3, 20), "hlc", (20,), 1e-9),
    Case("CMO", 100 * (rma(move, 14) / rma(abs(move), 14)), "c", (14,), 1e-11, 0, CMO),
    Case("MFI", mfi(14), "hlcv", (14,), 1e-9, 0, MFI, differs=True),
    Case("SAR", sar(2, 2, 20), "hl", (0.02, 0.2), 1e-11, 0, SAR, differs=True),
    Case("TRIX", trix(close, 15), "c", (15,), 1e-12),
    Case("LINEARREG", line, "c", (14,), 1e-11),
    Case("LINEARREG_SLOPE", slope, "c", (14,), 1e-8),
    Case("LINEARREG_INTERCEPT", 2 * mean - line, "c", (14,), 1e-11),
    Case("TSF", line + slope, "c", (14,), 1e-11),
    Case("MIDPRICE", donchian_middle(14), "hl", (14,)),
    Case("MIDPOINT", (highest(close, 14) + lowest(close, 14)) / 2, "c", (14,)),
    Case("AVGPRICE", ohlc4, "ohlc", (), 1e-14),
    Case("MEDPRICE", hl2, "hl"),
    Case("TYPPRICE", hlc3, "hlc"),
    Case("WCLPRICE", (high + low + 2 * close) / 4, "hlc"),
    Case("BOP", (close - open) / (high - low), "ohlc", (), 0, 0, EMPTY),
    Case("ULTOSC", ultimate, "hlc", (), 1e-12),
)

SERIES = ("btcusdt_1h", "spy_1m", "made")


def read_series(real_folder, name):
    """Bars of a real series."""
    return load_bars(f"parquet:{real_folder / name}.parquet", LoadOptions(dedupe=True))


def compare_values(case, bars):
    """Ours and theirs of a case from its first bar on; an empty range has no value in either."""
    ours, theirs = compute_row(case.row, bars)[case.start :], case.theirs(bars)[case.start :]
    if case.rule == EMPTY:
        theirs = np.where(np.isnan(ours), np.nan, theirs)
    return ours, theirs


SHORT = 40
"""Letters of a row that the page shows."""


def list_rows():
    """Row of each case as it is written above, or its formula where that names a part of here."""
    nodes = ast.walk(ast.parse(Path(__file__).read_text()))
    calls = [x for x in nodes if isinstance(x, ast.Call) and ast.unparse(x.func) == "Case"]
    rows = (call.args[1] for call in sorted(calls, key=lambda call: call.lineno))
    for case, row in zip(CASES, rows, strict=True):
        names = {node.id for node in ast.walk(row) if isinstance(node, ast.Name)}
        yield ast.unparse(row) if names <= {*words.__all__, "abs"} else repr(case.row)


def measure(real_folder):
    """The suite, on the first series; a function is equal where all its columns are."""
    bars = read_series(real_folder, SERIES[0])
    rows, equal = [], {}
    for case, row in zip(CASES, list_rows(), strict=True):
        is_equal = measure_distance(*compare_values(case, bars)) <= case.within and not case.differs
        equal[case.function] = equal.get(case.function, True) and is_equal
        near = describe_bound(case.within) if is_equal else "no"
        rule = f"from bar {case.start}: {case.rule}" if case.start else case.rule
        words = f": `{row}`" if len(row) <= SHORT else ""
        rows.append((f"`{case.function}`{words}", near, rule))
    return Suite(
        "TA-Lib",
        "functions",
        len(talib.get_functions()),
        len(equal),
        sum(equal.values()),
        "61 are shapes of candles; cycles, ranks and plain mathematics need an `@indicator`",
        ("function: words here", "equal within", "difference"),
        group_rows(rows),
    )


@pytest.fixture(scope="module", params=SERIES)
def bars(request):
    """Bars of a real series, or of one that a program made."""
    if request.param == "made":
        return make_bars(5, 10_000, jump=0.05)
    return read_series(request.getfixturevalue("real_folder"), request.param)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.function}-{case.row!r}"[:40])
def test_a_function_is_ours(case, bars):
    """As near as stated, and known at the same bars."""
    ours, theirs = compare_values(case, bars)
    assert np.isfinite(ours).mean() > 0.9
    if not case.differs:
        assert measure_distance(ours, theirs) <= case.within


def find_case(function):
    """The one case of a function."""
    (case,) = [case for case in CASES if case.function == function]
    return case


def test_kama_has_factors_of_three_digits(bars):
    """So that it lies a hundredth away at most, and seldom at the same place."""
    ours, theirs = compare_values(find_case("KAMA"), bars)
    assert 1e-6 < measure_distance(ours, theirs) < 1e-2
