"""Whole searches and other jobs on all workers; a setup and its bars travel once, by their hash.

A setup is packed with digests of its bars in their place. Dask keeps both on workers as long as
this process uses them, and makes them anew where a worker ends.
"""

import hashlib
import io
import pickle
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

from data import Bars
from data.errors import SourceError
from data.mmap_store import find_mapped_file, map_bars, pack_bars, unpack_bars, write_packed
from engine.batch import Engine
from optimizer.cluster.address import parse_host
from optimizer.cluster.cluster import Cluster, Made, made_here
from optimizer.cluster.dask_client import Calls, own_address
from optimizer.errors import ConfigError, LostError, OptimizerError
from optimizer.evidence.jobs.executor import InStepSetup, Job, Result, Runner, limit
from optimizer.run.task import Task
from optimizer.store.log_file import build_write_error
from strategy.model import Strategy

IN_FLIGHT = 2
"""Jobs a worker has at most, so that it need not wait for the next one."""

LOOK_EVERY_S = 1.0

MOST_CARRIED = 256_000_000
"""Bytes of a setup's bars that travel at most; more are read from a shared folder."""


class Setup(Protocol):
    """Does jobs, wherever it is."""

    def on_host(self, share: int) -> Runner:
        """The same on a host that so many workers share."""
        ...


class FailedError(OptimizerError):
    """A job raised an error on a worker; the exit code is that of the error."""

    def __init__(self, message: str, error: Exception) -> None:
        super().__init__(message)
        self.exit_code = getattr(error, "exit_code", 2 if isinstance(error, MemoryError) else 1)


class Parcel:
    """A setup that workers of a cluster keep as long as this lives.

    ConfigError when it cannot be packed, such as functions of this very program, or its bars are
    large and there is no folder for them; others when they cannot be written there.
    """

    def __init__(self, cluster: Cluster, setup: Setup) -> None:
        body, carried = pack_setup(setup, cluster.folder)
        digest = hashlib.sha256(body).hexdigest()
        # The scheduler keeps recipes, equal keys once: a worker that ends takes no value with it,
        # as it would a scattered one.
        store = cluster.link.client().submit
        self.bars = [store(_require_digest, *item, key=f"bars-{item[0]}") for item in carried]
        self.setup = store(
            PackedSetup, body, [name for name, _ in carried], self.bars, key=f"setup-{digest}"
        )


@dataclass(frozen=True, eq=False)
class JobRequest:
    """A job to be done."""

    index: int  # its number
    name: str  # for people
    parcel: Parcel  # of the setup that does it
    job: object  # of the setup


def run_jobs(
    cluster: Cluster, requests: Iterable[JobRequest]
) -> Generator[tuple[int, Any], None, None]:
    """Index and result of jobs done on all workers, as they end. Closing it cancels the rest.

    Requests are taken as there is room for them. LostError when scheduler or workers are gone;
    FailedError when a job raises something, with its name: it is not tried again.
    """
    calls, pending = Calls[JobRequest](cluster.link), iter(requests)

    def begin(request: JobRequest) -> None:
        work = Work(request.job, cluster.here.digest, cluster.shares())
        calls.begin(request, _solve, request.parcel.setup, request.parcel.bars, work)

    try:
        while True:
            most = IN_FLIGHT * max(len(cluster.workers), 1)
            for request in islice(pending, max(most - len(calls.purposes), 0)):
                begin(request)
            if not calls.purposes:
                return
            cluster.look(LOOK_EVERY_S)
            for request, answer in calls.collect(LOOK_EVERY_S):
                if isinstance(answer, Unfit):
                    cluster.send_away(answer.address, answer.made)
                    begin(request)
                    continue
                if isinstance(answer, Exception):
                    raise _name_job(request, answer) from answer
                yield request.index, answer
    finally:
        calls.cancel()


def _name_job(request: JobRequest, error: Exception) -> OptimizerError:
    if isinstance(error, LostError):
        return type(error)(f"{request.name} {error}")
    return FailedError(f"{request.name}: {type(error).__name__}: {error}", error)


def refuse_own_indicators(spec: Strategy) -> None:
    """Refuse a strategy with a person's own indicators: other hosts do not have their code."""
    if spec.own:
        raise ConfigError(
            f"--cluster: own indicator '{min(spec.own)}': its code is yours, and other hosts do "
            "not have it; leave --cluster out, and it is computed here"
        )


def pack_setup(setup: Setup, folder: Path | None) -> tuple[bytes, list[tuple[str, bytes]]]:
    """A setup without its bars, and digest and bytes of each that travels; errors as `Parcel`."""
    into = io.BytesIO()
    packer = _Packer(into, folder)
    try:
        packer.dump(setup)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigError(
            f"other hosts do not have what this program itself defines ({error}): leave "
            "--cluster out, and it is computed here"
        ) from None
    body = into.getvalue()
    if b"__main__" in body:
        raise ConfigError("other hosts do not know what this program itself defines")
    return body, list(packer.carried.items())


