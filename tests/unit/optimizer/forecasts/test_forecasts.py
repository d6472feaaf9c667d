"""Forecasts: fitted of what was known when, and how good they are by hand and against scipy."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy

from optimizer.forecasts.column import make_forecast
from optimizer.forecasts.fit import build_folds, build_samples, fit
from optimizer.forecasts.settings import ForecastSettings
from optimizer.forecasts.skill import (
    RivalGain,
    Skill,
    SkillFigures,
    diebold_mariano,
    measure_skill,
    t_above,
)
from tests.support.planted_returns import planted_market
from tests.support.worlds import make_bars

QUICK = {"horizon": 3, "window": 8, "train": 400, "refit": 150, "hidden": 4, "steps": 5,
         "batch": 32, "stack": 4}  # fmt: skip


def small(**others):
    """Settings of a forecast that is fitted at once."""
    return ForecastSettings(**QUICK, **others)


SMALL = small()
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
    settings, series = small(model=model), two_symbols()
    whole = fit(series, settings)
    for bar in (687, 700):
        time_ns = int(series[0].timestamp[bar])
        cut = fit(until(series, time_ns), settings)
        assert np.isfinite(cut.values).sum() > 200
        assert bits(whole, time_ns) == bits(cut, time_ns)


def test_other_models_of_a_stack_change_nothing():
    """Seeds beside it, and where in which stack it stands, leave a model's bits alone."""
    series = (planted_market(1, 800, 0.1),)
    alone = fit(series, small(model="gru", seeds=1, seed=2))
    first, both = (fit(series, small(model="gru", seeds=n)) for n in (1, 2))
    assert alone.weights not in (first.weights, both.weights)
    assert np.isfinite(both.values).sum() == np.isfinite(alone.values).sum()
    again = fit(series, small(model="gru", seeds=1, seed=2))
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
        build_samples([bars], small(target=target)).target for target in ("scaled", "return")
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
    settings = small(features='returns, column("x")')
    samples = build_samples([replace(bars, extra={"x": column})], settings)
    missing = np.flatnonzero(~samples.is_ready)
    assert missing.tolist() == [*range(96 + SMALL.window - 1), *range(300, 308)]


@pytest.mark.parametrize("degrees", [1, 7, 40, 3000])
def test_students_t_is_that_of_scipy(degrees):
    """Both tails, to ten digits."""
    for value in (-6.0, -1.3, 0.0, 0.2, 2.5, 9.0):
        assert t_above(value, degrees) == pytest.approx(scipy.stats.t.sf(value, degrees), rel=1e-10)


def test_diebold_mariano_of_one_bar_is_a_t_test():
    """Without overlap it is the plain one, whose variance is over N where this one's is too."""
    gains = np.random.default_rng(1).normal(0.05, 1.0, 200)
    # Harvey's correction at horizon 1 is (N - 1) / N, which makes the variance that over N - 1.
    expected = scipy.stats.ttest_1samp(gains, 0, alternative="greater").pvalue
    assert diebold_mariano(gains, 1) == pytest.approx(expected, rel=1e-9)


def test_diebold_mariano_of_several_bars():
    """The statistic put together from the papers' formulas."""
    gains = np.convolve(np.random.default_rng(2).normal(0.03, 1.0, 303), np.ones(4), "valid")
    n, h = len(gains), 4
    around = gains - gains.mean()
    variance = sum(
        (1 if k == 0 else 2 * (1 - k / h)) * (around[k:] @ around[: n - k]) / n for k in range(h)
    )
    factor = np.sqrt((n + 1 - 2 * h + h * (h - 1) / n) / n)
    statistic = factor * gains.mean() / np.sqrt(variance / n)
    assert diebold_mariano(gains, h) == pytest.approx(scipy.stats.t.sf(statistic, n - 1), rel=1e-9)
    assert np.isnan(diebold_mariano(np.ones(20), 1))
    assert np.isnan(diebold_mariano(np.zeros(200), 1))


def skill(model, seed, share):
    """Of a model on a market of three thousand bars, one bar ahead."""
    settings = ForecastSettings(
        model=model,
        horizon=1,
        train=2000,
        refit=1000,
        features="returns, volume",
        stack=2,
        window=24,
        steps=80,
    )
    return make_forecast([planted_market(seed, 3000, share)], settings).record.skill


@pytest.mark.slow
@pytest.mark.parametrize("model", ["ridge", "gru"])
def test_what_is_planted_is_found_and_noise_is_not(model):
    """Signal to noise 0.43: a gain with a calibrated slope; none on noise."""
    planted, noise = skill(model, 5, 0.3), skill(model, 6, 0.0)
    assert planted.has_skill
    assert planted.whole.against["the mean"].gain > 0.03
    assert planted.whole.hits - 0.5 > 3 * planted.whole.hits_error
    assert 0.5 < planted.whole.slope < 2.5
    assert not noise.has_skill


def test_each_fit_on_the_same_bars_is_a_try():
    """P of 0.02 is below 0.05 times two fits, not times three; the ridge need not be beaten."""
    against = {"nothing": RivalGain(0.1, 0.001), "the mean": RivalGain(0.1, 0.02)}
    figures = SkillFigures(100, {**against, "the ridge": RivalGain(-0.1, 0.9)}, *[0.5] * 6)
    skill = Skill("", False, figures, ())
    assert [skill.among(fits).has_skill for fits in (1, 2, 3, 50)] == [True, True, False, False]
    few = Skill("", False, replace(figures, bars=29), ())
    assert not few.among(1).has_skill


def test_symbols_that_move_together_count_once():
    """Gains are averaged at each time, so that a symbol beside itself makes nothing surer."""
    target, values, means, lines = np.random.default_rng(4).normal(size=(4, 100))

    def measure(symbols):
        rows = np.arange(100 * symbols)
        target_, values_, means_, lines_ = (
            np.tile(column, symbols) for column in (target, values + target, means, lines)
        )
        samples = SimpleNamespace(target=target_, moment=rows % 100)
        folds = [SimpleNamespace(asked=rows, refit_ns=0)]
        fitted = SimpleNamespace(
            values=values_, means=means_, lines=lines_, samples=samples, folds=folds
        )
        return measure_skill(fitted, "gru", 3).whole

    one, two = measure(1), measure(2)
    assert (one.bars, two.bars) == (100, 200)
    for name, rival in one.against.items():
        assert two.against[name].p == pytest.approx(rival.p, rel=1e-9)
    assert two.slope_error == pytest.approx(one.slope_error, rel=1e-9)
    assert two.hits_error == pytest.approx(one.hits_error, rel=1e-9)
