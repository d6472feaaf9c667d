"""Backtests of several windows taken together as if they were one.

It is not a portfolio's account: positions of different symbols do not share money, and a fall that
begins in one part and ends in another is not seen. Source: house rule.
"""

from collections.abc import Sequence

import numpy as np

from data.checks import Floats
from engine.ledger import ACCUMULATOR_INDEX
from engine.metrics import Span

PEAK_R, SUM_R = ACCUMULATOR_INDEX["peak_r"], ACCUMULATOR_INDEX["sum_r"]
EQUITY, PEAK_EQUITY = ACCUMULATOR_INDEX["equity"], ACCUMULATOR_INDEX["peak_equity"]
WORST = [ACCUMULATOR_INDEX["max_drawdown_r"], ACCUMULATOR_INDEX["max_drawdown"]]


def pool(accumulators: Floats) -> Floats:
    """Fold the windows of each individual in their order.

    Counts and sums are added and equity is multiplied, 0 once an account was lost. Falls are the
    worst part's, which is a lower bound of that of the whole. Peaks are those of the whole.

    Args:
        accumulators: [P, W, A], W at least 1, named by `engine.ledger.ACCUMULATORS`.

    Returns:
        [P, A].
    """
    pooled = accumulators[:, 0].copy()
    for window in range(1, accumulators.shape[1]):
        part = accumulators[:, window]
        total = pooled + part
        total[:, WORST] = np.maximum(pooled[:, WORST], part[:, WORST])
        total[:, PEAK_R] = np.maximum(pooled[:, PEAK_R], pooled[:, SUM_R] + part[:, PEAK_R])
        # What is lost stays lost, also where another part gained without bound.
        lost = (pooled[:, EQUITY] <= 0) | (part[:, EQUITY] <= 0)
        total[:, EQUITY] = _times(pooled[:, EQUITY], part[:, EQUITY], lost)
        reached = _times(pooled[:, EQUITY], part[:, PEAK_EQUITY], pooled[:, EQUITY] <= 0)
        total[:, PEAK_EQUITY] = np.maximum(pooled[:, PEAK_EQUITY], reached)
        pooled = total
    return pooled


def pool_spans(spans: Sequence[Span], series: Sequence[int]) -> Span:
    """How long windows are together: all their bars, and the years of the longest series.

    Args:
        spans: [W].
        series: [W], the number of the series that each is of; parts of one are added.
    """
    years = dict.fromkeys(series, 0.0)
    for span, number in zip(spans, series, strict=True):
        years[number] += span.years
    return Span(sum(span.bars for span in spans), max(years.values()))


def _times(left: Floats, right: Floats, is_lost: np.ndarray) -> Floats:
    product: Floats = np.where(is_lost, 0.0, np.where(is_lost, 1.0, left) * right)
    return product
