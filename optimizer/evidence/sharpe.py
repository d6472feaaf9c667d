"""Significance of a Sharpe ratio: probabilistic, by its record's length, and deflated by tries.

All ratios are per day. Sources: Bailey and Lopez de Prado, "The Sharpe ratio efficient frontier",
Journal of Risk 15(2), 2012, for PSR and MinTRL; the same, "The deflated Sharpe ratio", Journal of
Portfolio Management 40(5), 2014; Bailey, Borwein, Lopez de Prado and Zhu, "Pseudo-mathematics and
financial charlatanism", Notices of the AMS 61(5), 2014, for the expected maximum.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from data.checks import Floats
from optimizer.evidence.figures import (
    Figure,
    Number,
    encode_figures,
    find_first_reason,
    make_undefined,
)
from optimizer.evidence.returns import Daily, moments, sharpe_ratios
from optimizer.evidence.statistic import MOST_DOUBT, Around, Statistic, Weighed, choose_side

EULER_GAMMA = 0.5772156649015329

CONFIDENCE = 0.95

NORMAL = NormalDist()


@dataclass(frozen=True)
class SharpeRecord(Statistic):
    """The pick's Sharpe ratio per day, and how sure it is after so many tries."""

    daily: Number
    skew: Number
    kurtosis: Number
    days: int
    psr: Number
    min_trl: Number
    dsr_effective: Number
    dsr_all: Number

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """PSR alone, and DSR after so many tries; that with effective ones decides."""
        dsr = self.dsr_effective
        yield Weighed(
            "sharpe a day",
            f"Sharpe ratio {self.format('daily')} a day; PSR {self.format_chance('psr')}, were it "
            f"the only one tried; DSR {self.format_chance('dsr_effective')} after as many "
            f"different tries, {self.format_chance('dsr_all')} after all of them. A record of "
            f"{self.format('min_trl', digits=0)} days is needed, it has {self.days:,}.",
            "" if dsr is None else choose_side(dsr >= 1 - MOST_DOUBT),
        )


def compute_probabilistic(column: Daily, hurdle: float = 0.0) -> Figure:
    """Probability that a Sharpe ratio lies above a hurdle, were it the only one tried (PSR)."""
    spread = _compute_scaled_variance(column)
    if not spread.is_defined:
        return spread
    if not spread.value > 0:
        return make_undefined("the Sharpe ratio has no spread")
    z = (column.sharpe.value - hurdle) * math.sqrt(column.days - 1) / math.sqrt(spread.value)
    # Exact in the lower tail too.
    return Figure(0.5 * math.erfc(-z / math.sqrt(2)))


def find_least_record(column: Daily) -> Figure:
    """Days that a record needs for a PSR of 0.95 (MinTRL); undefined not above 0."""
    spread = _compute_scaled_variance(column)
    if not spread.is_defined:
        return spread
    if column.sharpe.value <= 0:
        return make_undefined("the Sharpe ratio is not above its hurdle")
    return Figure(1 + spread.value * (NORMAL.inv_cdf(CONFIDENCE) / column.sharpe.value) ** 2)


def compute_expected_maximum(tries: float) -> float:
    """Expected greatest of `tries` independent standard normal numbers; 0 for one or less."""
    if tries <= 1:
        return 0.0
    # The lower tail keeps its digits where 1 - 1 / tries has lost them.
    first, second = -NORMAL.inv_cdf(1 / tries), -NORMAL.inv_cdf(1 / (tries * math.e))
    return max(0.0, (1 - EULER_GAMMA) * first + EULER_GAMMA * second)


def compute_trial_variance(columns: Floats) -> Figure:
    """Variance of the Sharpe ratios of generation 0's judged trials [D, N], at least 1 / (D - 1).

    Trials without a ratio are left out; undefined where fewer than two are left.
    """
    ratios = sharpe_ratios(columns)
    ratios = ratios[~np.isnan(ratios)]
    if len(ratios) < 2:
        return make_undefined("fewer than two trials of generation 0 have a Sharpe ratio")
    return Figure(max(float(np.var(ratios, ddof=1)), 1 / (len(columns) - 1)))


def expect_best(variance: Figure, tries: Figure) -> Figure:
    """Sharpe ratio that the best of so many tries would show without an edge."""
    if why := find_first_reason(variance, tries):
        return make_undefined(why)
    return Figure(math.sqrt(variance.value) * compute_expected_maximum(tries.value))


def deflate_sharpe(column: Daily, variance: Figure, tries: Figure) -> Figure:
    """The PSR of a trial above the best of so many tries (DSR)."""
    hurdle = expect_best(variance, tries)
    return compute_probabilistic(column, hurdle.value) if hurdle.is_defined else hurdle


def measure_sharpe(pick: Floats, first: Floats, judged: int, effective: Figure) -> SharpeRecord:
    """The Sharpe ratio of the pick's days [D], alone and after so many tries.

    `first` are days [D, N] of judged trials of generation 0, `judged` counts all of them.
    """
    daily, variance = moments(pick), compute_trial_variance(first)
    return SharpeRecord(
        days=daily.days,
        **encode_figures(
            daily=daily.sharpe,
            skew=daily.skew,
            kurtosis=daily.kurtosis,
            psr=compute_probabilistic(daily),
            min_trl=find_least_record(daily),
            dsr_effective=deflate_sharpe(daily, variance, effective),
            dsr_all=deflate_sharpe(daily, variance, Figure(float(judged))),
        ),
    )


def compute_psr(column: Floats) -> Figure:
    """The PSR above 0 of a column of days [D]."""
    return compute_probabilistic(moments(column))


def _compute_scaled_variance(column: Daily) -> Figure:
    """D - 1 times the variance of a Sharpe ratio, V(SR)."""
    why = find_first_reason(column.sharpe, column.skew, column.kurtosis)
    if why:
        return make_undefined(why)
    ratio, skew, kurtosis = column.sharpe.value, column.skew.value, column.kurtosis.value
    return Figure(1 - skew * ratio + (kurtosis - 1) / 4 * ratio**2)
