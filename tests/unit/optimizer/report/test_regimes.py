"""Trades by the trend and the volatility of the market at their signal."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Window
from optimizer import load_run
from optimizer.report.regimes import REGIME_BARS, UNKNOWN, find_regimes
from tests.support.series import make_bars


@pytest.fixture(scope="module")
def bars():
    """Prices of a random walk that moves more and more."""
    rng = np.random.Generator(np.random.PCG64(8))
    count = 900
    close = 100 * np.exp(np.cumsum(rng.normal(0, np.linspace(0.001, 0.01, count))))
    ends = np.concatenate([[100.0], close[:-1]])
    return make_bars(
        count, open=ends, close=close, high=np.maximum(ends, close), low=np.minimum(ends, close)
    )


def test_regimes_are_thirds_of_trend_and_volatility(bars):
    """By hand at one bar; each third holds a third of the bars; the first bars have none."""
    (regime,) = find_regimes((bars,), (Window.whole(bars),)).series
    assert (regime[:REGIME_BARS] == UNKNOWN).all()
    steps = np.diff(np.log(bars.close))
    behind = [steps[bar - REGIME_BARS : bar] for bar in range(REGIME_BARS, len(bars))]
    trend, volatility = np.array([(s.sum(), s.std()) for s in behind]).T
    expected = [
        3 * (trend[i] > np.quantile(trend, 1 / 3))
        + 3 * (trend[i] > np.quantile(trend, 2 / 3))
        + (volatility[i] > np.quantile(volatility, 1 / 3))
        + (volatility[i] > np.quantile(volatility, 2 / 3))
        for i in range(len(behind))
    ]
    assert regime[REGIME_BARS:].tolist() == expected
    assert np.ptp(np.bincount(regime[REGIME_BARS:] // 3)) <= 1


def test_a_regime_knows_no_later_bar_but_for_its_thirds(bars):
    """With the thirds of the same bars, later prices change nothing before them."""
    window = Window(0, 0, 500)
    later = make_bars(
        len(bars),
        **{
            name: np.where(np.arange(len(bars)) < 500, getattr(bars, name), 7.0)
            for name in ("open", "high", "low", "close")
        },
    )
    own, other = (find_regimes((each,), (window,)).series[0][:500] for each in (bars, later))
    assert own.tolist() == other.tolist()


def test_trades_on_held_out_bars_are_in_no_regime(example_run):
    """The table is of the bars that were searched, also once held-out ones were opened."""
    run = load_run(example_run)
    trades, table = run.trade_columns(0), run.regimes(0)
    last = np.arange(len(trades.r)) >= len(trades.r) - 5
    rest = run.market_regimes.tabulate(replace(trades, is_held_out=last))
    assert rest["trades"].sum() == table["trades"].sum() - 5
    assert rest["sum_r"].sum() == pytest.approx(table["sum_r"].sum() - trades.r[last].sum())
