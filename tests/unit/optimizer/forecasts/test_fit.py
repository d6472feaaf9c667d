"""Fitting forecasts: what was known when, whatever else is trained beside it."""

from dataclasses import replace

import numpy as np
import pytest

from optimizer.forecasts.fit import build_folds, build_samples, fit
from optimizer.forecasts.settings import ForecastSettings
from tests.support.planted_returns import planted_market
from tests.support.worlds import make_bars

SMALL = ForecastSettings(
    horizon=3, window=8, train=400, refit=150, hidden=4, steps=5, batch=32, stack=4
)
NETWORKS = ("gru", "tcn", "lstm", "attention")


def two_symbols(length=900):
    """One market whole, and one with gaps and bars without volume."""
    other = replace(make_bars(3, length - 90, gaps=0.02, silent=0.05), symbol="OTHER")
    first = planted_market(1, length, 0.1)
    shift = first.timestamp[0] - other.timestamp[0]
    steps = (other.timestamp - other.timestamp[0]) // other.timeframe_ns * first.timeframe_ns
    stamps = other.timestamp[0] + shift + steps
    return (first, replace(other, timestamp=stamps, timeframe_ns=first.timeframe_ns))


def until(series, time_ns):
    """Series as they were before a time."""
    return tuple(bars.until(int(np.searchsorted(bars.timestamp, time_ns))) for bars in series)


def bits(fitted, time_ns):
    """Forecasts of bars that open before a time."""
    return fitted.values[fitted.samples.opens_ns < time_ns].tobytes()


@pytest.mark.parametrize("model", ["naive", "ridge", *NETWORKS])
def test_forecasts_stay_when_bars_are_added(model):
    """Trained again on bars that end earlier, every forecast before that is the same in each bit.

    Two ends, within refits; two symbols, several refits by two seeds, more than one stack.
    """
    settings, series = replace(SMALL, model=model), two_symbols()
    whole = fit(series, settings)
    for bar in (687, 700):
        time_ns = int(series[0].timestamp[bar])
        cut = fit(until(series, time_ns), settings)
        assert np.isfinite(cut.values).sum() > 200
        assert bits(whole, time_ns) == bits(cut, time_ns)


def test_other_models_of_a_stack_change_nothing():
    """Seeds beside it, and where in which stack it stands, leave a model's bits alone."""
    series = (planted_market(1, 800, 0.1),)
    alone = fit(series, replace(SMALL, model="gru", seeds=1, seed=2))
    first, both = (fit(series, replace(SMALL, model="gru", seeds=n)) for n in (1, 2))
    assert alone.weights not in (first.weights, both.weights)
    assert np.isfinite(both.values).sum() == np.isfinite(alone.values).sum()
    again = fit(series, replace(SMALL, model="gru", seeds=1, seed=2))
    assert (again.values.tobytes(), again.weights) == (alone.values.tobytes(), alone.weights)


def test_training_rows_end_an_embargo_earlier():
    """Targets end a horizon before the refit; what is forecast begins with it."""
    samples = build_samples(two_symbols(), SMALL)
    folds = build_folds(samples, SMALL)
    embargo = SMALL.horizon * samples.bar_ns
    assert len(folds) > 3
    for fold in folds:
        assert samples.done_ns[fold.trained].max() <= fold.refit_ns - embargo
        assert samples.opens_ns[fold.asked].min() >= fold.refit_ns
        begun = samples.opens_ns[fold.checked].min()
        assert samples.done_ns[fold.fitted].max() <= begun - embargo
    everything = np.concatenate([fold.asked for fold in folds])
    assert len(everything) == len(set(everything.tolist()))


def test_a_target_is_the_return_over_the_horizon():
    """In standard deviations of the bars before it, and as a fraction."""
    bars = planted_market(2, 400, 0.0)
    scaled, plain = (
        build_samples([bars], replace(SMALL, target=target)).target
        for target in ("scaled", "return")
    )
    moves = bars.close[1:] / bars.close[:-1] - 1
    at, moved = 200, bars.close[203] / bars.close[200] - 1
    assert plain[at] == pytest.approx(moved, rel=1e-9)
    assert scaled[at] == pytest.approx(moved / (moves[at - 96 : at].std() * 3**0.5), rel=1e-9)
    assert np.isnan(scaled[-3:]).all()
    assert np.isfinite(scaled[-4])


def test_an_unknown_number_anywhere_in_a_window_is_no_window():
    """A feature that is NaN at a bar leaves out every window that holds it."""
    bars = planted_market(2, 400, 0.0)
    column = np.where(np.arange(400) == 300, np.nan, 1.0)
    settings = replace(SMALL, features='returns, column("x")')
    samples = build_samples([replace(bars, extra={"x": column})], settings)
    missing = np.flatnonzero(~samples.is_ready)
    assert missing.tolist() == [*range(96 + SMALL.window - 1), *range(300, 308)]
