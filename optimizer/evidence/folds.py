"""Parts of the bars that are searched again, each judged on the bars after it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from math import ceil, comb
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from data import Window
from data.checks import Floats
from engine.accounts.ledger import Ledger
from optimizer.evidence.checkpoint import Checkpoint, Numbered
from optimizer.evidence.figures import Figure, Number, Why, encode_figures, make_undefined
from optimizer.evidence.jobs.in_step import OnWindows
from optimizer.evidence.out_of_sample import OutOfSample, Unseen, measure_out_of_sample
from optimizer.evidence.pick import ask_pick, compute_strength
from optimizer.evidence.returns import compute_efficiency, sum_days
from optimizer.evidence.splits import Split, list_paths, scale_min_trades
from optimizer.evidence.statistic import Around, RowSettings, Statistic, Weighed, shorten
from optimizer.formatting import format_count
from optimizer.store.payload import OPTIONAL, Payload
from strategy.gene import GeneText
from strategy.genes import GenomeLayout

if TYPE_CHECKING:
    from engine.batch import Engine
    from optimizer.evidence.judged_run import JudgedRun
    from optimizer.run.problem import Asking, EngineProblem
    from optimizer.run.task import Task


@dataclass(frozen=True)
class Range(Payload):
    """Bars of a symbol, by the times of the first and the last."""

    symbol: str
    first: str
    last: str


@dataclass(frozen=True)
class FoldRow(Payload):
    """One fold: searched on `train`, its pick judged on `test`; no genes of an empty front."""

    what: ClassVar[str] = "a fold"

    train: tuple[Range, ...]
    test: tuple[Range, ...]
    genes: Mapping[str, GeneText]
    trades: int
    mean_r: Number
    efficiency: Number
    why: Why = field(default_factory=dict)
    # Symbols of the run without a bar in `test`.
    untested: Annotated[tuple[str, ...], OPTIONAL] = ()


@dataclass(frozen=True)
class FoldsRecord(OutOfSample):
    """Folds that were searched again, one after another in time; not the pick is judged by them."""

    kind: str  # ``rolling`` or ``anchored``
    train: int  # groups that each is trained on
    purge: int  # bars cut from the end of training
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
class FoldSettings(RowSettings[FoldsRecord]):
    """Settings that decide the searches of folds."""

    what: ClassVar[str] = "settings of folds"
    question: ClassVar[str] = "fold"
    part: ClassVar[str] = "folds"
    noun: ClassVar[str] = "fold"

    folds: int
    train: int  # groups that each is trained on
    purge: int  # bars cut from the end of training
    anchored: bool

    def is_stated(self, recorded: FoldsRecord, count: int) -> bool:
        """See `RowSettings`."""
        cut = recorded.train, recorded.purge
        return self == FoldSettings(len(recorded.rows), *cut, recorded.kind == "anchored")


@dataclass(frozen=True)
class PathsRecord(Statistic):
    """Combinatorial splits, each searched again, and the strengths of their paths."""

    splits: int
    paths: tuple[Number, ...]
    least: Number
    low: Number  # the ceil(0.05 n)-th smallest
    median: Number

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """The spread of the paths."""
        yield Weighed(
            "paths",
            f"{self.splits} splits searched again: strength of {len(self.paths)} paths from "
            f"{shorten(self.least)}, median {shorten(self.median)}.",
        )


@dataclass(frozen=True)
class PathSettings(RowSettings[PathsRecord]):
    """Settings that decide the searches of combinatorial splits."""

    what: ClassVar[str] = "settings of combinatorial splits"
    question: ClassVar[str] = "cpcv"
    part: ClassVar[str] = "cpcv"
    noun: ClassVar[str] = "combinatorial split"

    cpcv: str  # how many groups, and how many are tested at a time
    purge: int  # bars cut from training before a test
    embargo: int  # bars cut from training after a test

    def is_stated(self, recorded: PathsRecord, count: int) -> bool:
        """See `RowSettings`."""
        return recorded.splits == comb(*map(int, self.cpcv.split(",")))


@dataclass(frozen=True)
class FoldPick(Numbered):
    """Pick of the search of one split; None where its front was empty."""

    what: ClassVar[str] = "a fold"

    number: int
    genome: tuple[float, ...] | None


@dataclass(frozen=True)
class FoldSetup(OnWindows[FoldPick]):
    """Setup that re-searched splits have in common."""

    task: "Task"
    splits: tuple[Split, ...]  # training and test windows
    warm_start: Floats | None = None
    engine: "Engine | None" = None

    @property
    def trainings(self) -> list[tuple[Window, ...]]:
        """Windows of each training."""
        return [split.train for split in self.splits]

    def build_task(self, job: int) -> "Task":
        """Task of one training, on bars that end with it."""
        # A record is read without a search.
        from optimizer.run.search import on_other_bars

        markets, train = self.task.markets, self.splits[job].train
        fewest = scale_min_trades(self.task.config.min_trades, train, markets.windows)
        return on_other_bars(self.task, markets.series, train, min_trades=fewest)

    def search(self, job: int, task: "Task", problem: "EngineProblem") -> "Asking[FoldPick]":
        """Search one training; its caller evaluates."""
        from optimizer.run.search import search_again

        outcome = yield from search_again(task, problem, self.warm_start)
        if not len(outcome.front):
            return FoldPick(job, None)
        pick = yield from ask_pick(task, self.windows[job], outcome.front.genomes)
        return FoldPick(job, None if pick is None else tuple(pick.genome.tolist()))


def replay_pick(
    task: "Task", genome: Sequence[float], parts: Sequence[Sequence[Window]]
) -> list[list[Ledger]]:
    """Trades of a fold's pick in each window of several parts of the bars."""
    from engine.replay.threads import replay_alone

    reference = task.build_reference([*chain.from_iterable(parts)])
    ledgers = iter(replay_alone(reference, np.array(genome), task.config.threads))
    return [[*islice(ledgers, len(part))] for part in parts]


