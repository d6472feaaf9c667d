"""Verification of a run: digests, front by the reference, candidates evaluated again."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from data.errors import DataError
from engine.certificate import Certificate
from engine.errors import EngineError
from engine.replay.certificate import certify
from optimizer.errors import OptimizerError, ParityError
from optimizer.formatting import evenly
from optimizer.run.individuals import describe_individuals, prove_front
from optimizer.run.problem import EngineProblem
from optimizer.run.purposes import VERIFY, restore_task
from optimizer.run.record import different_lines
from optimizer.run.tables import newest_front
from optimizer.run.task import Task
from optimizer.search.evolution import front_hash
from optimizer.search.generation import Floats, Population
from optimizer.store import RunStore
from optimizer.store.labels import find_label_problem
from optimizer.store.log import UNCOUNTED
from optimizer.store.result import RunResult, load_result, refuse_red
from strategy.errors import StrategyError

GENERATIONS, SAMPLED = 8, 64
"""Of so many generations, the last included, the archive is evaluated again, and so many others."""

OTHER_BITS = "own indicators ({}) compute other bits here, or the record was changed"


@dataclass(frozen=True)
class Checked:
    """Outcome of a verification."""

    problems: tuple[str, ...]  # damage, and figures that are not reached, a line each
    unchecked: tuple[str, ...] = ()  # reasons why the run cannot be judged here, a line each
    # Of the replayed members; None without any.
    certificate: Certificate | None = None

    @property
    def is_whole(self) -> bool:
        """True if members were replayed, and all is as it was recorded."""
        return self.certificate is not None and not (self.problems or self.unchecked)


def check_run(store: RunStore, flags: Mapping[str, object], individuals: int) -> Checked:
    """Read a run's record in full, replay its front, and evaluate recorded candidates again.

    Args:
        store: Of the run.
        flags: Name where the data is now, if it has moved.
        individuals: Members to replay on the reference; with 0 the record alone is read.

    Raises:
        ParityError: When reference and engine disagree.
        StoreError: When the result is not that of the last generation.
    """
    found = [*store.find_damage(), *find_label_problem(store.path)]
    problems = tuple(dict.fromkeys((*store.list_noticed_losses(), *found)))
    if any(line != UNCOUNTED for line in found):
        return Checked(problems)
    if not store.generations():
        return Checked(problems)
    result = load_result(store)
    front = newest_front(store, result)
    if result is not None:
        hashes = result.front_hash, front_hash(front.genomes, front.objectives)
        if differing := different_lines(*hashes, ("recorded", "it is"), ("the front's hash",)):
            return Checked((*problems, *differing))
    if not individuals:
        return Checked(problems)
    try:
        task = restore_task(store, VERIFY, flags)
        certificate, differing = _replay(store, task, front.genomes, result, individuals)
    except ParityError:
        raise
    except (DataError, EngineError, OptimizerError, StrategyError) as error:
        return Checked(problems, (f"members were not replayed: {error}",))
    if differing and task.spec.own:
        # Another last digit looks like a forged one.
        others = OTHER_BITS.format(", ".join(sorted(task.spec.own)))
        return Checked(problems, (others, *differing), certificate)
    return Checked((*problems, *differing), (), certificate)


def _replay(
    store: RunStore, task: Task, genomes: Floats, result: RunResult | None, individuals: int
) -> tuple[Certificate, tuple[str, ...]]:
    """The certificate of some members, and figures that are not reached here, a line each."""
    engine = task.full_engine(device="cpu")
    # Spread over the front, with members sorted by their first objective.
    certificate = certify(engine, genomes[evenly(len(genomes), individuals)])
    refuse_red(certificate)
    prove_front(task, genomes)
    problem, differing = task.problem(engine), list[str]()
    if result is not None:
        objectives = problem.evaluate(genomes).objectives
        members = describe_individuals(task, engine, genomes, objectives)
        for number, (member, now) in enumerate(zip(result.front, members, strict=True)):
            differing += different_lines(asdict(member), asdict(now), prefix=(f"member {number}",))
    return certificate, (*differing, *_candidate_problems(store, problem))


def _candidate_problems(store: RunStore, problem: EngineProblem) -> Iterator[str]:
    """Generations with a candidate that misses its recorded objectives, a line each."""
    whole = [summary.number for summary in store.generations() if summary.kept == "whole"]
    # Older ones give way while an owner goes on.
    numbers = whole if store.result is not None else whole[-1:]
    for index in evenly(len(numbers), GENERATIONS):
        generation = store.generation(numbers[index])
        population = generation.population
        sample = population.take(evenly(len(population), SAMPLED))
        for name, some in (("archive", generation.archive), ("population", sample)):
            who = f"generation {generation.number}: a candidate of its {name}"
            yield from _evaluation_problems(who, some, problem)


def _evaluation_problems(who: str, some: Population, problem: EngineProblem) -> Iterator[str]:
    """The first individual with other objectives than the recorded ones."""
    if not len(some):
        return
    judged = problem.evaluate(some.genomes)
    unknown = np.isnan(judged.objectives) & np.isnan(some.objectives)
    wrong = ~((judged.objectives == some.objectives) | unknown).all(axis=1)
    wrong |= (judged.violations != some.violations) | (judged.failures != some.failures)
    if wrong.any():
        index = int(wrong.argmax())
        recorded, now = some.objectives[index].tolist(), judged.objectives[index].tolist()
        yield f"{who} has objectives {recorded} in the record and {now} here"