class _Packer(pickle.Pickler):
    def __init__(self, into: io.BytesIO, folder: Path | None) -> None:
        super().__init__(into, protocol=5)
        self._folder, self._names = folder, dict[int, str | Path]()
        self.carried: dict[str, bytes] = {}

    def persistent_id(self, obj: object) -> str | Path | None:
        """The digest or file that stands for bars; everything else is written."""
        if not isinstance(obj, Bars):
            return None
        if id(obj) not in self._names:
            # Bars on disk already were too much for this process, which should not send them.
            self._names[id(obj)] = find_mapped_file(obj) or self._pack(obj)
        return self._names[id(obj)]

    def _pack(self, bars: Bars) -> str | Path:
        content = pack_bars(bars)
        n_bytes = len(content) + sum(map(len, self.carried.values()))
        if n_bytes <= MOST_CARRIED:
            digest = hashlib.sha256(content).hexdigest()
            self.carried[digest] = content
            return digest
        if self._folder is None:
            raise ConfigError(f"{n_bytes / 1e6:,.0f} MB of bars are too many to send to a worker")
        try:
            return write_packed(content, self._folder).resolve()
        except OSError as error:
            raise build_write_error(error, self._folder, bars.n_bytes) from None


@dataclass(frozen=True, eq=False)
class Work:
    """A job for a worker, a pure function of its contents: any worker may do it, at any time."""

    job: object  # of the setup
    made_for: str  # digest of the versions and bits that a worker must have
    shares: Mapping[str, int]  # host to how many workers share it


@dataclass(frozen=True)
class Unfit:
    """Answer of a worker that would find other bits."""

    address: str  # of its process
    made: Made  # its fingerprint


class PackedSetup:
    """A setup that a worker keeps, with its computed results.

    `body` is that of `pack_setup`, with digests of bars; it is made where the bytes of these are.
    """

    def __init__(self, body: bytes, names: Sequence[str], bars: Sequence[bytes]) -> None:
        self._body, self._names = body, tuple(names)
        self._runner: Runner | None = None

    def __getstate__(self) -> dict[str, object]:
        """State for another worker."""
        return {**self.__dict__, "_runner": None}

    def unpack(self, bars: Sequence[bytes], share: int) -> Runner:
        """Runner of its jobs on a host that `share` workers share; made once."""
        if self._runner is None:
            unpacker = _Unpacker(io.BytesIO(self._body))
            unpacker.bars = dict(zip(self._names, bars, strict=True))
            self._runner = unpacker.load().on_host(share)
        return self._runner


class _Unpacker(pickle.Unpickler):
    bars: Mapping[str, bytes]

    def persistent_load(self, pid: str | Path) -> Bars:
        """The bars of a digest, or of a file."""
        if isinstance(pid, str):
            return unpack_bars(self.bars[pid])
        try:
            return map_bars(pid)
        except SourceError as error:
            raise ConfigError(str(error)) from None
        except OSError:
            raise ConfigError(
                f"a worker at {own_address()} cannot read bars in {pid.parent}, and they are too "
                "large to be sent: record the run (--runs) on a disk that all hosts share"
            ) from None


def _require_digest(digest: str, content: bytes) -> bytes:
    """Bytes that came to a worker, if they are whole."""
    if hashlib.sha256(content).hexdigest() != digest:
        raise ConfigError(f"what came as {digest[:12]} has other bytes: it was changed on its way")
    return content


def _solve(setup: PackedSetup, bars: Sequence[bytes], work: Work) -> object:
    """Result of a job, made on a worker, or `Unfit`."""
    if (here := made_here()).digest != work.made_for:
        return Unfit(own_address(), here)
    return setup.unpack(bars, work.shares.get(parse_host(own_address()), 1)).run(work.job)


class ClusterSearches:
    """An executor, as `optimizer.evidence.jobs.executor.Executor`: all workers of a cluster.

    Results come in the order of the searches' numbers, so that a record is the same by whatever
    worker they were made.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def check(self, task: Task) -> None:
        """Refuse work that cannot be sent to workers."""
        refuse_own_indicators(task.spec)

    def submit(
        self,
        setup: InStepSetup[Job, Result],
        jobs: Sequence[Job],
        *,
        engine: Engine | None = None,
        used: str | None = None,
    ) -> Generator[tuple[Job, Result], None, None]:
        """See `Executor`, in the order of the jobs; nothing of this process is of use."""
        # A worker may have a GPU, but workers of this machine would all have the same.
        device = "cpu" if self._cluster.address.local else "auto"
        return self._run(Parcel(self._cluster, limit(setup, device=device)), jobs)

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
