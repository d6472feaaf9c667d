"""Whole searches on a cluster: the place where a judge repeats them."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from engine.batch import Engine
from engine.memory_plan import allow_host_bytes
from engine.runtime.machine import available_cores
from optimizer.cluster.cluster import Cluster
from optimizer.cluster.jobs import JobRequest, Parcel, refuse_own_indicators, run_jobs
from optimizer.errors import OptimizerError
from optimizer.evidence.jobs.executor import Runner, limit
from optimizer.evidence.jobs.in_step import InStepSetup, Job, Result
from optimizer.run.task import Task


@dataclass(frozen=True)
class Searches:
    """Makes whole searches, with the part of a host that is a worker's."""

    setup: InStepSetup[Any, Any]  # what repeats the search

    def on_host(self, share: int) -> Runner:
        """The same with as many cores and as much memory as `share` workers leave each other."""
        config = self.setup.task.config
        threads, room = allocate_threads(config.threads, share), allow_host_bytes(config.memory)
        return limit(self.setup, threads=threads, memory=room // share)


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
        """Refuse work that cannot be sent to workers.

        Raises:
            ConfigError: When its strategy has an indicator of a person's own.
        """
        refuse_own_indicators(task.spec)

    def submit(
        self,
        setup: InStepSetup[Job, Result],
        jobs: Sequence[Job],
        *,
        engine: Engine | None = None,
        used: str | None = None,
    ) -> Generator[tuple[Job, Result], None, None]:
        """See `Executor`, in the order of the jobs; nothing of this process is of use.

        Raises:
            ConfigError: When other hosts cannot be given the strategy.
        """
        # A worker may have a GPU, but workers of this machine would all have the same.
        device = "cpu" if self._cluster.address.local else "auto"
        anywhere = Searches(limit(setup, device=device))
        return self._run(Parcel(self._cluster, anywhere), jobs)

    def _run(self, parcel: Parcel, jobs: Sequence[Any]) -> Generator[tuple[Any, Any], None, None]:
        requests = (
            JobRequest(index, _format_job(job), parcel, job) for index, job in enumerate(jobs)
        )
        with closing(run_jobs(self._cluster, requests)) as results:
            for index, result in in_order(results):
                yield jobs[index], result


def in_order(results: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """Indices and results by index, 0, 1, ...; an early one is held back.

    Where something goes wrong, or a person stops it, that comes after all that was found.
    """
    early: dict[int, Any] = {}
    due = 0
    try:
        for index, result in results:
            early[index] = result
            while due in early:
                yield due, early.pop(due)
                due += 1
    except (OptimizerError, KeyboardInterrupt):
        # A caller that keeps results need not find them again.
        yield from sorted(early.items(), key=itemgetter(0))
        raise


def _format_job(job: object) -> str:
    """A job for people."""
    return f"fold {job}" if isinstance(job, int) else " ".join(map(str, job))  # type: ignore[call-overload]
