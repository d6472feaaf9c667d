"""Searching again on a part of the bars, and judging what it picks on the part after it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import ClassVar

import numpy as np

from data import Bars, Window
from engine.accounts.ledger import Ledger
from engine.batch import Engine
from engine.replay.threads import replay_alone
from optimizer.evidence.checkpoint import Numbered
from optimizer.evidence.figures import encode_figure, encode_figures, make_undefined
from optimizer.evidence.folds import FoldRow, FoldsRecord, PathsRecord, Range, summarise_strengths
from optimizer.evidence.jobs.in_step import OnWindows
from optimizer.evidence.out_of_sample import Unseen, measure_out_of_sample
from optimizer.evidence.pick import ask_pick, compute_strength
from optimizer.evidence.returns import compute_efficiency, daily_returns, list_days
from optimizer.evidence.robust import measure_drift
from optimizer.evidence.splits import Split, list_paths, scale_min_trades
from optimizer.run.problem import Asking, EngineProblem
from optimizer.run.search import on_other_bars, search_again
from optimizer.run.task import Task
from optimizer.search.generation import Floats


@dataclass(frozen=True)
class FoldPick(Numbered):
    """Pick of the search of one split; None where its front was empty."""

    what: ClassVar[str] = "a fold"

    number: int
    genome: tuple[float, ...] | None


@dataclass(frozen=True)
class FoldSetup(OnWindows[FoldPick]):
    """Setup that re-searched splits have in common."""

    task: Task
    splits: tuple[Split, ...]  # training and test windows
    warm_start: Floats | None = None
    engine: Engine | None = None

    @property
    def trainings(self) -> list[tuple[Window, ...]]:
        """Windows of each training."""
        return [split.train for split in self.splits]

    def build_task(self, job: int) -> Task:
        """Task of one training, on bars that end with it."""
        markets, train = self.task.markets, self.splits[job].train
        fewest = scale_min_trades(self.task.config.min_trades, train, markets.windows)
        return on_other_bars(self.task, markets.series, train, min_trades=fewest)

    def search(self, job: int, task: Task, problem: EngineProblem) -> Asking[FoldPick]:
        """Search one training; its caller evaluates."""
        outcome = yield from search_again(task, problem, self.warm_start)
        if not len(outcome.front):
            return FoldPick(job, None)
        pick = yield from ask_pick(task, self.windows[job], outcome.front.genomes)
        return FoldPick(job, None if pick is None else tuple(pick.genome.tolist()))


@dataclass(frozen=True)
class Judged:
    """The pick of a fold on some windows [W], and its trades in each."""

    series: Sequence[Bars]
    windows: Sequence[Window]
    ledgers: Sequence[Ledger]

    @property
    def days(self) -> Floats:
        """R of each day [D]."""
        days = list_days(self.series, self.windows)
        daily: Floats = daily_returns([self.ledgers], self.series, self.windows, days)[:, 0]
        return daily


def replay_pick(
    task: Task, genome: Sequence[float], parts: Sequence[Sequence[Window]]
) -> list[Judged]:
    """The pick of a fold on each of several parts of the bars."""
    reference = task.build_reference([*chain.from_iterable(parts)])
    ledgers = iter(replay_alone(reference, np.array(genome), task.config.threads))
    series = task.markets.series
    return [Judged(series, part, [*islice(ledgers, len(part))]) for part in parts]


def build_folds_record(
    task: Task, splits: Sequence[Split], picks: Sequence[FoldPick], kind: str, cut: tuple[int, int]
) -> FoldsRecord:
    """Folds for people and JSON; `cut` are the groups trained on, and the purge."""
    rows, tested = [], []
    for split, pick in zip(splits, picks, strict=True):
        train, test = (list_ranges(task, windows) for windows in (split.train, split.test))
        tested_names = {bar_range.symbol for bar_range in test}
        untested = tuple(name for name in task.markets.names if name not in tested_names)
        if pick.genome is None:
            empty = make_undefined("nobody was feasible")
            undefined_row = encode_figures(mean_r=empty, efficiency=empty)
            rows.append(FoldRow(train, test, {}, 0, untested=untested, **undefined_row))
            continue
        before, after = replay_pick(task, pick.genome, (split.train, split.test))
        tested.append(after)
        genes = task.spec.layout.show(np.array(pick.genome))
        alone = measure_out_of_sample(after.ledgers, after.series, after.windows)
        figures = encode_figures(
            mean_r=alone.mean_r, efficiency=compute_efficiency(before.days, after.days)
        )
        rows.append(FoldRow(train, test, genes, alone.trades, untested=untested, **figures))
    unseen = _join_tests(tested)
    moved = measure_drift(
        task.spec.layout, [None if p.genome is None else np.array(p.genome) for p in picks]
    )
    return FoldsRecord(
        kind=kind,
        train=cut[0],
        purge=cut[1],
        rows=tuple(rows),
        trades=unseen.trades,
        closing_days=unseen.closing_days,
        **encode_figures(
            mean_r=unseen.mean_r, strength=unseen.strength, psr=unseen.psr, drift=moved
        ),
    )


def build_paths_record(
    task: Task, splits: Sequence[Split], picks: Sequence[FoldPick], count: int, tests: int
) -> PathsRecord:
    """Strengths of the paths through combinatorial splits: N `count` groups, `tests` at a time."""
    parts: dict[tuple[int, int], Sequence[Ledger]] = {}
    for number, (split, pick) in enumerate(zip(splits, picks, strict=True)):
        if pick.genome is not None:
            on_tests = replay_pick(task, pick.genome, split.tests)
            tested = zip(split.groups, on_tests, strict=True)
            parts |= {(number, group): on_group.ledgers for group, on_group in tested}
    strengths = []
    for path in list_paths(count, tests):
        seen = chain.from_iterable(
            parts.get((split, group), ()) for group, split in enumerate(path)
        )
        strengths.append(compute_strength([ledger.r for ledger in seen]))
    ends = map(encode_figure, summarise_strengths(strengths).values())
    return PathsRecord(len(splits), tuple(map(encode_figure, strengths)), *ends)


def list_ranges(task: Task, windows: Sequence[Window]) -> tuple[Range, ...]:
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


def _join_tests(tested: Sequence[Judged]) -> Unseen:
    """Trades of the picks of folds in their tests, taken as one."""
    if not tested:
        why = make_undefined("nobody was feasible in any fold")
        return Unseen(0, 0, why, why, why)
    windows = [window for part in tested for window in part.windows]
    ledgers = [ledger for part in tested for ledger in part.ledgers]
    return measure_out_of_sample(ledgers, tested[0].series, windows)
