"""Jobs that are asked for together: handed out, sent what they lack, and done once each."""

import queue
import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from optimizer.cluster.address import parse_host
from optimizer.cluster.cluster import Cluster
from optimizer.cluster.dask_client import CallTicket, own_address
from optimizer.cluster.messages import JobResult, Lacks, Made, Work
from optimizer.cluster.worker_cache import Parcel, solve
from optimizer.errors import (
    ConfigError,
    LostError,
    OptimizerError,
    ReleasedError,
    WorkersLostError,
)

IN_FLIGHT = 2
"""Pieces of work a worker has at most, so that it need not wait for the next one."""

LOOK_EVERY_S = 1.0

MOST_TRIES = 8
"""A job will not be done by a worker that after so many answers still lacks something."""

MOST_MOVES = 3
"""A job that was meant for one worker more than that, each of which ended, ends workers."""

MOST_RELEASES = 3
"""A job that another client of the scheduler took back more often will not be done."""


@dataclass(frozen=True, eq=False)
class JobRequest:
    """A job to be done."""

    index: int  # its number
    name: str  # for people
    parcel: Parcel  # of the setup that does it
    job: object  # of the setup
    home: int | None = None  # jobs of one home go to one worker as long as it is there; None to any


class FailedError(OptimizerError):
    """A job raised something on a worker; the exit code is that of what it raised."""

    def __init__(self, message: str, error: Exception) -> None:
        super().__init__(message)
        self.exit_code = getattr(error, "exit_code", 2 if isinstance(error, MemoryError) else 1)


@dataclass(frozen=True, eq=False)
class _Running:
    """A job that is under way."""

    request: JobRequest  # the job
    ticket: CallTicket  # of the call
    worker: str  # that it is meant for; empty for any
    folder: str  # in which its bars lie; empty where they were sent
    tries: int = 0  # how often in a row one worker lacked something
    moves: int = 0  # how often the worker that it was meant for ended
    releases: int = 0  # how often another client took it back
    lacking: str = ""  # the worker that lacked something last; empty before


def run_jobs(
    cluster: Cluster, requests: Iterable[JobRequest], first: int | None = None
) -> Generator[JobResult, None, None]:
    """Results of jobs done on all workers, as they end. Closing it cancels the rest.

    Args:
        cluster: Whose workers.
        requests: Taken as there is room for them.
        first: So many are begun at first, then as many again as were done; None for no limit.

    Raises:
        SchedulerLostError, WorkersLostError: When either is gone.
        ReleasedError: When another client takes a job back again and again.
        FailedError: When a job raises something, with its name; it is not tried again.
    """
    batch = _Batch(cluster, iter(requests), first)
    try:
        while (result := batch.next()) is not None:
            yield result
    finally:
        batch.end()


