"""Jobs on all cores: processes of our own, each of which is given the same setup once.

They are no children of ``multiprocessing``, which would run a person's script again to begin them.
A job is a pure function of its setup, so that it does not matter who does it, or how often.
"""

import pickle
import queue
import subprocess
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from io import BufferedReader
from typing import Any, Protocol

from optimizer.processes import begin, folders_of_own_modules

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""There is a process for each core already."""


PIPE_BYTES = 2**20
"""Size of a pipe, where the system allows it: a population's accumulators in one piece."""


class Runner(Protocol):
    """Runner of jobs; it can be pickled, or its jobs are done in this process.

    One that `asks` is also given what asks this process, wherever it does a job.
    """

    def run(self, job: Any) -> Any:  # noqa: ANN401 - of any kind
        """Do one."""
        ...


class Answers(Protocol):
    """Answerer of jobs' questions."""

    @property
    def quiet(self) -> AbstractContextManager[Any]:
        """Held while a thread reads or writes a process's pipes, and while answers are made."""
        ...

    def ask(self, question: Any) -> Any:  # noqa: ANN401 - of any kind
        """The answer, in the thread of the job's process."""
        ...


class Pool:
    """Processes that wait for work, kept from one setup to the next; leaving it ends them."""

    def __init__(self) -> None:
        self._idle: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._idle:
            process.kill()
            _reap(process)
        self._idle.clear()

    def start(self, count: int) -> None:
        """Have at least so many processes waiting, if the system starts them."""
        dead = [process for process in self._idle if process.poll() is not None]
        self._idle = [process for process in self._idle if process not in dead]
        for process in dead:
            _reap(process)
        # Fewer do the same, where the system starts no more of them.
        with suppress(BlockingIOError):
            while len(self._idle) < count:
                process = begin(
                    "optimizer.evidence.jobs.worker",
                    variables=ONE_THREAD,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    pipesize=PIPE_BYTES,
                )
                self._idle.append(process)

    def take(self, count: int) -> list["subprocess.Popen[bytes]"]:
        """So many processes at most: those that wait, and new ones."""
        self.start(count)
        taken, self._idle = self._idle[:count], self._idle[count:]
        return taken

    def give_back(self, process: "subprocess.Popen[bytes]") -> None:
        """Let a process that has done its work wait for more."""
        self._idle.append(process)


class Workers:
    """Processes that do jobs of one setup.

    Args:
        setup: Does a job.
        count: How many processes; with one, this process does the jobs.
        pool: Where processes come from and wait afterwards; None for some of its own.
        answers: Answers what jobs ask, if they do.

    Attributes:
        alone: Why all jobs are done in this process; empty where they are not.
    """

    def __init__(
        self,
        setup: Runner,
        count: int,
        pool: Pool | None = None,
        answers: Answers | None = None,
    ) -> None:
        self._setup, self._count, self._pool = setup, count, pool
        self._answers = answers
        self.alone, self._pickled = "", b""
        if count < 2:
            self.alone = "one core"
            return
        try:
            self._pickled = pickle.dumps(setup)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            self.alone = f"other processes cannot be given this strategy ({error})"
        if b"__main__" in self._pickled:
            self.alone = "other processes do not know what this program itself defines"
        if not self.alone and pool is not None:
            # They are ready sooner than their first jobs are.
            pool.start(count)

    def results(self, jobs: Iterable[Any]) -> Generator[tuple[Any, Any], None, None]:
        """Each job with what came of it, as they are done; closing it ends what was begun.

        Raises:
            Whatever a job raises; the first such ends all.
        """
        if self.alone:
            for job in jobs:
                yield job, self._run_here(job)
            return
        pending = list(jobs)
        with Pool() as own_pool:
            pool = self._pool or own_pool
            batch = self.begin(pending, pool)
            if batch is None:
                yield from ((job, self._run_here(job)) for job in pending)
                return
            try:
                yield from self.collect(batch, len(pending))
            finally:
                for process in batch.end():
                    pool.give_back(process)

    def collect(self, batch: "JobBatch", count: int) -> Iterator[tuple[Any, Any]]:
        """So many jobs of a batch with what came of them, as they are done."""
        for _ in range(count):
            job, result, error = batch.done.get()
            if isinstance(error, WorkerLostError):
                # Memory, most likely: alone it has more.
                result, error = self._run_here(job), None
            if error is not None:
                raise error
            yield job, result

    def begin(self, jobs: Sequence[Any], pool: Pool) -> "JobBatch | None":
        """Begin with jobs; None where the system starts no process, or there is nothing to do."""
        processes = pool.take(min(self._count, len(jobs)))
        return JobBatch(self._pickled, jobs, processes, self._answers) if processes else None

    def _run_here(self, job: Any) -> Any:  # noqa: ANN401 - of any kind
        """Do a job in this process."""
        asked = () if self._answers is None else (self._answers.ask,)
        return self._setup.run(job, *asked)


