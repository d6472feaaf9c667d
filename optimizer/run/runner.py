"""Evolving, from a configuration to a certified and recorded front; prints nothing.

A caller watches through an `Observer` and may ask to stop. Everything that was found until then
is on disk, and going on gives the same bits as never having stopped. The same search without a
record is repeated for its trials, on folds, or on null markets.
"""

import math
from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TypeVar

import numpy as np

from data import Bars, Window, parts
from data.errors import describe_unwritten
from data.progress import Progress, Watch
from data.providers import HELD
from engine.batch import Engine
from engine.errors import DeviceError
from engine.out_of_core import Group, evaluate_groups
from engine.runtime.compiling.compile_timer import compile_seconds
from optimizer.atomic_write import write_whole
from optimizer.config.run_config import RunConfig, names_deciding
from optimizer.errors import (
    ConfigError,
    DisturbedError,
    LostError,
    OptimizerError,
    StoppedError,
    StoreError,
)
from optimizer.formatting import format_count, number
from optimizer.run.individuals import Ended, describe_result, prove_front
from optimizer.run.markets import Markets
from optimizer.run.problem import (
    Answer,
    Asking,
    EngineProblem,
    JustSearched,
    Question,
    Trials,
    run_alone,
)
from optimizer.run.purposes import RESUME, planned_config, restore_task
from optimizer.run.record import (
    build_identity,
    build_run_header,
    changed_circumstances,
    read_identity,
    require_same,
    strategy_file,
    tell_changed_columns,
)
from optimizer.run.tables import hash_genomes, load_warm_start, resume_command
from optimizer.run.task import (
    Place,
    Task,
    TaskEvaluator,
    check_limit_fits,
    prepare,
)
from optimizer.run.trust import (
    keep_columns,
    lacks_columns,
    list_strategy_texts,
    remember_begun,
    require_text,
    require_warm_start,
)
from optimizer.search.evolution import list_neighbours, polish_front, stop_reason
from optimizer.search.generation import (
    Floats,
    Generation,
    Population,
    Search,
    from_numbers,
    judged_population,
)
from optimizer.store import RunStore, estimate_bytes, new_run_id, require_space
from optimizer.store.files import NO_GENERATION
from optimizer.store.labels import change_labels
from optimizer.store.result import (
    RunResult,
    Timing,
    load_result,
    sort_best_first,
)

Key = TypeVar("Key", bound=Hashable)

WARMING = 2
"""The first generations of a process compile and compute most rows: they say nothing of others."""

NEWEST = 20
"""Generations that say how fast a search is now."""

REVERIFIED_INDIVIDUALS = 8
"""On resume, so many recorded individuals are evaluated anew before anything is built on them."""


class SearchPace:
    """Speed of the newest generations.

    Attributes:
        evaluated: Individuals of all generations.
    """

    def __init__(self) -> None:
        self.evaluated = self._count = 0
        self._newest: deque[tuple[float, int]] = deque(maxlen=NEWEST)

    def add(self, seconds: float, evaluated: int) -> None:
        """Count a generation, with how long it took and how many individuals it evaluated."""
        self.evaluated += evaluated
        self._count += 1
        if self._count > WARMING:
            self._newest.append((seconds, evaluated))

    @property
    def individuals_per_s(self) -> float:
        """Individuals evaluated a second; NaN before that is known."""
        seconds = math.fsum(seconds for seconds, _ in self._newest)
        return sum(evaluated for _, evaluated in self._newest) / seconds if seconds else math.nan

    def estimate_seconds(self, generations: int) -> float | None:
        """Seconds that so many generations will take; None before that is known."""
        seconds = math.fsum(seconds for seconds, _ in self._newest)
        return seconds / len(self._newest) * generations if seconds else None


