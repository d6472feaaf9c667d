"""The null: the same search on markets without an edge, p by betting, and its sentence.

Each search leaves a row. So a judgement goes on where it stopped, and p is read from rows alone,
at any time and after any number of looks.
"""

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from data.checks import Floats
from data.progress import Progress, Watch
from engine.accounts.metrics import FORMULAS
from engine.workload import Workload
from optimizer.evidence.betting import (
    DEFAULT_SEARCHES,
    FEWEST_SEARCHES,
    MOST_P,
    Tally,
    count_needed,
    format_p,
    tally,
)
from optimizer.evidence.checkpoint import SETTINGS, Checkpoint, Numbered
from optimizer.evidence.figures import Figure, Number, make_undefined
from optimizer.evidence.jobs.executor import InStepSetup, OneSearchSetup, WindowNumbers
from optimizer.evidence.null_markets import Keep, NullMarkets
from optimizer.evidence.pick import ask_pick
from optimizer.evidence.statistic import Around, Statistic, Weighed, choose_side, shorten
from optimizer.store.caveats import mapping_or_empty
from optimizer.store.payload import OPTIONAL, Payload

if TYPE_CHECKING:
    from engine.batch import Engine
    from optimizer.evidence.judged_run import JudgedRun
    from optimizer.run.problem import Asking, EngineProblem
    from optimizer.run.task import Task
    from optimizer.store import RunStore
    from optimizer.store.result import RunResult

Kind = Literal["shuffled", "mirrored"]

KINDS: tuple[Kind, ...] = ("shuffled", "mirrored")

NULL = "null"
"""Name of rows of null searches."""

NULL_FLAGS = (f"--null {DEFAULT_SEARCHES}",)

FIRST_SEARCHES = 16
"""Null searches that decide most verdicts of luck."""

IDLE = {"profit_factor": 1.0, "max_drawdown": 1.0, "exposure": 1.0}
"""Metrics of an account that does nothing, at worst; it has 0 of those that are maximised."""


@dataclass(frozen=True)
class Compared(Payload):
    """A number of the run, how many null searches did at least as well, and p."""

    value: Number
    at_least: int
    p: float


@dataclass(frozen=True)
class NullKind(Payload):
    """Null searches on one kind of market."""

    run: int  # how many count
    stopped: bool  # whether the rest was left, which could change nothing
    wealth: float  # the greatest of the bet on the pick's strength, which alone decides
    strength: Compared  # of the pick
    objectives: Mapping[str, Compared]  # the best of each over the front
    hypervolume: Compared | None  # of the front; None if undefined
    strengths: tuple[Number, ...]  # of each search that counts, None of an empty front

    @property
    def tally(self) -> Tally:
        """Count of them, by strength."""
        return Tally(self.run, self.strength.at_least, self.wealth, self.stopped)

    @property
    def side(self) -> str:
        """Side that it speaks for; neither while nothing is decided."""
        is_decided = self.tally.is_more or self.stopped
        return choose_side(self.tally.is_more) if is_decided else ""

    def describe(self) -> str:
        """Strengths of null searches beside the pick's, and p beside its limit."""
        strengths = [-math.inf if value is None else value for value in self.strengths]
        counted = self.tally
        limit = "at most" if counted.is_more else "and more than luck needs at most"
        sentence = (
            f"Their strength: median {shorten(median(strengths))}, greatest "
            f"{shorten(max(strengths))}; here {shorten(self.strength.value)}. "
            f"{self.strength.at_least} of {self.run} reached it: "
            f"p = {format_p(counted.p)}, {limit} {MOST_P:g}"
        )
        if self.stopped:
            sentence += "; the rest was left"
        elif self.run < FEWEST_SEARCHES:
            sentence += f"; fewer than {FEWEST_SEARCHES} searches cannot show it"
        return f"{sentence}."


