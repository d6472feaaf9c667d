"""Trades on bars that a search had not seen, and whether they confirm what it found."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from data.bars import Bars, Window
from engine.accounts.ledger import Ledger
from optimizer.evidence.compared import sum_r_and_squares
from optimizer.evidence.figures import Figure, Number, Why, make_undefined
from optimizer.evidence.returns import closing_days, daily_returns, list_days
from optimizer.evidence.sharpe import compute_psr
from optimizer.evidence.statistic import MOST_DOUBT, Around, Statistic, Weighed, choose_side
from optimizer.runs.payload import OPTIONAL, Payload
from optimizer.runs.result import Figures
from optimizer.shown import format_count

FEWEST_TRADES, FEWEST_CLOSING_DAYS = 30, 20


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


class OutOfSample(Statistic):
    """A record of trades on unseen bars."""

    trades: int
    closing_days: int
    mean_r: Number
    psr: Number
    why: Why

    @property
    def unseen(self) -> Unseen:
        """The same as the rules of the verdict take it."""
        mean_r, psr = (
            Figure(value) if value is not None else make_undefined(self.why.get(name) or "unknown")
            for name, value in (("mean_r", self.mean_r), ("psr", self.psr))
        )
        return Unseen(self.trades, self.closing_days, mean_r, psr)

    def find_side(self, times: int) -> str:
        """What they say after so many looks or searches, which may be neither."""
        is_for = self.unseen.confirms(times)
        return choose_side(is_for) if is_for or self.unseen.contradicts else ""


@dataclass(frozen=True)
class Range(Payload):
    """Bars of a symbol, by the times of the first and the last."""

    symbol: str
    first: str
    last: str


@dataclass(frozen=True)
class FoldRow(Payload):
    """One fold: searched on `train`, its pick judged on `test`; no genes of an empty front.

    Args:
        untested: Symbols of the run without a bar in `test`.
    """

    what: ClassVar[str] = "a fold"

    train: tuple[Range, ...]
    test: tuple[Range, ...]
    genes: Mapping[str, int | float]
    trades: int
    mean_r: Number
    efficiency: Number
    why: Why = field(default_factory=dict)
    untested: Annotated[tuple[str, ...], OPTIONAL] = ()


@dataclass(frozen=True)
class FoldsRecord(OutOfSample):
    """Folds that were searched again, one after another in time; not the pick is judged by them.

    Args:
        kind: ``rolling`` or ``anchored``.
        train: Groups that each is trained on.
        purge: Bars cut from the end of training.
    """

    kind: str
    train: int
    purge: int
    rows: tuple[FoldRow, ...]
    trades: int
    closing_days: int
    mean_r: Number
    strength: Number
    psr: Number
    drift: Number
    embargo: int = 0
    why: Why = field(default_factory=dict)

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """All folds together, how many gained, and symbols that some do not test."""
        gained = sum(row.mean_r is not None and row.mean_r > 0 for row in self.rows)
        left_out = Counter(name for row in self.rows for name in row.untested)
        untested = "".join(
            f" {name} is tested in {len(self.rows) - count} of them."
            for name, count in left_out.items()
        )
        yield Weighed(
            "folds",
            f"Searched again on {len(self.rows)} parts, judged on the bars after each: "
            f"{self.format('mean_r')} R a trade over {format_count(self.trades, 'trade')}; "
            f"{gained} gained.{untested}",
            self.find_side(around.tries),
        )


@dataclass(frozen=True)
class HeldOutRecord(OutOfSample):
    """The pick on bars that the search had not seen, and how often such bars were looked at.

    Args:
        members: Figures there of every member, by number.
        by_window: Some metrics of each member in all windows, searched on and held out.
    """

    looks: int
    trades: int
    closing_days: int
    mean_r: Number
    psr: Number
    members: tuple[Figures, ...] = ()
    by_window: tuple[Mapping[str, tuple[Number, ...]], ...] = ()
    why: Why = field(default_factory=dict)

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """The pick there, and how many fronts looked at such bars."""
        yield Weighed(
            "held-out bars",
            f"{self.format('mean_r')} R a trade over {format_count(self.trades, 'trade')}; "
            f"PSR {self.format_chance('psr')}; {format_count(self.looks, 'front')} looked at on "
            "such bars.",
            self.find_side(self.looks),
        )


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
