"""Evolving, from a configuration to a certified and recorded front; prints nothing.

Whoever calls watches through an `Observer` and may ask to stop. Everything that was found until
then is on disk, and going on gives the same bits as never having stopped.
"""

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Protocol

import numpy as np

from engine.batch import Engine
from engine.metrics import METRICS
from engine.parity import Certificate, certify
from optimizer.config import RunConfig, make_config, overlaid
from optimizer.errors import ConfigError, StoppedError, StoreError
from optimizer.generation import Generation
from optimizer.individuals import describe_individuals
from optimizer.runs import RunStore, estimate_bytes, new_run_id, require_same, require_space
from optimizer.search import evolve, front_hash, front_of
from optimizer.task import EngineProblem, Task, describe_data, header_of, prepare

REVERIFIED_INDIVIDUALS = 8
"""On resume, so many recorded individuals are evaluated anew before anything is built on them."""

NO_GENERATION = -1

HARMLESS = frozenset(
    {
        "generations",
        "device",
        "on_gpu_loss",
        "threads",
        "memory",
        "runs",
        "keep",
        "budget",
        "report",
    }
)
"""Fields that never change a result."""

Result = Mapping[str, object]
ShouldStop = Callable[[], bool]


@dataclass(frozen=True)
class Progress:
    """How a search stands after a generation.

    Args:
        generation: Its number.
        generations: Number of the last one planned.
        individuals: Survivors.
        evaluated: Individuals sent to the engine so far, by this process.
        feasible: Share of the survivors that are feasible.
        front: Members of the front.
        hypervolume: What the best compromises so far dominate, as `Generation` says.
        best: Best value of each objective in the front, in its natural sign; NaN without one.
        rejected: Failure to how many of this generation's newcomers had it.
        individual_bars_per_s: Rate of this process so far.
        seconds: Since the search began in this process.
        since: Number of the generation that this process went on from, 0 at the beginning.
    """

    generation: int
    generations: int
    individuals: int
    evaluated: int
    feasible: float
    front: int
    hypervolume: float
    best: tuple[float, ...]
    rejected: Mapping[str, int]
    individual_bars_per_s: float
    seconds: float
    since: int = 0

    @property
    def eta_s(self) -> float:
        """Seconds left at the present rate; 0 at the end, NaN before there is a rate."""
        done, left = self.generation - self.since, max(self.generations - self.generation, 0)
        # The initial generation compiles and computes all rows; it says nothing about the others.
        return self.seconds / done * left if done else math.nan if left else 0.0


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
    engine = task.engine()
    runs = Path(config.runs)
    require_space(runs, record_bytes(task))
    header = header_of(task, engine.device)
    with RunStore.create(
        runs, new_run_id(), header, keep=config.keep, budget=config.budget
    ) as store:
        return _search(task, engine, store, None, observer, should_stop)


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
        is_finished = result is not None and done >= config.generations
        if is_finished and not _decides(flags):
            return {**(result or {}), "resumed": "already finished"}
        task = prepare(config, for_search=True)
        engine = task.engine()
        header = header_of(task, engine.device)
        if is_finished:
            require_same(store.header, header)
            return {**(result or {}), "resumed": "already finished"}
        if done > config.generations:
            raise ConfigError(
                f"--generations {config.generations}: run '{store.run_id}' has {done} already"
            )
        store.resume_with(header)
        if last is not None:
            _reverify(EngineProblem(task, engine), last)
        return _search(task, engine, store, last, observer, should_stop)


