"""The pick on bars that the search had not seen."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from optimizer.evidence.figures import Number, Why
from optimizer.evidence.out_of_sample import OutOfSample
from optimizer.evidence.statistic import Around, RowSettings, Weighed
from optimizer.formatting import format_count
from optimizer.store.answers import OPENED
from optimizer.store.payload import OPTIONAL
from optimizer.store.result import Figures


@dataclass(frozen=True)
class HeldOutRecord(OutOfSample):
    """The pick on bars that the search had not seen, and how often such bars were looked at."""

    looks: int
    trades: int
    closing_days: int
    mean_r: Number
    psr: Number
    members: tuple[Figures, ...] = ()  # figures there of every member, by number
    # Some metrics of each member in all windows, searched on and held out.
    by_window: tuple[Mapping[str, tuple[Number, ...]], ...] = ()
    why: Why = field(default_factory=dict)
    # Whether the steps of the run's schedule traded there, not the pick.
    by_steps: Annotated[bool, OPTIONAL] = False
    strength: Number = None  # of all trades

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """The pick there, and how many fronts looked at such bars."""
        opening = "The schedule goes on: " if self.by_steps else ""
        yield Weighed(
            "held-out bars",
            f"{opening}{self.format('mean_r')} R a trade over "
            f"{format_count(self.trades, 'trade')}; "
            f"PSR {self.format_chance('psr')}; {format_count(self.looks, 'front')} looked at on "
            "such bars.",
            self.find_side(self.looks),
        )


@dataclass(frozen=True)
class LookSettings(RowSettings[HeldOutRecord]):
    """Settings that decide looks at held-out bars: none."""

    question: ClassVar[str] = OPENED
    part: ClassVar[str] = "held_out"
    noun: ClassVar[str] = "look"
    place: ClassVar[str] = " at held-out bars"
    also: ClassVar[tuple[str, ...]] = ("--open",)

    def is_stated(self, recorded: HeldOutRecord, count: int) -> bool:
        """As of `RowSettings`."""
        return True
