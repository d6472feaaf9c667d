"""Jobs on all cores: processes of our own, which get a function once, and keep it.

They are not loky's: its pool breaks with one killed process (15 of 16 jobs were lost, here the
one), and its processes survive a killed parent. Those of `multiprocessing` run a person's script
again to begin. Neither lets a job ask its parent in the middle.
"""

import pickle
import subprocess
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from io import BufferedReader
from typing import Any

from optimizer.processes import begin, folders_of_own_modules

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""There is a process for each core already."""

PIPE_BYTES = 2**20
"""Size of a pipe, where the system allows it: a population's accumulators in one piece."""


AskParent = Callable[[Any], Any]
"""Answers a question of a job, in the thread of its process."""

Quiet = AbstractContextManager[Any]

QUIET: Quiet = nullcontext()
"""Threads need no order."""


class WorkerLostError(Exception):
    """A process ended in the middle of a job."""


class JobProcess:
    """A process that does one job after the other."""

    def __init__(self) -> None:
        self._process = begin(
            "optimizer.evidence.jobs.worker",
            variables=ONE_THREAD,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pipesize=PIPE_BYTES,
        )
        self.pid, self._packed, self._is_killed = self._process.pid, b"", False

    @property
    def is_there(self) -> bool:
        """True if the process has not ended, and is not about to."""
        return not self._is_killed and self._process.poll() is None

    def run(self, packed: bytes, job: object, *asked: AskParent, quiet: Quiet = QUIET) -> Any:  # noqa: ANN401
        """Result of a function by `pack` for a job; a process that fails in one is killed.

        One may be `asked` that answers questions of the job; `quiet` is held while pipes are used.

        Raises:
            WorkerLostError: When the process ends.
        """
        try:
            new = () if packed is self._packed else (folders_of_own_modules(), packed)
            self._packed = packed
            reply = self._call((*new, (job, bool(asked))), quiet)
            while len(reply) == 1:
                (ask,) = asked
                reply = self._call(((ask(reply[0]),),), quiet)
        except BaseException:
            self.kill()
            raise
        result, error = reply
        if error is not None:
            raise error
        return result

    def _call(self, messages: Iterable[object], quiet: Quiet) -> tuple[Any, ...]:
        """The process's reply to messages."""
        into, out = self._process.stdin, self._process.stdout
        assert into is not None
        assert isinstance(out, BufferedReader)
        try:
            with quiet:
                for message in messages:
                    pickle.dump(message, into, pickle.HIGHEST_PROTOCOL)
                into.flush()
            # Until there is something to read.
            out.peek(1)
            with quiet:
                reply: tuple[Any, ...] = pickle.load(out)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise WorkerLostError(*error.args) from error
        return reply

    def kill(self) -> None:
        """End the process, without waiting for its end."""
        self._is_killed = True
        self._process.kill()

    def end(self) -> None:
        """End the process, and take note of its end."""
        self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(OSError):
                stream.close()
        self._process.wait()


class Pool:
    """Processes that wait for work, kept from one setup to the next; leaving it ends them."""

    def __init__(self) -> None:
        self._idle: list[JobProcess] = []

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._idle:
            worker.end()
        self._idle.clear()

    def start(self, count: int) -> None:
        """Have at least so many processes waiting, if the system starts them."""
        with suppress(BlockingIOError):
            while len(self._idle) < count:
                self._idle.append(JobProcess())

    def take(self) -> JobProcess:
        """The process that waited last, or a new one.

        Raises:
            WorkerLostError: When the system starts none.
        """
        with suppress(IndexError):
            while not (worker := self._idle.pop()).is_there:
                worker.end()
            return worker
        try:
            return JobProcess()
        except BlockingIOError as error:
            raise WorkerLostError(*error.args) from error

    def give_back(self, worker: JobProcess) -> None:
        """Let a process wait for more work, if it has not ended."""
        if worker.is_there:
            self._idle.append(worker)
        else:
            worker.end()


def pack(run: Callable[..., Any]) -> bytes:
    """A function for other processes; empty if it cannot be sent."""
    try:
        packed = pickle.dumps(run)
    except (pickle.PicklingError, AttributeError, TypeError):
        return b""
    # They do not know what this program itself defines.
    return b"" if b"__main__" in packed else packed


class Workers:
    """So many processes of a pool that do jobs by one function; with one, this process does them.

    Attributes:
        alone: Whether all jobs are done in this process.
    """

    def __init__(self, run: Callable[..., Any], count: int, pool: Pool) -> None:
        self._run, self._count, self._pool = run, count, pool
        self._packed = pack(run) if count > 1 else b""
        self.alone = not self._packed
        if not self.alone:
            # They are ready sooner than their first jobs are.
            pool.start(count)

    @contextmanager
    def begin(
        self, jobs: Sequence[Any], *asked: AskParent, quiet: Quiet = QUIET
    ) -> Iterator[Iterator[tuple[Any, Any]]]:
        """Each job with its result, as they end; leaving it ends the running ones.

        The first error that a job raises ends all. Other arguments are those of `JobProcess.run`.
        """
        if self.alone:
            yield ((job, self._run(job, *asked)) for job in jobs)
            return
        at_work: set[JobProcess] = set()
        is_left = threading.Event()

        def do(job: object) -> Any:  # noqa: ANN401 - of any kind
            worker = self._pool.take()
            at_work.add(worker)
            try:
                if is_left.is_set():
                    worker.kill()
                return worker.run(self._packed, job, *asked, quiet=quiet)
            finally:
                at_work.discard(worker)
                self._pool.give_back(worker)

        threads = ThreadPoolExecutor(self._count)
        begun = {threads.submit(do, job): job for job in jobs}
        try:
            yield self._collect(begun, asked)
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            is_left.set()
            for worker in list(at_work):
                worker.kill()
            threads.shutdown()

    def results(self, jobs: Sequence[Any]) -> Generator[tuple[Any, Any], None, None]:
        """See `begin`, which begins with the first; closing it leaves it."""
        with self.begin(jobs) as done:
            yield from done

    def _collect(
        self, begun: dict[Future[Any], Any], asked: tuple[AskParent, ...]
    ) -> Iterator[tuple[Any, Any]]:
        for future in as_completed(begun):
            job = begun.pop(future)
            try:
                result = future.result()
            except WorkerLostError:
                # Memory, most likely: alone it has more.
                result = self._run(job, *asked)
            yield job, result
