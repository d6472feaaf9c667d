"""What luck finds among many tries: resampled days, halves of a record, Sharpe ratios."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window
from optimizer.evidence import bootstrap
from optimizer.evidence.bootstrap import (
    choose_block_length,
    compare_superior,
    compare_with_nothing,
    compute_long_run_deviations,
    compute_mean_p,
    draw_days,
    resample,
)
from optimizer.evidence.cscv import compare_halves
from optimizer.evidence.figures import Figure, make_undefined
from optimizer.evidence.returns import (
    Daily,
    compute_efficiency,
    count_closing_days,
    daily_returns,
    list_days,
    moments,
)
from optimizer.evidence.sharpe import (
    compute_expected_maximum,
    compute_probabilistic,
    compute_trial_variance,
    deflate_sharpe,
    expect_best,
    find_least_record,
)
from optimizer.evidence.trials import count_effective_trials
from optimizer.search.randomness import draw_words, scale_to_index, scale_to_unit
from tests.support.evidence import counted_bars, daily_edge, daily_noise, make_ledger

REL = 1e-9
BLOCK = Figure(10.0)


def test_block_lengths_of_the_law():
    """A column as it is, and its moving sums over five days."""
    column = daily_noise()[:, 0]
    sums = np.convolve(column, np.ones(5), "valid")
    assert choose_block_length(column[:, None]).value == pytest.approx(1.1653748543705655, rel=REL)
    assert choose_block_length(daily_noise()[:, 1:2]).value == 1.0
    assert choose_block_length(sums[:, None]).value == pytest.approx(11.506060555172963, rel=REL)

    table = np.column_stack([column, np.append(sums, sums[-4:]), np.full(len(column), 0.1)])
    lengths = [choose_block_length(part[:, None]).value for part in table.T[:2]]
    assert choose_block_length(table).value == pytest.approx(np.median(lengths), rel=REL)


@given(st.integers(0, 2**40), st.integers(1, 999), st.integers(1, 50), st.floats(1.0, 20.0))
def test_resamples_equal_the_letter(seed, index, days, block):
    """Two words a step: whether a run begins, and where."""
    drawn = draw_words(seed, index, "bootstrap", 2 * days)
    u, j = scale_to_unit(drawn[0::2]), scale_to_index(drawn[1::2], days)
    expected = [int(j[0])]
    for t in range(1, days):
        expected.append(int(j[t]) if u[t] < 1 / block else (expected[-1] + 1) % days)
    assert expected == resample(seed, index, days, block).tolist()


def count_resamples(p, resamples=499):
    """How many of the resamples, and one, a p stands for."""
    return round(p * (resamples + 1), 9)


def compute_statistic(table, seed, resamples, block=10.0):
    """Hansen's statistic of the columns that vary."""
    spread = compute_long_run_deviations(table, block)
    drawn = draw_days(seed, resamples, len(table), block)
    return compare_superior(table[:, spread > 0], spread[spread > 0], drawn)[0].value


def test_the_table_without_an_edge():
    """The law's numbers: nothing is found."""
    comparison = compare_with_nothing(daily_noise(), BLOCK, seed=1, resamples=499)
    statistic = compute_statistic(daily_noise(), 1, 499)
    assert statistic == pytest.approx(1.784956969787604, rel=REL)
    ps = (comparison.spa_lower, comparison.spa_p, comparison.spa_upper)
    assert [count_resamples(p) for p in ps] == [375, 410, 410]
    assert (comparison.resamples, comparison.block) == (499, BLOCK.value)
    deviation = compute_long_run_deviations(daily_noise(), 10.0)[0]
    assert deviation == pytest.approx(0.0052020910269099715, rel=REL)


def test_the_table_with_an_edge():
    """The law's numbers: it is found."""
    comparison = compare_with_nothing(daily_edge(), BLOCK, seed=1, resamples=499)
    statistic = compute_statistic(daily_edge(), 1, 499)
    assert statistic == pytest.approx(4.165205032287021, rel=REL)
    assert count_resamples(comparison.spa_p) == 1


