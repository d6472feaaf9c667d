"""The result of a search that is over, from its last generation and its front."""

from dataclasses import dataclass

from engine.certificate import Certificate, data_hash
from optimizer.run.individuals import describe_individuals
from optimizer.run.problem import Evaluator
from optimizer.run.task import Task, describe_data
from optimizer.search.evolution import front_hash
from optimizer.search.generation import Generation, Population, Regret
from optimizer.store import RunStore
from optimizer.store.result import DeviceUsed, Member, RunResult, Timing
from optimizer.store.rows import count_rejected


@dataclass(frozen=True, eq=False)
class Ended:
    """End of a search."""

    last: Generation  # its last generation
    front: Population  # polished, its members by their numbers
    polished: int  # individuals that were tried to polish it
    stopped_by: str  # reason of its end, as in `RunResult`
    regret: Regret | None  # as in `RunResult`


def describe_result(
    task: Task,
    engine: Evaluator,
    store: RunStore,
    ended: Ended,
    certificate: Certificate,
    timing: Timing,
) -> RunResult:
    """Result of a search that is over, to be recorded, and compared when the record is verified.

    Members stand in the order of the front; `engine` has the windows to search on.
    """
    last, front = ended.last, ended.front
    return RunResult(
        run=store.run_id,
        path=str(store.path),
        strategy=task.spec.name,
        search=task.config.search,
        data=describe_data(task),
        generation=last.number,
        individuals=len(last.population),
        population=task.config.population,
        infeasible=count_rejected(store.generations()),
        objectives=task.goals.names,
        over_windows=task.goals.over,
        front=describe_individuals(task.closed, engine, front.genomes, front.objectives),
        nearest=None if len(front) else _nearest(task, engine, last.population),
        front_hash=front_hash(front.genomes, front.objectives),
        data_hash=data_hash(task.markets.series),
        certificate=certificate,
        device=DeviceUsed(engine.device, engine.threads, engine.device_reason),
        hypervolume=last.hypervolume,
        stopped_by=ended.stopped_by,
        evaluated=sum(summary.evaluated for summary in store.generations()) + ended.polished,
        polished=ended.polished,
        regret=ended.regret,
        options={g.name: g.options for g in task.spec.layout.genes if g.options},
        bounds={g.name: (float(g.low), float(g.high)) for g in task.spec.layout.genes},
        timing=timing,
    )


def _nearest(task: Task, engine: Evaluator, population: Population) -> Member:
    """The candidate of a population that is nearest to being feasible."""
    nearest = int(population.violations.argmin())
    (member,) = describe_individuals(task.closed, engine, population.genomes[[nearest]])
    return member
