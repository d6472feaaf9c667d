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


@pytest.mark.parametrize("row", [volume, where(rises, volume)], ids=["whole", "with_holes"])
def test_sums_begin_anew_with_each_day(row):
    """From the second day on, the first bar's value as it is; a day may begin with a hole."""
    bars = make_bars(6, 400)
    values, ours = pd.Series(compute_row(row, bars)), compute_row(session_total(row), bars)
    days = pd.to_datetime(bars.timestamp).normalize()
    sums = values.groupby(days).cumsum().to_numpy()
    is_first = days == days[0]
    assert np.isnan(ours[is_first]).all()
    np.testing.assert_allclose(ours[~is_first], sums[~is_first], rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: value_when(rises, close, 1.5), "ago whole and at least 0, and no gene, got 1.5"),
        (lambda: value_when(rises, close, -1), "got -1"),
        (lambda: alma(close, 0), "alma needs n whole and at least 1, and no gene, got 0"),
        (lambda: alma(close, length("n", 9, 5, 20)), "alma needs n whole"),
        (lambda: alma(close, 9, 0.85, 0), "alma needs sigma above 0"),
    ],
    ids=["part", "ahead", "none", "gene", "narrow"],
)
def test_numbers_by_which_a_word_is_written_out_are_checked(make, told):
    """They are no genes: each value is another row."""
    with pytest.raises(StrategyError, match=told):
        make()


def test_a_switch_is_joined_outside():
    """A row is of all candidates, a switch of one."""
    with pytest.raises(StrategyError, match="no switch"):
        where(switch("on", rises), close)
