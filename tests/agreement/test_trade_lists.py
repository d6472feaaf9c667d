"""Trade lists that TradingView exported, as PyneCore publishes them: side, bars and both prices.

A list is one line of `LISTS`: its name, the strategy of its script, the bars it was made on.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from data.timeframe import DAY_NS
from optimizer.agreement.matching import list_ours, match
from strategy.model import Strategy
from tests.support.agreement import Suite, read_published_bars, read_trades, run_strategy
from tests.support.published_plans import (
    AVERAGES,
    BANDS,
    BARUPDN,
    BRACKETS,
    CHANNEL,
    KELTNER,
    LIMITS,
    MACD,
    ONCE,
    RSI,
    SUPERTREND,
    TURNS,
)
from tests.support.references import BACKEND_PARAMETERS
from tests.support.series import make_coarse

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
    plan: Strategy
    rule: str = ""  # behind a difference
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
    TradeList("slippage_basic", ONCE),
    TradeList(
        "slippage_direction", TURNS, STILL_OPEN, "slippage_direction_ohlcv.csv.gz", unequal=1
    ),
    TradeList("slippage_limit", LIMITS, OLDER_ORDER, "slippage_limit_ohlcv.csv.gz", unequal=34),
    TradeList("bar_magnifier_tv", BRACKETS, bars="bar_magnifier_60m.csv", is_finer=True),
)


def compare(published, agree_folder, bars, engine_name):
    """Trades of a list, of these ours, and ours that are not theirs; each in every bit."""
    theirs, _ = read_trades(agree_folder / published.file, bars)
    # The last trade, which is still open, ends at the last close, as ours does.
    theirs = replace(theirs, is_open=np.zeros(len(theirs), bool))
    ours = list_ours(run_strategy(published.plan, bars, engine_name), has_parts=False)
    in_theirs, in_ours = match(theirs, ours, 0.0)
    return len(theirs), int(in_theirs.sum()), int((~in_ours).sum())


def measure(agree_folder, folder):
    """The suite, with trades counted by the engine of the CPU."""
    rules = {}
    for published in LISTS:
        bars = published.read_bars(agree_folder, folder)
        cases, equal, _ = compare(published, agree_folder, bars, "cpu")
        rules.setdefault(published.rule, []).append((published.name, cases, cases, equal))
    rows = []
    for rule, lists in rules.items():
        names, *counts = zip(*lists, strict=True)
        rows.append((", ".join(names), *map(sum, counts), rule))
    return Suite(
        "TradingView, trade lists",
        "trades",
        *(sum(row[k] for row in rows) for k in (1, 2, 3)),
        "warm-up, rounding, older orders, and what is still open",
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
@pytest.mark.parametrize("published", LISTS, ids=lambda published: published.name)
def test_every_trade_of_a_list_is_ours(published, engine_name, list_bars, agree_folder):
    """In side, bars and both prices; nothing is traded beside them."""
    cases, equal, beside = compare(published, agree_folder, list_bars(published), engine_name)
    assert equal == cases - published.unequal
    assert beside <= published.unequal


def test_the_tie_of_two_averages_is_one(list_bars):
    """In exact arithmetic, so that a bar later is the bar of the cross."""
    (published,) = [published for published in LISTS if published.rule == EXACT_TIE]
    prices = [Fraction(str(price)) for price in list_bars(published).close[:7529].tolist()]
    assert sum(prices[-10:]) / 10 == sum(prices[-30:]) / 30


def test_every_list_of_the_folder_is_named(agree_folder):
    """A list that is not compared would look like one that agrees."""
    files = {path.name for path in agree_folder.glob("*_trades.csv")}
    assert files == {published.file for published in LISTS}