@pytest.mark.parametrize("edge", [-0.05, 0.0, 0.05])
def test_a_mean_reaches_as_many_resamples_as_counted_by_hand(edge):
    """Means around the observed one, losing columns included."""
    column = daily_noise()[:, 3] + edge * daily_noise()[:, 3].std()
    mean, days = column.mean(), len(column)
    drawn = (column[resample(1, index, days, 10.0)].mean() for index in range(1, 500))
    reaching = sum(of_resample - mean >= mean for of_resample in drawn)
    p = compute_mean_p(column[:, None], BLOCK, seed=1, resamples=499)
    assert count_resamples(p.value) == 1 + reaching


def test_columns_that_do_not_vary_take_no_part(monkeypatch):
    """Nor does the size of parts move anything."""
    table = daily_edge()
    whole = compare_with_nothing(table, BLOCK, seed=1, resamples=99)
    wider = np.insert(table, [0, 4], 0.1, axis=1)
    monkeypatch.setattr(bootstrap, "CHUNK_NUMBERS", 3000)
    comparison = compare_with_nothing(wider, BLOCK, seed=1, resamples=99)
    statistic = compute_statistic(table, 1, 99)
    assert compute_statistic(wider, 1, 99) == pytest.approx(statistic, rel=1e-12)
    assert (comparison.spa_p, comparison.spa_upper) == (whole.spa_p, whole.spa_upper)


def test_what_is_undefined_says_why():
    """Too few days, no block, or nothing that varies."""
    short, flat = np.eye(19), np.full((30, 3), 0.1)
    assert (
        choose_block_length(short).why
        == compare_with_nothing(short, BLOCK, 1).why["spa_p"]
        == "fewer than 20 days"
    )
    of_flat = compare_with_nothing(flat, BLOCK, 1)
    assert choose_block_length(flat).why == of_flat.why["spa_p"] == "no trial varies"
    comparison = compare_with_nothing(daily_noise(), make_undefined("no block"), 1)
    assert comparison.why["spa_upper"] == "no block"
    means = [compute_mean_p(part[:, :1], BLOCK, 1).why for part in (short, flat)]
    assert means == ["fewer than 20 days", "no trial varies"]


