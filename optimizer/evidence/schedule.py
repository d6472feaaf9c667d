"""A schedule: the search repeated through time, one ledger over its picks, and its own null."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

from optimizer.evidence.figures import Number, Why
from optimizer.evidence.folds import Range
from optimizer.evidence.null import MOST_P, NullMarketSettings, NullRecord
from optimizer.evidence.out_of_sample import OutOfSample
from optimizer.evidence.statistic import Around, RowSettings, Weighed, choose_side
from optimizer.formatting import format_count, fraction
from optimizer.store.caveats import describe_skipped
from optimizer.store.payload import OPTIONAL, Payload
from strategy.gene import GeneText


def name_duration(text: str) -> str:
    """A duration in words where it is days.

    >>> name_duration("30d"), name_duration("6h")
    ('30 days', '6h')
    """
    return format_count(int(text[:-1]), "day") if text.endswith("d") else text


@dataclass(frozen=True, kw_only=True)
class ScheduleStep(Payload):
    """One date: searched on `train`, its pick entered trades until the next; none of no front."""

    what: ClassVar[str] = "a step"

    date: str
    train: tuple[Range, ...]
    genes: Mapping[str, GeneText]
    strength: Number  # of the pick in training
    trades: int  # that it entered
    mean_r: Number
    efficiency: Number
    why: Why = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ScheduleRecord(OutOfSample):
    """Trades of all steps as one account, held against the same schedule on null markets."""

    every: str  # from one date to the next
    train: str  # length of a training
    anchored: bool
    purge: int  # bars cut from the end of a training
    pick_by: str
    rows: tuple[ScheduleStep, ...]
    next_date: str  # when the next search is due
    trades: int
    closing_days: int
    mean_r: Number
    strength: Number  # of the stitched ledger
    psr: Number
    equity: float  # at the end, from 1
    max_drawdown: float
    over_border: int  # trades that were open at a border
    turnover: Number  # mean difference of genes of neighbouring picks, as a share of their span
    changed: Number  # share of borders at which the pick changed
    first_mean_r: Number  # R a trade, had the first pick been kept
    first_equity: float
    gain: Number  # R a day more than that
    gain_p: Number
    mismatches: int  # searches that pick otherwise on bars that end at their date
    null: Annotated[NullRecord | None, OPTIONAL] = None
    why: Why = field(default_factory=dict)
    skipped: Annotated[int, OPTIONAL] = 0  # signals for which the account had no room
    gone: Annotated[str, OPTIONAL] = ""  # when the account stood at nothing, as of `Caveats`

    @property
    def genes(self) -> Mapping[str, GeneText]:
        """Today's genes: those of the last step; empty where its front was."""
        return self.rows[-1].genes

    @property
    def settings(self) -> "StepSettings":
        """Settings that decide it."""
        return StepSettings(self.every, self.train, self.purge, self.anchored, self.pick_by)

    def describe(self) -> str:
        """Sentence on the account of all steps, and on today's genes."""
        trades, steps = format_count(self.trades, "trade"), format_count(len(self.rows), "step")
        return (
            f"{trades} in {steps}, each with the genes of a search on the "
            f"{name_duration(self.train)} before it: {self.format('mean_r')} R a trade, strength "
            f"{self.format('strength')}; it ends at {self.equity:.3g}. Today's genes are those of "
            f"{self.rows[-1].date[:10]}, the next search is due on {self.next_date[:10]}."
        )

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """The stitched account, its null, turnover, and the first pick kept."""
        no_room = f" {describe_skipped(self.skipped)}"
        yield Weighed(
            "schedule",
            f"Searched again every {name_duration(self.every)} on the "
            f"{name_duration(self.train)} before: "
            f"{self.format('mean_r')} R a trade over {format_count(self.trades, 'trade')} in "
            f"{format_count(len(self.rows), 'step')}; the account ends at {self.equity:.3g}, "
            f"its deepest fall {fraction(self.max_drawdown)}.{no_room if self.skipped else ''}",
            self.find_side(around.tries),
        )
        for name, kind in {} if self.null is None else self.null.kinds.items():
            yield Weighed(
                f"{name} bars",
                f"The same schedule there. {kind.describe()}",
                choose_side(kind.tally.p <= MOST_P),
            )
        yield Weighed("turnover", self._describe_turnover())
        yield Weighed("never again", self._describe_gain())
        if self.mismatches:
            count = format_count(self.mismatches, "search")
            yield Weighed("look-ahead", f"{count} of steps picked by bars after its date.")

    def _describe_turnover(self) -> str:
        if self.changed is None:
            return f"{self.format('changed')}."
        moved = "" if self.turnover is None else f", genes by {self.turnover:.0%} of their span"
        return f"The pick changed at {self.changed:.0%} of the borders{moved}."

    def _describe_gain(self) -> str:
        if self.gain is None:
            return f"Beside keeping the first pick: {self.format('gain')}."
        word = "more" if self.gain >= 0 else "less"
        p = "" if self.gain_p is None else f" (p = {self.gain_p:.2g})"
        return (
            f"Searching again gained {abs(self.gain):.3g} R a day {word} than keeping the first "
            f"pick{p}, whose account ends at {self.first_equity:.3g}."
        )


@dataclass(frozen=True)
class StepSettings(RowSettings[ScheduleRecord]):
    """Settings that decide the steps of a schedule."""

    what: ClassVar[str] = "settings of steps"
    question: ClassVar[str] = "schedule"
    part: ClassVar[str] = "schedule"
    noun: ClassVar[str] = "step"

    every: str  # from one date to the next
    train: str  # length of a training
    purge: int  # bars cut from the end of a training
    anchored: bool
    pick_by: str

    @property
    def searched(self) -> "StepSettings":
        """Settings of the searches, whose strongest the rule ``keep`` chooses from afterwards."""
        return replace(self, pick_by="strength") if self.pick_by == "keep" else self

    def is_stated(self, recorded: ScheduleRecord, count: int) -> bool:
        """As of `RowSettings`."""
        return self == recorded.settings.searched


@dataclass(frozen=True)
class NullScheduleSettings(NullMarketSettings, StepSettings):
    """Settings that decide schedules on null markets."""

    what: ClassVar[str] = "settings of null schedules"
    question: ClassVar[str] = "null schedule"
    noun: ClassVar[str] = "schedule"

    def is_stated(self, recorded: ScheduleRecord, count: int) -> bool:
        """As of `RowSettings`."""
        is_same = vars(recorded.settings).items() <= vars(self).items()
        null = recorded.null if is_same else None
        return null is not None and null.states(self.null_keep, self.kind, count)
