"""Rows of expressions: the law's own bytes, first values, warm-ups, holes, causality."""
# ruff: noqa: F403, F405

import hashlib
import math
from dataclasses import replace

import numpy as np
import pytest

from data import Bars, LoadOptions, load_bars
from data.point_in_time import DatedNumbers
from data.timeframe import MINUTE_NS
from strategy.indicator_registry import KINDS
from strategy.rows import Rows, as_it_reads, count_warm_up, first_value, row_values
from strategy.series import Series
from strategy.words import *
from tests.support.own_words import efficiency
from tests.support.references import FORMS
from tests.support.worlds import make_bars

ROWS = {
    "rma": (rma(close, 14), "f3ee012e7aeb", "50202a66b422"),
    "ema_with_holes": (ema(close_location, 12), "fba4f619a139", "508748900152"),
    "wma": (wma(close, 21), "4a1e279fcca2", "cb237c2ddc41"),
    "std": (std(close, 20), "af43d24f6ffa", "2996cb8f2ddc"),
    "highest": (highest(high, 55), "88bbe91694e1", "a27a1d27e82a"),
    "lowest": (lowest(low, 55), "751fa08e88a7", "35b27c6b661f"),
    "rsi": (rsi(close, 14), "677b6d7d3002", "28a2a5f51757"),
    "stoch": (stoch(14), "76c64e9b7ff9", "db0f8fe2893b"),
    "roc": (roc(close, 12), "d4711fb47797", "58cff2b2884a"),
    "obv": (obv(), "f9548f90f740", "232713b0c286"),
    "vwap": (vwap(0), "7db911a92303", "fec853b753b7"),
    "opening_high": (opening_high(60, 0), "06b86006d52e", "189dedb8bc0c"),
    "opening_low": (opening_low(60, 0), "3fd40c3ea0af", "93c546afc291"),
    "minute_of_day": (minute_of_day(330), "d64f58a9571d", "a5aca2b5ab70"),
    "day_of_week": (day_of_week(330), "2ed30c8885db", "8f2398148f7a"),
    "plus_di": (plus_di(14), "e6cfb0b4b9c6", "2a2f738de370"),
    "minus_di": (minus_di(14), "f5baf907333e", "315d552d979e"),
    "adx": (adx(14), "98e7233bc246", "780183f18931"),
    "swing_high": (swing_high(96, 5), "5f245e9ec8a7", "48f5269f3553"),
    "swing_low": (swing_low(96, 5), "051f1544d4e4", "fba5aa78571a"),
    "bollinger": (sma(close, 20) + 2 * std(close, 20), "03fbc7016bb0", "4479f53616f5"),
    "keltner": (ema(close, 20) + 1.5 * rma(true_range, 20), "d914c3b832c8", "216a47faf454"),
    "macd_line": (ema(ema(close, 12) - ema(close, 26), 9), "a9272ed686d8", "e275f4d754b7"),
    "higher_ema": (higher(240, ema(close, 20)), "3210622a5daf", "348b9dc57414"),
    "higher_rsi": (higher(1440, rsi(close, 5)), "1cac43b007d1", "6334312ef98f"),
    "own": (efficiency(20), "117f33ec29e1", "b20a71bc1337"),
    "dated": (column("dated"), "034db0b2c46d", "83f533fde14d"),
}
"""A row, and the first twelve digits of the SHA-256 of its bytes on two series."""

FIRST = {
    "vwap": (84, 391), "opening_high": (87, 450), "higher_ema": (None, 2737),
    "higher_rsi": (None, 2737), "dated": (5, 89),
}  # fmt: skip
SERIES = ("uniusdt_15m", "spy_1m")


@pytest.fixture(scope="module", params=SERIES)
def real(request, real_folder):
    """A number of the series, and its bars with an extra column."""
    spec = f"parquet:{real_folder / request.param}.parquet"
    bars = load_bars(spec, LoadOptions(dedupe=True))
    return SERIES.index(request.param), with_moves(bars)


def with_moves(bars):
    """With the move of each eighth bar, as if it were known ninety minutes after the open."""
    move = (bars.close - bars.open)[::8]
    dated = DatedNumbers(bars.timestamp[::8] + 90 * MINUTE_NS, move, None)
    return replace(bars, extra={"dated": dated.at_closes(bars, max_age=600)})


def digest(row):
    """Twelve digits of a row's bytes."""
    return hashlib.sha256(row.astype("<f8").tobytes()).hexdigest()[:12]


def test_rows_have_the_published_bytes(real):
    """Every row of the law on two real series, compiled; first values where they are stated."""
    number, bars = real
    rows = Rows(Series.of(bars), FORMS["compiled_reference"])
    digested = {name: digest(rows.values(row.tree, {})) for name, (row, *_) in ROWS.items()}
    assert digested == {name: digests[number] for name, (_, *digests) in ROWS.items()}
    for name, firsts in FIRST.items():
        if firsts[number] is not None:
            assert first_value(rows.values(ROWS[name][0].tree, {})) == firsts[number]


