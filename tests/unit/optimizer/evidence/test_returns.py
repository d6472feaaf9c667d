"""Days hold the R of the trades closed on them, and moments are plain."""

import numpy as np
import pytest

from data.bars import Window
from optimizer.evidence.returns import (
    compute_efficiency,
    count_closing_days,
    daily_returns,
    list_days,
    moments,
)
from tests.support.evidence import counted_bars, daily_edge, make_ledger


def test_days_are_those_on_which_a_window_has_a_bar():
    """Bars outside windows make no day, and a gap of two days leaves two out."""
    bars = counted_bars(60, gaps=(30,))
    assert list_days([bars], [Window(0, 0, 60)]).tolist() == [0, 1, 3, 4]
    assert list_days([bars], [Window(0, 0, 5), Window(0, 31, 40)]).tolist() == [0, 3]
    assert list_days([bars], [Window(0, 24, 30)]).tolist() == [1]


def test_a_trade_counts_on_the_day_its_exit_bar_opens():
    """Trades of a day are added in order, and windows one after the other."""
    bars = counted_bars(72)
    windows = [Window(0, 0, 48), Window(0, 48, 72)]
    first = make_ledger([0.1, 0.2, 0.3, -1.0], exit_bar=[3, 23, 23, 24])
    second = make_ledger([2.0], exit_bar=[50])
    days = list_days([bars], windows)
    returns = daily_returns([(first, second), (make_ledger([]), second)], [bars], windows, days)
    assert returns.shape == (3, 2)
    assert returns[:, 0].tolist() == [(0.1 + 0.2) + 0.3, -1.0, 2.0]
    assert returns[:, 1].tolist() == [0.0, 0.0, 2.0]
    assert count_closing_days((first, second), [bars], windows) == 3


def test_moments_of_the_law():
    """Column 7 of the table with an edge, in all digits but the last few."""
    column = moments(daily_edge()[:, 7])
    assert column.days == 960
    assert column.sharpe.value == pytest.approx(0.13972124230448887, rel=1e-12)
    assert column.skew.value == pytest.approx(0.029481718894300367, rel=1e-9)
    assert column.kurtosis.value == pytest.approx(1.8555009085804728, rel=1e-12)


def test_efficiency_is_what_a_day_of_the_test_gives_of_one_in_training():
    """Undefined where nothing was gained in training."""
    assert compute_efficiency(np.array([1.0, 3.0]), np.array([1.0, 0.0, 2.0])).value == 0.5
    assert (
        compute_efficiency(np.array([1.0, -1.0]), np.ones(2)).why
        == "the mean in training is not above 0"
    )
    assert compute_efficiency(np.ones(2), np.empty(0)).why == "no days"
