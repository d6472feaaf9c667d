"""Schedulers and workers of Dask's `distributed`, imported here alone: connect, ask, stop."""

import asyncio
import logging
import queue
import signal
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from concurrent.futures import Future as Promise
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import dask
from distributed import (
    Client,
    Future,
    KilledWorker,
    LocalCluster,
    Security,
    fire_and_forget,
    get_worker,
)
from distributed.comm.core import connect
from distributed.core import send_recv
from distributed.versions import VersionMismatchWarning

from optimizer.cluster.address import KEY_FILES, Address, parse_host
from optimizer.cluster.local_workers import begin_workers
from optimizer.errors import LostError, ReleasedError, SchedulerLostError, WorkersLostError

CALL_S = 30.0
"""A scheduler that does not answer for so long is lost."""

HANGS_UP_S = 3.0
"""Within which a scheduler that hung up, and is there, has taken this client in again."""

CONFIGURATION = {
    "distributed.admin.large-graph-warning-threshold": "4GiB",
    "distributed.diagnostics.computations.nframes": 0,
    "distributed.worker.profile.enabled": False,
}
"""Sending bars is meant; no one reads where a call was written, nor the profiles of workers, of
which they would keep an hour: half a megabyte a second."""


@dataclass(frozen=True, eq=False)
class CallTicket:
    """A call that was begun."""

    call: "Future[Any]"  # as the scheduler knows it
    fetched: "Promise[Any]"  # its result, once that is here

    @property
    def key(self) -> str:
        """By which the scheduler knows it."""
        return str(self.call.key)


@dataclass(frozen=True)
class Worker:
    """A worker as the scheduler knows it."""

    address: str  # of its process
    name: str  # that it was begun with
    threads: int  # calls it does at a time
    last_seen: float  # when the scheduler last heard of it, seconds of the scheduler's clock

    @property
    def host(self) -> str:
        """Of its address."""
        return parse_host(self.address)

    def __str__(self) -> str:
        is_nameless = self.name == self.address
        return f"worker {self.name}" if is_nameless else f"worker {self.name} at {self.host}"


