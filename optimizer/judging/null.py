"""The null: the same search on markets without an edge, each of which is one row of evidence."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, ClassVar, Literal, NamedTuple

from optimizer.evidence.compared import Tally, hypervolume, tally
from optimizer.evidence.null import Keep, NullMarkets
from optimizer.judging.pick import pick_of
from optimizer.judging.workers import Workers
from optimizer.runs.payload import OPTIONAL, Payload
from optimizer.search.generation import Floats
from optimizer.session.search import on_other_bars, search
from optimizer.session.task import Task

Kind = Literal["shuffled", "mirrored"]

KINDS: tuple[Kind, ...] = ("shuffled", "mirrored")


class NullJob(NamedTuple):
    """One null search: which kind of market, and its number from 1 on."""

    kind: Kind
    number: int


@dataclass(frozen=True)
class NullSearch(Payload):
    """What a search found on a null market.

    Args:
        members: Of its front.
        strength: The greatest of any member; None of an empty front.
        objectives: Name to the best of any member, in natural sense.
        hypervolume: Of the front from an account that does nothing; None where that is undefined.
    """

    what: ClassVar[str] = "a null search"

    kind: str
    number: int
    members: int
    strength: float | None
    trades: int = 0
    objectives: Annotated[Mapping[str, float], OPTIONAL] = field(default_factory=dict)
    hypervolume: float | None = None


@dataclass(frozen=True)
class NullSetup:
    """What null searches of one run have in common.

    Args:
        task: With the generations that the run reached; without what is held out.
        seed: Of the run.
        keep: Rhythm that shuffled bars keep.
        warm_start: [N, G] genomes that the run began with.
    """

    task: Task
    seed: int
    keep: Keep | Literal["auto"] = "auto"
    warm_start: Floats | None = None

    @cached_property
    def markets(self) -> NullMarkets:
        """The null markets."""
        markets = self.task.markets
        return NullMarkets(markets.series, markets.windows, self.seed, self.keep)

    def run(self, job: NullJob) -> NullSearch:
        """Search one market."""
        made = self.markets.shuffled if job.kind == "shuffled" else self.markets.mirrored
        task = on_other_bars(self.task, made(job.number), self.task.markets.windows)
        engine = task.engine("cpu")
        found = search(task, engine, self.warm_start)
        if not len(found.front):
            return NullSearch(job.kind, job.number, 0, None)
        pick = pick_of(task, engine, found.front.genomes)
        values = task.goals.natural(found.front.objectives)
        up = task.goals.maximised
        size = hypervolume(values, [goal.metric for goal in task.goals.objectives], up)
        best = values.max(axis=0), values.min(axis=0)
        return NullSearch(
            kind=job.kind,
            number=job.number,
            members=len(values),
            strength=pick.strength.value if pick.strength.is_defined else None,
            trades=pick.trades,
            objectives={
                name: float(best[0 if more else 1][place])
                for place, (name, more) in enumerate(zip(task.goals.names, up, strict=True))
            },
            hypervolume=size.value if size.is_defined else None,
        )


def strengths_of(found: Mapping[int, NullSearch]) -> list[float]:
    """Strengths of searches 1, 2, ... as far as there is no gap; minus infinity of nobody."""
    strengths: list[float] = []
    while (one := found.get(len(strengths) + 1)) is not None:
        strengths.append(float("-inf") if one.strength is None else one.strength)
    return strengths


def null_searches(
    workers: Workers[NullJob],
    kind: Kind,
    value: float,
    planned: int,
    stop_after: int,
    known: Mapping[int, NullSearch],
    record: Callable[[NullSearch], None],
) -> tuple[Tally, Mapping[int, NullSearch]]:
    """Search null markets until enough were at least as good, or all are done.

    Args:
        workers: With a `NullSetup`.
        kind: Of market.
        value: Strength of the run's pick; minus infinity of an empty front.
        planned: How many.
        stop_after: Searches at least as good after which the rest is left.
        known: By number, those that were recorded before.
        record: Takes each one that is new, in the order in which they end.

    Returns:
        The tally, and all searches by number; those after the last that counts are left out.
    """
    found = dict(known)
    counted = tally(value, strengths_of(found)[:planned], stop_after)
    jobs = [NullJob(kind, n) for n in range(1, planned + 1) if n not in found]
    if not counted.is_stopped and jobs:
        ended: Iterator[tuple[NullJob, NullSearch]] = workers.results(jobs)
        for _, one in ended:
            found[one.number] = one
            record(one)
            counted = tally(value, strengths_of(found)[:planned], stop_after)
            if counted.is_stopped:
                break
        ended.close()  # type: ignore[attr-defined]
    return counted, {n: one for n, one in sorted(found.items()) if n <= counted.searches}