def build_progress(task: Task, generation: Generation, pace: SearchPace) -> Progress:
    """Progress of a search as of a generation, which is the newest of a pace."""
    archive, last = generation.archive, task.config.generations
    natural = task.goals.natural(archive.objectives)
    best = np.full(natural.shape[1], np.nan)
    if len(archive):
        best = np.where(task.goals.maximised, natural.max(axis=0), natural.min(axis=0))
    feasible = (generation.population.violations == 0).mean()
    facts = [
        f"front {len(archive):,}, feasible {feasible:.0%}",
        f"hypervolume {number(generation.hypervolume)} (first box = 1)",
        f"{pace.evaluated:,} evaluated",
    ]
    rate = pace.individuals_per_s * task.markets.n_bars
    if rate > 0:
        shown = f"{rate / 1e9:.2f} G" if rate >= 1e8 else f"{rate / 1e6:.2f} M"
        facts.append(f"{shown} individual-bars/s")
    if generation.rejected:
        rejected = (f"{name} {count:,}" for name, count in generation.rejected.items())
        facts.append(f"rejected: {', '.join(rejected)}")
    return Progress(
        "generation",
        generation.number,
        last,
        best=dict(zip(task.goals.names, best.tolist(), strict=True)),
        note=", ".join(facts),
        left_s=pace.estimate_seconds(last - generation.number),
    )


class Observer:
    """Observer of a new or resumed run, which keeps what its judgement needs.

    `watch` is the callback of progress; a `data.progress.Show` may ask to stop. `place` evaluates.
    `just` has engine and trials of the search, once it is over.
    """

    def __init__(self, watch: Watch = lambda progress: None, place: Place | None = None) -> None:
        self.watch, self.place, self.just = watch, place or Place(), JustSearched()

    def should_stop(self) -> bool:
        """True to end the search after this generation."""
        return bool(getattr(self.watch, "is_stopping", False))


def start_run(config: RunConfig, observer: Observer) -> RunResult:
    """Evolve from the beginning.

    StoppedError when asked to stop: the run can be resumed. StoreError when it can no longer be
    recorded, and LostError when its evaluator is gone, each with how to go on. Other errors when
    something does not fit; no run was recorded if nothing had been evaluated.
    """
    check_limit_fits(config)
    task, warm_start = _warm_start(prepare(config, for_search=True))
    require_text(config, RunConfig.model_fields, list_strategy_texts(task.spec))
    runs, file = Path(config.runs), strategy_file(task.spec)
    require_space(runs, record_bytes(task))
    observer.place.begin(task, warm_start)
    evaluator = observer.place.make_evaluator(task, task.device())
    header = build_run_header(
        task, evaluator.problem.engine.device, build_identity(task, hash_genomes(warm_start))
    )
    keep_frames(config)
    with (
        RunStore.create(
            runs,
            new_run_id(),
            header,
            keep=config.keep,
            announce=partial(remember_begun, code=file.python if file else None),
        ) as store,
        _resumable(store),
    ):
        keep_columns(config.column_file, store.path)
        if config.tags:
            change_labels(store.path, add=config.tags)
        job = _Job(task, evaluator, store, warm_start)
        return _search(job, None, observer)


def keep_frames(config: RunConfig) -> None:
    """Write the rows of frames into the folder of runs, from where their run is read later."""
    for spec in config.data:
        if not (held := HELD.get(spec)):
            continue
        # Only here: few runs are of bars in memory.
        from data.providers.parquet_file import encode_rows

        path, content = Path(spec.partition(":")[2]), encode_rows(held[-1])
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_file() and path.read_bytes() == content:
                continue
        except OSError as error:
            raise OptimizerError(describe_unwritten(path, error)) from error
        write_whole(path, content)


def record_bytes(task: Task) -> int:
    """Bytes that the record of a run takes on disk at most, as far as that can be known."""
    config = task.config
    return estimate_bytes(
        config.population,
        len(task.spec.layout),
        len(task.goals.names),
        config.generations,
        keep=config.keep,
        archive=config.archive,
    )


