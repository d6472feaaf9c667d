"""Trades on bars that a search had not seen, and whether they confirm what it found."""

from collections.abc import Sequence
from dataclasses import dataclass

from data.bars import Bars, Window
from engine.accounts.ledger import Ledger
from optimizer.evidence.compared import sum_r_and_squares
from optimizer.evidence.figures import Figure, make_undefined
from optimizer.evidence.returns import closing_days, daily_returns, list_days
from optimizer.evidence.sharpe import compute_psr

FEWEST_TRADES, FEWEST_CLOSING_DAYS = 30, 20
MOST_DOUBT = 0.05


@dataclass(frozen=True)
class Unseen:
    """Trades on bars that a search had not seen: folds together, or held-out bars.

    Args:
        trades: How many.
        closing_days: On how many different UTC days they were closed.
        mean_r: Undefined without trades.
        psr: Probabilistic Sharpe ratio above 0 of the days.
    """

    trades: int
    closing_days: int
    mean_r: Figure
    psr: Figure

    def confirms(self, times: int) -> bool:
        """Whether it speaks for an edge, after so many looks or searches."""
        return (
            self.trades >= FEWEST_TRADES
            and self.closing_days >= FEWEST_CLOSING_DAYS
            and self.mean_r.value > 0
            and self.psr.value >= 1 - MOST_DOUBT / times
        )

    @property
    def contradicts(self) -> bool:
        """Whether it traded, and did not gain."""
        return self.trades > 0 and self.mean_r.value <= 0


def measure_out_of_sample(
    ledgers: Sequence[Ledger], series: Sequence[Bars], windows: Sequence[Window]
) -> Unseen:
    """What was traded in windows that a search had not seen.

    Args:
        ledgers: [W], of the pick on held-out bars, or of each fold's own pick in its test.
        series: [S] that windows refer to.
        windows: [W], at least one.
    """
    trades = sum(map(len, ledgers))
    sum_r, _ = sum_r_and_squares([ledger.r for ledger in ledgers])
    column = daily_returns([ledgers], series, windows, list_days(series, windows))[:, 0]
    return Unseen(
        trades,
        closing_days(ledgers, series, windows),
        Figure(sum_r / trades) if trades else make_undefined("no trades"),
        compute_psr(column),
    )
