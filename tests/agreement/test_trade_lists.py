"""Trade lists that TradingView exported, as PyneCore publishes them: side, bars and both prices.

A list is one line of `LISTS`: its name, the strategy that its script says, the bars it was made on.
"""
# ruff: noqa: F403, F405

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from strategy.model import Strategy
from strategy.words import *
from tests.support.agreement import (
    Suite,
    count_equal,
    list_trades,
    read_published_bars,
)
from tests.support.backends import ENGINE_PARAMETERS


def turn(summary, over, under):
    """Always in the market after the first signal; the stop is too far to be met."""
    return strategy(
        summary, long=over, short=under, exit_long=under, exit_short=over, stop=share(0.5)
    )


histogram, strength, before = macd_histogram(close), rsi(close, 14), lag(close, 1)
side = supertrend_side(10, 30)

MACD = turn("MACD crosses its signal.", crosses_above(histogram, 0), crosses_below(histogram, 0))
RSI = turn("RSI leaves its zones.", crosses_above(strength, 30), crosses_below(strength, 70))
BARUPDN = turn(
    "A bar that opens and goes on beyond the close before.",
    (close > open) & (open > before),
    (close < open) & (open < before),
)
SUPERTREND = turn("Supertrend turns.", crosses_above(side, 0), crosses_below(side, 0))

fast, slow = sma(close, 10), sma(close, 30)
AVERAGES = turn("Averages cross.", crosses_above(fast, slow), crosses_below(fast, slow))

EXACT_TIE = "two averages are exactly equal at bar 7,528; theirs has crossed by rounding"
RESTING = "entries rest as stop or limit orders"


@dataclass(frozen=True)
class TradeList:
    """A published list of trades."""

    name: str  # of the file, `NAME_trades.csv`
    plan: Strategy | None  # None where words cannot say it yet
    rule: str = ""  # why they cannot, or what is behind a difference
    bars: str = "ohlcv.csv"  # the file of bars
    unequal: int = 0  # trades that differ, for the reason that `rule` gives

    @property
    def file(self):
        """Name of the file of trades."""
        return f"{self.name}_trades.csv"


LISTS = (
    TradeList("macd", MACD),
    TradeList("rsi", RSI),
    TradeList("barupdn", BARUPDN),
    TradeList("supertrend", SUPERTREND),
    TradeList("futures_pnl", AVERAGES, EXACT_TIE, "futures_pnl_ohlcv.csv", unequal=2),
    TradeList("channelbreakout", None, RESTING),
    TradeList("bollinger", None, RESTING),
    TradeList("keltnerchannel", None, RESTING),
    TradeList("slippage_basic", None, "slippage in ticks"),
    TradeList("slippage_direction", None, "slippage in ticks", "slippage_direction_ohlcv.csv.gz"),
    TradeList("slippage_limit", None, "resting limit orders", "slippage_limit_ohlcv.csv.gz"),
    TradeList("bar_magnifier_tv", None, "finer bars within a bar", "bar_magnifier_60m.csv"),
)

SAYABLE = [published for published in LISTS if published.plan is not None]


def read_trades(path, bars):
    """Trades of a list, as `list_trades` has them; times become bars that open then."""
    table = pd.read_csv(path).set_index("Trade #")
    price = next(name for name in table if name.startswith("Price"))
    times = pd.to_datetime(table["Date/Time"], utc=True).dt.as_unit("ns").astype("int64")
    table["bar"] = np.searchsorted(bars.timestamp, times)
    np.testing.assert_array_equal(bars.timestamp[table["bar"]], times)
    is_entry = table["Type"].str.startswith("Entry")
    entries, exits = table[is_entry], table[~is_entry].reindex(table[is_entry].index)
    sides = np.where(entries["Type"].str.endswith("long"), 1, -1)
    columns = (sides, entries["bar"], exits["bar"], entries[price], exits[price])
    return [*zip(*(np.asarray(column).tolist() for column in columns), strict=True)]


def measure(agree_folder, folder):
    """The suite, with trades counted by the engine of the CPU."""
    rows = []
    for published in LISTS:
        if published.plan is None:
            cases = pd.read_csv(agree_folder / published.file)["Trade #"].nunique()
            rows.append((published.name, cases, 0, 0, published.rule))
            continue
        bars = read_published_bars(agree_folder / published.bars, folder)
        expected = read_trades(agree_folder / published.file, bars)
        actual = list_trades(published.plan, bars, "cpu")
        counts = (len(expected), len(expected), count_equal(expected, actual))
        rows.append((published.name, *counts, published.rule))
    return Suite(
        "TradingView, trade lists",
        "trades",
        *(sum(row[k] for row in rows) for k in (1, 2, 3)),
        "the others need resting orders, ticks or finer bars",
        ("list", "trades", "sayable", "equal", "what differs, or is missing"),
        tuple((name, *(f"{count:,}" for count in counts), rule) for name, *counts, rule in rows),
    )


@pytest.fixture(scope="module")
def bars_of(agree_folder, tmp_path_factory):
    """Bars of a list, each file read once."""
    folder, known = tmp_path_factory.mktemp("published"), {}

    def read(published):
        if published.bars not in known:
            known[published.bars] = read_published_bars(agree_folder / published.bars, folder)
        return known[published.bars]

    return read


@pytest.mark.parametrize("engine_name", ENGINE_PARAMETERS)
@pytest.mark.parametrize("published", SAYABLE, ids=lambda published: published.name)
def test_every_trade_of_a_list_is_ours(published, engine_name, bars_of, agree_folder):
    """In side, bars and both prices; nothing is traded beside them."""
    bars = bars_of(published)
    expected = read_trades(agree_folder / published.file, bars)
    actual = list_trades(published.plan, bars, engine_name)
    if not published.unequal:
        assert actual == expected
    equal = count_equal(expected, actual)
    assert equal == len(expected) - published.unequal
    assert len(actual) - equal <= published.unequal


def test_the_tie_of_two_averages_is_one(bars_of):
    """In exact arithmetic, so that a bar later is the bar of the cross."""
    (published,) = [published for published in SAYABLE if published.rule == EXACT_TIE]
    prices = [Fraction(str(price)) for price in bars_of(published).close[:7529].tolist()]
    assert sum(prices[-10:]) / 10 == sum(prices[-30:]) / 30


def test_every_list_of_the_folder_is_named(agree_folder):
    """A list that nobody compares would look like one that agrees."""
    files = {path.name for path in agree_folder.glob("*_trades.csv")}
    assert files == {published.file for published in LISTS}
    assert all(published.rule for published in LISTS if published.plan is None)
