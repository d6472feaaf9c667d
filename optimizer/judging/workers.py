"""Jobs on all cores: processes of our own, each of which is given the same setup once.

They are no children of ``multiprocessing``, which would run a person's script again to begin them.
A job is a pure function of its setup, so that it does not matter who does it, or how often.
"""

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeVar

Job = TypeVar("Job")
Result_co = TypeVar("Result_co", covariant=True)

PROGRAM = ("-P", "-m", "optimizer.judging.worker")

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""There is a process for each core already."""


class Setup(Protocol[Result_co]):
    """What does jobs; it can be pickled, or its jobs are done in this process."""

    def run(self, job: Any) -> Result_co:  # noqa: ANN401 - of any kind
        """Do one."""
        ...


class Workers(Generic[Job]):
    """Processes that do jobs of one setup.

    Args:
        setup: Does a job.
        count: How many processes; with one, this process does the jobs.

    Attributes:
        alone: Why all jobs are done in this process; empty where they are not.
    """

    def __init__(self, setup: Setup[Any], count: int) -> None:
        self._setup, self._count = setup, count
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

    def results(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Any], None, None]:
        """Each job with what came of it, as they are done; closing it ends what was begun.

        Raises:
            Whatever a job raises; the first such ends all.
        """
        if self.alone:
            for job in jobs:
                yield job, self._setup.run(job)
            return
        pending: Sequence[Job] = list(jobs)
        crew = _Crew(self._pickled, pending, min(self._count, len(pending)))
        try:
            for _ in pending:
                job, found, error = crew.done.get()
                if isinstance(error, _WorkerLostError):
                    # Memory, most likely: with nobody beside it there is more.
                    found, error = self._setup.run(job), None
                if error is not None:
                    raise error
                yield job, found
        finally:
            crew.end()


class _WorkerLostError(Exception):
    """A process ended in the middle of a job."""


class _Crew:
    """Processes, and a thread for each that hands it jobs.

    Attributes:
        done: Job, result, and what it raised or None.
    """

    def __init__(self, setup: bytes, jobs: Sequence[Any], count: int) -> None:
        self.done: queue.SimpleQueue[tuple[Any, Any, Exception | None]] = queue.SimpleQueue()
        self._waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for job in jobs:
            self._waiting.put(job)
        environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(sys.path)}
        self._processes = [
            subprocess.Popen(
                [sys.executable, *PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
            )
            for _ in range(count)
        ]
        self._is_ending = False
        self._left, self._counting = count, threading.Lock()
        self._threads = [
            threading.Thread(target=self._serve, args=(process, setup), daemon=True)
            for process in self._processes
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """End all processes, whatever they are at."""
        self._is_ending = True
        for process in self._processes:
            process.kill()
        for process, thread in zip(self._processes, self._threads, strict=True):
            thread.join()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            process.wait()

    def _serve(self, process: "subprocess.Popen[bytes]", setup: bytes) -> None:
        into, out = process.stdin, process.stdout
        assert into is not None
        assert out is not None
        with suppress(OSError):
            into.write(setup)
        while not self._is_ending:
            try:
                job = self._waiting.get_nowait()
            except queue.Empty:
                return
            try:
                pickle.dump(job, into)
                into.flush()
                found, error = pickle.load(out)
            except (OSError, EOFError, pickle.UnpicklingError):
                self._lose(job)
                return
            except Exception as raised:
                found, error = None, raised
            self.done.put((job, found, error))

    def _lose(self, job: object) -> None:
        """Hand back the job of a process that ended; without any other process, all jobs."""
        self.done.put((job, None, _WorkerLostError()))
        with self._counting:
            self._left -= 1
            while not self._left:
                try:
                    self.done.put((self._waiting.get_nowait(), None, _WorkerLostError()))
                except queue.Empty:
                    return
