"""R of trades closed on each UTC day, and the moments of such columns.

Losses that are still open are not in them: drawdowns come from accumulators. Everything is per
day and never annualised. Source: house rule; a ledger alone decides them, to the bit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from data.bars import Bars, Window
from data.checks import Flags, Floats, Ints
from data.timeframe import UNITS_NS
from engine.accounts.ledger import Ledger
from engine.accounts.results import Results, arrange_results
from optimizer.evidence.figures import Figure, make_undefined

FEWEST_DAYS = 3
"""Below so many days there is no Sharpe ratio."""


@dataclass(frozen=True)
class Daily:
    """A column of days in four numbers."""

    days: int  # D
    sharpe: Figure  # mean over standard deviation (D - 1), per day
    skew: Figure  # third moment over the second to the power of 1.5, plain moments
    # Fourth moment over the square of the second, plain moments: 3 for a normal one.
    kurtosis: Figure


def list_days(series: Sequence[Bars], windows: Sequence[Window]) -> Ints:
    """The dates on which some window has a bar, [D] days since 1970 UTC, ascending."""
    # One window after the other: all bars together may be more than memory holds.
    times = (series[window.series].timestamp[window.start : window.end] for window in windows)
    days = [np.unique(_find_dates(of_window)) for of_window in times]
    dates: Ints = np.unique(np.concatenate(days))
    return dates


def daily_returns(
    ledgers: Iterable[Sequence[Ledger]],
    series: Sequence[Bars],
    windows: Sequence[Window],
    days: Ints,
) -> Floats:
    """R [D, N] of the trades that were closed on each of `list_days`, of ledgers [N, W] of trials.

    A window's r are added in the order of its trades, then windows in their order.
    """
    listed = [*ledgers]
    counts = np.array([[len(ledger) for ledger in of_trial] for of_trial in listed], np.int64)
    pairs = [pair for of_trial in listed for pair in zip(of_trial, windows, strict=True)]
    exits = [series[window.series].timestamp[ledger.exit_bar] for ledger, window in pairs]
    # Empty ones give both their types where there is none.
    exit_ns = np.concatenate([np.empty(0, np.int64), *exits])
    r = np.concatenate([np.empty(0), *(ledger.r for ledger, _ in pairs)])
    shape = len(listed), len(windows)
    results = arrange_results(counts.reshape(shape), exit_ns, r, np.ones(len(r), np.int8))
    daily = np.zeros((shape[0], len(days)))
    add_results(results, days, daily)
    return daily.T


def sum_days(
    ledgers: Sequence[Ledger], series: Sequence[Bars], windows: Sequence[Window]
) -> Floats:
    """R of each day [D] on which windows [W] have a bar, of one individual's trades there [W]."""
    daily: Floats = daily_returns([ledgers], series, windows, list_days(series, windows))[:, 0]
    return daily


def add_results(results: Results, days: Ints, daily: Floats) -> None:
    """Add the R of trials' trades to the days [N, D] on which they were closed.

    Trades of a window are in the order of their exits.
    """
    counts = results.counts.ravel()
    total = int(counts.sum())
    if not total:
        return
    ends = counts.cumsum()
    trades = np.arange(total) + np.repeat(results.firsts.ravel() - (ends - counts), counts)
    day_of = np.empty(days[-1] - days[0] + 1, np.int64)
    day_of[days - days[0]] = np.arange(len(days))
    closed = day_of[_find_dates(results.exit_ns[trades]) - days[0]]
    closed += np.repeat(np.arange(counts.size) // results.counts.shape[1] * len(days), counts)
    is_first = np.empty(total, np.bool_)
    is_first[0] = True
    np.not_equal(closed[1:], closed[:-1], out=is_first[1:])
    is_first[(ends - counts)[counts > 0]] = True
    # One trade after the other, unlike a sum over groups; then one window after the other.
    sums = np.bincount(is_first.cumsum() - 1, results.r[trades])
    np.add.at(daily.reshape(-1), closed[is_first], sums)


def count_closing_days(
    ledgers: Sequence[Ledger], series: Sequence[Bars], windows: Sequence[Window]
) -> int:
    """On how many different days the trades [W] of one trial were closed."""
    pairs = zip(ledgers, windows, strict=True)
    closed = [
        _find_dates(series[window.series].timestamp[ledger.exit_bar]) for ledger, window in pairs
    ]
    return len(np.unique(np.concatenate(closed)))


def is_varying(columns: Floats) -> Flags:
    """True for columns [D, N] with two different values, [N]; exact, unlike a deviation of 0."""
    differ: Flags = (columns != columns[:1]).any(axis=0)
    return differ


def sharpe_ratios(columns: Floats) -> Floats:
    """Mean over standard deviation of columns [D, N], [N]; NaN as in `moments`."""
    if len(columns) < FEWEST_DAYS:
        return np.full(columns.shape[1], np.nan)
    deviation = columns.std(axis=0, ddof=1)
    is_known = is_varying(columns) & (deviation > 0)
    means = np.where(is_known, columns.mean(axis=0), np.nan)
    ratios: Floats = means / np.where(is_known, deviation, 1.0)
    return ratios


def moments(column: Floats) -> Daily:
    """Sharpe ratio, skewness and kurtosis of a column [D].

    All are undefined below three days and where all days are equal.

    Source: plain moments after Bailey and Lopez de Prado, "The Sharpe ratio efficient frontier",
    Journal of Risk 15(2), 2012; corrected ones can make their root imaginary.
    """
    days = len(column)
    if days < FEWEST_DAYS:
        return Daily(days, *[make_undefined(f"fewer than {FEWEST_DAYS} days")] * 3)
    around = column - column.mean()
    m2 = float(np.mean(around**2))
    if not is_varying(column[:, None])[0] or m2 * m2 == 0:
        return Daily(days, *[make_undefined("all days are equal")] * 3)
    return Daily(
        days,
        Figure(float(sharpe_ratios(column[:, None])[0])),
        Figure(float(np.mean(around**3)) / m2**1.5),
        Figure(float(np.mean(around**4)) / m2**2),
    )


def compute_efficiency(trained: Floats, tested: Floats) -> Figure:
    """Walk-forward efficiency: mean daily R of a fold's pick in its test over that in training.

    Undefined where the mean in training is not above 0, and without days.

    Source: Pardo, "The Evaluation and Optimization of Trading Strategies", 2nd ed. 2008.
    """
    if not len(trained) or not len(tested):
        return make_undefined("no days")
    before = float(trained.mean())
    if not before > 0:
        return make_undefined("the mean in training is not above 0")
    return Figure(float(tested.mean()) / before)


def _find_dates(times: Ints) -> Ints:
    dates: Ints = times // UNITS_NS["d"]
    return dates