def resume_run(path: Path, flags: Mapping[str, object], observer: Observer) -> RunResult:
    """Go on with a recorded run; of the configuration only what changes no result may be new.

    A run that had finished already returns as it was recorded, with ``"resumed": "already
    finished"``. StoreError when the run is owned by another process, damaged, or was made under
    circumstances that decide results and have changed; others as of `start_run`.
    """
    with RunStore.open(path, writable=True) as store:
        last = store.last_generation()
        done = NO_GENERATION if last is None else last.number
        config = planned_config(store, flags)
        if flags.get("tags"):
            change_labels(path, add=config.tags)
        # A result that follows from lost generations is found anew.
        result = None if store.recover().losses else load_result(store)
        finished = None
        is_longer = done < config.generations and flags.keys() & set(names_deciding("end"))
        if result is not None and done >= result.generation and not is_longer:
            finished = replace(result, resumed="already finished")
        is_same = not flags.keys() - set(names_deciding("end", "nothing"))
        if finished and is_same and not lacks_columns(config.column_file, path):
            return finished
        recorded = read_identity(store)
        task = restore_task(store, RESUME, flags)
        require_text(config, flags, {"the run's folder": str(path)})
        is_begun = last is not None and not flags.keys() & set(names_deciding("warm start"))
        if not is_begun:
            require_warm_start(store, config, flags)
        task, warm_start = (task, None) if is_begun else _warm_start(task)
        identity = build_identity(
            task, recorded.warm_start if is_begun else hash_genomes(warm_start)
        )
        tell_changed_columns(store, task.markets.series)
        names = str(store.header.get("strategy")), task.spec.name
        require_same(store.run_id, recorded, identity, strategies=names)
        # An owner that was killed while it copied them left some out.
        keep_columns(config.column_file, path)
        if finished:
            return finished
        if done > config.generations:
            raise ConfigError(
                f"--generations {config.generations}: run '{store.run_id}' has {done} already"
            )
        with _resumable(store):
            evaluator = observer.place.make_evaluator(task, task.device(done=done))
        header = build_run_header(task, evaluator.problem.engine.device, identity)
        differences = changed_circumstances(store.header, header, flags)
        store.note_resumption(differences, task.config.generations)
        with _resumable(store):
            if last is not None:
                _reverify(evaluator.problem, last)
            job = _Job(task, evaluator, store, warm_start)
            return _search(job, last, observer)


def _reverify(problem: EngineProblem, last: Generation) -> None:
    """Evaluate some recorded individuals anew; other bits here would make another run of it."""
    count = min(REVERIFIED_INDIVIDUALS, len(last.population))
    evaluation = problem.evaluate(last.population.genomes[:count])
    expected = last.population.objectives[:count]
    if not np.array_equal(evaluation.objectives, expected, equal_nan=True):
        wrong = np.flatnonzero((evaluation.objectives != expected).any(axis=1))
        raise StoreError(
            f"generation {last.number} cannot be gone on from: candidate {wrong[0]} has "
            f"objectives {expected[wrong[0]].tolist()} in the record and "
            f"{evaluation.objectives[wrong[0]].tolist()} here"
        )


@dataclass(frozen=True)
class _Job:
    """One search: its task, evaluator and store, and the genomes to begin with."""

    task: Task
    evaluator: TaskEvaluator
    store: RunStore
    warm_start: Floats | None


def _warm_start(task: Task) -> tuple[Task, Floats | None]:
    """The task with notes on genomes to begin with, and these, if any."""
    warm_start = load_warm_start(task.config, task.spec.layout)
    if warm_start is None:
        return task, None
    notes = (*task.remarks, *warm_start.notes(task.config.population))
    return replace(task, remarks=notes), warm_start.genomes


@contextmanager
def _resumable(store: RunStore) -> Iterator[None]:
    """Let a device's failure say how to resume."""
    try:
        yield
    except DeviceError as error:
        raise type(error)(f"{error}; {resume_hint(store)}") from error


@contextmanager
def _naming_resume(store: RunStore) -> Iterator[None]:
    """Let whatever ends a search say how to go on with it."""
    # Before the search: another signal may come while this one is answered.
    stopped = StoppedError(f"stopped at once; {resume_hint(store)}")
    try:
        yield
    except KeyboardInterrupt:
        raise stopped from None
    except DisturbedError:
        # The message itself names the rest of the run, and its place.
        raise
    except (StoreError, LostError) as error:
        raise type(error)(f"{error}; {resume_hint(store)}") from error


