"""Evolving, from a configuration to a certified and recorded front; prints nothing.

Whoever calls watches through an `Observer` and may ask to stop. Everything that was found until
then is on disk, and going on gives the same bits as never having stopped.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Protocol

import numpy as np

from engine.batch import Engine
from engine.devices import Device, choose_device
from engine.errors import DeviceError, DeviceLostError
from engine.metrics import METRICS
from engine.parity import Certificate, certify, paying_processes
from engine.replaying import Replayers
from optimizer.config.run_config import RunConfig, make_config, overlaid
from optimizer.errors import ConfigError, StoppedError, StoreError
from optimizer.runs import RunStore, estimate_bytes, new_run_id, require_same, require_space
from optimizer.search.evolution import count_failures, front_hash
from optimizer.search.generation import Floats, Generation, Population
from optimizer.search.polish import polished_front
from optimizer.session.individuals import best_first, describe_individuals
from optimizer.session.problem import EngineProblem
from optimizer.session.progress import WARMING, Mark, Progress, progress_of
from optimizer.session.task import (
    Task,
    describe_data,
    header_of,
    prepare,
)
from optimizer.session.warm_start import guests_hash, load_guests

REVERIFIED_INDIVIDUALS = 8
"""On resume, so many recorded individuals are evaluated anew before anything is built on them."""

NO_GENERATION = -1

STOPS = frozenset({"generations", "max_evaluations", "max_seconds", "plateau"})
"""Fields that say when to stop; they change no generation, only which is the last."""

HARMLESS = frozenset(
    {
        *STOPS,
        "device",
        "on_gpu_loss",
        "threads",
        "memory",
        "runs",
        "keep",
        "budget",
        "report",
        "regret",
        "warm_start",
    }
)
"""Fields that may be given anew when a run is taken up; guests are compared by their hash."""

Result = Mapping[str, object]
ShouldStop = Callable[[], bool]


class Observer(Protocol):
    """Who watches a run."""

    def started(self, task: Task, engine: Engine, store: RunStore) -> None:
        """The search is about to begin."""

    def is_due(self, generation: int) -> bool:
        """Whether it wants to see this generation; what nobody sees is not worked out."""

    def generation(self, progress: Progress) -> None:
        """A generation was found and handed to the store."""

    def certifying(self, members: int) -> None:
        """The search is over, the front is being replayed by the reference."""

    def device_lost(self, config: RunConfig, store: RunStore | None, why: DeviceLostError) -> None:
        """This process cannot use its device again; a process that is ours alone may begin anew.

        The store is None before there is a run to resume. Whoever returns lets the error end it.
        """


def start_run(config: RunConfig, observer: Observer, should_stop: ShouldStop) -> Result:
    """Evolve from the beginning.

    Args:
        config: What to do.
        observer: Who watches.
        should_stop: Asked after each generation.

    Returns:
        The result, as recorded and as `evolve --json` prints it.

    Raises:
        StoppedError: When asked to stop; the run can be resumed.
        StoreError: When it can no longer be recorded, with how to go on when it can.
        OptimizerError, DataError, StrategyError, EngineError: When something does not fit; no run
            was recorded if nothing had been evaluated.
    """
    task = prepare(config, for_search=True)
    device = choose_device(config.device, task.workload())
    with _resumable(config, observer):
        engine = task.engine(device)
    runs = Path(config.runs)
    require_space(runs, record_bytes(task))
    guests = _guests(task)
    header = {**header_of(task, engine.device), "guests": guests_hash(guests)}
    with (
        RunStore.create(
            runs, new_run_id(), header, keep=config.keep, budget=config.budget
        ) as store,
        _resumable(config, observer, store),
    ):
        return _search(_Job(task, device, engine, store, guests), None, observer, should_stop)


def record_bytes(task: Task) -> int:
    """Bytes that the record of a run takes on disk at most, as far as that can be known."""
    config = task.config
    return estimate_bytes(
        config.population,
        len(task.spec.layout),
        len(task.goals.names),
        config.generations,
        keep=config.keep,
        budget=config.budget,
        archive=config.archive,
    )


def resume_run(
    path: Path, flags: Mapping[str, object], observer: Observer, should_stop: ShouldStop
) -> Result:
    """Go on with a recorded run.

    Args:
        path: Directory of the run.
        flags: Configuration that was given anew; only what cannot change a result may differ.
        observer: Who watches.
        should_stop: Asked after each generation.

    Returns:
        The result; that of a run which had finished already is returned as it was recorded, with
        ``"resumed": "already finished"``.

    Raises:
        StoppedError: When asked to stop.
        StoreError: When the run is owned by another process, damaged, or was made under
            circumstances that decide results and have changed.
    """
    with RunStore.open(path, writable=True) as store:
        config = _recorded_config(store, flags)
        last = store.last_generation()
        done = NO_GENERATION if last is None else last.number
        if "generations" not in flags:
            planned = max(store.planned or config.generations, done)
            config = config.model_copy(update={"generations": planned})
        result = recorded_result(store)
        is_finished = _is_finished(result, done) and (
            done >= config.generations or not flags.keys() & STOPS
        )
        if is_finished and not _decides(flags):
            return {**(result or {}), "resumed": "already finished"}
        task = prepare(config, for_search=True)
        device = choose_device(config.device, task.workload(done))
        with _resumable(config, observer, store):
            engine = task.engine(device)
        guests = _guests(task) if last is None else None
        known = store.header.get("guests") if last else guests_hash(guests)
        header = {**header_of(task, engine.device), "guests": known}
        if is_finished:
            require_same(store.header, header)
            return {**(result or {}), "resumed": "already finished"}
        if done > config.generations:
            raise ConfigError(
                f"--generations {config.generations}: run '{store.run_id}' has {done} already"
            )
        store.resume_with(header)
        with _resumable(config, observer, store):
            if last is not None:
                _reverify(task.problem(engine), last)
            return _search(_Job(task, device, engine, store, guests), last, observer, should_stop)


def recorded_result(store: RunStore) -> Result | None:
    """The result of a run: genes, objectives and metrics in order, the best member first.

    Args:
        store: Open for reading; what it records has its keys sorted.

    Returns:
        None before the run is finished.
    """
    result, header = store.result, store.header
    members = None if result is None else result.get("front")
    genes, objectives = header.get("genes"), header.get("objectives")
    if not (isinstance(members, list) and isinstance(genes, list) and isinstance(objectives, list)):
        return result
    orders = {"genes": [gene["name"] for gene in genes], "objectives": objectives}
    orders["metrics"] = list(METRICS)
    front = [
        {part: _ordered(values, orders.get(part, ())) for part, values in member.items()}
        for member in best_first(members, objectives)
    ]
    # A run may have been moved or copied since.
    place = {"run": store.run_id, "path": str(store.path)}
    return {**(result or {}), **place, "front": front}


def _ordered(values: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    return {name: values[name] for name in names if name in values} | dict(values)


def _is_finished(result: Result | None, done: int) -> bool:
    """Whether a run has a result, and the generation that it was made from."""
    return result is not None and done >= int(str(result.get("generation", done)))


def _decides(flags: Mapping[str, object]) -> bool:
    """Whether any of the flags could change a result."""
    return any(name not in HARMLESS for name in flags)


def _recorded_config(store: RunStore, flags: Mapping[str, object]) -> RunConfig:
    recorded = store.header.get("command")
    if not isinstance(recorded, dict):
        raise StoreError(f"run '{store.run_id}' does not say what it was asked to do")
    return make_config(overlaid(recorded, flags), where=f"run '{store.run_id}'", flags=flags)


def _reverify(problem: EngineProblem, last: Generation) -> None:
    """Evaluate some recorded individuals anew; other bits here would make another run of it."""
    count = min(REVERIFIED_INDIVIDUALS, len(last.population))
    found = problem.evaluate(last.population.genomes[:count])
    expected = last.population.objectives[:count]
    if not np.array_equal(found.objectives, expected, equal_nan=True):
        wrong = np.flatnonzero((found.objectives != expected).any(axis=1))
        raise StoreError(
            f"generation {last.number} cannot be gone on from: individual {wrong[0]} has "
            f"objectives {expected[wrong[0]].tolist()} in the record and "
            f"{found.objectives[wrong[0]].tolist()} here"
        )


@dataclass(frozen=True)
class _Job:
    """What one search needs: its task, where it is judged and recorded, and who is there first."""

    task: Task
    device: Device
    engine: Engine
    store: RunStore
    guests: Floats | None


def _guests(task: Task) -> Floats | None:
    """Genomes to begin with, None when none were asked for."""
    if task.config.warm_start is None:
        return None
    return load_guests(task.config.warm_start, task.spec.layout, Path(task.config.runs))


def _search(
    job: _Job, last: Generation | None, observer: Observer, should_stop: ShouldStop
) -> Result:
    try:
        with Replayers() as replayers:
            return _searched(job, last, observer, should_stop, replayers)
    except KeyboardInterrupt:
        raise StoppedError(f"stopped at once; {_resume_hint(job.store)}") from None
    except StoreError as error:
        raise type(error)(f"{error}; {_resume_hint(job.store)}") from error


@contextmanager
def _resumable(
    config: RunConfig, observer: Observer, store: RunStore | None = None
) -> Iterator[None]:
    """Let a device's failure say how to resume; one that is lost may be begun anew first."""
    try:
        yield
    except DeviceError as error:
        if isinstance(error, DeviceLostError):
            observer.device_lost(config, store, error)
        if store is None:
            raise
        raise type(error)(f"{error}; {_resume_hint(store)}") from error


