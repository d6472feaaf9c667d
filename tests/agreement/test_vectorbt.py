"""One account over several symbols beside vectorbt's shared cash: trades, gains, what is left."""
# ruff: noqa: F403, F405

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
    reason = "vectorbt is not installed: it brings 200 MB"
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


def test_shared_cash_is_one_account(series, theirs):
    """Each trade, its gain in money, and the account in the end; what is open has paid no exit."""
    windows = [Window.whole(bars, number) for number, bars in enumerate(series)]
    costs = Costs(fee_bp=1e4 * FEE, slippage_bp=0)
    engine = Engine(CROSSINGS, series, windows, costs, device="cpu")
    (ledgers,) = engine.ledgers(CROSSINGS.layout.defaults[None])
    _, accounts = engine.evaluate_account(CROSSINGS.layout.defaults[None])
    records, unpaid = theirs.trades.records, 0.0
    assert len(records) == sum(map(len, ledgers)) > 60
    for number, ledger in enumerate(ledgers):
        own = records[records["col"] == number]
        is_open = ledger.reason == REASONS.index("end")
        gains = UNITS * ledger.r * (ledger.entry - ledger.stop)
        exit_fees = np.where(is_open, UNITS * FEE * ledger.exit, 0.0)
        assert own["entry_idx"].tolist() == ledger.entry_bar.tolist()
        assert own["exit_idx"].tolist() == ledger.exit_bar.tolist()
        # Theirs are what was paid over the units.
        assert own["entry_price"].to_numpy() == pytest.approx(ledger.entry, rel=1e-14)
        assert own["exit_price"].to_numpy() == pytest.approx(ledger.exit, rel=1e-14)
        assert own["pnl"].to_numpy() == pytest.approx(gains + exit_fees, rel=1e-9, abs=1e-7)
        unpaid += exit_fees.sum()
    ours = CASH * accounts[0, ACCUMULATOR_INDEX["equity"]]
    assert theirs.final_value() == pytest.approx(ours + unpaid, rel=1e-12)
