"""Whole searches on a cluster: the place where a judge repeats them."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from engine.batch import Engine
from engine.runtime.free_memory import free_host_bytes
from engine.runtime.machine import available_cores
from optimizer.cluster.cluster import Cluster
from optimizer.cluster.jobs import Asked, run_jobs
from optimizer.cluster.keeping import Parcel, refuse_own_indicators
from optimizer.cluster.work import Found
from optimizer.errors import OptimizerError
from optimizer.judging.executors import SearchSetup
from optimizer.judging.workers import Runner
from optimizer.session.task import Task


@dataclass(frozen=True)
class Searches:
    """Makes whole searches, with the part of a host that is a worker's.

    Args:
        setup: What repeats the search.
    """

    setup: SearchSetup

    def on_host(self, share: int) -> Runner:
        """The same with as many cores and as much memory as `share` workers leave each other."""
        config = self.setup.task.config
        room = config.memory or free_host_bytes() // 2
        settings = {"threads": allocate_threads(config.threads, share), "memory": room // share}
        task = replace(self.setup.task, config=config.model_copy(update=settings))
        return replace(self.setup, task=task)


def allocate_threads(asked: int | None, share: int) -> int:
    """Threads for one of `share` workers of a host; `asked` is a limit."""
    own = max(1, available_cores() // share)
    return own if asked is None else min(own, asked)


class ClusterSearches:
    """A place of a judge, as `optimizer.judging.executors.Place`: all workers of a cluster.

    What came of searches is told in the order of their numbers, so that a record is the same
    whoever made them.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def check(self, task: Task) -> None:
        """Refuse what workers cannot be given.

        Raises:
            ConfigError: When its strategy has an indicator of a person's own.
        """
        refuse_own_indicators(task.spec)

    def executor(
        self,
        setup: SearchSetup,
        jobs: int,
        *,
        first: int | None = None,
        engine: Engine | None = None,
    ) -> "_Executor":
        """What makes the searches of a setup; an engine of this process is of no use.

        Raises:
            ConfigError: When other hosts cannot be given the strategy.
        """
        # A worker may have a GPU, but those that were begun here would all have the same.
        device = "cpu" if self._cluster.address.local else "auto"
        config = setup.task.config.model_copy(update={"device": device})
        anywhere = replace(setup, task=replace(setup.task, config=config))
        return _Executor(self._cluster, Parcel(Searches(anywhere)), first)


@dataclass(frozen=True)
class _Executor:
    cluster: Cluster
    parcel: Parcel
    first: int | None

    def results(self, jobs: Iterable[Any]) -> Generator[tuple[Any, Any], None, None]:
        """As `optimizer.judging.workers.Executor`, in the order of the jobs."""
        listed = list(jobs)
        asked = (
            Asked(place, _format_job(job), self.parcel, job) for place, job in enumerate(listed)
        )
        with closing(run_jobs(self.cluster, asked, self.first)) as found:
            for one in in_order(found):
                yield listed[one.index], one.result


def in_order(found: Iterable[Found]) -> Iterator[Found]:
    """What was found by its index, 0, 1, ...; what came early is held back.

    Where something goes wrong, or a person stops it, that comes after all that was found.
    """
    early: dict[int, Found] = {}
    due = 0
    try:
        for one in found:
            early[one.index] = one
            while due in early:
                yield early.pop(due)
                due += 1
    except (OptimizerError, KeyboardInterrupt):
        # Whoever keeps results need not find them again.
        yield from (early[index] for index in sorted(early))
        raise


def _format_job(job: object) -> str:
    """A job for people."""
    return f"fold {job}" if isinstance(job, int) else " ".join(map(str, job))  # type: ignore[call-overload]
