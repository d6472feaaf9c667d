"""Rows of conditions, and Pine's lazy `and`, bar by bar in plain Python."""
# ruff: noqa: F403, F405

import math

import numpy as np
import pandas as pd
import pytest

from strategy.errors import StrategyError
from strategy.words import *
from tests.support.agreement import compute_row
from tests.support.worlds import make_bars

rises, is_wide = close > open, high - low > sma(high - low, 5)
CONDITIONS = (
    rises,
    close <= open,
    rises & is_wide,
    rises | ~is_wide,
    crosses_above(close, sma(close, 5)),
    held(rises, 2) | within(is_wide, 3),
)


@pytest.fixture(scope="module")
def bars():
    """Bars, and closes that often equal their opens."""
    return make_bars(5, 400)


@pytest.mark.parametrize("condition", CONDITIONS, ids=range(len(CONDITIONS)))
def test_rows_of_conditions_choose_and_remember(condition, bars):
    """As numpy and pandas do, from the bar on at which all numbers are known."""
    holds = compute_row(condition, bars) == 1
    unknown = (close - open) / (close - close)
    only = compute_row(where(condition, close, unknown), bars)
    np.testing.assert_array_equal(compute_row(where(condition, close), bars), only)
    either = compute_row(known_or(where(condition, close), high), bars)
    chosen = compute_row(where(condition, close, high), bars)
    known = ~np.isnan(chosen)
    assert known[8:].all()
    np.testing.assert_array_equal(chosen[known], np.where(holds, bars.close, bars.high)[known])
    np.testing.assert_array_equal(either[known], chosen[known])
    kept = pd.Series(np.where(holds & known, bars.close, np.nan))
    np.testing.assert_array_equal(compute_row(value_when(condition, close), bars), kept.ffill())
    before = kept.dropna().shift().reindex(kept.index).ffill()
    np.testing.assert_array_equal(compute_row(value_when(condition, close, 1), bars), before)
    places = pd.Series(np.where(holds & known, np.arange(len(kept)), np.nan)).ffill()
    np.testing.assert_array_equal(
        compute_row(bars_since(condition), bars), np.arange(len(kept)) - places
    )


def test_a_lazy_cross_remembers_the_bar_that_asked_before(bars):
    """Two bars apart or more, unlike the cross of the bar before."""
    average = compute_row(sma(close, 5), bars)
    asked, earlier, expected = compute_row(is_wide, bars) == 1, None, []
    for above, asks in zip((bars.close - average).tolist(), asked, strict=True):
        expected.append(asks and earlier is not None and above > 0 >= earlier)
        earlier = above if asks and not math.isnan(above) else earlier
    lazy = compute_row(lazily(is_wide, crosses_above(close, sma(close, 5))), bars) == 1
    np.testing.assert_array_equal(lazy, expected)
    assert (lazy != (compute_row(is_wide & CONDITIONS[4], bars) == 1)).any()


def test_sums_begin_anew_with_each_day():
    """From the second day on, the first bar's value as it is."""
    bars = make_bars(6, 400)
    days = pd.to_datetime(bars.timestamp).normalize()
    sums = pd.Series(bars.volume).groupby(days).cumsum().to_numpy()
    is_first = days == days[0]
    ours = compute_row(session_total(volume), bars)
    assert np.isnan(ours[is_first]).all()
    np.testing.assert_allclose(ours[~is_first], sums[~is_first], rtol=1e-12)


def test_a_switch_is_joined_outside():
    """A row is of all candidates, a switch of one."""
    with pytest.raises(StrategyError, match="no switch"):
        where(switch("on", rises), close)