def begin_folds(run: "JudgedRun") -> Callable[[], FoldsRecord] | None:
    """Folds, if any are planned, with searches that begin now; the call waits for them."""
    plan, task = run.plan, run.task
    if not run.walks:
        return None
    purge = plan.choose_purge(task)
    settings = FoldSettings(plan.folds, plan.train_groups, purge, plan.anchored)
    find = _begin_searches(run, settings, run.walks, run.device)
    return lambda: build_folds_record(task, run.walks, find("folds"), settings)


def search_paths(run: "JudgedRun") -> PathsRecord | None:
    """Combinatorial splits searched again, if any are planned."""
    plan, task = run.plan, run.task
    if plan.groups is None:
        return None
    purge, embargo = plan.choose_purge(task), plan.choose_embargo(task)
    settings = PathSettings(",".join(map(str, plan.groups)), purge, embargo)
    find = _begin_searches(run, settings, run.combinations, None)
    return build_paths_record(task, run.combinations, find("combinatorial splits"), *plan.groups)


def _begin_searches(
    run: "JudgedRun", settings: RowSettings[Any], splits: tuple[Split, ...], used: str | None
) -> Callable[[str], list[FoldPick]]:
    """Searches of splits that are not known yet begin; the call waits for their picks.

    `used` as of `Executor.submit`.
    """
    kept, count = Checkpoint(run.store, settings, FoldPick), len(splits)
    setup = FoldSetup(run.again, splits, run.warm_start)
    ended = run.executor.submit(setup, kept.list_missing(count), engine=run.engine, used=used)
    return lambda part: kept.complete(count, ended, run.watch, part)