class WorkerLostError(Exception):
    """A process ended in the middle of a job."""


class JobBatch:
    """Jobs of one setup, and a thread for each process that hands it some.

    Attributes:
        done: Job, result, and what it raised or None.
    """

    def __init__(
        self,
        setup: bytes,
        jobs: Sequence[Any],
        processes: "list[subprocess.Popen[bytes]]",
        answers: Answers | None = None,
    ) -> None:
        self._answers, self._quiet = answers, answers.quiet if answers else nullcontext()
        self.done: queue.SimpleQueue[tuple[Any, Any, Exception | None]] = queue.SimpleQueue()
        self._waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for job in jobs:
            self._waiting.put(job)
        self._processes = processes
        self._lock = threading.Lock()
        self._is_ending, self._left = False, len(processes)
        self._at_work: set[int] = set()
        self._threads = [
            threading.Thread(target=self._serve, args=(process, setup), daemon=True)
            for process in processes
        ]
        for thread in self._threads:
            thread.start()

    def kill(self) -> None:
        """End every process, without waiting for its end."""
        for process in self._processes:
            process.kill()

    def end(self) -> "list[subprocess.Popen[bytes]]":
        """End every process that is in the middle of a job; those that wait are returned."""
        with self._lock:
            self._is_ending = True
            busy = set(self._at_work)
        for process in self._processes:
            if process.pid in busy:
                process.kill()
        waiting = []
        for process, thread in zip(self._processes, self._threads, strict=True):
            thread.join()
            if process.pid in busy or process.pid in self._at_work or process.poll() is not None:
                process.kill()
                _reap(process)
            else:
                waiting.append(process)
        return waiting

    def _next(self, process: "subprocess.Popen[bytes]") -> Any:  # noqa: ANN401 - of any kind
        """The next job, at which the process then is; raises where there is none for it."""
        with self._lock:
            self._at_work.discard(process.pid)
            if self._is_ending:
                raise queue.Empty
            job = self._waiting.get_nowait()
            self._at_work.add(process.pid)
        return job

    def _serve(self, process: "subprocess.Popen[bytes]", setup: bytes) -> None:
        is_set_up = False
        while True:
            try:
                job = self._next(process)
            except queue.Empty:
                return
            try:
                if not is_set_up:
                    assert process.stdin is not None
                    pickle.dump(folders_of_own_modules(), process.stdin)
                    pickle.dump(setup, process.stdin)
                    is_set_up = True
                reply: tuple[Any, ...] = self._ask(process, (job,))
                while len(reply) == 1:
                    assert self._answers is not None
                    reply = self._ask(process, (self._answers.ask(reply[0]),))
                result, error = reply
            except (OSError, EOFError, pickle.UnpicklingError):
                self._lose(job)
                return
            except Exception as raised:
                result, error = None, raised
            self.done.put((job, result, error))

    def _ask(self, process: "subprocess.Popen[bytes]", message: object) -> tuple[Any, ...]:
        """A process's reply to a message."""
        into, out = process.stdin, process.stdout
        assert into is not None
        assert isinstance(out, BufferedReader)
        with self._quiet:
            pickle.dump(message, into, pickle.HIGHEST_PROTOCOL)
            into.flush()
        # Until there is something to read.
        out.peek(1)
        with self._quiet:
            reply: tuple[Any, ...] = pickle.load(out)
        return reply

    def _lose(self, job: object) -> None:
        """Hand back the job of a process that ended; without any other process, all jobs."""
        self.done.put((job, None, WorkerLostError()))
        with self._lock:
            self._left -= 1
            while not self._left:
                try:
                    self.done.put((self._waiting.get_nowait(), None, WorkerLostError()))
                except queue.Empty:
                    return


def _reap(process: "subprocess.Popen[bytes]") -> None:
    """Close what leads to a process that has ended, and take note of its end."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    process.wait()
