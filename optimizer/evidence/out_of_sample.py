"""Trades on bars that a search had not seen: do they confirm its result?"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from data.bars import Bars, Window
from engine.accounts.ledger import Ledger
from optimizer.evidence.figures import Figure, Number, encode_figures, make_undefined
from optimizer.evidence.pick import compute_strength, sum_r_and_squares
from optimizer.evidence.returns import count_closing_days, sum_days
from optimizer.evidence.sharpe import compute_psr
from optimizer.evidence.statistic import MOST_DOUBT, Statistic, choose_side

FEWEST_TRADES, FEWEST_CLOSING_DAYS = 30, 20

STANDARD_ERROR = 1.0
"""Strength below which trades tell no gain from none: their mean lies within its standard error."""


@dataclass(frozen=True, kw_only=True)
class OutOfSample(Statistic):
    """Trades on bars that a search had not seen: folds together, or held-out bars."""

    trades: int  # how many
    closing_days: int  # on how many different UTC days they were closed
    mean_r: Number  # undefined without trades
    psr: Number  # probabilistic Sharpe ratio above 0 of the days
    strength: Number = None  # of all trades

    def confirms(self, times: int) -> bool:
        """True if it speaks for an edge, after so many looks or searches."""
        return (
            self.trades >= FEWEST_TRADES
            and self.closing_days >= FEWEST_CLOSING_DAYS
            and self.value("mean_r") > 0
            and self.value("psr") >= 1 - MOST_DOUBT / times
        )

    @property
    def contradicts(self) -> bool:
        """True if it traded, and did not gain."""
        return self.trades > 0 and self.value("mean_r") <= 0

    @property
    def is_nought(self) -> bool:
        """True if the mean of its trades lies within its own standard error of 0."""
        return abs(self.value("strength")) < STANDARD_ERROR

    def find_side(self, times: int) -> str:
        """Side of the trades after so many looks or searches; empty for neither."""
        is_for = self.confirms(times)
        return choose_side(is_for) if is_for or self.contradicts else ""

    def encode(self, **more: Figure) -> dict[str, Any]:
        """Fields of a record of these trades, with further figures of it."""
        figures = encode_figures(**more)
        return {**vars(self), **figures, "why": {**self.why, **figures["why"]}}


def add_up(parts: Iterable[OutOfSample]) -> tuple[int, float, float]:
    """Trades of several parts that traded, their mean R, and their strength together.

    The strength is NaN where that of a part is not known.
    """
    trades, sum_r, squares = 0, 0.0, 0.0
    for part in parts:
        total, strength = part.trades * part.value("mean_r"), part.value("strength")
        trades, sum_r = trades + part.trades, sum_r + total
        squares += (total / strength) ** 2 if strength else 0.0
    return trades, sum_r / trades, sum_r / math.sqrt(squares) if squares else 0.0


def measure_out_of_sample(
    ledgers: Sequence[Ledger], series: Sequence[Bars], windows: Sequence[Window]
) -> OutOfSample:
    """Trades [W] in windows that a search had not seen, at least one.

    They are of the pick on held-out bars, or of each fold's own pick in its test.
    """
    trades = sum(map(len, ledgers))
    sum_r, _ = sum_r_and_squares([ledger.r for ledger in ledgers])
    return OutOfSample(
        trades=trades,
        closing_days=count_closing_days(ledgers, series, windows),
        **encode_figures(
            mean_r=Figure(sum_r / trades) if trades else make_undefined("no trades"),
            psr=compute_psr(sum_days(ledgers, series, windows)),
            strength=compute_strength([ledger.r for ledger in ledgers]),
        ),
    )
