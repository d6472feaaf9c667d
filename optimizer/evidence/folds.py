"""Parts of the bars that are searched again, each judged on the bars after it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from data import Window
from data.checks import Floats
from engine.accounts.ledger import Ledger
from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.figures import Figure, Number, Why, encode_figures, make_undefined
from optimizer.evidence.jobs.executor import OnWindows, PartPick
from optimizer.evidence.out_of_sample import OutOfSample, measure_out_of_sample
from optimizer.evidence.pick import compute_strength
from optimizer.evidence.returns import compute_efficiency, sum_days
from optimizer.evidence.splits import Split, list_paths
from optimizer.evidence.statistic import Around, Statistic, Weighed, shorten
from optimizer.formatting import format_count
from optimizer.store.payload import OPTIONAL, Payload
from strategy.gene import GeneText
from strategy.genes import GenomeLayout

if TYPE_CHECKING:
    from optimizer.evidence.judged_run import JudgedRun
    from optimizer.run.task import Task


FOLD, CPCV = "fold", "cpcv"
"""Names of rows of folds and of combinatorial splits."""


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
    drift: Number
    embargo: int = 0

    @property
    def settings(self) -> Mapping[str, object]:
        """Settings that decide the searches of folds."""
        anchored, count = self.kind == "anchored", len(self.rows)
        return {"folds": count, "train": self.train, "purge": self.purge, "anchored": anchored}

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
class FoldSetup(OnWindows):
    """Setup that re-searched splits have in common."""

    splits: tuple[Split, ...]  # training and test windows

    @property
    def trainings(self) -> list[tuple[Window, ...]]:
        """See `OnWindows`."""
        return [split.train for split in self.splits]


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
    settings = plan.fold_settings(task)
    find = _begin_searches(run, FOLD, settings, run.walks, run.device)
    return lambda: build_folds_record(task, run.walks, find("folds"), settings)


def search_paths(run: "JudgedRun") -> PathsRecord | None:
    """Combinatorial splits searched again, if any are planned."""
    plan, task = run.plan, run.task
    if plan.groups is None:
        return None
    settings = {
        "cpcv": ",".join(map(str, plan.groups)),
        "purge": plan.choose_purge(task),
        "embargo": plan.choose_embargo(task),
    }
    find = _begin_searches(run, CPCV, settings, run.combinations, None)
    return build_paths_record(task, run.combinations, find("combinatorial splits"), *plan.groups)


def _begin_searches(
    run: "JudgedRun",
    question: str,
    settings: Mapping[str, object],
    splits: tuple[Split, ...],
    used: str | None,
) -> Callable[[str], list[PartPick]]:
    """Searches of splits that are not known yet begin; the call waits for their picks.

    `used` as of `Executor.submit`.
    """
    kept, numbers = Checkpoint(run.store, question, settings, PartPick), range(len(splits))
    setup = FoldSetup(run.again, splits, warm_start=run.warm_start)
    ended = run.executor.submit(setup, kept.list_missing(numbers), engine=run.engine, used=used)
    return lambda part: kept.complete(numbers, ended, run.watch, f"judging: {part}")


def build_folds_record(
    task: "Task", splits: Sequence[Split], picks: Sequence[PartPick], settings: Mapping[str, Any]
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
        figures = encode_figures(
            mean_r=alone.figure("mean_r"), efficiency=compute_efficiency(*days)
        )
        rows.append(FoldRow(train, test, genes, alone.trades, untested=untested, **figures))
    why = make_undefined("no candidate was feasible in any fold")
    none = encode_figures(mean_r=why, psr=why, strength=why)
    unseen = OutOfSample(trades=0, closing_days=0, **none)
    if windows:
        unseen = measure_out_of_sample(ledgers, series, windows)
    moved = measure_drift(
        task.spec.layout, [None if p.genome is None else np.array(p.genome) for p in picks]
    )
    return FoldsRecord(
        kind="anchored" if settings["anchored"] else "rolling",
        train=settings["train"],
        purge=settings["purge"],
        rows=tuple(rows),
        **unseen.encode(drift=moved),
    )


def build_paths_record(
    task: "Task", splits: Sequence[Split], picks: Sequence[PartPick], count: int, tests: int
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
