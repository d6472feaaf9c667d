"""Searching again on a part of the bars, and judging what it picks on the part after it."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np

from data import Bars, Window
from data.checks import format_time
from engine.ledger import Ledger
from optimizer.evidence.compared import strength, strength_of
from optimizer.evidence.figures import Figure, undefined
from optimizer.evidence.returns import closing_days, daily_returns, days_of, moments
from optimizer.evidence.robust import drift
from optimizer.evidence.sharpe import probabilistic
from optimizer.evidence.splits import Split, combinatorial, paths
from optimizer.evidence.verdict import Unseen
from optimizer.judging.judgement import FoldRow, FoldsRecord, PathsRecord, Range, numbers
from optimizer.judging.pick import pick_of
from optimizer.judging.workers import Workers
from optimizer.runs.payload import Payload
from optimizer.search.generation import Floats
from optimizer.session.search import on_other_bars, search
from optimizer.session.task import Task

LOW_PERCENT = 5
"""Of paths, the one of which so many are below."""


@dataclass(frozen=True)
class FoldPick(Payload):
    """What the search of one split picked; None where its front was empty."""

    what: ClassVar[str] = "a fold"

    number: int
    genome: tuple[float, ...] | None


@dataclass(frozen=True)
class FoldSetup:
    """What re-searched splits have in common.

    Args:
        task: With the generations that the run reached; without what is held out.
        splits: Training and test windows.
        warm_start: [N, G] genomes that the run began with.
        device: To search on; its name.
    """

    task: Task
    splits: tuple[Split, ...]
    warm_start: Floats | None = None
    device: str = "cpu"

    def run(self, number: int) -> FoldPick:
        """Search the training of one split."""
        markets, train = self.task.markets, self.splits[number].train
        share = sum(map(len, train)) / markets.n_bars
        fewest = math.ceil(self.task.config.min_trades * share)
        task = on_other_bars(self.task, markets.series, train, min_trades=fewest)
        engine = task.engine(self.device)
        found = search(task, engine, self.warm_start)
        if not len(found.front):
            return FoldPick(number, None)
        return FoldPick(number, tuple(pick_of(task, engine, found.front.genomes).genome.tolist()))


def fold_picks(
    workers: Workers[int],
    count: int,
    known: Mapping[int, FoldPick],
    record: Callable[[FoldPick], None],
) -> list[FoldPick]:
    """The picks of all splits; what is not known yet is searched, and recorded as it ends."""
    found = dict(known)
    for _, one in workers.results([n for n in range(count) if n not in found]):
        found[one.number] = one
        record(one)
    return [found[number] for number in range(count)]


class Judged:
    """The pick of a fold on some windows."""

    def __init__(self, task: Task, genome: Sequence[float], windows: Sequence[Window]) -> None:
        self.windows, self.series = tuple(windows), task.markets.series
        engine = task.engine_on(windows, device="cpu")
        self.ledgers: tuple[Ledger, ...] = engine.trades(np.array(genome))

    @property
    def trades(self) -> int:
        """How many."""
        return sum(map(len, self.ledgers))

    @property
    def mean_r(self) -> Figure:
        """Undefined without trades."""
        total = float(sum(ledger.r.sum() for ledger in self.ledgers))
        return Figure(total / self.trades) if self.trades else undefined("no trades")

    @property
    def mean_day(self) -> float:
        """Mean R a day."""
        return float(daily_of([self]).mean())


def daily_of(parts: Sequence[Judged]) -> Floats:
    """R of each day [D] of several picks, each on windows of its own."""
    series = parts[0].series
    windows = [window for part in parts for window in part.windows]
    ledgers = [ledger for part in parts for ledger in part.ledgers]
    found: Floats = daily_returns([ledgers], series, windows, days_of(series, windows))[:, 0]
    return found


def unseen_of(parts: Sequence[Judged]) -> Unseen:
    """What picks did on bars that their searches had not seen, taken together."""
    series = parts[0].series
    windows = [window for part in parts for window in part.windows]
    ledgers = [ledger for part in parts for ledger in part.ledgers]
    trades = sum(map(len, ledgers))
    total = float(sum(ledger.r.sum() for ledger in ledgers))
    return Unseen(
        trades=trades,
        closing_days=closing_days(ledgers, series, windows),
        mean_r=Figure(total / trades) if trades else undefined("no trades"),
        psr=probabilistic(moments(daily_of(parts))),
    )


def folds_record(
    task: Task, splits: Sequence[Split], picks: Sequence[FoldPick], kind: str, cut: tuple[int, int]
) -> tuple[FoldsRecord, Unseen]:
    """Folds for people and JSON, and what they say together; `cut` are groups trained on, purge."""
    rows, tested = [], []
    for split, pick in zip(splits, picks, strict=True):
        train, test = (ranges_of(task, windows) for windows in (split.train, split.test))
        if pick.genome is None:
            empty = undefined("nobody was feasible")
            rows.append(FoldRow(train, test, {}, 0, **numbers(mean_r=empty, efficiency=empty)))
            continue
        before, after = (Judged(task, pick.genome, part) for part in (split.train, split.test))
        tested.append(after)
        genes = task.spec.layout.decode(np.array(pick.genome))
        found = numbers(mean_r=after.mean_r, efficiency=_efficiency(before, after))
        rows.append(FoldRow(train, test, genes, after.trades, **found))
    unseen, together = _together(tested)
    moved = drift(
        task.spec.layout, [None if p.genome is None else np.array(p.genome) for p in picks]
    )
    record = FoldsRecord(
        kind=kind,
        train=cut[0],
        purge=cut[1],
        rows=tuple(rows),
        trades=unseen.trades,
        closing_days=unseen.closing_days,
        **numbers(mean_r=unseen.mean_r, strength=together, psr=unseen.psr, drift=moved),
    )
    return record, unseen


def paths_record(
    task: Task, splits: Sequence[Split], picks: Sequence[FoldPick], count: int, tests: int
) -> PathsRecord:
    """Strengths of the paths through combinatorial splits: N `count` groups, `tests` at a time."""
    markets = task.markets
    alone = combinatorial(markets.series, markets.windows, count=count, tests=1)
    group_of = {window: split.groups[0] for split in alone for window in split.test}
    parts: dict[tuple[int, int], list[Ledger]] = defaultdict(list)
    for number, (split, pick) in enumerate(zip(splits, picks, strict=True)):
        if pick.genome is not None:
            tested = Judged(task, pick.genome, split.test)
            for window, ledger in zip(tested.windows, tested.ledgers, strict=True):
                parts[number, group_of[window]].append(ledger)
    strengths = []
    for path in paths(count, tests):
        seen = chain.from_iterable(parts[split, group] for group, split in enumerate(path))
        strengths.append(strength_of([ledger.r for ledger in seen]))
    known = np.sort([one.value for one in strengths if one.is_defined])
    low = known[max(math.ceil(LOW_PERCENT / 100 * len(known)), 1) - 1] if len(known) else None
    return PathsRecord(
        splits=len(splits),
        paths=tuple(one.value if one.is_defined else None for one in strengths),
        least=float(known[0]) if len(known) else None,
        low=None if low is None else float(low),
        median=float(np.median(known)) if len(known) else None,
    )


def ranges_of(task: Task, windows: Sequence[Window]) -> tuple[Range, ...]:
    """Symbol and times of windows."""
    markets = task.markets
    return tuple(
        Range(
            markets.names[window.series],
            _time(markets.series[window.series], window.start),
            _time(markets.series[window.series], window.end - 1),
        )
        for window in windows
    )


def _time(bars: Bars, bar: int) -> str:
    return format_time(int(bars.timestamp[bar]))


def _efficiency(train: Judged, test: Judged) -> Figure:
    if not train.mean_day > 0:
        return undefined("training did not gain")
    return Figure(test.mean_day / train.mean_day)


def _together(tested: Sequence[Judged]) -> tuple[Unseen, Figure]:
    if not tested:
        why = undefined("nobody was feasible in any fold")
        return Unseen(0, 0, why, why), why
    return unseen_of(tested), strength([ledger for part in tested for ledger in part.ledgers])