@dataclass(frozen=True)
class NullRecord(Statistic):
    """The same search on markets without an edge; ``mirrored`` where shuffled ones say no luck."""

    planned: int
    keep: str
    shuffled: NullKind
    mirrored: NullKind | None = None

    @property
    def kinds(self) -> Mapping[str, NullKind]:
        """Kinds that were made, by name."""
        kinds = {"shuffled": self.shuffled, "mirrored": self.mirrored}
        return {name: kind for name, kind in kinds.items() if kind is not None}

    @property
    def tallies(self) -> Mapping[str, Tally]:
        """Counts of them, by kind."""
        return {name: kind.tally for name, kind in self.kinds.items()}

    @property
    def wealth(self) -> float:
        """The smaller e-value of its kinds."""
        return min(kind.tally.wealth for kind in self.kinds.values())

    @property
    def p(self) -> float:
        """The greater p, which decides."""
        return max(tally.p for tally in self.tallies.values())

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """Each kind of market, as the verdict takes it."""
        for name, kind in self.kinds.items():
            yield Weighed(f"{name} bars", kind.describe(), kind.side)

    def states(self, keep: str, kind: str, count: int) -> bool:
        """True if it follows from so many searches on a kind of bars with a rhythm."""
        made = self.kinds.get(kind)
        # The findings on shuffled bars decide whether mirrored ones count.
        return self.keep == keep and (made is None or made.stopped or made.run >= count)


class NullJob(NamedTuple):
    """One null search: a kind of market, and its number from 1 on."""

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
    # The front's, measured from an idle account; None if undefined.
    hypervolume: float | None = None

    @property
    def value(self) -> float:
        """Strength as it is compared: minus infinity of an empty front."""
        return -math.inf if self.strength is None else self.strength


@dataclass(frozen=True)
class OnNullMarkets(InStepSetup[NullJob, NullSearch]):
    """Setup of searches on null markets: these markets, and the task on each."""

    keep: Keep | Literal["auto"] = "auto"  # rhythm that shuffled bars keep

    @cached_property
    def markets(self) -> NullMarkets:
        """The null markets."""
        markets, config = self.task.markets, self.task.config
        return NullMarkets(
            markets.series, markets.windows, config.seed, self.keep, threads=config.threads
        )

    def build_task(self, job: NullJob) -> "Task":
        """The task on the bars of one market."""
        from optimizer.run.indicator_cache import keeping_rows
        from optimizer.run.runner import on_other_bars

        made = self.markets.shuffle_market if job.kind == "shuffled" else self.markets.mirror_market
        task = on_other_bars(self.task, made(job.number), self.task.markets.uncut)
        # No run comes back to these bars.
        return replace(task, spec=keeping_rows(task.spec, None))


@dataclass(frozen=True)
class NullSetup(OnNullMarkets, OneSearchSetup[NullJob, NullSearch]):
    """Setup that null searches of one run have in common."""

    def make_engine(
        self, jobs: Sequence[NullJob], tasks: "Sequence[Task]"
    ) -> "tuple[Engine, WindowNumbers]":
        """One engine of all markets, each with series of its own."""
        from optimizer.run.runner import engine_apart

        engine, windows = engine_apart(tasks)
        return engine, dict(zip(jobs, windows, strict=True))

    def estimate_work(self) -> tuple[Workload, int]:
        """See `InStepSetup`."""
        work = self.task.workload()
        return work, int(work.individual_bars / self.task.markets.n_bars)

    def search(self, job: NullJob, task: "Task", problem: "EngineProblem") -> "Asking[NullSearch]":
        """Search one market; its caller evaluates."""
        from optimizer.run.runner import search_again

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
            strength=pick.strength.number,
            trades=pick.trades,
            objectives=dict(zip(task.goals.names, best.tolist(), strict=True)),
            hypervolume=_measure_front(task, values).number,
        )


Submit = Callable[..., Generator[tuple[NullJob, NullSearch], None, None]]
"""Null searches of jobs, as they end."""


