"""The expectation: mean R of a member on other bars of the same kind, after selection.

Null searches show the strength of a best candidate without an edge. A member of that strength is
taken for one of them, which loses its costs. One far above has an edge, and selection added the
greater part of its null gain. Between the two a chance weighs both. Source: Efron, "Microarrays,
empirical Bayes and the two-groups model", Statistical Science 23, 2008; the constants are measured
on planted markets (README.md).

Without null searches the folds tell, which trade on bars that their searches had not seen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, variance
from typing import Annotated, NamedTuple

from optimizer.evidence.figures import Number
from optimizer.evidence.out_of_sample import OutOfSample
from optimizer.formatting import format_count, fraction
from optimizer.store.payload import OPTIONAL, Payload

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


@dataclass(frozen=True)
class YearRecord(Payload):
    """Gain a year that goes with an expected mean R: of the account, compounded; else R."""

    mean: float
    low: float  # as of `ExpectedRecord`
    high: float
    shown: float  # on the searched bars
    is_r: bool = False  # whether it is R, because one R is no known share of the account

    def describe(self) -> str:
        """Sentence on it."""
        return f"{self.headline}, {self.range}, where {self._format(self.shown)} is shown"

    @property
    def headline(self) -> str:
        """Mean in words."""
        return f"{self._format(self.mean)} a year"

    @property
    def range(self) -> str:
        """Interval in words."""
        return f"{self._format(self.low)} to {self._format(self.high)}"

    def _format(self, value: float) -> str:
        return f"{_format(value)} R" if self.is_r else fraction(value)


@dataclass(frozen=True)
class ExpectedRecord(Payload):
    """Mean R a trade that a member is expected to earn on other bars of the same kind."""

    mean: float
    low: float  # nine of ten earn more than this
    high: float  # and nine of ten less than this
    shown: float  # mean R on the searched bars, for which it was chosen
    nulls: int  # null searches that it follows from
    fold_trades: int  # trades of folds that it follows from, where there are no null searches
    year: Annotated[YearRecord | None, OPTIONAL] = None  # None where no year is known

    @property
    def range(self) -> str:
        """Interval in words."""
        return f"{_format(self.low)} to {_format(self.high)} R"

    def describe(self) -> str:
        """Sentence on it."""
        nulls = format_count(self.nulls, "null search")
        source = nulls if self.nulls else f"{format_count(self.fold_trades, 'trade')} of folds"
        year = "" if self.year is None else f" That is {self.year.describe()}."
        return (
            f"{self.headline}, {self.range} in eight of ten cases, where {_format(self.shown)} R "
            f"is shown (from {source}; on bars of the same kind).{year}"
        )

    @property
    def headline(self) -> str:
        """Mean in words."""
        return f"{_format(self.mean)} R a trade"


def expect(
    mean_r: Number, strength: Number, nulls: Sequence[Number], folds: OutOfSample | None = None
) -> ExpectedRecord | None:
    """Expectation of a member, never above its own mean R; None where nothing is known of it.

    It follows from strengths of null searches on shuffled bars, None of an empty front; without
    them from all folds together. Mean R and strength are those of the searched bars.

    >>> found = expect(0.8, 4.0, [1.5, 2.0, 2.5])
    >>> found.headline, found.range
    ('0.46 R a trade', '0.16 to 0.77 R')
    """
    if not mean_r or not strength:
        return None
    error, found = mean_r / strength, [value for value in nulls if value is not None]
    if len(found) >= FEWEST_NULLS:
        left, spread = weigh_nulls(strength, found)
        mean, deviation = error * left, error * spread
        count, fold_trades = len(found), 0
    elif folds is not None and folds.trades >= FEWEST_FOLD_TRADES and folds.value("strength"):
        mean = folds.value("mean_r")
        own = mean / folds.value("strength")
        mean *= FOLD_GAIN if mean > 0 else 1.0
        deviation = math.hypot(own, SPREAD_OF_FOLDS * error)
        count, fold_trades = 0, folds.trades
    else:
        return None
    mean, reach = min(mean, mean_r), WITHIN * deviation
    return ExpectedRecord(mean, mean - reach, mean + reach, mean_r, count, fold_trades)


class AccountPart(NamedTuple):
    """Part of an account."""

    expected: ExpectedRecord
    trades: float  # a year
    stake: float  # share of the account that one R is


def expect_year(
    growth: float, parts: Sequence[AccountPart], alike: Sequence[Sequence[float]] = ((1.0,),)
) -> YearRecord:
    """Growth a year of an account with parts that earn their expectation, where `growth` is shown.

    `alike` are correlations of the parts' days: estimates from the same bars err together.

    >>> found = expect(0.8, 4.0, [1.5, 2.0, 2.5])
    >>> expect_year(0.5, [AccountPart(found, 40, 0.01)]).describe()
    '31.17% a year, 16.19% to 48.09%, where 50.00% is shown'
    """
    # One R a trade more adds so much to the logarithm of equity.
    adds = [part.trades * part.stake for part in parts]
    made = [part.expected for part in parts]
    less = sum(a * (one.mean - one.shown) for a, one in zip(adds, made, strict=True))
    errors = [a * (one.high - one.mean) for a, one in zip(adds, made, strict=True)]
    pairs = zip(errors, alike, strict=True)
    square = sum(
        error * sum(a * b for a, b in zip(errors, row, strict=True)) for error, row in pairs
    )
    reach = math.sqrt(max(square, 0.0))
    mean, low, high = (
        (1 + growth) * math.exp(min(less + error, 700.0)) - 1 for error in (0.0, -reach, reach)
    )
    return YearRecord(mean, low, high, growth)


def add_year(
    expected: ExpectedRecord, trades: Number, growth: Number, stake: Number
) -> ExpectedRecord:
    """Expectation with that of a year; arguments are those of `build_part`."""
    part = build_part(expected, trades, growth, stake)
    if part is not None and growth is not None:
        return replace(expected, year=expect_year(growth, [part]))
    if trades is None:
        return expected
    mean, low, high, shown = (
        trades * r for r in (expected.mean, expected.low, expected.high, expected.shown)
    )
    return replace(expected, year=YearRecord(mean, low, high, shown, is_r=True))


def build_part(
    expected: ExpectedRecord, trades: Number, growth: Number, stake: Number
) -> AccountPart | None:
    """Part of an account; None where the share that one R is of it is not known.

    Trades and growth are those of a year, as shown, of an account of it alone. Where trades are
    not sized by a `stake`, growth says the share, unless it is a loss where R are a gain.
    """
    if trades is None or growth is None:
        return None
    sum_r = trades * expected.shown
    if stake is None and growth > -1.0 and growth * sum_r > 0:
        stake = math.log1p(growth) / sum_r
    return None if stake is None else AccountPart(expected, trades, stake)


def weigh_nulls(strength: float, nulls: Sequence[float]) -> tuple[float, float]:
    """Strength of a member that is left after selection, and its deviation."""
    typical = fmean(nulls)
    odds = math.exp(min((strength - typical - EVEN_AHEAD) / SOFTNESS, 700.0))
    edge = odds / (1 + odds)
    with_edge, without = strength - SELECTED * typical, -COSTS
    spread = edge * SPREAD_OF_EDGE**2 + (1 - edge) * SPREAD_OF_NONE**2
    spread += edge * (1 - edge) * (with_edge - without) ** 2 + variance(nulls) / len(nulls)
    return edge * with_edge + (1 - edge) * without, math.sqrt(spread)


def _format(value: float) -> str:
    """Two digits behind the point, and no nought with a sign."""
    return f"{round(value, 2) + 0.0:.2f}"
