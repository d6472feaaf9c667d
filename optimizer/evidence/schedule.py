"""A schedule: the search repeated through time, one account over its picks, and its own null."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np

from data.bars import Window
from data.checks import format_time
from engine.accounts.account import Account, Folded
from engine.accounts.caveats import find_gone
from engine.accounts.curves import add_up
from engine.accounts.ledger import Ledger
from optimizer.evidence.bootstrap import choose_block_length, compute_mean_p
from optimizer.evidence.figures import Figure, Number, Why, encode_figures, make_undefined
from optimizer.evidence.folds import Range, list_ranges, measure_drift, replay_pick
from optimizer.evidence.null import NullRecord
from optimizer.evidence.out_of_sample import OutOfSample, measure_out_of_sample
from optimizer.evidence.pick import compute_strength
from optimizer.evidence.returns import compute_efficiency, daily_returns, list_days, sum_days
from optimizer.evidence.statistic import Around, Weighed
from optimizer.formatting import format_count, fraction, minute
from optimizer.schedule import Picks, Schedule, Step, Stitched, plan_steps, stitch
from optimizer.store.caveats import describe_skipped
from optimizer.store.payload import OPTIONAL, Payload
from strategy.gene import GeneText

if TYPE_CHECKING:
    from optimizer.run.task import Task

STEP, NULL_SCHEDULE = "schedule", "null schedule"
"""Names of rows of steps, and of schedules on null markets."""

PickBy = Literal["strength", "near", "keep"]
"""Rule that picks a member: the strongest, the one of the strongest neighbours, or the one before
while it is half as strong as the strongest."""


def name_duration(text: str) -> str:
    """A duration in words, if it is whole days.

    >>> name_duration("30d"), name_duration("6h")
    ('30 days', '6h')
    """
    return format_count(int(text[:-1]), "day") if text.endswith("d") else text


@dataclass(frozen=True)
class StepSettings(Schedule):
    """Settings that decide the steps of a schedule."""

    pick_by: PickBy

    @property
    def searched(self) -> "StepSettings":
        """Settings of the searches, from whose strongest the rule ``keep`` chooses afterwards."""
        return replace(self, pick_by="strength") if self.pick_by == "keep" else self


@dataclass(frozen=True, eq=False)
class TradedSteps:
    """Trades of the picks of all steps on the bars that a task searches, as one account."""

    task: "Task"
    steps: Sequence[Step]
    picks: Picks

    @cached_property
    def stitched(self) -> Stitched:
        """The one ledger."""
        uncut = self.task.markets.uncut
        return stitch(self.task.build_reference(uncut), uncut, self.steps, self.picks)

    @property
    def strength(self) -> Figure:
        """Strength of all trades."""
        return compute_strength([ledger.r for ledger in self.stitched.ledgers])

    def measure(self) -> OutOfSample:
        """All trades, which no search had seen."""
        stitched = self.stitched
        return measure_out_of_sample(stitched.ledgers, stitched.series, stitched.windows)

    @cached_property
    def account(self) -> tuple[Account, list[Ledger]] | None:
        """The account and its ledgers; None without a pick.

        Trades of a step in a window are a window by themselves, for the genes that entered a trade
        size it.
        """
        from optimizer.run.individuals import build_picks_account

        entered = self.stitched.entered
        if not entered:
            return None
        traded = [(each.window, each.genome) for each in entered]
        account = build_picks_account(self.task, self.stitched.series, traded)
        return account, [each.ledger for each in entered]

    @cached_property
    def folded(self) -> Folded | None:
        """The account after each trade; None without a pick."""
        return None if self.account is None else self.account[0].fold(self.account[1])

    @property
    def growth(self) -> tuple[float, float]:
        """Equity at the end of the account, from 1, and its deepest fall by trades."""
        folded = self.folded
        worth = np.ones(1) if folded is None else np.append(folded.cash, folded.worth)
        peaks = np.maximum.accumulate(worth)
        return float(worth[-1] / worth[0]), float(((peaks - worth) / peaks).max())

    @property
    def gone(self) -> str:
        """Close at which the account stood at nothing, as of `Caveats`."""
        gone_ns = None if self.account is None else find_gone(*self.account)
        return "" if gone_ns is None else minute(gone_ns)

    def keep_first(self) -> "TradedSteps":
        """The same with the first pick that there is, from its step on."""
        first = next((k for k, pick in enumerate(self.picks) if pick is not None), 0)
        kept = [None] * first + [self.picks[first]] * (len(self.picks) - first)
        return replace(self, picks=kept)


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

    @property
    def date_ns(self) -> int:
        """The same date, nanoseconds UTC."""
        return int(np.datetime64(self.date, "ns").astype(np.int64))


@dataclass(frozen=True, kw_only=True)
class ScheduleRecord(Schedule, OutOfSample):
    """Trades of all steps as one account, held against the same schedule on null markets."""

    pick_by: PickBy
    rows: tuple[ScheduleStep, ...]
    next_date: str  # when the next search is due
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
    skipped: Annotated[int, OPTIONAL] = 0  # signals for which the account had no room
    gone: Annotated[str, OPTIONAL] = ""  # when the account stood at nothing, as of `Caveats`

    @property
    def genes(self) -> Mapping[str, GeneText]:
        """Today's genes: those of the last step; empty where its front was."""
        return self.rows[-1].genes

    @property
    def settings(self) -> StepSettings:
        """Settings that decide it."""
        return StepSettings(self.every, self.train, self.purge, self.anchored, self.pick_by)

    def trade(self, task: "Task") -> TradedSteps:
        """Trades of the recorded picks on the bars that a task searches."""
        steps, layout = plan_steps(task.markets.series, task.markets.uncut, self), task.spec.layout
        picks = [layout.encode(row.genes) if row.genes else None for row in self.rows]
        return TradedSteps(task, steps, picks)

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
        no_room = f" {describe_skipped(self.skipped)}" if self.skipped else ""
        yield Weighed(
            "schedule",
            f"Searched again every {name_duration(self.every)} on the "
            f"{name_duration(self.train)} before: "
            f"{self.format('mean_r')} R a trade over {format_count(self.trades, 'trade')} in "
            f"{format_count(len(self.rows), 'step')}; the account ends at {self.equity:.3g}, "
            f"its deepest fall {fraction(self.max_drawdown)}.{no_room}",
            self.find_side(around.tries),
        )
        for name, kind in {} if self.null is None else self.null.kinds.items():
            sentence = f"The same schedule there. {kind.describe()}"
            yield Weighed(f"{name} bars", sentence, kind.side)
        yield Weighed("turnover", self._describe_turnover())
        yield Weighed("never again", self._describe_gain())
        if self.mismatches:
            count = format_count(self.mismatches, "search")
            yield Weighed("look-ahead", f"{count} of steps picked by bars after its date.")

    def _describe_turnover(self) -> str:
        if self.changed is None:
            return f"{self.format('changed')}."
        moved = "" if self.turnover is None else f", which moved {self.turnover:.0%} of their range"
        return f"Other genes at {self.changed:.0%} of the dates{moved}."

    def _describe_gain(self) -> str:
        if self.gain is None:
            return f"Beside keeping the first pick: {self.format('gain')}."
        word = "more" if self.gain >= 0 else "less"
        p = "" if self.gain_p is None else f" (p = {self.gain_p:.2g})"
        return (
            f"Searching again gained {abs(self.gain):.3g} R a day {word} than keeping the first "
            f"pick{p}, whose account ends at {self.first_equity:.3g}."
        )


