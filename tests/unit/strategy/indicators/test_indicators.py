"""Indicators against exact rational arithmetic, pandas and TA-Lib, and by hand.

Two engines can agree and both be wrong; these oracles share nothing with either.
"""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from strategy.indicators.direction import supertrend, supertrend_side
from strategy.indicators.values import bars_unknown, last_known, total
from strategy.indicators.windows import (
    bars_since_highest,
    bars_since_lowest,
    percent_rank,
    percentile,
    rank_correlation,
    rolling_mean_variance,
    zscore,
)

RNG = np.random.Generator(np.random.PCG64(7))


HARD_SERIES = {
    "walk": np.cumsum(RNG.normal(size=400)) + 500.0,
    "tiny_steps_on_a_million": 1e6 + RNG.integers(-2, 3, size=400) * 0.01,
    "heavy_tail": np.abs(RNG.standard_cauchy(size=400)) * 1e3 + 1.0,
    "one_spike": np.where(np.arange(400) == 200, 1e9, 1.0),
    "steps": np.repeat([1.0, 1e6, 3.0, 7e-3], 100),
    "flat_stretches": np.repeat(RNG.normal(size=20), 20) + 10.0,
    "mostly_zero": np.where(RNG.random(400) < 0.9, 0.0, RNG.random(400) * 1e4),
    "ramp": np.arange(400) * 0.1,
    "alternating": np.where(np.arange(400) % 2 == 0, 1e8, 1e8 + 1.0),
}


def exact_mean_std(values, window, t):
    """Mean and standard deviation of one window, exact but for the last root."""
    exact = [Fraction(value) for value in values[t - window + 1 : t + 1]]
    mean = sum(exact) / window
    variance = sum((value - mean) ** 2 for value in exact) / window
    return mean, math.sqrt(variance)


@pytest.mark.parametrize("window", [2, 3, 16, 97])
@pytest.mark.parametrize("name", HARD_SERIES)
def test_rolling_matches_exact_fractions(name, window):
    """Standard deviations are right to 1e-13 of exact rational arithmetic on hard series."""
    values = HARD_SERIES[name]
    means, variances = rolling_mean_variance(values, window)
    for t in range(window - 1, len(values), 7):
        mean, std = exact_mean_std(values, window, t)
        scale = max(abs(value) for value in values[t - window + 1 : t + 1])
        assert abs(Fraction(means[t]) - mean) <= Fraction(scale) * Fraction(1, 10**13)
        assert math.sqrt(max(variances[t], 0.0)) == pytest.approx(std, rel=1e-13, abs=0)


@pytest.mark.parametrize("window", [2, 5, 64])
def test_flat_window_has_exactly_no_variance(window):
    """A constant stretch has variance 0 and no z-score, whatever came before it."""
    values = np.array([123.456] * 50 + [0.1 + 0.2] * 200)
    _, variances = rolling_mean_variance(values, window)
    assert {*variances[window - 1 : 50], *variances[50 + window - 1 :]} == {0.0}
    assert all(math.isnan(score) for score in zscore(values, window)[50 + window - 1 :])


def test_supertrend_by_hand():
    """Bands of 1: the lower one stays at 11 while closes are above, and is left once one is below.

    So the last bar, which goes through the upper band again, has a lower one of its own.
    """
    close = np.array([10.0, 10.0, 12.0, 11.5, 10.0, 10.0, 11.2])
    given = close, close, np.ones(7), 2, 10
    assert supertrend(*given)[1:].tolist() == [11.0] * 5 + [11.2 - 1.0]
    assert supertrend_side(*given)[1:].tolist() == [-1.0, 1.0, 1.0, -1.0, -1.0, 1.0]


def correlate_ranks(window):
    """Correlation of ranks and places by numpy, in percent."""
    ranks = pd.Series(window).rank().to_numpy()
    return 100 * np.corrcoef(ranks, np.arange(len(window)))[0, 1] if np.ptp(ranks) else np.nan


WINDOWED = {
    "percentile": (percentile, 12, lambda w: np.percentile(w, 30, method="hazen"), (30,)),
    "median": (percentile, 9, np.median, (50,)),
    "percent_rank": (percent_rank, 10, lambda w: 100 * np.mean(w[:-1] <= w[-1]), ()),
    "rank_correlation": (rank_correlation, 7, correlate_ranks, ()),
    "bars_since_highest": (bars_since_highest, 6, lambda w: len(w) - 1 - np.argmax(w), ()),
    "bars_since_lowest": (bars_since_lowest, 6, lambda w: len(w) - 1 - np.argmin(w), ()),
}


@pytest.mark.parametrize("name", WINDOWED)
def test_ranks_match_numpy(name):
    """With ties and holes."""
    indicator, bars, oracle, more = WINDOWED[name]
    values = RNG.integers(0, 9, size=300) / 2.0
    values[RNG.random(300) < 0.02] = np.nan
    size = bars + (name == "percent_rank")
    windows = np.lib.stride_tricks.sliding_window_view(values, size)
    expected = [np.nan if np.isnan(window).any() else oracle(window) for window in windows]
    found = indicator(values, bars, *more)
    assert np.isnan(found[: size - 1]).all()
    np.testing.assert_allclose(found[size - 1 :], expected, rtol=1e-12, atol=1e-12)


def test_memory_matches_pandas():
    """Values kept, ages and sums of a row with holes."""
    values = np.where(RNG.random(200) < 0.7, np.nan, RNG.normal(size=200))
    table = pd.Series(values)
    np.testing.assert_array_equal(last_known(values), table.ffill())
    np.testing.assert_allclose(total(values), table.cumsum(), rtol=1e-12)
    places = pd.Series(np.where(np.isnan(values), np.nan, np.arange(200))).ffill()
    np.testing.assert_array_equal(bars_unknown(values), np.arange(200) - places)