def _resume_hint(store: RunStore) -> str:
    command = f"python -m optimizer evolve --resume {shlex.quote(str(store.path))}"
    return f"what was recorded is kept, go on with: {command}"


def _searched(
    job: _Job,
    last: Generation | None,
    observer: Observer,
    should_stop: ShouldStop,
    replayers: Replayers,
) -> Result:
    task, engine, store = job.task, job.engine, job.store
    observer.started(task, engine, store)
    began = perf_counter()
    problem = task.problem(engine)
    now, warm = Mark(0, 0, 0.0), None
    why = "" if last is None else task.stop_reason(last, 0.0)
    search = task.generations(problem, last, job.guests)
    while not why and (generation := next(search, None)) is not None:
        store.record(generation)
        # They start while the search goes on.
        replayers.stand_by(_wanted(engine, len(generation.archive)))
        found, evaluated = now.generations + 1, now.evaluated + generation.evaluated
        now = Mark(found, evaluated, perf_counter() - began)
        warm = now if found == WARMING else warm
        last, why = generation, task.stop_reason(generation, now.seconds)
        if why or observer.is_due(generation.number):
            observer.generation(progress_of(task, generation, warm, now))
        if should_stop() and not why and generation.number < task.config.generations:
            store.flush()
            raise StoppedError(
                f"stopped after generation {generation.number}; {_resume_hint(store)}"
            )
    if last is None:
        raise StoreError(f"run '{store.run_id}' holds no generation and none was to be made")
    store.flush()
    at_most = task.config.polish if task.lattice is None else 0
    front, n_polished = polished_front(problem, last, at_most=at_most, keep=task.config.archive)
    regret = None if why else task.regret(problem, front.objectives)
    searched = perf_counter() - began
    observer.certifying(len(front))
    proven = task.full_engine(job.device) if task.markets.held_out else engine
    certificate = certify(proven, front.genomes, replayers=replayers)
    timing = {
        "search_s": searched,
        "certificate_s": perf_counter() - began - searched,
        "evaluated": now.evaluated + n_polished,
        "individual_bars_per_s": (now.evaluated + n_polished) * task.markets.n_bars / searched,
    }
    ended = {
        "stopped_by": why or "generations",
        "polished": n_polished,
        "regret": regret,
        "timing": timing,
    }
    result = {**_result(task, proven, store, last, front, certificate), **ended}
    store.finish(result)
    members = result["front"]
    numbered = best_first(members, task.goals.names) if isinstance(members, list) else []
    return {**result, "front": numbered}


def _wanted(engine: Engine, members: int) -> int:
    """Processes to have at hand when a front of so many members is to be replayed."""
    paying = paying_processes(engine, members)
    return paying if paying > 1 else 0


def _result(
    task: Task,
    engine: Engine,
    store: RunStore,
    last: Generation,
    front: Population,
    certificate: Certificate,
) -> Result:
    return {
        "run": store.run_id,
        "path": str(store.path),
        "strategy": task.spec.name,
        "search": task.config.search,
        "data": describe_data(task),
        "generation": last.number,
        "individuals": len(last.population),
        "population": task.config.population,
        "infeasible": count_failures(task.goals.failure_names, last.population.failures),
        "objectives": list(task.goals.names),
        "over_windows": task.goals.over,
        "front": describe_individuals(task, engine, front.genomes, front.objectives),
        "front_hash": front_hash(front.genomes, front.objectives),
        "data_hash": certificate.data_hash,
        "certificate": certificate.as_dict(),
        "device": {"name": engine.device, "threads": engine.threads, "why": engine.device_reason},
        "hypervolume": last.hypervolume,
    }