def resume_hint(store: RunStore) -> str:
    """Generations kept of a run, and the command that goes on with it."""
    return f"what was recorded is kept, go on with: {resume_command(store.path)}"


def _search(job: _Job, last: Generation | None, observer: Observer) -> RunResult:
    """Search, certify and record a run after its newest generation; None before the first."""
    task, store, problem = job.task, job.store, job.evaluator.problem
    with _naming_resume(store):
        observer.place.give_room(problem.engine)
        observer.watch(_describe_search(job))
        began, compiled, pace = perf_counter(), compile_seconds(), SearchPace()
        search, why = _begin(job, last, observer)
        while not why and (genomes := search.ask()) is not None:
            last = search.tell(problem.evaluate(genomes))
            store.record(last)
            pace.add(last.seconds, last.evaluated)
            why = stop_reason(task.config, last, perf_counter() - began)
            observer.watch(build_progress(task, last, pace))
            _stop_if_asked(observer, store, last)
        if last is None:
            raise StoreError(f"run '{store.run_id}' holds no generation and none was to be made")
        store.flush()
        front, n_polished = run_alone(number_front(task, problem, last), problem.engine)
        observer.just = JustSearched(problem.trials(), problem.engine)
        _stop_if_asked(observer, store, last)
        searched, compiling = perf_counter() - began, compile_seconds() - compiled
        members = format_count(len(front), "member")
        observer.watch(Progress(f"replaying: {members} of the front on the reference"))
        # Neither replayed nor described on held-out bars, which are unseen yet.
        certificate = job.evaluator.certify(front.genomes)
        prove_front(task, front.genomes)
        evaluated = pace.evaluated + n_polished
        timing = Timing(
            search_s=searched,
            certificate_s=perf_counter() - began - searched,
            evaluated=evaluated,
            individual_bars_per_s=evaluated * task.markets.n_bars / (searched - compiling),
            compile_s=compiling,
        )
        ended = Ended(last, front, n_polished, why or "generations")
        result = describe_result(task, problem.engine, store, ended, certificate, timing)
        store.finish(result.payload())
        return replace(result, front=sort_best_first(result.front, result.objectives))


def _begin(job: _Job, last: Generation | None, observer: Observer) -> tuple[Search, str]:
    """The search after a generation, and the knob that ended it already, if one did."""
    config, problem, why = job.task.config, job.evaluator.problem, ""
    begins = "evaluating the initial population"
    if last is not None:
        begins = f"going on after {last.number:,}"
        why = stop_reason(config, last, 0.0)
    elif config.judge is not False:
        problem.keep_trials()
    observer.watch(Progress(f"generation: {begins}"))
    return job.task.search(problem, last, job.warm_start), why


def _describe_search(job: _Job) -> Progress:
    """Lines on a search that is about to begin: its bars, device, memory, and record."""
    task, store, engine = job.task, job.store, job.evaluator.problem.engine
    bars = format_count(task.markets.n_bars, "bar")
    lines = (
        f"{task.spec.name} on {task.markets.symbol} {task.markets.timeframe}, {bars}",
        f"device {engine.device}: {engine.device_reason}",
        f"memory for {engine.memory_plan(task.config.population)}",
        f"run {store.run_id} in {store.path}, {record_bytes(task) / 1e6:,.0f} MB at most",
    )
    return Progress(notes=(*task.notes, *store.warnings), lines=lines)


def _stop_if_asked(observer: Observer, store: RunStore, last: Generation) -> None:
    """End the search where a person wants that, also in its last moments: judging would follow."""
    if observer.should_stop():
        store.flush()
        raise StoppedError(f"stopped after generation {last.number}; {resume_hint(store)}")


@dataclass(frozen=True)
class SearchOutcome:
    """Outcome of a search."""

    front: Population  # its members, by their numbers
    last: Generation  # the last generation
    evaluated: int  # individuals that it judged, polish included
    # All of them, each once; None where they do not fit memory or were not kept.
    trials: Trials | None


