"""Jobs for workers that go wrong in their own ways, and a parent to be killed."""

import os
import signal
import sys
import time
from dataclasses import dataclass

from optimizer.evidence.jobs.workers import Pool, Workers


@dataclass(frozen=True)
class Squares:
    """Squares numbers, and names the process.

    Args:
        slow_s: How long each takes.
    """

    slow_s: float = 0.0

    def run(self, job):
        """The square of a number, and the process that made it."""
        time.sleep(self.slow_s)
        return job * job, os.getpid()


@dataclass(frozen=True)
class Dying:
    """Kills the first process that gets a job of its, but never the one that began it.

    Args:
        parent: Process that is spared.
        job: That kills.
        everybody: Whether every job kills.
    """

    parent: int
    job: int
    everybody: bool = False

    def run(self, job):
        """The square of a number."""
        if os.getpid() != self.parent and (self.everybody or job == self.job):
            os.kill(os.getpid(), signal.SIGKILL)
        return job * job, os.getpid()


@dataclass(frozen=True)
class Failing:
    """Fails at one job."""

    job: int

    def run(self, job):
        """The square of a number."""
        if job == self.job:
            raise ValueError("no square")
        return job * job, os.getpid()


@dataclass(frozen=True)
class Talking:
    """Prints where its answers go."""

    def run(self, job):
        """The number."""
        sys.stdout.write("noise\n")
        sys.stdout.flush()
        os.write(1, b"more noise\n")
        return job


def child_with_workers():
    """Print which process did each of many jobs, until it is killed."""
    for _, (_, process) in Workers(Squares(0.05).run, 2, Pool()).results(range(10**6)):
        sys.stdout.write(f"{process}\n")
        sys.stdout.flush()