WORLD = with_moves(make_bars(16, 700, flat=0.2, silent=0.1, gaps=0.05, jump=0.05))
OTHERS = {
    "ema_of_one": ema(close, 1), "highest_of_one": highest(high, 1),
    "swing_without_neighbours": swing_high(9, 5), "week": higher(10_080, sma(hl2, 2)),
    "place": vwap("America/New_York"), "own_on_higher": higher(60, efficiency(5)),
    "share": maximum(abs(close - open), minimum(high, low)) / (high - low),
    "negative": -rsi(ohlc4, 3) + roc(hlc3, 2), "cci": cci(hlc3, 20), "mfi": mfi(14),
    "sar": sar(2, 2, 20), "sar_of_one_speed": sar(5, 0, 5), "supertrend": supertrend(10, 30),
    "supertrend_side": supertrend_side(5, 15), "tsi": tsi(close, 5, 9),
    "heikin": heikin_high() - heikin_low(),
    "sign": sign(close - open), "root": square_root(volume), "total": total(true_range),
    "rest": modulo(close, 7),
    "kept": last_known(close_location), "hole": bars_unknown(close_location),
    "filled": filled(close_location, -2), "either": known_or(close_location, open),
    "percentile": percentile(close, 9, 30), "percent_rank": percent_rank(volume, 9),
    "rank_correlation": rank_correlation(close, 9), "since_high": bars_since_highest(high, 9),
    "since_low": bars_since_lowest(low, 9), "turn": value_when(close > open, pivot_low(low, 3, 2)),
}  # fmt: skip
ALL = {**{name: row for name, (row, *_) in ROWS.items()}, **OTHERS}


def values(row, bars=WORLD, run=as_it_reads, genes=None):
    """Values of a row."""
    return row_values(row.tree, bars, genes or {}, run)


def read(row, bars, genes=None):
    """Values of a row as text, in which what is unknown equals itself."""
    return str(values(row, bars, genes=genes).tolist())


def make_world(*prices, step_minutes=15, at=None, **changes):
    """Flat bars at these prices and volumes, one after another or at minutes since 1970."""
    prices = np.array(prices, np.float64)
    minutes = step_minutes * np.arange(len(prices)) if at is None else np.array(at)
    columns = dict.fromkeys(("open", "high", "low", "close", "volume"), prices)
    stamps, step_ns = minutes.astype(np.int64) * MINUTE_NS, step_minutes * MINUTE_NS
    return replace(Bars(stamps, **columns, symbol="W", timeframe_ns=step_ns), **changes)


@pytest.mark.parametrize("name", ALL)
def test_plain_and_compiled_loops_give_the_same_bits(name):
    """Over a market with flat bars, silence and gaps."""
    plain = values(ALL[name])
    assert not np.isnan(plain).all()
    compiled = values(ALL[name], run=FORMS["compiled_reference"])
    assert plain.tobytes() == compiled.tobytes()


@pytest.mark.parametrize("name", ALL)
def test_no_row_depends_on_later_bars(name):
    """Cut at fifteen places: every bit before the cut is as before."""
    form = FORMS["compiled_reference"]
    whole = values(ALL[name], run=form)
    for cut in (1, 2, 3, 13, 14, 15, 20, 21, 96, 97, 102, 300, 431, 650, 699):
        part = values(ALL[name], WORLD.until(cut), form)
        assert part.tobytes() == whole[:cut].tobytes(), cut


SOURCES = {
    "close": (close, 0), "lagged": (lag(close, 5), 5), "macd": (ema(close, 4) - sma(open, 7), 6),
}  # fmt: skip

OF_LENGTH = [
    name
    for name, kind in KINDS.items()
    if not kind.columns and [p.name for p in kind.parameters] == ["n"]
]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", OF_LENGTH)
def test_first_value_and_warm_up_follow_from_the_source(name, source):
    """Both begin where the source does, or the value earlier; a clean source leaves no hole."""
    row, first = SOURCES[source]
    for n in (2, 9):
        tree = globals()[name](row, n).tree
        expected = first + KINDS[name].warm_up(n)
        actual = row_values(tree, make_bars(3, 60, tick=1e-6))
        assert count_warm_up(tree, {}) == expected
        assert first_value(actual) == (first if name == "kama" else expected)
        assert not np.isnan(actual[expected:]).any()