def build_folds_record(
    task: "Task", splits: Sequence[Split], picks: Sequence[FoldPick], settings: FoldSettings
) -> FoldsRecord:
    """Folds for people and JSON."""
    series, rows, ledgers, windows = task.markets.series, [], list[Ledger](), list[Window]()
    for split, pick in zip(splits, picks, strict=True):
        train, test = (list_ranges(task, windows) for windows in (split.train, split.test))
        tested_names = {bar_range.symbol for bar_range in test}
        untested = tuple(name for name in task.markets.names if name not in tested_names)
        if pick.genome is None:
            empty = make_undefined("no candidate was feasible")
            undefined_row = encode_figures(mean_r=empty, efficiency=empty)
            rows.append(FoldRow(train, test, {}, 0, untested=untested, **undefined_row))
            continue
        before, after = replay_pick(task, pick.genome, (split.train, split.test))
        ledgers += after
        windows += split.test
        genes = task.spec.layout.show(np.array(pick.genome))
        alone = measure_out_of_sample(after, series, split.test)
        days = sum_days(before, series, split.train), sum_days(after, series, split.test)
        figures = encode_figures(mean_r=alone.mean_r, efficiency=compute_efficiency(*days))
        rows.append(FoldRow(train, test, genes, alone.trades, untested=untested, **figures))
    why = make_undefined("no candidate was feasible in any fold")
    unseen = Unseen(0, 0, why, why, why)
    if windows:
        unseen = measure_out_of_sample(ledgers, series, windows)
    moved = measure_drift(
        task.spec.layout, [None if p.genome is None else np.array(p.genome) for p in picks]
    )
    return FoldsRecord(
        kind="anchored" if settings.anchored else "rolling",
        train=settings.train,
        purge=settings.purge,
        rows=tuple(rows),
        trades=unseen.trades,
        closing_days=unseen.closing_days,
        **encode_figures(
            mean_r=unseen.mean_r, strength=unseen.strength, psr=unseen.psr, drift=moved
        ),
    )


def build_paths_record(
    task: "Task", splits: Sequence[Split], picks: Sequence[FoldPick], count: int, tests: int
) -> PathsRecord:
    """Strengths of the paths through combinatorial splits: N `count` groups, `tests` at a time."""
    parts: dict[tuple[int, int], Sequence[Ledger]] = {}
    for number, (split, pick) in enumerate(zip(splits, picks, strict=True)):
        if pick.genome is not None:
            on_tests = replay_pick(task, pick.genome, split.tests)
            tested = zip(split.groups, on_tests, strict=True)
            parts |= {(number, group): ledgers for group, ledgers in tested}
    strengths = []
    for path in list_paths(count, tests):
        seen = chain.from_iterable(
            parts.get((split, group), ()) for group, split in enumerate(path)
        )
        strengths.append(compute_strength([ledger.r for ledger in seen]).number)
    known = np.sort([strength for strength in strengths if strength is not None])
    ends: tuple[Number, ...] = (None, None, None)
    if len(known):
        ends = float(known[0]), float(known[ceil(0.05 * len(known)) - 1]), float(np.median(known))
    return PathsRecord(len(splits), tuple(strengths), *ends)


def measure_drift(layout: GenomeLayout, picks: Sequence[Floats | None]) -> Figure:
    """Movement of genes between picks [F] of neighbouring folds: mean share of the span.

    Another option of a gene without order is as far as its span. Undefined without two neighbours
    that have a pick, and without a free gene.
    """
    free = layout.high > layout.low
    spans, is_category = (layout.high - layout.low)[free], layout.is_category[free]
    moved = [
        np.where(is_category, (after != before)[free], np.abs(after - before)[free] / spans)
        for before, after in pairwise(picks)
        if before is not None and after is not None
    ]
    if not moved or not free.any():
        return make_undefined("no two neighbouring folds have a pick")
    return Figure(float(np.mean(moved)))


def list_ranges(task: "Task", windows: Sequence[Window]) -> tuple[Range, ...]:
    """Symbol and times of windows."""
    markets = task.markets
    return tuple(
        Range(
            markets.names[window.series],
            markets.time(window.series, window.start),
            markets.time(window.series, window.end - 1),
        )
        for window in windows
    )
