"""One account over several symbols beside backtesting.py's markets, which have a purse each.

Of whole units both gain the same.
"""
# ruff: noqa: F403, F405

from multiprocessing.pool import ThreadPool

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS
from engine.batch import Engine
from strategy.words import *
from tests.support.null_worlds import make_world

pytestmark = pytest.mark.filterwarnings("ignore")

CASH, UNITS, FEE = 100_000.0, 50, 0.0005

quick, slow = sma(close, 10), sma(close, 40)
CROSSINGS = strategy(
    "In the market while the quick average is above the slow one.",
    long=crosses_above(quick, slow),
    exit_long=crosses_below(quick, slow),
    stop=share(0.9),
    account=account(CASH, units(UNITS)),
)


@pytest.fixture(scope="module")
def series():
    """Three symbols of one market."""
    return make_world("correlated", 1, 3000)


@pytest.fixture(scope="module")
def ours(series):
    """Ledgers of the symbols, and what the account has in the end."""
    windows = [Window.whole(bars, number) for number, bars in enumerate(series)]
    costs = Costs(fee_bp=1e4 * FEE, slippage_bp=0)
    engine = Engine(CROSSINGS, series, windows, costs, device="cpu")
    (ledgers,) = engine.ledgers(CROSSINGS.layout.defaults[None])
    _, accounts = engine.evaluate_account(CROSSINGS.layout.defaults[None])
    return ledgers, CASH * accounts[0, ACCUMULATOR_INDEX["equity"]]


def compute_gains(ledger):
    """Money that each trade gained, and the exit fees of those that are open, unpaid there."""
    gains = UNITS * ledger.r * (ledger.entry - ledger.stop)
    is_open = ledger.reason == REASONS.index("end")
    return gains, np.where(is_open, UNITS * FEE * ledger.exit, 0.0)


def test_markets_of_their_own_gain_what_the_account_gains(series, ours, monkeypatch):
    """Each trade that ended, and each purse; the gains of all purses are those of the account."""
    library = pytest.importorskip("backtesting", reason="backtesting.py is not installed")
    import pandas as pd
    from backtesting.lib import MultiBacktest, crossover

    class Crossing(library.Strategy):
        """Each market's trades are noted, for the library gives of several only statistics."""

        def init(self):
            self.quick, self.slow = (
                self.I(lambda prices, n=n: pd.Series(prices).rolling(n).mean(), self.data.Close)
                for n in (10, 40)
            )

        def next(self):
            if crossover(self.quick, self.slow):
                self.buy(size=UNITS)
            elif crossover(self.slow, self.quick):
                self.position.close()
            trades[self.data.Close[0]] = self.closed_trades

    trades, frames = {}, []
    for bars in series:
        columns = {name.capitalize(): getattr(bars, name) for name in ("open", "high", "low")}
        columns |= {"Close": bars.close, "Volume": bars.volume}
        frames.append(pd.DataFrame(columns, index=pd.DatetimeIndex(bars.timestamp)))
    monkeypatch.setattr(library, "Pool", ThreadPool)
    results = MultiBacktest(frames, Crossing, cash=CASH, commission=FEE).run()
    (ledgers, cash), gained = ours, 0.0
    for number, ledger in enumerate(ledgers):
        gains, exit_fees = compute_gains(ledger)
        theirs = trades[series[number].close[0]]
        assert len(theirs) == len(ledger) - np.count_nonzero(exit_fees) > 40
        pairs = {"entry_bar": ledger.entry_bar, "exit_bar": ledger.exit_bar,
                 "entry_price": ledger.entry, "exit_price": ledger.exit}  # fmt: skip
        for name, column in pairs.items():
            assert [getattr(trade, name) for trade in theirs] == column[: len(theirs)].tolist()
        purse = results[number]["Equity Final [$]"]
        assert purse == pytest.approx(CASH + gains.sum() + exit_fees.sum(), rel=1e-12)
        gained += purse - CASH - exit_fees.sum()
    assert CASH + gained == pytest.approx(cash, rel=1e-12)