@dataclass(frozen=True)
class NullTest:
    """A strength beside searches on null markets, each a row of evidence."""

    store: "RunStore"
    question: str  # name of the rows
    strength: Figure  # of the run's pick; undefined, it counts as that of an empty front
    # Fields of `NullKind` that stand beside the strength, of the searches that count.
    compare: Callable[[Sequence[NullSearch]], Mapping[str, Any]] = lambda _: {}
    noun: str = "searches"  # in words
    # Settings of the rows beside the rhythm that shuffled bars keep and the kind of market.
    settings: Mapping[str, object] = field(default_factory=dict)

    def make(
        self,
        setup: Any,  # noqa: ANN401 - of null searches or null schedules
        planned: int,
        submit: Submit,
        watch: Watch,
    ) -> NullRecord:
        """Search shuffled markets, and mirrored ones where those do not say luck.

        So many are planned; searches that were made are never left out.
        """
        keep: Keep = setup.markets.keep
        rows = {kind: self._open(keep, kind) for kind in KINDS}
        planned = max(planned, *(len(_list_strengths(kept)) for kept in rows.values()))
        begin = partial(submit, replace(setup, keep=keep))
        for kind, kept in rows.items():
            if not self._search(kind, kept, planned, begin, watch).is_more:
                break
        return NullRecord(planned, keep, *self._read_kinds(rows, planned).values())

    def read_so_far(self, keep: str) -> NullRecord | None:
        """Record of the rows so far, of shuffled bars that keep a rhythm; None before the first.

        They count by the usual plan, or by the longer one that made them.
        """
        rows = {kind: self._open(keep, kind) for kind in KINDS}
        planned = max(DEFAULT_SEARCHES, *(len(kept.known) for kept in rows.values()))
        kinds = self._read_kinds(rows, planned)
        return NullRecord(planned, keep, *kinds.values()) if kinds else None

    def _open(self, keep: str, kind: Kind) -> Checkpoint[NullSearch]:
        settings = {**self.settings, "null_keep": keep, "kind": kind}
        return Checkpoint(self.store, self.question, settings, NullSearch)

    def _search(
        self,
        kind: Kind,
        kept: Checkpoint[NullSearch],
        planned: int,
        begin: Submit,
        watch: Watch,
    ) -> Tally:
        """Search markets of a kind until it is decided whether it is luck, or all are done."""

        def count() -> Tally:
            counted = self._tally(kept, planned)
            phase, told = f"judging: {self.noun} on {kind} bars", f"{counted.at_least} did as well"
            watch(Progress(phase, len(kept.known), planned, note=f"{told} so far"))
            return counted

        counted = count()
        while not counted.is_stopped and (jobs := _list_next(kind, kept, counted, planned)):
            with closing(begin(jobs)) as ended:
                for _, search in ended:
                    kept.add(search)
                    counted = count()
                    if counted.is_stopped:
                        break
        return counted

    def _tally(self, kept: Checkpoint[NullSearch], planned: int) -> Tally:
        value = self.strength.value if self.strength.is_defined else -math.inf
        return tally(value, _list_strengths(kept)[:planned], planned)

    def _read_kinds(
        self, rows: Mapping[Kind, Checkpoint[NullSearch]], planned: int
    ) -> dict[str, NullKind]:
        """Kinds of markets by the rows that count, up to the first that says luck."""
        kinds: dict[str, NullKind] = {}
        for kind, kept in rows.items():
            counted = self._tally(kept, planned)
            searches = [kept.known[number + 1] for number in range(counted.searches)]
            if searches:
                strengths = [search.strength for search in searches]
                kinds[kind] = build_kind(
                    counted, self.strength.number, strengths, **self.compare(searches)
                )
            if not counted.is_more:
                break
        return kinds


def build_kind(
    counted: Tally,
    strength: Number,
    strengths: Sequence[Number],
    objectives: Mapping[str, Compared] | None = None,
    hypervolume: Compared | None = None,
) -> NullKind:
    """Searches on a kind of market, as counted by their strengths."""
    return NullKind(
        run=counted.searches,
        stopped=counted.is_stopped,
        wealth=counted.best,
        strength=Compared(strength, counted.at_least, counted.p),
        objectives=objectives or {},
        hypervolume=hypervolume,
        strengths=tuple(strengths),
    )


def build_null_record(run: "JudgedRun") -> NullRecord | None:
    """Null searches beside the strongest member of a front, if any are planned."""
    plan = run.plan
    if not plan.null:
        return None
    compare = partial(compare_front, run.task, run.result)
    # Greatest strengths are compared, whichever member is the pick.
    test = NullTest(run.store, NULL, run.strongest.strength, compare)
    setup = NullSetup(run.again, plan.null_keep, warm_start=run.warm_start)
    return test.make(setup, plan.null, partial(run.executor.submit, used=run.device), run.watch)


