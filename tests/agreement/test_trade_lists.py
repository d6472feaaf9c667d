"""Trade lists that TradingView exported, as PyneCore publishes them: side, bars and both prices.

A list is one line of `LISTS`: its name, the strategy of its script, the bars it was made on.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from data.timeframe import DAY_NS
from strategy.model import Strategy
from tests.support.agreement import (
    Suite,
    count_equal,
    list_trades,
    read_published_bars,
)
from tests.support.backends import BACKEND_PARAMETERS
from tests.support.finer import make_coarse
from tests.support.published_plans import (
    AVERAGES,
    BANDS,
    BARUPDN,
    BRACKETS,
    CHANNEL,
    KELTNER,
    LIMITS,
    MACD,
    RSI,
    SUPERTREND,
    TURNS,
)

EARLY = "their highest of five bars speaks before there are five"
STILL_OPEN = "the last trade is still open"
OLDER_ORDER = (
    "an older order of the other side may close a position there, which a fill ends here; their "
    "stop is set a bar after the entry, and an order may fill in the bar of an exit"
)
EXACT_TIE = "two averages are exactly equal at bar 7,528; theirs has crossed by rounding"


@dataclass(frozen=True)
class TradeList:
    """A published list of trades."""

    name: str  # of the file, `NAME_trades.csv`
    plan: Strategy | None  # None where words cannot say it yet
    rule: str = ""  # why they cannot, or what is behind a difference
    bars: str = "ohlcv.csv"  # the file of bars
    unequal: int = 0  # trades that differ, for the reason that `rule` gives
    is_finer: bool = False  # whether its bars are days made of the file's, and read by these

    @property
    def file(self):
        """Name of the file of trades."""
        return f"{self.name}_trades.csv"

    def read_bars(self, agree_folder, folder):
        """Its bars, of copies in a folder."""
        bars = read_published_bars(agree_folder / self.bars, folder)
        return make_coarse(bars, timeframe_ns=DAY_NS) if self.is_finer else bars


LISTS = (
    TradeList("macd", MACD),
    TradeList("rsi", RSI),
    TradeList("barupdn", BARUPDN),
    TradeList("supertrend", SUPERTREND),
    TradeList("futures_pnl", AVERAGES, EXACT_TIE, "futures_pnl_ohlcv.csv", unequal=2),
    TradeList("channelbreakout", CHANNEL, EARLY, unequal=1),
    TradeList("bollinger", BANDS),
    TradeList("keltnerchannel", KELTNER),
    TradeList("slippage_basic", None, "rules by the number of a bar"),
    TradeList(
        "slippage_direction", TURNS, STILL_OPEN, "slippage_direction_ohlcv.csv.gz", unequal=1
    ),
    TradeList("slippage_limit", LIMITS, OLDER_ORDER, "slippage_limit_ohlcv.csv.gz", unequal=34),
    TradeList("bar_magnifier_tv", BRACKETS, bars="bar_magnifier_60m.csv", is_finer=True),
)

SAYABLE = [published for published in LISTS if published.plan is not None]


def read_trades(path, bars):
    """Trades of a list, as `list_trades` has them; times become bars that open then."""
    table = pd.read_csv(path).set_index("Trade #")
    price = next(name for name in table if name.startswith("Price"))
    times = pd.to_datetime(table["Date/Time"], utc=True).dt.as_unit("ns").astype("int64")
    # A trade that was still open has a time behind the last bar.
    is_known = times <= bars.timestamp[-1]
    table["bar"] = np.searchsorted(bars.timestamp, times)
    np.testing.assert_array_equal(bars.timestamp[table["bar"][is_known]], times[is_known])
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
        bars = published.read_bars(agree_folder, folder)
        expected = read_trades(agree_folder / published.file, bars)
        actual = list_trades(published.plan, bars, "cpu")
        counts = (len(expected), len(expected), count_equal(expected, actual))
        rows.append((published.name, *counts, published.rule))
    return Suite(
        "TradingView, trade lists",
        "trades",
        *(sum(row[k] for row in rows) for k in (1, 2, 3)),
        "the others need rules by the number of a bar",
        ("list", "trades", "sayable", "equal", "what differs, or is missing"),
        tuple((name, *(f"{count:,}" for count in counts), rule) for name, *counts, rule in rows),
    )


@pytest.fixture(scope="module")
def list_bars(agree_folder, tmp_path_factory):
    """Bars of a list, each file read once."""
    folder, known = tmp_path_factory.mktemp("published"), {}

    def read(published):
        if published.bars not in known:
            known[published.bars] = published.read_bars(agree_folder, folder)
        return known[published.bars]

    return read


@pytest.mark.parametrize("engine_name", ["compiled_reference", *BACKEND_PARAMETERS])
@pytest.mark.parametrize("published", SAYABLE, ids=lambda published: published.name)
def test_every_trade_of_a_list_is_ours(published, engine_name, list_bars, agree_folder):
    """In side, bars and both prices; nothing is traded beside them."""
    bars = list_bars(published)
    expected = read_trades(agree_folder / published.file, bars)
    actual = list_trades(published.plan, bars, engine_name)
    if not published.unequal:
        assert actual == expected
    equal = count_equal(expected, actual)
    assert equal == len(expected) - published.unequal
    assert len(actual) - equal <= published.unequal


def test_the_tie_of_two_averages_is_one(list_bars):
    """In exact arithmetic, so that a bar later is the bar of the cross."""
    (published,) = [published for published in SAYABLE if published.rule == EXACT_TIE]
    prices = [Fraction(str(price)) for price in list_bars(published).close[:7529].tolist()]
    assert sum(prices[-10:]) / 10 == sum(prices[-30:]) / 30


def test_every_list_of_the_folder_is_named(agree_folder):
    """A list that is not compared would look like one that agrees."""
    files = {path.name for path in agree_folder.glob("*_trades.csv")}
    assert files == {published.file for published in LISTS}
    assert all(published.rule for published in LISTS if published.plan is None)
