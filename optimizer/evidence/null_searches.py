"""The null: the same search on markets without an edge, each of which is one row of evidence."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from engine.batch import Engine
from engine.workload import Workload
from optimizer.evidence.checkpoint import SETTINGS, Checkpoint, Numbered, Watch
from optimizer.evidence.figures import Figure, encode_figure
from optimizer.evidence.hypervolume import hypervolume
from optimizer.evidence.jobs.in_step import OneSearchSetup, WindowNumbers
from optimizer.evidence.jobs.workers import Executor
from optimizer.evidence.null import (
    DEFAULT_STOP_AFTER,
    MOST_P,
    Compared,
    NullKind,
    NullRecord,
    NullSettings,
    Tally,
    tally,
)
from optimizer.evidence.null_markets import Keep, NullMarkets
from optimizer.evidence.pick import ask_pick
from optimizer.evidence.statistic import RowSettings
from optimizer.run.indicator_cache import keeping_rows
from optimizer.run.problem import Asking, EngineProblem
from optimizer.run.search import (
    engine_apart,
    on_other_bars,
    search_again,
)
from optimizer.run.task import Task
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from optimizer.store.payload import OPTIONAL
from optimizer.store.result import RunResult

Kind = Literal["shuffled", "mirrored"]

KINDS: tuple[Kind, ...] = ("shuffled", "mirrored")


class NullJob(NamedTuple):
    """One null search: which kind of market, and its number from 1 on."""

    kind: Kind
    number: int


@dataclass(frozen=True)
class NullSearch(Numbered):
    """Outcome of a search on a null market."""

    what: ClassVar[str] = "a null search"

    number: int
    members: int  # of its front
    strength: float | None  # the greatest of any member; None of an empty front
    trades: int = 0
    # Name to the best of any member, in natural sense.
    objectives: Annotated[Mapping[str, float], OPTIONAL] = field(default_factory=dict)
    # Of the front from an account that does nothing; None where that is undefined.
    hypervolume: float | None = None


class OnNullMarkets:
    """Part that setups of searches on null markets share: these markets, and the task on each."""

    task: Task
    keep: Keep | Literal["auto"]

    @cached_property
    def markets(self) -> NullMarkets:
        """The null markets."""
        markets, config = self.task.markets, self.task.config
        return NullMarkets(
            markets.series, markets.windows, config.seed, self.keep, threads=config.threads
        )

    def build_task(self, job: NullJob) -> Task:
        """The task on the bars of one market."""
        made = self.markets.shuffle_market if job.kind == "shuffled" else self.markets.mirror_market
        task = on_other_bars(self.task, made(job.number), self.task.markets.uncut)
        # No run comes back to these bars.
        return replace(task, spec=keeping_rows(task.spec, None))


@dataclass(frozen=True)
class NullSetup(OnNullMarkets, OneSearchSetup[NullJob, NullSearch]):
    """Setup that null searches of one run have in common."""

    # With the seed of the run and the generations that it reached; without what is held out.
    task: Task
    keep: Keep | Literal["auto"] = "auto"  # rhythm that shuffled bars keep
    warm_start: Floats | None = None  # [N, G] genomes that the run began with

    def make_engine(
        self, jobs: Sequence[NullJob], tasks: Sequence[Task]
    ) -> tuple[Engine, WindowNumbers]:
        """One engine of all markets, whose series are apart."""
        engine, windows = engine_apart(tasks)
        return engine, dict(zip(jobs, windows, strict=True))

    def estimate_work(self) -> tuple[Workload, int]:
        """As of `InStepSetup`."""
        work = self.task.workload()
        return work, int(work.individual_bars / self.task.markets.n_bars)

    def search(self, job: NullJob, task: Task, problem: EngineProblem) -> Asking[NullSearch]:
        """Search one market; its caller evaluates."""
        outcome = yield from search_again(task, problem, self.warm_start)
        genomes = outcome.front.genomes
        pick = None
        if len(genomes):
            pick = yield from ask_pick(task, task.markets.windows, genomes)
        if pick is None:
            return NullSearch(job.number, 0, None, hypervolume=0.0)
        values = task.goals.natural(outcome.front.objectives)
        best = np.where(task.goals.maximised, values.max(axis=0), values.min(axis=0))
        return NullSearch(
            number=job.number,
            members=len(values),
            strength=encode_figure(pick.strength),
            trades=pick.trades,
            objectives=dict(zip(task.goals.names, best.tolist(), strict=True)),
            hypervolume=encode_figure(_compute_hypervolume(task, values)),
        )


@dataclass(frozen=True)
class NullTest:
    """A strength held against searches on null markets, each of which is a row of evidence."""

    store: RunStore
    # Settings of the rows, of the rhythm that shuffled bars keep and a kind of market.
    build_settings: Callable[..., RowSettings[Any]]
    strength: Figure  # of the run's pick; undefined, it counts as that of an empty front
    stop_after: int  # searches at least as good after which the rest is left
    # Record of one kind of markets.
    build_kind: Callable[[float, Tally, Sequence[NullSearch]], NullKind]
    noun: str = "searches"  # what is made, in words

    def make(
        self,
        setup: Any,  # noqa: ANN401 - of null searches or null schedules
        planned: int,
        choose: Callable[..., Executor],
        watch: Watch,
    ) -> NullRecord:
        """Search shuffled markets, and mirrored ones where those do not say luck.

        Args:
            setup: Of the searches.
            planned: How many; searches that were made are never left out.
            choose: As `Executors.executor`.
            watch: Callback of progress.
        """
        keep: Keep = setup.markets.keep
        rows = {kind: self._open(keep, kind) for kind in KINDS}
        planned = max(planned, *(len(list_strengths(kept.known)) for kept in rows.values()))
        workers = choose(replace(setup, keep=keep), planned, first=2 * self.stop_after)
        limits = planned, self.stop_after

        def search(kind: Kind) -> tuple[Tally, list[NullSearch]]:
            kept = rows[kind]
            return run_null_searches(
                workers, kind, self._threshold, limits, kept, watch, noun=self.noun
            )

        return self._record(planned, keep, self._build_kinds(search))

    def count_known(self, keep: str) -> NullRecord | None:
        """Record of the rows so far, of shuffled bars that keep a rhythm; None before the first."""

        def read(kind: Kind) -> tuple[Tally, list[NullSearch]]:
            known = self._open(keep, kind).known
            return tally_known(self._threshold, known, (None, self.stop_after))

        kinds = self._build_kinds(read)
        return self._record(0, keep, kinds) if kinds else None

    @property
    def _threshold(self) -> float:
        return self.strength.value if self.strength.is_defined else float("-inf")

    def _open(self, keep: str, kind: Kind) -> Checkpoint[NullSearch]:
        settings = self.build_settings(null_keep=keep, kind=kind)
        return Checkpoint(self.store, settings, NullSearch)

    def _build_kinds(
        self, find: Callable[[Kind], tuple[Tally, list[NullSearch]]]
    ) -> dict[str, NullKind]:
        kinds: dict[str, NullKind] = {}
        for kind in KINDS:
            counted, searches = find(kind)
            if searches:
                kinds[kind] = self.build_kind(self._threshold, counted, searches)
            if counted.p > MOST_P:
                break
        return kinds

    def _record(self, planned: int, keep: str, kinds: dict[str, NullKind]) -> NullRecord:
        return NullRecord(planned, keep, **kinds, stop_after=self.stop_after)


def read_null_so_far(store: RunStore, strength: float) -> NullRecord | None:
    """Null searches that are recorded, held against a strength; None before the first."""
    rows = [row for name, row in store.evidence if name == NullSettings.question]
    if not rows:
        return None
    keep, command = NullSettings.read(rows[-1].get(SETTINGS)).null_keep, store.header.get("command")
    asked = command.get("stop_after") if isinstance(command, Mapping) else None
    stop_after = asked if isinstance(asked, int) else DEFAULT_STOP_AFTER
    test = NullTest(store, NullSettings, Figure(strength), stop_after, build_null_kind)
    return test.count_known(keep)


def list_strengths(searches: Mapping[int, NullSearch]) -> list[float]:
    """Strengths of searches 1, 2, ... as far as there is no gap; minus infinity of no member."""
    strengths: list[float] = []
    while (search := searches.get(len(strengths) + 1)) is not None:
        strengths.append(float("-inf") if search.strength is None else search.strength)
    return strengths


def tally_known(
    value: float, known: Mapping[int, NullSearch], limits: tuple[int | None, int]
) -> tuple[Tally, list[NullSearch]]:
    """The tally of searches by number, and those that count; arguments as `run_null_searches`."""
    planned, stop_after = limits
    counted = tally(value, list_strengths(known)[:planned], stop_after)
    return counted, [known[number + 1] for number in range(counted.searches)]


def run_null_searches(
    workers: Executor,
    kind: Kind,
    value: float,
    limits: tuple[int, int],
    checkpoint: Checkpoint[NullSearch],
    watch: Watch,
    *,
    noun: str = "searches",
) -> tuple[Tally, list[NullSearch]]:
    """Search null markets until enough were at least as good, or all are done.

    Args:
        workers: With a `NullSetup`.
        kind: Of market.
        value: Strength of the run's pick; minus infinity of an empty front.
        limits: How many are planned, and after how many at least as good the rest is left.
        checkpoint: Searches that were made before; new ones are added.
        watch: Callback of progress.
        noun: What is made, in words.

    Returns:
        The tally, and the searches that count, by number.
    """
    planned, _ = limits
    part = f"{noun} on {kind} bars"

    def update_tally() -> tuple[Tally, list[NullSearch]]:
        count, searches = tally_known(value, checkpoint.known, limits)
        watch(part, len(checkpoint.known), planned, f"{count.at_least} did as well so far")
        return count, searches

    so_far = update_tally()
    jobs = [NullJob(kind, n) for n in range(1, planned + 1) if n not in checkpoint.known]
    if jobs and not so_far[0].is_stopped:
        with closing(workers.results(jobs)) as ended:
            for _, search in ended:
                checkpoint.add(search)
                so_far = update_tally()
                if so_far[0].is_stopped:
                    break
    return so_far


def build_null_kind(
    value: float,
    counted: Tally,
    searches: Sequence[NullSearch],
    objectives: Mapping[str, Compared] = MappingProxyType({}),
    hypervolume: Compared | None = None,
) -> NullKind:
    """One kind of null searches for people and JSON, by strength alone or with more beside it."""
    return NullKind(
        run=counted.searches,
        stopped=counted.is_stopped,
        strength=Compared(
            None if value == float("-inf") else value, counted.at_least, float(counted.p)
        ),
        objectives=dict(objectives),
        hypervolume=hypervolume,
        strengths=tuple(search.strength for search in searches),
    )


def compare_front(
    task: Task,
    result: RunResult,
    stop_after: int,
    value: float,
    counted: Tally,
    searches: Sequence[NullSearch],
) -> NullKind:
    """One kind of null searches beside the front of a run.

    Strength decides; objectives and hypervolume are compared in the same way and shown beside it.
    """
    goals = task.goals
    values = np.array(
        [[search.objectives[name] for name in goals.names] for search in result.front]
    )
    objectives = {}
    for index, (name, more) in enumerate(zip(goals.names, goals.maximised, strict=True)):
        sign = 1.0 if more else -1.0
        others = [search.objectives.get(name) for search in searches]
        observed = float((sign * values[:, index]).max())
        objectives[name] = _compare_with_null(observed, others, stop_after, sign)
    size = _compute_hypervolume(task, values)
    sizes = [search.hypervolume for search in searches]
    volume = _compare_with_null(size.value, sizes, stop_after) if size.is_defined else None
    return build_null_kind(value, counted, searches, objectives, volume)


def _compare_with_null(
    observed: float, others: Sequence[float | None], stop_after: int, sign: float = 1.0
) -> Compared:
    """A number of which more is better, with its sign; that of no member is minus infinity."""
    values = [float("-inf") if number is None else sign * number for number in others]
    count = tally(observed, values, stop_after)
    return Compared(sign * observed, count.at_least, float(count.p))


def _compute_hypervolume(task: Task, values: Floats) -> Figure:
    """Of a front [F, O] in natural sense; how far soft constraints are missed is no part of it."""
    metrics = [goal.metric for goal in task.goals.objectives]
    return hypervolume(values[:, : len(metrics)], metrics, task.goals.maximised[: len(metrics)])
