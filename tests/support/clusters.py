"""Schedulers and workers of a test's own, as a person begins them, and setups to be carried."""

import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import psutil
import pytest
from distributed import LocalCluster, Worker, get_worker

from data import Bars
from optimizer.cluster.address import Address, parse_address
from optimizer.cluster.cluster import Cluster, Made
from optimizer.cluster.dask_client import Link
from optimizer.cluster.jobs import JobRequest, Parcel
from optimizer.errors import WorkersLostError
from optimizer.run.problem import run_alone
from optimizer.run.runner import number_front
from optimizer.run.task import local_evaluator
from optimizer.search.evolution import front_hash
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task
from tests.support.paths import FINDS
from tests.support.searches import advance

QUIET = ("--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0")


HERE = Made({"engine": "4"}, "bits", device="cpu")


class Played:
    """A scheduler in this process, whose workers are threads that say what a test has them say.

    Attributes:
        made: Name of a worker to its fingerprint, where that is not this process's.
    """

    made: ClassVar[dict[str, Made]] = {}

    def __init__(self, cluster):
        self._cluster, self.address = cluster, cluster.scheduler_address
        self._workers = []
        self.made.clear()

    @staticmethod
    def play_fingerprint(device="auto"):
        """As `made_here`."""
        try:
            return Played.made.get(get_worker().name, HERE)
        except ValueError:
            return HERE

    def add(self, name, threads=1):
        """One more worker; its address."""

        async def start():
            return await Worker(
                self.address, name=name, nthreads=threads, dashboard_address=":0", memory_limit=0
            )

        self._workers.append(self._cluster.sync(start))
        return self._workers[-1].address

    def join(self, **options):
        """Join it as a person would."""
        return Cluster(Address(self.address, scheduler=self.address), **options)

    def close(self):
        """End the workers and the scheduler."""
        while self._workers:
            self._cluster.sync(self._workers.pop().close)
        self._cluster.close()


@contextmanager
def play_cluster():
    """A scheduler in this process, without workers, and nothing compiled for a fingerprint."""
    with (
        pytest.MonkeyPatch.context() as patch,
        LocalCluster(
            n_workers=0,
            processes=False,
            host="127.0.0.1",
            protocol="tcp://",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        closing(Played(cluster)) as played,
    ):
        for name in ("cluster", "jobs"):
            patch.setattr(f"optimizer.cluster.{name}.made_here", Played.play_fingerprint)
        yield played


def make_jobs(cluster, count, job="echo", about=None, bars=None):
    """Jobs of a kind, about their own numbers unless something is named."""
    parcel = Parcel(cluster, PlayedSetup(bars))
    return [
        JobRequest(n, f"job {n}", parcel, (job, n if about is None else about))
        for n in range(count)
    ]


class Begun(NamedTuple):
    """A scheduler on loopback, with workers, each a process of its own."""

    file: Path  # of the scheduler
    scheduler: subprocess.Popen


@contextmanager
def begin_cluster(folder, workers=2, tls=(), environment=None):
    """A scheduler with workers, to the end of the context.

    Args:
        folder: For the file of the scheduler.
        workers: How many, each with a process that begins it anew when it ends.
        tls: Flags of encryption; none for none.
        environment: Variables of the scheduler.
    """
    file = Path(folder) / "scheduler.json"
    with ExitStack() as opened:

        def start(what, *flags, variables=FINDS):
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dask",
                    what,
                    *QUIET,
                    "--scheduler-file",
                    file,
                    *flags,
                    *tls,
                ],
                env={**os.environ, **variables},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            opened.callback(end_all, process)
            return process

        scheduler = start("scheduler", "--port", "0", variables={**FINDS, **(environment or {})})
        # It opens the file before it writes it.
        wait_until(lambda: file.exists() and file.read_text().strip().endswith("}"))
        start("worker", "--nworkers", str(workers), "--nthreads", "1", "--memory-limit", "0")
        if not tls:
            with closing(Link(parse_address(str(file)))) as link:
                wait_until(lambda: len(link.workers()) >= workers)
        yield Begun(file, scheduler)


def wait_until(is_so, limit_s=200.0):
    """Wait until something is so; what is not so then never will be, however busy a machine is."""
    until = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < until, "it never came to that"
        time.sleep(0.02)


def own_workers():
    """Processes of workers that this process began and that are alive."""
    workers = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "spawn_main" in " ".join(child.cmdline()):
                workers.append(child)
    return workers


def end_all(process):
    """Kill a process that was begun here, and all that it began."""
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                child.kill()
    process.kill()
    process.wait()


@dataclass(frozen=True)
class PlayedSetup:
    """Setup of jobs that return, take time or fail, as they say.

    Attributes:
        made: How often one was made ready in this process.
        begun: How often each kind of job was begun in it.
    """

    made: ClassVar[int] = 0
    begun: ClassVar[Counter] = Counter()

    bars: Bars | None = None  # it is made with
    name: str = ""  # tells it from another

    def on_host(self, share):
        """The same."""
        PlayedSetup.made += 1
        return self

    def run(self, job):
        """What a job is about."""
        what, about = job
        self.begun[what] += 1
        if what == "raise":
            raise ValueError(f"no {about}")
        if what == "lost":
            raise WorkersLostError("ended 4 workers")
        if what == "sleep":
            time.sleep(about)
        return about


SERIES = tuple(replace(make_planted_market(i, 500 + 50 * i, 8), symbol=f"S{i}") for i in range(7))
"""Seven symbols of different lengths."""


def search_on_seven(**settings):
    """A task whose search takes a blink, on seven windows."""
    defaults = {"generations": 4, "population": 32, "min_trades": 3, "polish": 64, **settings}
    return make_task(*SERIES, **defaults)


def run_search(task, evaluation=None):
    """All results of a search, here by default, and its certificate; equal where all is."""
    evaluation = evaluation or local_evaluator(task, task.device())
    problem = evaluation.problem
    problem.keep_trials()
    *_, last = advance(task.search(problem, None, None), problem)
    front, polished = run_alone(number_front(task, problem, last), problem.engine)
    trials = problem.trials()
    hashed = front_hash(front.genomes, front.objectives)
    bits = trials.genomes.tobytes(), np.asarray(trials.trades).tobytes()
    return hashed, polished, bits, evaluation.certify(front.genomes)