def read_null_so_far(store: "RunStore", strength: float) -> NullRecord | None:
    """Null searches that are recorded, held against a strength; None before the first."""
    rows = [row for name, row in store.evidence if name == NULL]
    if not rows:
        return None
    keep = str(mapping_or_empty(rows[-1].get(SETTINGS)).get("null_keep"))
    return NullTest(store, NULL, Figure(strength)).read_so_far(keep)


def compare_front(
    task: "Task", result: "RunResult", searches: Sequence[NullSearch]
) -> dict[str, Any]:
    """Objectives and hypervolume of a front beside those of null searches, as `NullKind` has them.

    They are counted as strengths are, and decide nothing.
    """
    goals = task.goals
    values = np.array(
        [[member.objectives[name] for name in goals.names] for member in result.front]
    )

    def compare(observed: float, others: Sequence[Number], sign: float = 1.0) -> Compared:
        """A number to be maximised, with its sign; minus infinity without a member."""
        signed = [-math.inf if number is None else sign * number for number in others]
        count = tally(observed, signed)
        return Compared(sign * observed, count.at_least, count.p)

    objectives = {}
    for index, (name, more) in enumerate(zip(goals.names, goals.maximised, strict=True)):
        sign = 1.0 if more else -1.0
        others = [search.objectives.get(name) for search in searches]
        objectives[name] = compare(float((sign * values[:, index]).max()), others, sign)
    size, sizes = _measure_front(task, values), [search.hypervolume for search in searches]
    volume = compare(size.value, sizes) if size.is_defined else None
    return {"objectives": objectives, "hypervolume": volume}


def hypervolume(values: Floats, names: Sequence[str], maximised: Sequence[bool]) -> Figure:
    """Hypervolume of a front from an account that does nothing, of values [F, O] in natural sense.

    Members that such an account equals or beats in an objective add nothing; 0 of an empty front.
    Undefined where an objective has no value for such an account, and with more objectives than
    hypervolume is exact for.
    """
    # Showing a run must not load it.
    import moocore

    from optimizer.search.selection import EXACT_OBJECTIVES

    if len(names) > EXACT_OBJECTIVES:
        return make_undefined(f"more than {EXACT_OBJECTIVES} objectives")
    reference = np.array(
        [
            IDLE.get(name, 0.0 if is_up and name in FORMULAS else math.nan)
            for name, is_up in zip(names, maximised, strict=True)
        ]
    )
    if np.isnan(reference).any():
        lost = names[int(np.isnan(reference).argmax())]
        return make_undefined(f"an account that does nothing has no {lost}")
    signs = np.where(np.asarray(maximised), -1.0, 1.0)
    ahead = signs * (values - reference)
    ahead = ahead[(ahead < 0).all(axis=1)]
    if not len(ahead):
        return Figure(0.0)
    if ahead.shape[1] == 1:
        return Figure(-float(ahead.min()))
    return Figure(float(moocore.hypervolume(ahead, ref=0.0)))


def _measure_front(task: "Task", values: Floats) -> Figure:
    """Hypervolume of a front [F, O] in natural sense, without the misses of soft constraints."""
    metrics = [goal.metric for goal in task.goals.objectives]
    return hypervolume(values[:, : len(metrics)], metrics, task.goals.maximised[: len(metrics)])


def _list_next(
    kind: Kind, kept: Checkpoint[NullSearch], counted: Tally, planned: int
) -> list[NullJob]:
    """Jobs up to the number at which it may be decided; none where all are done."""
    is_first = counted.searches < FIRST_SEARCHES
    end = FIRST_SEARCHES if is_first else count_needed(counted.at_least)
    numbers = range(counted.searches + 1, min(end, planned) + 1)
    return [NullJob(kind, number) for number in numbers if number not in kept.known]


def _list_strengths(kept: Checkpoint[NullSearch]) -> list[float]:
    """Strengths of searches 1, 2, ... as far as there is no gap; minus infinity of no member."""
    strengths: list[float] = []
    while (search := kept.known.get(len(strengths) + 1)) is not None:
        strengths.append(search.value)
    return strengths
