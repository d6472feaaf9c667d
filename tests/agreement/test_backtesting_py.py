"""The first example of backtesting.py, on the data that it brings: trades and what follows."""
# ruff: noqa: F403, F405

import warnings
from importlib.util import find_spec

import numpy as np
import pytest

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from strategy.words import *
from tests.support.agreement import Suite, count_equal, list_trades
from tests.support.references import BACKEND_PARAMETERS

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not find_spec("backtesting"), reason="not installed (extra 'dev')"),
]

HOUR_NS = 3600 * 10**9
DAY_NS = 24 * HOUR_NS
FAR = 0.9
"""Distance of a stop that is never met, a share of the entry."""

average, slower = sma(close, 10), sma(close, 20)
over, under = crosses_above(average, slower), crosses_below(average, slower)
SMA_CROSS = strategy(
    "Averages cross.", long=over, short=under, exit_long=under, exit_short=over, stop=share(FAR)
)

COMMISSION = 0.002
"""Of the example, a share of what is traded."""

DOCUMENTED = {
    "Exposure Time [%]": 94.27,
    "# Trades": 93,
    "Win Rate [%]": 53.76,
    "Best Trade [%]": 57.12,
    "Worst Trade [%]": -16.63,
    "Avg. Trade [%]": 1.96,
    "Max. Trade Duration": 121,
    "Avg. Trade Duration": 32,
    "Profit Factor": 2.13,
}
"""Statistics in the README of backtesting.py 0.6.6 that follow from trades; durations are days."""

IN_README = 31
"""All statistics there; the others are of an account that buys whole shares with its cash."""

AT_LAST_OPEN = "what is open at the last bar leaves at its open there, at its close here"


def read_bars(name="GOOG", timeframe_ns=DAY_NS):
    """Bars that backtesting.py brings: of a share by the day, or of a currency by the hour."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from backtesting import test as library
    frame = getattr(library, name)
    values = frame[["Open", "High", "Low", "Close", "Volume"]].to_numpy(np.float64).T.copy()
    stamps = frame.index.as_unit("ns").asi8.copy()
    return Bars(stamps, *values, symbol=name, timeframe_ns=timeframe_ns), frame


def run_their_example(frame):
    """Trades of the example, the one that is open at the end closed."""
    from backtesting import Backtest, Strategy
    from backtesting.lib import crossover
    from backtesting.test import SMA

    class Crossing(Strategy):
        def init(self):
            self.fast, self.slow = (self.I(SMA, self.data.Close, n) for n in (10, 20))

        def next(self):
            if crossover(self.fast, self.slow):
                self.buy()
            elif crossover(self.slow, self.fast):
                self.sell()

    options = {"commission": COMMISSION, "exclusive_orders": True, "finalize_trades": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Backtest(frame, Crossing, **options).run()


def read_trades(trades):
    """Their trades as `list_trades` has ours."""
    names = ("EntryBar", "ExitBar", "EntryPrice", "ExitPrice")
    columns = (np.sign(trades["Size"]), *(trades[name] for name in names))
    return [*zip(*(column.tolist() for column in columns), strict=True)]


def compute_documented(trades, bars):
    """Statistics of the README from trades, with the commission on entries alone as it was then."""
    side, entry, left, paid, got = map(np.array, zip(*trades, strict=True))
    paid = paid * (1 + side * COMMISSION)
    returns = side * (got - paid) / paid
    days = (bars.timestamp[left] - bars.timestamp[entry]) / DAY_NS
    is_held = np.zeros(len(bars), bool)
    for first, last in zip(entry, left, strict=True):
        is_held[first : last + 1] = True
    return {
        "Exposure Time [%]": 100 * is_held.mean(),
        "# Trades": len(trades),
        "Win Rate [%]": 100 * (returns > 0).mean(),
        "Best Trade [%]": 100 * returns.max(),
        "Worst Trade [%]": 100 * returns.min(),
        "Avg. Trade [%]": 100 * np.expm1(np.log1p(returns).mean()),
        "Max. Trade Duration": days.max(),
        "Avg. Trade Duration": np.ceil(days.mean()),
        "Profit Factor": returns[returns > 0].sum() / -returns[returns < 0].sum(),
    }


def measure():
    """The suite: trades of the example, and statistics of its README."""
    bars, frame = read_bars()
    theirs = read_trades(run_their_example(frame)["_trades"])
    ours = list_trades(SMA_CROSS, bars, "cpu")
    documented = compute_documented(ours[:-1], bars)
    equal = sum(round(float(documented[name]), 2) == value for name, value in DOCUMENTED.items())
    trades = ("trades, GOOG", len(theirs), len(theirs), count_equal(theirs, ours), AT_LAST_OPEN)
    bars, frame = read_bars("EURUSD", HOUR_NS)
    theirs, ours = (
        read_trades(run_their_example(frame)["_trades"]),
        list_trades(SMA_CROSS, bars, "cpu"),
    )
    hours = ("trades, EURUSD", len(theirs), len(theirs), count_equal(theirs, ours), AT_LAST_OPEN)
    money = "the others are of an account that buys whole shares with its cash"
    statistics = ("statistics of its README", IN_README, len(DOCUMENTED), equal, money)
    return Suite(
        "backtesting.py, its example on its data",
        "trades and statistics",
        *(trades[k] + hours[k] + statistics[k] for k in (1, 2, 3)),
        f"{AT_LAST_OPEN}; {money}",
        ("what", "cases", "sayable", "equal", "what differs"),
        tuple(tuple(map(str, row)) for row in (trades, hours, statistics)),
    )


@pytest.fixture(scope="module")
def google():
    """Bars, and a run of the example on them."""
    bars, frame = read_bars()
    return bars, run_their_example(frame)


@pytest.mark.parametrize("engine_name", ["compiled_reference", *BACKEND_PARAMETERS])
def test_trades_of_the_example_are_ours(engine_name, google):
    """In side, bars and both prices, but the price at which the last one is closed."""
    bars, run = google
    theirs, ours = read_trades(run["_trades"]), list_trades(SMA_CROSS, bars, engine_name)
    assert ours[:-1] == theirs[:-1]
    assert len(ours) == 94
    assert ours[-1][:4] == theirs[-1][:4]
    assert (ours[-1][4], theirs[-1][4]) == (bars.close[-1], bars.open[-1])


def test_returns_and_bars_in_the_market_are_theirs(google):
    """Their commission is a fee of twenty basis points a side; R is in units of the stop."""
    bars, run = google
    engine = Engine(SMA_CROSS, [bars], [Window.whole(bars)], Costs(20, 0), device="cpu")
    genome = SMA_CROSS.layout.defaults
    (ledger,) = engine.trades(genome)
    theirs = run["_trades"]["ReturnPct"].to_numpy()
    np.testing.assert_allclose(ledger.r[:-1] * FAR, theirs[:-1], rtol=0, atol=1e-14)
    held = engine.evaluate(genome[None])[0, 0, ACCUMULATOR_INDEX["bars_in_market"]]
    assert held == 2085
    assert held / len(bars) == pytest.approx(run["Exposure Time [%]"] / 100, rel=1e-14)
