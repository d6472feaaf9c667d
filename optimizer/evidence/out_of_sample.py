"""Trades on bars that a search had not seen: do they confirm its result?"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from data.bars import Bars, Window
from engine.accounts.ledger import Ledger
from optimizer.evidence.pick import compute_strength, sum_r_and_squares
from optimizer.evidence.returns import count_closing_days, sum_days
from optimizer.evidence.sharpe import compute_psr
from optimizer.evidence.statistic import (
    MOST_DOUBT,
    Figure,
    Number,
    Statistic,
    choose_side,
    encode_figures,
    make_undefined,
)

FEWEST_TRADES, FEWEST_CLOSING_DAYS = 30, 20

STANDARD_ERROR = 1.0
"""Strength below which trades tell no gain from none: their mean lies within its standard error."""

UNKNOWN = make_undefined("unknown")


@dataclass(frozen=True)
class Unseen:
    """Trades on bars that a search had not seen: folds together, or held-out bars."""

    trades: int  # how many
    closing_days: int  # on how many different UTC days they were closed
    mean_r: Figure  # undefined without trades
    psr: Figure  # probabilistic Sharpe ratio above 0 of the days
    strength: Figure = UNKNOWN  # of all trades

    def confirms(self, times: int) -> bool:
        """True if it speaks for an edge, after so many looks or searches."""
        return (
            self.trades >= FEWEST_TRADES
            and self.closing_days >= FEWEST_CLOSING_DAYS
            and self.mean_r.value > 0
            and self.psr.value >= 1 - MOST_DOUBT / times
        )

    @property
    def contradicts(self) -> bool:
        """True if it traded, and did not gain."""
        return self.trades > 0 and self.mean_r.value <= 0

    @property
    def is_nought(self) -> bool:
        """True if the mean of its trades lies within its own standard error of 0."""
        return abs(self.strength.value) < STANDARD_ERROR

    def encode(self, **more: Figure) -> dict[str, Any]:
        """Fields of an `OutOfSample`, and further figures of a record."""
        figures = {"mean_r": self.mean_r, "psr": self.psr, "strength": self.strength, **more}
        counts = {"trades": self.trades, "closing_days": self.closing_days}
        return {**counts, **encode_figures(**figures)}


def add_up(parts: Iterable[Unseen]) -> tuple[int, float, float]:
    """Trades of several parts that traded, their mean R, and their strength together.

    The strength is NaN where that of a part is not known.
    """
    trades, sum_r, squares = 0, 0.0, 0.0
    for part in parts:
        total = part.trades * part.mean_r.value
        trades, sum_r = trades + part.trades, sum_r + total
        squares += (total / part.strength.value) ** 2 if part.strength.value else 0.0
    return trades, sum_r / trades, sum_r / math.sqrt(squares) if squares else 0.0


@dataclass(frozen=True, kw_only=True)
class OutOfSample(Statistic):
    """A record of trades on unseen bars."""

    trades: int
    closing_days: int
    mean_r: Number
    psr: Number
    strength: Number = None

    @property
    def unseen(self) -> Unseen:
        """Trades on unseen bars as the rules of the verdict take them."""
        figures = map(self.figure, ("mean_r", "psr", "strength"))
        return Unseen(self.trades, self.closing_days, *figures)

    def find_side(self, times: int) -> str:
        """Side of the trades after so many looks or searches; empty for neither."""
        is_for = self.unseen.confirms(times)
        return choose_side(is_for) if is_for or self.unseen.contradicts else ""


def measure_out_of_sample(
    ledgers: Sequence[Ledger], series: Sequence[Bars], windows: Sequence[Window]
) -> Unseen:
    """Trades [W] in windows that a search had not seen, at least one.

    They are of the pick on held-out bars, or of each fold's own pick in its test.
    """
    trades = sum(map(len, ledgers))
    sum_r, _ = sum_r_and_squares([ledger.r for ledger in ledgers])
    return Unseen(
        trades,
        count_closing_days(ledgers, series, windows),
        Figure(sum_r / trades) if trades else make_undefined("no trades"),
        compute_psr(sum_days(ledgers, series, windows)),
        compute_strength([ledger.r for ledger in ledgers]),
    )