def plainly(trades, sum_r, sum_r2):
    """The same by the letter of the law, one split and one trial at a time."""
    count, blocks = trades.shape
    chosen = list(combinations(range(blocks), blocks // 2))
    logits, pairs = [], []
    for here in chosen:
        there = [b for b in range(blocks) if b not in here]
        one, other = (
            [_ratio(trades, sum_r, sum_r2, t, half) for t in range(count)] for half in (here, there)
        )
        best = one.index(max(one))
        below = sum(value < other[best] for value in other)
        equal = sum(value == other[best] for value in other)
        w = Fraction(2 * below + equal + 1, 2 * (count + 1))
        logits.append(math.log(w / (1 - w)))
        pairs.append((one[best], other[best]))
    return logits, pairs


def _ratio(trades, sum_r, sum_r2, trial, half):
    n = a = q = 0.0
    for block in half:
        n, a, q = n + trades[trial, block], a + sum_r[trial, block], q + sum_r2[trial, block]
    if n < 2 or not (q - a * a / n) / (n - 1) > 0:
        return -math.inf
    return a / n / math.sqrt((q - a * a / n) / (n - 1))


@given(st.integers(0, 2**32), st.integers(2, 9), st.sampled_from([2, 4, 6]), st.booleans())
def test_overfitting_equals_the_letter(seed, count, blocks, is_sparse):
    """Shares are exact, also with ties, trials without trades and without variation."""
    rng = np.random.Generator(np.random.PCG64(seed))
    trades = rng.integers(0, 3 if is_sparse else 9, (count, blocks)).astype(float)
    sum_r = rng.integers(-3, 4, (count, blocks)) * np.minimum(trades, 1.0)
    sum_r2 = sum_r**2 + rng.integers(0, 2 if is_sparse else 9, (count, blocks)) * trades
    halves = compare_halves(trades, sum_r, sum_r2)
    logits, pairs = plainly(trades, sum_r, sum_r2)
    assert halves.pbo == np.mean([logit <= 1e-12 for logit in logits])
    assert halves.loss == np.mean([other < 0 for _, other in pairs])
    assert halves.median_logit == pytest.approx(np.median(logits), abs=1e-9)
    finite = np.array([pair for pair in pairs if np.isfinite(pair).all()]).reshape(-1, 2)
    if len(finite) < 2 or np.ptp(finite[:, 0]) == 0:
        assert (
            halves.why["slope"]
            == halves.why["intercept"]
            == "no two splits differ in the best ratio"
        )
    elif np.ptp(finite[:, 0]) > 1e-3:
        slope, intercept = np.polyfit(*finite.T, 1)
        assert halves.slope == pytest.approx(slope, rel=1e-6, abs=1e-6)
        assert halves.intercept == pytest.approx(intercept, rel=1e-6, abs=1e-6)


def daily(days, sharpe, skew, kurtosis):
    """A column by its numbers."""
    return Daily(days, Figure(sharpe), Figure(skew), Figure(kurtosis))


PUBLISHED = daily(24, 0.036 / 0.079, -2.448, 10.164)


def test_psr_and_record_of_the_law():
    """The published example: monthly returns of a fund over two years."""
    assert compute_probabilistic(PUBLISHED).value == pytest.approx(0.9127093395948954, rel=REL)
    assert compute_probabilistic(PUBLISHED, 0.1).value == pytest.approx(0.8553606185907747, rel=REL)
    assert find_least_record(PUBLISHED).value == pytest.approx(34.76135780432685, rel=REL)


@pytest.mark.parametrize(
    ("tries", "expected"),
    [(2, 0.5197553442805939), (46.5, 2.248357470243894), (1e5, 4.390828742376488)],
)
def test_expected_maximum_of_the_law(tries, expected):
    """It grows with the tries, whole or not."""
    assert compute_expected_maximum(tries) == pytest.approx(expected, rel=REL)


def test_deflated_ratios_of_the_law():
    """The published example, after 100 and after 46 trials."""
    column, variance = daily(1250, 2.5 / math.sqrt(250), -3.0, 10.0), Figure(0.5 / 250)
    hundred = Figure(100.0)
    assert expect_best(variance, hundred).value == pytest.approx(0.11317200186513214, rel=REL)
    assert deflate_sharpe(column, variance, hundred).value == pytest.approx(
        0.9003968344493904, rel=REL
    )
    fewer = deflate_sharpe(column, variance, Figure(46.0))
    assert fewer.value == pytest.approx(0.9505017068755786, rel=REL)


def test_trials_of_the_law():
    """The table with an edge: effective trials, variance, hurdle and what is left of column 7."""
    table = daily_edge()
    tries, variance = count_effective_trials(table), compute_trial_variance(table)
    assert tries.value == pytest.approx(49.31668373323354, rel=REL)
    assert variance.value == pytest.approx(0.0011170983009783217, rel=REL)
    deflated = deflate_sharpe(moments(table[:, 7]), variance, tries)
    assert expect_best(variance, tries).value == pytest.approx(0.07590451894108648, rel=REL)
    assert deflated.value == pytest.approx(0.9759341252777555, rel=REL)
    assert find_least_record(moments(table[:, 7])).value == pytest.approx(
        139.59704808567275, rel=REL
    )


def test_variance_is_not_below_that_of_a_fair_game():
    """1 over one less than the days, where trials are more alike than chance makes them."""
    column = np.sin(np.arange(50.0))[:, None]
    assert compute_trial_variance(np.repeat(column, 5, axis=1)).value == 1 / 49


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
