"""Whole searches on a cluster: the place where a judge repeats them."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from engine.batch import Engine
from engine.memory_plan import allow_host_bytes
from engine.runtime.machine import available_cores
from optimizer.cluster.cluster import Cluster
from optimizer.cluster.jobs import JobRequest, run_jobs
from optimizer.cluster.messages import JobResult
from optimizer.cluster.worker_cache import Parcel, refuse_own_indicators
from optimizer.errors import OptimizerError
from optimizer.evidence.jobs.in_step import InStepSetup, Job, Result
from optimizer.evidence.jobs.workers import Runner
from optimizer.run.task import Task


@dataclass(frozen=True)
class Searches:
    """Makes whole searches, with the part of a host that is a worker's."""

    setup: InStepSetup[Any, Any]  # what repeats the search

    def on_host(self, share: int) -> Runner:
        """The same with as many cores and as much memory as `share` workers leave each other."""
        config = self.setup.task.config
        room = allow_host_bytes(config.memory)
        settings = {"threads": allocate_threads(config.threads, share), "memory": room // share}
        task = replace(self.setup.task, config=config.model_copy(update=settings))
        return replace(self.setup, task=task)


def allocate_threads(limit: int | None, share: int) -> int:
    """Threads for one of `share` workers of a host, at most `limit`."""
    fair = max(1, available_cores() // share)
    return fair if limit is None else min(fair, limit)


class ClusterSearches:
    """An executor, as `optimizer.evidence.jobs.executor.Executor`: all workers of a cluster.

    Results come in the order of the searches' numbers, so that a record is the same by whatever
    worker they were made.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def check(self, task: Task) -> None:
        """Refuse what workers cannot be given.

        Raises:
            ConfigError: When its strategy has an indicator of a person's own.
        """
        refuse_own_indicators(task.spec)

    def submit(
        self,
        setup: InStepSetup[Job, Result],
        jobs: Sequence[Job],
        *,
        first: int | None = None,
        engine: Engine | None = None,
        used: str | None = None,
    ) -> Generator[tuple[Job, Result], None, None]:
        """As of `Executor`, in the order of the jobs; nothing of this process is of use.

        Raises:
            ConfigError: When other hosts cannot be given the strategy.
        """
        # A worker may have a GPU, but those that were begun here would all have the same.
        device = "cpu" if self._cluster.address.local else "auto"
        config = setup.task.config.model_copy(update={"device": device})
        anywhere = replace(setup, task=replace(setup.task, config=config))
        return self._run(Parcel(Searches(anywhere)), jobs, first)

    def _run(
        self, parcel: Parcel, jobs: Sequence[Any], first: int | None
    ) -> Generator[tuple[Any, Any], None, None]:
        requests = (
            JobRequest(index, _format_job(job), parcel, job) for index, job in enumerate(jobs)
        )
        with closing(run_jobs(self._cluster, requests, first)) as results:
            for result in in_order(results):
                yield jobs[result.index], result.result


def in_order(results: Iterable[JobResult]) -> Iterator[JobResult]:
    """Results by index, 0, 1, ...; an early one is held back.

    Where something goes wrong, or a person stops it, that comes after all that was found.
    """
    early: dict[int, JobResult] = {}
    due = 0
    try:
        for result in results:
            early[result.index] = result
            while due in early:
                yield early.pop(due)
                due += 1
    except (OptimizerError, KeyboardInterrupt):
        # A caller that keeps results need not find them again.
        yield from (early[index] for index in sorted(early))
        raise


def _format_job(job: object) -> str:
    """A job for people."""
    return f"fold {job}" if isinstance(job, int) else " ".join(map(str, job))  # type: ignore[call-overload]