class Link:
    """A connection with a scheduler.

    Args:
        address: Where it is, or how many workers to begin here with a scheduler of their own.

    Attributes:
        ended: Calls whose result is here, or will never be, as that becomes so.

    Raises:
        SchedulerLostError: When no scheduler answers.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._begun: LocalCluster | None = None
        self.ended: queue.SimpleQueue[CallTicket] = queue.SimpleQueue()
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
        """All workers now, by address.

        Raises:
            SchedulerLostError: When the scheduler does not answer.
        """
        self.require()
        try:
            known = self._ask("identity", n_workers=-1)
        except (TimeoutError, OSError):
            raise self._build_scheduler_lost_error() from None
        return tuple(
            Worker(address, str(entry["name"]), int(entry["nthreads"]), float(entry["last_seen"]))
            for address, entry in sorted(known["workers"].items())
        )

    def require(self) -> None:
        """Refuse to go on without a scheduler.

        It may hang up and still be there, such as when another client has it do so.

        Raises:
            SchedulerLostError: When it is lost.
        """
        patient_until = time.monotonic() + HANGS_UP_S
        while self._client.status == "connecting" and time.monotonic() < patient_until:
            time.sleep(0.05)
        if self._client.status != "running" or self._is_deaf():
            raise self._build_scheduler_lost_error()

    def _is_deaf(self) -> bool:
        """Whether the client reads nothing any more, as after a word to close that it was sent."""
        reading = getattr(self._client, "_handle_report_task", None)
        return reading is not None and bool(reading.done())

    def begin(
        self,
        function: Callable[..., Any],
        *arguments: object,
        name: str = "call",
        worker: str = "",
        may_move: bool = False,
    ) -> CallTicket:
        """Have a function called by some worker, or the one named, or another where it may move.

        Raises:
            SchedulerLostError: When the scheduler is.
        """
        self.require()
        call = self._client.submit(
            function,
            *arguments,
            key=f"{name}|{uuid.uuid4().hex}",
            workers=[worker] if worker else None,
            allow_other_workers=bool(worker) and may_move,
            pure=False,
        )
        # All are fetched beside each other: none waits for another's worker, which may hang.
        fetched = asyncio.run_coroutine_threadsafe(call._result(), self._loop)
        ticket = CallTicket(call, fetched)
        fetched.add_done_callback(lambda _: self.ended.put(ticket))
        return ticket

    def leave(self, function: Callable[[], object], workers: Iterable[str]) -> None:
        """Have a function called by each of some workers, and do not wait for it."""
        for worker in workers:
            fire_and_forget(self._client.submit(function, workers=[worker], pure=False))

    def answer(self, ticket: CallTicket, timeout: float = CALL_S) -> Any:  # noqa: ANN401
        """Result of a call.

        Raises:
            SchedulerLostError: When the scheduler is lost with it.
            ReleasedError: When another client took it back.
            WorkersLostError: When it ended every worker that began it.
            TimeoutError: When it takes longer than `timeout` seconds.
            Any error that the call raised.
        """
        wait([ticket.fetched], timeout)
        if not ticket.fetched.done():
            raise TimeoutError
        try:
            return ticket.fetched.result()
        except CancelledError:
            raise self._build_cancelled_error(ticket) from None
        except KilledWorker as error:
            raise WorkersLostError(
                f"{_parse_call_name(ticket.key)} ended {error.allowed_failures + 1} workers one "
                f"after the other, the last at {error.last_worker.address}: it needs more memory "
                "than they have, or somebody ends them"
            ) from None
        except OSError:
            if ticket.call.status == "error":
                raise  # The call itself.
            # It ended well, and the connection broke while its result was fetched.
            raise self._build_scheduler_lost_error() from None

    def end_unknown(self, tickets: Iterable[CallTicket]) -> None:
        """Have calls end as cancelled that the scheduler does not know.

        Another client can have it forget them, and it answers that only to a client that asks. It
        reads what a client sends in order, so that it cannot be asked before it has the call.

        Raises:
            SchedulerLostError: When the scheduler is lost.
        """
        self.require()
        keys = [ticket.key for ticket in tickets if ticket.call.status in ("pending", "lost")]
        self._loop.call_soon_threadsafe(self._report, keys)

    def _report(self, keys: Sequence[object]) -> None:
        # On the loop, where an error would be printed; what is lost meanwhile ends as cancelled.
        with suppress(OSError, AttributeError):
            for key in keys:
                self._client._send_to_scheduler_safe({"op": "report-key", "key": key})

    def cancel(self, tickets: Sequence[CallTicket]) -> None:
        """Take back what has not begun."""
        if tickets and self._client.status == "running":
            with suppress(TimeoutError, OSError):
                self._client.cancel([ticket.call for ticket in tickets], force=True)

    def mend(self) -> None:
        """Begin anew those workers of this machine that are gone.

        Its watcher waits for ever for a first word where it ended before that.
        """
        if self._begun is not None:
            self._begun.scale(self._address.local)

    def send_away(self, worker: str) -> None:
        """End a worker, if it can be ended; what it found is not wanted."""
        with suppress(TimeoutError, OSError):
            self._ask("retire_workers", workers=[worker], close_workers=True)

    def list_calls(self) -> Mapping[str, Sequence[str]]:
        """Address of each worker to the names of the calls that it has, the oldest first."""
        with suppress(TimeoutError, OSError):
            keys_by_worker = self._ask("processing", workers=None)
            return {
                worker: [_parse_call_name(key) for key in keys]
                for worker, keys in keys_by_worker.items()
            }
        return {}

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        loop: asyncio.AbstractEventLoop = self._client.loop.asyncio_loop  # type: ignore[union-attr]
        return loop

    def _ask(self, question: str, **arguments: object) -> Any:  # noqa: ANN401
        """Answer of the scheduler.

        Raises:
            TimeoutError: When it does not within `CALL_S` seconds.
            OSError: When the connection ends.
        """
        ask = getattr(self._client.scheduler, question)
        return self._client.sync(ask, **arguments, callback_timeout=CALL_S)

    def _build_cancelled_error(self, ticket: CallTicket) -> LostError:
        try:
            self.require()
        except SchedulerLostError as error:
            return error
        return ReleasedError(
            f"another client of the scheduler of --cluster {self._address.text} took back "
            f"{_parse_call_name(ticket.key)}: end that client, or begin a scheduler of your own"
        )

    def _build_scheduler_lost_error(self) -> SchedulerLostError:
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
        except (OSError, TimeoutError) as error:
            why = (str(error) or f"silent for {CALL_S:.0f} s").splitlines()[0]
            raise SchedulerLostError(
                f"--cluster {address.text}: no scheduler answers ({why}): begin one with "
                "dask scheduler"
            ) from None
        opened.callback(_close, client)
        return client


def _require_answer(address: str, security: Security) -> None:
    """Refuse a port that takes connections and stays silent: the library waits for it for ever.

    Raises:
        TimeoutError: When a first question is not answered for `CALL_S` seconds.
        OSError: When no scheduler listens.
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


def _parse_call_name(key: object) -> str:
    """The name that a call was begun with, for people."""
    return str(key).rpartition("|")[0]


def _silence() -> None:
    """Silence the library's logs, each of which has a level: callers report what went wrong.

    Versions that differ are found, and named by worker, in `optimizer.cluster.cluster`.
    """
    warnings.simplefilter("ignore", VersionMismatchWarning)
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
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
