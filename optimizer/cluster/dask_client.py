"""Schedulers and workers of Dask's `distributed`, imported here alone: begin, ask, stop."""

import asyncio
import logging
import os
import signal
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import dask
from distributed import (
    Client,
    KilledWorker,
    LocalCluster,
    Security,
    WorkerPlugin,
    as_completed,
    get_worker,
)
from distributed import Worker as DaskWorker
from distributed.client import FutureCancelledError
from distributed.comm.core import connect
from distributed.core import Status, send_recv
from distributed.versions import VersionMismatchWarning

from engine.runtime.compiling.cache_dirs import workers_folder
from optimizer.cluster.address import KEY_FILES, Address, parse_host
from optimizer.errors import SchedulerLostError, WorkersLostError
from optimizer.processes import safe_variables

START_S = 45.0
"""A worker of this machine that takes longer to begin is begun anew."""

REPLACED_S = 30.0
"""A worker of this machine that ended and is not there again after so long is replaced.

The library's own 15 seconds end workers that a busy machine is slow to begin, again and again."""

PARENT = "__DASK_PARENT_PID"
"""Variable in which the library names the process that began its workers."""

FOR_WORKERS = "distributed.nanny.pre-spawn-environ"
"""Setting of the library: variables that a process has before it begins a worker."""

CALL_S = 30.0
"""A scheduler that does not answer for so long is lost."""

CONFIGURATION = {
    "distributed.admin.large-graph-warning-threshold": "4GiB",
    "distributed.diagnostics.computations.nframes": 0,
    "distributed.worker.profile.enabled": False,
}
"""Sending bars is meant; no one reads where a call was written, nor the profiles of workers, of
which they would keep an hour: half a megabyte a second."""

Purpose = TypeVar("Purpose")