def build_schedule_record(
    traded: TradedSteps,
    settings: StepSettings,
    strengths: Sequence[Number],
    *,
    mismatches: int,
    null: NullRecord | None,
) -> ScheduleRecord:
    """Record of a schedule; arguments are as of its fields, strengths of each pick in training."""
    stitched, unseen, kept = traded.stitched, traded.measure(), traded.keep_first()
    (equity, fall), (gain, gain_p) = traded.growth, _compare_with_first(traded, kept)
    genes = [None if pick is None else pick.tolist() for pick in traded.picks]
    is_changed = [before != after for before, after in pairwise(genes)]
    one = make_undefined("there is one step")
    return ScheduleRecord(
        **vars(settings),
        rows=tuple(_describe_step(traded, *row) for row in enumerate(strengths)),
        next_date=format_time(traded.steps[-1].date_ns + settings.every_ns),
        equity=equity,
        max_drawdown=fall,
        over_border=stitched.n_over_border,
        first_equity=kept.growth[0],
        mismatches=mismatches,
        null=null,
        skipped=sum(ledger.skipped for ledger in stitched.ledgers),
        gone=traded.gone,
        **unseen.encode(
            turnover=measure_drift(traded.task.spec.layout, traded.picks),
            changed=Figure(float(np.mean(is_changed))) if is_changed else one,
            first_mean_r=kept.measure().figure("mean_r"),
            gain=gain,
            gain_p=gain_p,
        ),
    )


def _compare_with_first(traded: TradedSteps, kept: TradedSteps) -> tuple[Figure, Figure]:
    """R a day more than keeping the first pick, and p of its not being above 0."""
    series, windows = traded.stitched.series, traded.stitched.windows
    ledgers = [traded.stitched.ledgers, kept.stitched.ledgers]
    daily = daily_returns(ledgers, series, windows, list_days(series, windows))
    differences = (daily[:, :1] - daily[:, 1:]).astype(np.float64)
    config, block = traded.task.config, choose_block_length(differences)
    p = compute_mean_p(differences, block, config.seed, config.resamples, threads=config.threads)
    return Figure(float(differences.mean())), p


def _describe_step(traded: TradedSteps, number: int, strength: Number) -> ScheduleStep:
    task, step, pick = traded.task, traded.steps[number], traded.picks[number]
    r = np.concatenate([ledger.r for ledger in traded.stitched.list_entered(number)])
    total = add_up(r)
    mean = Figure(total / len(r)) if len(r) else make_undefined("no trades")
    efficiency = make_undefined("no candidate was feasible")
    genes: dict[str, GeneText] = {}
    if pick is not None:
        genes = task.spec.layout.show(pick)
        (trained,) = replay_pick(task, pick.tolist(), [step.train])
        days = sum_days(trained, task.markets.series, step.train)
        n_days = _count_days(traded.stitched, number)
        efficiency = compute_efficiency(days, np.full(n_days, total / max(n_days, 1)))
    return ScheduleStep(
        date=format_time(step.date_ns),
        train=list_ranges(task, step.train),
        genes=genes,
        strength=strength,
        trades=len(r),
        **encode_figures(mean_r=mean, efficiency=efficiency),
    )


def _count_days(stitched: Stitched, number: int) -> int:
    """Days on which there is a bar that a step trades."""
    windows = [
        Window(window.series, cuts[number], cuts[number + 1])
        for window, cuts in zip(stitched.windows, stitched.borders, strict=True)
        if cuts[number] < cuts[number + 1]
    ]
    return len(list_days(stitched.series, windows)) if windows else 0
