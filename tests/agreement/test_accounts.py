"""One account over several symbols beside vectorbt's shared cash and backtesting.py's markets.

vectorbt has one purse for all, backtesting.py one for each: of whole units both gain the same.
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
def theirs(series):
    """Their portfolio: orders at the open after a signal, one purse for all symbols."""
    reason = "vectorbt is not installed: it brings 110 MB"
    vectorbt = pytest.importorskip("vectorbt", reason=reason)
    pandas = pytest.importorskip("pandas")
    opened, closed = (
        pandas.DataFrame({bars.symbol: getattr(bars, name) for bars in series})
        for name in ("open", "close")
    )
    fast, late = (closed.rolling(n).mean() for n in (10, 40))
    above = fast > late
    is_known = late.shift(1).notna()
    begins = (above & ~above.shift(1, fill_value=False) & is_known).shift(1, fill_value=False)
    ends = (fast < late) & (fast.shift(1) >= late.shift(1))
    return vectorbt.Portfolio.from_signals(
        closed, begins, ends.shift(1, fill_value=False), price=opened, size=UNITS, fees=FEE,
        init_cash=CASH, cash_sharing=True, group_by=True, freq="1h",
    )  # fmt: skip


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


def test_shared_cash_is_one_account(ours, theirs):
    """Each trade, its gain in money, and the account in the end; what is open has paid no exit."""
    (ledgers, cash), records, unpaid = ours, theirs.trades.records, 0.0
    assert len(records) == sum(map(len, ledgers)) > 60
    for number, ledger in enumerate(ledgers):
        own = records[records["col"] == number]
        gains, exit_fees = compute_gains(ledger)
        assert own["entry_idx"].tolist() == ledger.entry_bar.tolist()
        assert own["exit_idx"].tolist() == ledger.exit_bar.tolist()
        # Theirs are what was paid over the units.
        assert own["entry_price"].to_numpy() == pytest.approx(ledger.entry, rel=1e-14)
        assert own["exit_price"].to_numpy() == pytest.approx(ledger.exit, rel=1e-14)
        assert own["pnl"].to_numpy() == pytest.approx(gains + exit_fees, rel=1e-9, abs=1e-7)
        unpaid += exit_fees.sum()
    assert theirs.final_value() == pytest.approx(cash + unpaid, rel=1e-12)


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