class _LeavesCtrlC(WorkerPlugin):
    """Leaves Ctrl-C to the process that began a worker."""

    def setup(self, worker: DaskWorker) -> None:
        """Once on each worker, also on a replacement."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def begin_workers(count: int) -> Iterator[LocalCluster]:
    """A scheduler and workers on this machine alone; WorkersLostError when one is late."""
    folder = workers_folder()
    if folder is None:
        raise WorkersLostError(
            f"--cluster local:{count}: there is no folder for temporary files that can be written; "
            "let TMPDIR name one"
        )
    safe = safe_variables()
    settings = {f"{FOR_WORKERS}.{name}": value for name, value in safe.items()}
    # The library imports from its folder of temporary files, which others may have made.
    settings["temporary-directory"] = str(folder)
    settings["distributed.deploy.lost-worker-timeout"] = f"{REPLACED_S}s"
    # Once more at the end, for workers that were begun again meanwhile.
    with dask.config.set(settings), _keep_environment():
        with _keep_environment():
            # Before the first worker Python begins a process of its own, which keeps semaphores.
            os.environ.update(safe)
            try:
                cluster = LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    worker_dashboard_address="127.0.0.1:0",
                    memory_limit=0,
                    death_timeout=START_S,
                    plugins=(_LeavesCtrlC(),),
                    silence_logs=logging.CRITICAL,
                )
            except (TimeoutError, AssertionError, RuntimeError) as error:
                # The library ends a late worker, and asserts that it is not late.
                if str(error) not in ("", str(Status.starting), "Nanny failed to start."):
                    raise
                raise WorkersLostError(
                    f"--cluster local:{count}: a worker ended, or did not begin within "
                    f"{START_S:.0f} s: begin fewer, or when this machine has less to do"
                ) from None
        try:
            yield cluster
        finally:
            # The library asserts that no worker begins again meanwhile.
            with suppress(TimeoutError, OSError, AssertionError):
                cluster.close(timeout=10)


@contextmanager
def _keep_environment() -> Iterator[None]:
    """Take back the variables that the library sets in this process for its workers to inherit.

    They say how many threads libraries use; whatever this process begins later would have them too.
    """
    named = dask.config.get(FOR_WORKERS)
    before = {name: os.environ.get(name) for name in (*named, "PYTHONHASHSEED", PARENT)}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@dataclass(frozen=True)
class Worker:
    """A worker as the scheduler knows it."""

    address: str  # of its process
    name: str  # that it was begun with
    threads: int  # calls it does at a time
    last_seen: float  # when the scheduler last heard of it, seconds of the scheduler's clock

    @property
    def host(self) -> str:
        """Host of its address."""
        return parse_host(self.address)

    def __str__(self) -> str:
        is_nameless = self.name == self.address
        return f"worker {self.name}" if is_nameless else f"worker {self.name} at {self.host}"


class Link:
    """A connection with a scheduler, or with a new one here and so many workers.

    SchedulerLostError when it does not answer, at first or later.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._begun: LocalCluster | None = None
        _silence()
        with ExitStack() as opened:
            opened.enter_context(dask.config.set(CONFIGURATION))
            self._client = self._connect_client(opened)
            self._opened = opened.pop_all()

    def close(self) -> None:
        """End the connection, and workers that were begun here; Ctrl-C does not stop it."""
        with _ignore_interrupts():
            self._opened.close()

    def workers(self) -> tuple[Worker, ...]:
        """All workers now, by address."""
        known = self._ask("identity", n_workers=-1)
        return tuple(
            Worker(address, str(entry["name"]), int(entry["nthreads"]), float(entry["last_seen"]))
            for address, entry in sorted(known["workers"].items())
        )

    def client(self) -> Client:
        """Client of the scheduler, while that answers."""
        if self._client.status != "running":
            raise self.build_lost_error()
        return self._client

    def mend(self) -> None:
        """Begin lost workers of this machine anew.

        Dask's watcher waits for ever for the first word of a worker that ended before it.
        """
        if self._begun is not None:
            self._begun.scale(self._address.local)

    def send_away(self, worker: str) -> None:
        """End a worker; others take over its own data."""
        self._ask("retire_workers", workers=[worker], close_workers=True)

    def _ask(self, question: str, **arguments: object) -> Any:  # noqa: ANN401
        """Answer of the scheduler."""
        client = self.client()

        async def ask() -> Any:  # noqa: ANN401
            answer = asyncio.ensure_future(getattr(client.scheduler, question)(**arguments))
            # An error that comes when no one waits any more is not printed.
            answer.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            # A connection that ended is begun anew by the library, for half a minute.
            while not (await asyncio.wait([answer], timeout=0.5))[0]:
                if client.status != "running":
                    answer.cancel()
                    raise OSError
            return answer.result()

        try:
            return client.sync(ask, callback_timeout=CALL_S)
        except (TimeoutError, OSError):
            raise self.build_lost_error() from None

    def build_lost_error(self) -> SchedulerLostError:
        """Error of a scheduler that is lost."""
        return SchedulerLostError(
            f"the scheduler of --cluster {self._address.text} does not answer any more"
        )

    def _connect_client(self, opened: ExitStack) -> Client:
        address, security, where = self._address, None, self._address.scheduler
        try:
            if address.local:
                self._begun = opened.enter_context(begin_workers(address.local))
                where = str(self._begun.scheduler_address)
            if address.tls is not None:
                ca, cert, key = (str(address.tls / name) for name in KEY_FILES)
                security = Security(
                    tls_ca_file=ca,
                    tls_client_cert=cert,
                    tls_client_key=key,
                    require_encryption=True,
                )
            _require_answer(str(where), security or Security())
            client = Client(where, security=security, set_as_default=False, timeout=CALL_S)
            # It would take setups, and engines with them, from workers that pause.
            client.amm.stop()
        except (OSError, TimeoutError) as error:
            why = (str(error) or f"silent for {CALL_S:.0f} s").splitlines()[0]
            raise SchedulerLostError(
                f"--cluster {address.text}: no scheduler answers ({why}): begin one with "
                "dask scheduler"
            ) from None
        opened.callback(_close, client)
        return client