def search(
    task: Task, engine: Engine, warm_start: Floats | None = None, *, keeps_trials: bool = False
) -> SearchOutcome:
    """Search as a run does, to the same front, and write nothing.

    A limit of time is not heard; a search that it ended is repeated with the generations that it
    reached. The warm start [N, G] has genomes to begin with; `keeps_trials` keeps all that is
    judged.
    """
    problem = task.problem(engine)
    if keeps_trials:
        problem.keep_trials()
    return run_alone(search_again(task, problem, warm_start), engine)


def search_again(
    task: Task, problem: EngineProblem, warm_start: Floats | None
) -> Asking[SearchOutcome]:
    """Search as `search` does; its caller evaluates."""
    evaluated, walk = 0, task.search(problem, None, warm_start)
    while (genomes := walk.ask()) is not None:
        last = walk.tell((yield from problem.judge(genomes)))
        evaluated += last.evaluated
        # A lattice goes on until its last point in any case.
        if last.number >= task.config.generations or stop_reason(task.config, last, 0.0):
            break
    front, polished = yield from number_front(task, problem, last)
    return SearchOutcome(front, last, evaluated + polished, problem.trials())


def number_front(
    task: Task, problem: EngineProblem, last: Generation
) -> Asking[tuple[Population, int]]:
    """The polished front of a search, its members by their numbers, and what polishing judged.

    Its caller evaluates.
    """
    at_most = task.polish_at_most(from_numbers(last.memory, problem.n_objectives).evaluated)
    genomes, lineage = list_neighbours(problem.layout, last, at_most)
    evaluation = yield from problem.judge(genomes)
    judged = judged_population(problem, genomes, lineage, evaluation)
    front = polish_front(last, judged, task.config.archive)
    # Certified in the order in which members are numbered, so that anybody can hash them again.
    return front.take(np.argsort(front.objectives[:, 0], kind="stable")), len(judged)


def on_other_bars(
    task: Task, series: Sequence[Bars], windows: Sequence[Window], **settings: object
) -> Task:
    """The same task on other bars, searched on in all windows.

    Windows [W] are of any role and not cut into parts yet. Series [S] without a window are left
    out, and bars behind a series' last window too. Settings are fields of the configuration that
    differ.
    """
    used = sorted({window.series for window in windows})
    ends = {s: max(window.end for window in windows if window.series == s) for s in used}
    searched = [
        replace(window, series=used.index(window.series), role="search") for window in windows
    ]
    markets = Markets(
        tuple(series[s].until(ends[s]) for s in used), parts(searched, task.config.parts)
    )
    config = task.config.model_copy(update={"max_seconds": None, **settings})
    goals = replace(task.goals, min_trades=config.min_trades)
    return replace(task, config=config, markets=markets, goals=goals)


def on_searched_bars(task: Task, **settings: object) -> Task:
    """The same task on the bars that it searches, which end with its last window."""
    return on_other_bars(task, task.markets.series, task.markets.uncut, **settings)


def evaluate_together(
    engine: Engine,
    windows: Mapping[Key, Sequence[int]],
    questions: Mapping[Key, Question],
) -> list[Answer]:
    """Answers to searches in step, each with windows of its own, by number; unjudged."""
    groups = [
        Group(question.genomes, windows[key], question.pools) for key, question in questions.items()
    ]
    return [Answer(*answered) for answered in evaluate_groups(engine, groups)]


def engine_apart(tasks: Sequence[Task]) -> tuple[Engine, list[range]]:
    """One engine of tasks that differ in their bars alone, and the numbers of each one's windows.

    The series of each of several are apart from others': no other individual has their rows
    computed.
    """
    first, numbers = tasks[0], []
    series: list[Bars] = []
    windows: list[Window] = []
    for task in tasks:
        shifted = [
            replace(window, series=len(series) + window.series) for window in task.markets.windows
        ]
        numbers.append(range(len(windows), len(windows) + len(shifted)))
        windows += shifted
        series += task.markets.series
    if len(tasks) == 1:
        return first.engine(), numbers
    return first.make_engine(series, windows, apart=len(first.markets.series)), numbers
