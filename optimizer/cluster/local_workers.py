"""Workers on this machine: a scheduler and processes of Dask's, which leave this one as it was."""

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import dask
from distributed import LocalCluster, WorkerPlugin
from distributed import Worker as DaskWorker
from distributed.core import Status

from engine.runtime.compiling.cache_dirs import workers_folder
from optimizer.errors import WorkersLostError
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


class _LeavesCtrlC(WorkerPlugin):
    """Leaves Ctrl-C to the process that began a worker."""

    def setup(self, worker: DaskWorker) -> None:
        """Once on each worker, also on a replacement."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def begin_workers(count: int) -> Iterator[LocalCluster]:
    """A scheduler and workers on this machine alone.

    Raises:
        WorkersLostError: When one does not begin in time.
    """
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
