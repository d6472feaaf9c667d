"""The account of an individual: equity, drawdowns, months and Sharpe ratios, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.account import Account
from engine.accounts.ledger import REASONS
from optimizer.evidence.returns import moments
from optimizer.report.account import (
    SHARPE_DAYS,
    Curve,
    drawdown,
    equity_curve,
    monthly_returns,
    rolling_sharpe,
    worst_drawdowns,
)
from optimizer.report.trades import collect_trades
from tests.support.ledgers import COSTS, build_trade_ledger, collect_ledgers, trade
from tests.support.worlds import make_bars

STOP, TARGET = REASONS.index("stop"), REASONS.index("target")
DAY = 24 * 3_600_000_000_000


@pytest.fixture
def bars():
    """Two hundred bars of fifteen minutes."""
    return make_bars(1, 200)


def test_equity_of_one_series_is_the_product_of_the_law(bars):
    """Each trade multiplies equity by 1 + fraction of risk times r."""
    given = [trade(3, TARGET, 100.0, 95.0, 110.0), trade(20, STOP, 100.0, 90.0, 90.0)]
    trades = collect_ledgers(bars, given)
    curve = equity_curve(trades, ["ADA"], 0.01, int(bars.timestamp[0]))
    first = 1.0 * (1 + 0.01 * trades.r[0])
    assert curve.value.tolist() == [1.0, first, first * (1 + 0.01 * trades.r[1])]
    assert curve.time_ns.tolist() == bars.timestamp[[0, 6, 23]].tolist()
    assert drawdown(curve)[2] == curve.value[2] / curve.value[1] - 1


def hold(windows, series, names):
    """An account of windows to be held."""
    return Account(tuple(series), tuple(windows), tuple(names), COSTS)


def test_parts_of_one_market_are_one_account(bars):
    """Equity and holding go from part to part, in the order of time."""
    late = replace(bars, timestamp=bars.timestamp + 10 * int(np.ptp(bars.timestamp)))
    ledgers = [
        build_trade_ledger([trade(3, STOP, 100.0, 90.0, 90.0)]),
        build_trade_ledger([trade(50, TARGET, 100.0, 95.0, 110.0)]),
    ]
    windows = [Window(1, 0, 200), Window(0, 0, 200)]
    trades = collect_trades(ledgers, windows, [bars, late], COSTS)
    curve = equity_curve(trades, ["ADA", "ADA"], 0.01, 0)
    gain = 1 + 0.01 * trades.r[1]
    assert curve.value.tolist() == [1.0, gain, gain * (1 + 0.01 * trades.r[0])]
    held = hold(windows[::-1], [bars, late], ["ADA", "ADA"]).hold_days
    once = bars.close[-1] / (bars.close[0] * (1 + COSTS.per_side))
    assert held[-1] == once * once


def test_a_listing_bar_does_not_decide_what_holding_gave(bars):
    """An open of a tenth of the close changes nothing: no purchase was possible there."""
    opens = bars.open.copy()
    opens[0], lows = bars.close[0] / 10, bars.low.copy()
    lows[0] = opens[0]
    listed = replace(bars, open=opens, low=lows)
    actual, expected = (
        hold([Window(0, 0, 200)], [series], ["ADA"]).hold_days for series in (listed, bars)
    )
    assert actual.tolist() == expected.tolist()


def test_drawdowns_are_named_by_depth_with_their_bars():
    """Peak, deepest point and recovery; one that goes on counts bars to the last."""
    value = np.array([1.0, 2.0, 1.5, 1.0, 2.0, 2.5, 2.0, 2.25])
    curve = Curve(np.arange(8) * DAY, value)
    half, fifth = worst_drawdowns(curve, np.arange(0, 20) * DAY // 2)
    assert (half.depth, half.from_ns, half.to_ns, half.recovered_ns) == (0.5, DAY, 3 * DAY, 4 * DAY)
    assert (half.bars, fifth.bars) == (6, 9)
    assert (fifth.depth, fifth.from_ns, fifth.recovered_ns) == (pytest.approx(0.2), 5 * DAY, None)
    assert worst_drawdowns(Curve(np.arange(2), np.array([1.0, 2.0])), np.arange(2)) == []


def test_months_and_years_multiply_to_the_end_of_equity():
    """Months without a trade are 0, those without a bar unknown; years are their months."""
    times = ["2023-11-03", "2023-11-20", "2024-01-31", "2024-02-01"]
    time_ns = np.array(times, "datetime64[ns]").astype(np.int64)
    days = np.arange(np.datetime64("2023-11-03"), np.datetime64("2024-03-06"))
    opens = days[days.astype("datetime64[M]") != np.datetime64("2023-12")]
    bar_times = opens.astype("datetime64[ns]").astype(np.int64)
    years, table = monthly_returns(Curve(time_ns, np.array([1.0, 1.1, 1.21, 0.605])), bar_times)
    assert years.tolist() == [2023, 2024]
    assert np.isfinite(table[:, :12]).sum(axis=1).tolist() == [1, 3]
    assert table[0, [10, 12]] == pytest.approx([0.1, 0.1])
    assert table[1, [0, 1, 2, 12]] == pytest.approx([0.1, -0.5, 0.0, -0.45])


def test_a_rolling_sharpe_is_that_of_its_days(bars):
    """The last is the one of the evidence over those days; too few days have none."""
    rng = np.random.Generator(np.random.PCG64(1))
    trades = collect_ledgers(bars, [trade(3, TARGET, 100.0, 95.0, 110.0)] * 200)
    days = np.arange(100)
    daily = rng.normal(0.1, 1.0, 200)
    moved = replace(trades, r=daily, exit_ns=np.repeat(days, 2) * DAY + 1)
    rolling = rolling_sharpe(moved, days)
    assert len(rolling) == 100 - SHARPE_DAYS + 1
    last = daily.reshape(100, 2).sum(axis=1)[-SHARPE_DAYS:]
    assert rolling[-1] == pytest.approx(moments(last).sharpe.value, rel=1e-12)
    assert len(rolling_sharpe(moved, days[: SHARPE_DAYS - 1])) == 0