class Calls(Generic[Purpose]):
    """Calls under way, by the purpose of each; results are fetched beside each other."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._ended = as_completed(loop=link.client().loop, with_results=True, raise_errors=False)
        self._purposes: dict[Any, Purpose] = {}

    @property
    def purposes(self) -> list[Purpose]:
        """Purposes of calls with uncollected answers."""
        return list(self._purposes.values())

    def begin(
        self, purpose: Purpose, function: Callable[..., Any], *arguments: object, worker: str = ""
    ) -> None:
        """Have some worker call a function, or the one named."""
        call = self._link.client().submit(
            function,
            *arguments,
            key=f"{function.__name__.strip('_')}-{uuid.uuid4()}",
            workers=[worker] if worker else None,
            pure=False,
        )
        self._purposes[call] = purpose
        self._ended.add(call)

    def collect(self, limit_s: float) -> list[tuple[Purpose, Any]]:
        """Answers that are here, or come within a while; an error is the answer of what raised it.

        SchedulerLostError when the scheduler is lost, and all calls with it.
        """
        until = time.monotonic() + limit_s
        while not self._ended.has_ready() and (left := until - time.monotonic()) > 0:
            with self._ended.thread_condition:
                self._ended.thread_condition.wait(min(left, 0.1))
        collected = []
        for call, answer in self._ended.next_batch(block=False):
            if call not in self._purposes:
                continue
            if isinstance(answer, FutureCancelledError | asyncio.CancelledError):
                raise self._link.build_lost_error()
            if call.status == "error":
                answer = _name_killed(answer[1])
            collected.append((self._purposes.pop(call), answer))
        return collected

    def cancel(self) -> None:
        """Take back waiting work, and release the rest."""
        calls = list(self._purposes)
        self._purposes.clear()
        if calls:
            with suppress(TimeoutError, OSError, SchedulerLostError):
                self._link.client().cancel(calls, force=True)


def _name_killed(error: Exception) -> Exception:
    """An error of a call, or in place of Dask's own that workers ended with it."""
    if not isinstance(error, KilledWorker):
        return error
    return WorkersLostError(
        f"ended {error.allowed_failures + 1} workers one after the other, the last at "
        f"{error.last_worker.address}: it needs more memory than they have, or somebody ends them"
    )


def _require_answer(address: str, security: Security) -> None:
    """Refuse a port that takes connections and stays silent: the library waits for it for ever.

    TimeoutError when a first question is not answered for `CALL_S` seconds, OSError when no
    scheduler listens.
    """

    async def greet() -> None:
        options = security.get_connection_args("client")
        try:
            greeted = await connect(address, timeout=CALL_S, **options)
            try:
                kind = (await send_recv(greeted, op="identity"))["type"]
            finally:
                greeted.abort()
        except (OSError, TimeoutError):
            raise
        except Exception:
            # The library takes the words of a mail or ssh server for lengths, of exabytes too.
            raise OSError("another program listens there") from None
        if kind in ("Worker", "Nanny"):
            raise OSError(f"a {kind.lower()} listens there")

    # In a thread of its own: a notebook has a loop that runs already. Who is stopped meanwhile does
    # not wait for its end.
    pool = ThreadPoolExecutor(1)
    try:
        pool.submit(asyncio.run, asyncio.wait_for(greet(), CALL_S)).result()
    finally:
        pool.shutdown(wait=False)


def _silence() -> None:
    """Silence the library's logs, each with a level of its own: callers report failures.

    Differing versions are found, and named by worker, in `optimizer.cluster.cluster`.
    """
    warnings.simplefilter("ignore", VersionMismatchWarning)
    # Its loop is tornado's, which prints a result that a lost scheduler no longer sends.
    for name in ("distributed", "tornado.application", *logging.root.manager.loggerDict):
        if name == "tornado.application" or name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def own_address() -> str:
    """The address of the worker that this is called on."""
    return str(get_worker().address)


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C until the context ends: it is pressed again to end the wait."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _close(client: Client) -> None:
    with suppress(TimeoutError, OSError):
        client.close(timeout=5)
