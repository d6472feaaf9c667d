"""The expectation: mean R of a member on other bars of the same kind, after selection.

Null searches say how strong the best of a search is where there is nothing to find. A member whose
strength is of their size is taken for one of them, which loses its costs. One far above them has an
edge, of which selection added the greater part of what it adds without one. Between the two a
chance weighs both. Source: Efron, "Microarrays, empirical Bayes and the two-groups model",
Statistical Science 23, 2008; the constants are measured on planted markets (README.md).

Without null searches the folds say it, which trade on bars that their searches had not seen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import NamedTuple

from optimizer.evidence.figures import Number
from optimizer.evidence.out_of_sample import Unseen
from optimizer.formatting import format_count
from optimizer.store.payload import Payload

FEWEST_NULLS, FEWEST_FOLD_TRADES = 2, 10

EVEN_AHEAD = 1.1
"""Strength beyond the mean of null searches from which on an edge is likelier than none."""

SOFTNESS = 0.4
"""Strength by which the odds of an edge rise by the factor e."""

SELECTED = 0.7
"""Share of the mean strength of null searches that selection adds to a member with an edge."""

COSTS = 0.3
"""Standard errors that a member without an edge loses, about."""

SPREAD_OF_EDGE, SPREAD_OF_NONE, SPREAD_OF_FOLDS = 0.8, 0.35, 1.0
"""Deviations of what is earned around what is expected, in standard errors of the mean R."""

FOLD_GAIN = 1.25
"""Gain of a pick in terms of that of folds, whose picks saw fewer bars."""

WITHIN = 1.2816
"""Deviations to each side that hold eight of ten."""


class Estimate(NamedTuple):
    """A mean and its deviation."""

    mean: float
    deviation: float


@dataclass(frozen=True)
class ExpectedRecord(Payload):
    """Mean R a trade that a member is expected to earn on other bars of the same kind."""

    mean: float
    low: float  # nine of ten earn more than this
    high: float  # and nine of ten less than this
    shown: float  # mean R on the searched bars, for which it was chosen
    nulls: int  # null searches that it follows from
    fold_trades: int  # trades of folds that it follows from, where there are no null searches

    @property
    def range(self) -> str:
        """Interval in words."""
        return f"{_format(self.low)} to {_format(self.high)} R in eight of ten cases"

    def describe(self) -> str:
        """Sentence on it."""
        nulls = format_count(self.nulls, "null search")
        source = nulls if self.nulls else f"{format_count(self.fold_trades, 'trade')} of folds"
        return (
            f"{self.headline}, {self.range}, where {_format(self.shown)} R is "
            f"shown (from {source}; on bars of the same kind)."
        )

    @property
    def headline(self) -> str:
        """Mean in words."""
        return f"{_format(self.mean)} R a trade"


def expect(
    mean_r: Number, strength: Number, nulls: Sequence[Number], folds: Unseen | None = None
) -> ExpectedRecord | None:
    """Expectation of a member, never above its own mean R; None where nothing is known of it.

    Args:
        mean_r: Of its trades on the searched bars.
        strength: Of them.
        nulls: Strengths of null searches on shuffled bars, None of an empty front.
        folds: All folds together, which count without null searches.

    >>> found = expect(0.8, 4.0, [1.5, 2.0, 2.5])
    >>> found.headline, found.range
    ('0.46 R a trade', '0.16 to 0.77 R in eight of ten cases')
    """
    if not mean_r or not strength:
        return None
    error, found = mean_r / strength, [value for value in nulls if value is not None]
    if len(found) >= FEWEST_NULLS:
        left, spread = weigh_nulls(strength, found)
        mean, deviation = error * left, error * spread
        count, fold_trades = len(found), 0
    elif folds is not None and folds.trades >= FEWEST_FOLD_TRADES and folds.strength.value:
        own = folds.mean_r.value / folds.strength.value
        mean = folds.mean_r.value * (FOLD_GAIN if folds.mean_r.value > 0 else 1.0)
        deviation = math.hypot(own, SPREAD_OF_FOLDS * error)
        count, fold_trades = 0, folds.trades
    else:
        return None
    mean, reach = min(mean, mean_r), WITHIN * deviation
    return ExpectedRecord(mean, mean - reach, mean + reach, mean_r, count, fold_trades)


def weigh_nulls(strength: float, nulls: Sequence[float]) -> Estimate:
    """Strength of a member that is left after selection, and its deviation."""
    typical = fmean(nulls)
    odds = math.exp(min((strength - typical - EVEN_AHEAD) / SOFTNESS, 700.0))
    edge = odds / (1 + odds)
    with_edge, without = strength - SELECTED * typical, -COSTS
    return Estimate(
        edge * with_edge + (1 - edge) * without,
        math.sqrt(
            edge * SPREAD_OF_EDGE**2
            + (1 - edge) * SPREAD_OF_NONE**2
            + edge * (1 - edge) * (with_edge - without) ** 2
            + variance(nulls) / len(nulls)
        ),
    )


def _format(value: float) -> str:
    """Two digits behind the point, and no nought with a sign."""
    return f"{round(value, 2) + 0.0:.2f}"