def test_recurrences_skip_holes():
    """A value that is not known leaves ema, rma and rsi as they were; there they are unknown."""
    nan, x = math.nan, column("x")
    bars = make_world(*np.ones(6), extra={"x": np.array([nan, 1.0, 3.0, nan, 5.0, 4.0])})
    second = 1.0 + 2.0 / 3.0 * (3.0 - 1.0)
    fourth = second + 2.0 / 3.0 * (5.0 - second)
    last = fourth + 2.0 / 3.0 * (4.0 - fourth)
    assert read(ema(x, 2), bars) == str([nan, nan, second, nan, fourth, last])
    assert read(rma(x, 2), bars) == str([nan, nan, 2.0, nan, 3.5, 3.75])
    assert read(sma(x, 2), bars) == str([nan, nan, 2.0, nan, nan, 4.5])
    assert read(lag(x, 2), bars) == str([nan, nan, nan, 1.0, 3.0, nan])
    moved = replace(bars, extra={"x": np.array([nan, 1.0, 3.0, 2.0, nan, 1.0])})
    # Its moves are 2 and -1; what follows the hole has no move.
    assert read(rsi(x, 2), moved) == str([nan, nan, nan, 100 * (1.0 / 1.5), nan, nan])


def test_arithmetic_is_unknown_where_it_is_not_finite():
    """Over 0, beyond the largest number, and where a side is unknown; zeros have no sign."""
    nan, x = math.nan, column("x")
    bars = make_world(1.0, 2.0, 3.0, extra={"x": np.array([0.0, math.nan, 1e308])})
    assert read(close / x, bars) == str([nan, nan, 3.0 / 1e308])
    assert read(x * 10, bars) == str([0.0, nan, nan])
    assert read(-x, bars) == str([0.0, nan, -1e308])
    assert read(maximum(x, close), bars) == str([1.0, nan, 1e308])
    assert read(minimum(x, close), bars) == str([0.0, nan, 3.0])
    assert read(abs(1 - close), bars) == str([0.0, 1.0, 2.0])
    # Numbers and genes alone are one number, computed as the tree stands.
    k = gene("k", 2, 1, 4)
    assert read(2 * k, bars, {"k": 1.5}) == str([3.0] * 3)
    assert read(close * (k / 0), bars, {"k": 1.5}) == str([nan] * 3)


def test_higher_bars_are_seen_when_they_have_ended():
    """The bar that ends an hour sees it; where that one is missing, the next bar does."""
    minutes, nan = [0, 15, 30, 45, 60, 75, 90, 105, 120, 135, 150, 180, 240], math.nan
    bars = make_world(*np.arange(1.0, 14.0), at=minutes)
    # The first hour is left out, the third has no last bar, the fourth but one bar.
    for row, first, hours in ((close, 8.0, [8.0, 11.0, 12.0]), (open, 5.0, [5.0, 9.0, 12.0]),
                              (volume, 26.0, [26.0, 30.0, 12.0]),
                              (lag(close, 1), nan, [nan, 8.0, 11.0])):  # fmt: skip
        assert read(higher(60, row), bars) == str([nan] * 7 + [first] * 3 + hours)
    assert read(higher(15, close), bars) == str([nan, *np.arange(2.0, 14.0).tolist()])
    # A file within one day has no daily bar; a share's day of seven hours ends at midnight.
    assert np.isnan(values(higher(1440, close), make_world(1.0, 2.0))).all()
    hours = [60 * (h + 24 * day) for day in range(3) for h in range(14, 21)]
    days = make_world(*np.arange(1.0, 22.0), at=hours, step_minutes=60)
    assert read(higher(1440, close), days) == str([nan] * 14 + [14.0] * 7)


@pytest.mark.parametrize(("shift", "offset"), [(0, 0), (5, -300)])
def test_a_short_day_does_not_show_the_next_one(shift, offset):
    """From Thursday, the 28th of March 2024; clocks go forward on Sunday, in London or New York."""
    hours = 1_711_584_000 // 3600 + shift + np.array([0, 24, 48, 72, 95, 119, 143])
    bars, nan = make_world(*np.arange(1.0, 8.0), at=60 * hours, step_minutes=1440), math.nan
    # A daily bar is its own higher bar, also the one that opens in the bucket of the one before.
    for row in (close, volume, open):
        own = read(higher(1440, row, offset), bars)
        assert own == str([nan, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    before = read(higher(1440, lag(close, 1), offset), bars)
    assert before == str([nan, nan, 2.0, 3.0, 4.0, 5.0, 6.0])
    # The first week lacks its beginning; Monday's bar opens in it, after Sunday's has ended it.
    week = read(higher(10_080, close, offset), bars)
    assert week == str([nan, nan, nan, nan, 5.0, 5.0, 5.0])
    # Sunday's range of 24 hours goes on in Monday's bar.
    top = read(opening_high(1440, offset), bars)
    assert top == str([nan, 2.0, 3.0, nan, 5.0, 6.0, 7.0])


def test_opening_range_needs_its_last_minute():
    """It is known from the first bar that closes at its end, until the session ends."""
    day, nan = 1440, math.nan
    minutes = [day - 15, day, day + 15, day + 30, day + 75, 2 * day, 2 * day + 60]
    bars = make_world(9.0, 5.0, 7.0, 6.0, 8.0, 3.0, 4.0, at=minutes)
    assert read(opening_high(45), bars) == str([nan, nan, nan, 7.0, 7.0, nan, 3.0])