def recorded_result(store: RunStore) -> Result | None:
    """The result of a run as it was when it was found: genes, objectives and metrics in order.

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
        for member in members
    ]
    return {**(result or {}), "front": front}


def _ordered(values: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    return {name: values[name] for name in names if name in values} | dict(values)


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


def _search(
    task: Task,
    engine: Engine,
    store: RunStore,
    last: Generation | None,
    observer: Observer,
    should_stop: ShouldStop,
) -> Result:
    try:
        return _searched(task, engine, store, last, observer, should_stop)
    except KeyboardInterrupt:
        raise StoppedError(f"stopped at once; {_how_to_go_on(store)}") from None
    except StoreError as error:
        raise StoreError(f"{error}; {_how_to_go_on(store)}") from error


def _how_to_go_on(store: RunStore) -> str:
    command = f"python -m optimizer evolve --resume {shlex.quote(str(store.path))}"
    return f"what was recorded is kept, go on with: {command}"


def _searched(
    task: Task,
    engine: Engine,
    store: RunStore,
    last: Generation | None,
    observer: Observer,
    should_stop: ShouldStop,
) -> Result:
    observer.started(task, engine, store)
    began = perf_counter()
    evaluated, since = 0, 0 if last is None else last.number
    search = evolve(EngineProblem(task, engine), task.settings(), resume_from=last)
    for generation in search:
        store.record(generation)
        evaluated += generation.evaluated
        if observer.is_due(generation.number):
            seconds = perf_counter() - began
            observer.generation(_progress(task, generation, evaluated, seconds, since))
        last = generation
        if should_stop() and generation.number < task.config.generations:
            store.flush()
            raise StoppedError(
                f"stopped after generation {generation.number}; {_how_to_go_on(store)}"
            )
    if last is None:
        raise StoreError(f"run '{store.run_id}' holds no generation and none was to be made")
    store.flush()
    searched = perf_counter() - began
    members = front_of(last.population)
    observer.certifying(len(members))
    proven = task.full_engine(engine.device) if task.markets.held_out else engine
    certificate = certify(proven, last.population.genomes[members])
    timing = {
        "search_s": searched,
        "certificate_s": perf_counter() - began - searched,
        "evaluated": evaluated,
        "individual_bars_per_s": evaluated * task.markets.n_bars / searched,
    }
    result = _result(task, proven, store, last, certificate, timing)
    store.finish(result)
    return result


def _progress(
    task: Task, generation: Generation, evaluated: int, seconds: float, since: int
) -> Progress:
    population = generation.population
    members = front_of(population)
    natural = task.goals.natural(population.objectives[members])
    signs = np.array(task.goals.maximised)
    best = np.full(len(signs), np.nan)
    if len(members):
        best = np.where(signs, natural.max(axis=0), natural.min(axis=0))
    return Progress(
        generation=generation.number,
        generations=task.config.generations,
        individuals=len(population),
        evaluated=evaluated,
        feasible=float((population.violations == 0).mean()),
        front=len(members),
        hypervolume=generation.hypervolume,
        best=tuple(best.tolist()),
        rejected=generation.rejected,
        individual_bars_per_s=evaluated * task.markets.n_bars / seconds,
        seconds=seconds,
        since=since,
    )


def _result(
    task: Task,
    engine: Engine,
    store: RunStore,
    last: Generation,
    certificate: Certificate,
    timing: Mapping[str, object],
) -> Result:
    members = front_of(last.population)
    genomes, objectives = last.population.genomes[members], last.population.objectives[members]
    return {
        "run": store.run_id,
        "path": str(store.path),
        "strategy": task.spec.name,
        "data": describe_data(task),
        "generation": last.number,
        "individuals": len(last.population),
        "population": task.config.population,
        "infeasible": _infeasible(task, last),
        "objectives": list(task.goals.names),
        "front": describe_individuals(task, engine, genomes, objectives),
        "front_hash": front_hash(genomes, objectives),
        "data_hash": certificate.data_hash,
        "certificate": certificate.as_dict(),
        "device": {"name": engine.device, "threads": engine.threads, "why": engine.device_reason},
        "timing": dict(timing),
    }


def _infeasible(task: Task, last: Generation) -> dict[str, int]:
    """Reason to how many individuals of a generation are infeasible for it."""
    counts = np.bincount(last.population.failures, minlength=1).tolist()
    names = task.goals.failure_names[: len(counts)]
    return {name: n for name, n in zip(names, counts, strict=True) if name and n}