class _Batch:
    """Jobs under way on a cluster; arguments as of `run_jobs`."""

    def __init__(self, cluster: Cluster, pending: Iterator[JobRequest], first: int | None) -> None:
        self._cluster, self._pending, self._first = cluster, pending, first
        self._running: dict[str, _Running] = {}
        self._held: list[_Running] = []
        self._n_done = 0

    def next(self) -> JobResult | None:
        """Result of the next job that ends; None where all are done."""
        while True:
            self._feed()
            if not self._running and not self._held:
                return None
            result = self._await_result()
            if result is not None:
                self._n_done += 1
                return result

    def end(self) -> None:
        """Take back jobs that have not begun."""
        self._cluster.link.cancel([job.ticket for job in self._running.values()])

    def _feed(self) -> None:
        if self._held and self._cluster.is_fit():
            held, self._held = self._held, []
            for job in held:
                self._begin_again(job)
        most = IN_FLIGHT * max(len(self._cluster.workers), 1)
        if self._first is not None:
            most = min(most, max(self._first, self._n_done))
        while (
            len(self._running) + len(self._held) < most
            and (request := next(self._pending, None)) is not None
        ):
            self._begin(request)

    def _begin(self, request: JobRequest, lacks: Lacks | None = None, **counts: Any) -> None:  # noqa: ANN401
        """Hand out a job, with the bytes that were lacking; `counts` as in `_Running`."""
        cluster = self._cluster
        carried, folder = (
            ({}, "") if lacks is None else request.parcel.pack_missing(lacks, cluster.folder)
        )
        work = Work(
            index=request.index,
            setup=request.parcel.digest,
            job=request.job,
            made_for=cluster.here.digest,
            shares=cluster.shares(),
            folder=folder,
            carried=carried,
        )
        # Who lacks something is given it: another may lack something else, and so on for ever.
        worker = counts.get("lacking") or cluster.assign_worker(request.home)
        ticket = cluster.link.begin(_solve, work, name=request.name, worker=worker, may_move=True)
        self._running[ticket.key] = _Running(request, ticket, worker, folder, **counts)

    def _begin_again(self, job: _Running, lacks: Lacks | None = None, **counts: Any) -> None:  # noqa: ANN401
        """Hand out a job once more, with what happened to it so far; arguments as of `_begin`."""
        so_far = {"moves": job.moves, "releases": job.releases}
        self._begin(job.request, lacks, **{**so_far, **counts})

    def _await_result(self) -> JobResult | None:
        """Wait for a piece of work; None where nothing came, or not yet a result."""
        if time.monotonic() - self._cluster.looked > LOOK_EVERY_S:
            self._cluster.look()
            self._move()
            self._cluster.link.end_unknown([job.ticket for job in self._running.values()])
        try:
            ticket = self._cluster.link.ended.get(timeout=LOOK_EVERY_S)
        except queue.Empty:
            return None
        job = self._running.pop(ticket.key, None)
        if job is None:
            # Of jobs that were left, or a call that is no longer waited for.
            return None
        try:
            address, answer = self._fetch_answer(job)
        except ReleasedError:
            if job.releases == MOST_RELEASES:
                raise
            self._begin_again(job, releases=job.releases + 1)
            return None
        return self._settle(job, address, answer)

    def _settle(
        self, job: _Running, address: str, answer: JobResult | Lacks | Made
    ) -> JobResult | None:
        """Take what a worker answered; None where it is not yet a result."""
        if isinstance(answer, JobResult):
            if job.request.home is not None:
                self._cluster.homes[job.request.home] = address
            return answer
        if isinstance(answer, Made):
            # A worker that has the only copy of an answer cannot be ended: this one is not wanted,
            # and no more is asked until the worker is gone.
            self._cluster.link.cancel([job.ticket])
            self._held.append(job)
            self._cluster.send_away(address, answer)
            return None
        tries = job.tries + 1 if job.lacking == address else 1
        if tries > MOST_TRIES:
            who = self._cluster.format_worker(address)
            raise ConfigError(f"{who} has no room for what {job.request.name} needs")
        if job.folder and answer.digests:
            raise ConfigError(
                f"{self._cluster.format_worker(address)} cannot read bars in {job.folder}, and "
                "they are too large to be sent: record the run (--runs) on a disk that all hosts "
                "share"
            )
        self._begin_again(job, answer, tries=tries, lacking=address)
        return None

    def _fetch_answer(self, job: _Running) -> tuple[str, JobResult | Lacks | Made]:
        try:
            answer = self._cluster.link.answer(job.ticket)
        except LostError:
            raise
        except Exception as error:
            message = f"{job.request.name}: {type(error).__name__}: {error}"
            raise FailedError(message, error) from error
        return _require_answer(job.request, answer)

    def _move(self) -> None:
        """Hand out anew jobs that were meant for workers that are gone.

        Where all were gone at once the scheduler waits for just these for ever.
        """
        here = self._cluster.workers
        for key, job in list(self._running.items()):
            if not here or not job.worker or job.worker in here:
                continue
            if job.moves == MOST_MOVES:
                raise WorkersLostError(
                    f"{job.request.name} was meant for {MOST_MOVES + 1} workers, all of which ended"
                )
            del self._running[key]
            self._cluster.link.cancel([job.ticket])
            self._begin_again(job, moves=job.moves + 1)


def _require_answer(request: JobRequest, answer: object) -> tuple[str, JobResult | Lacks | Made]:
    """Refuse an answer to another question: clients of a scheduler can write to each other's keys.

    Raises:
        ReleasedError: When it is not an answer to this job.
    """
    match answer:
        case (str(address), Lacks() | Made() as other):
            return address, other
        case (str(address), JobResult(index=request.index, setup=request.parcel.digest) as result):
            return address, result
    raise ReleasedError(
        f"another client of the scheduler answered {request.name} with something else: end that "
        "client, or begin a scheduler of your own"
    )


def _solve(work: Work) -> tuple[str, JobResult | Lacks | Made]:
    """On a worker: do a piece of work, and say who did."""
    address = own_address()
    return address, solve(work, parse_host(address))
