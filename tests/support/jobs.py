"""Jobs for processes that go wrong in their own ways, and a parent to be killed."""

import os
import signal
import sys
import time
from functools import partial

from optimizer.evidence.jobs.workers import Pool, Workers


def square(slow_s, job):
    """The square of a number after some seconds, and the process that made it."""
    time.sleep(slow_s)
    return job * job, os.getpid()


def die_or_square(parent, victims, job):
    """The same; a process that is given one of the victims is killed, but for the parent."""
    if os.getpid() != parent and job in victims:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(0, job)


def fail(job):
    """No answer."""
    raise ValueError("no square")


def talk(job):
    """The number, with words where answers go."""
    sys.stdout.write("noise\n")
    sys.stdout.flush()
    os.write(1, b"more noise\n")
    return job


def child_with_workers():
    """Print which process did each of many jobs, until it is killed."""
    for _, (_, process) in Workers(partial(square, 0.05), 2, Pool()).results(range(10**4)):
        sys.stdout.write(f"{process}\n")
        sys.stdout.flush()
