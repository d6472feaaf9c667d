"""Jobs are done once each, by the workers there are, and none outlives its parent."""

import os
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from optimizer.evidence.jobs.workers import Pool, Workers
from tests.support import jobs
from tests.support.commands import start
from tests.support.jobs import die_or_square, fail, square, talk
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow


def is_there(process):
    """Whether a process is alive, and no remains of one."""
    with suppress(OSError):
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX"
    return False


def test_processes_that_are_killed_lose_nothing(pool):
    """Their jobs are done here, and once; all others by processes."""
    run = partial(die_or_square, os.getpid(), (0, 1))
    results = list(Workers(run, 2, pool).results(range(6)))
    assert sorted((job, number) for job, (number, _) in results) == [(n, n * n) for n in range(6)]
    assert {job for job, (_, who) in results if who == os.getpid()} == {0, 1}


def test_a_pool_waits_for_the_next_setup(capfd):
    """The same processes, whatever they did or printed, which is no answer; leaving ends them.

    What a job raises arrives with its type.
    """
    with Pool() as pool:
        _, first = zip(*Workers(partial(square, 0.05), 2, pool).results(range(8)), strict=True)
        results = dict(Workers(talk, 2, pool).results(range(4)))
        with pytest.raises(ValueError, match="no square"):
            list(Workers(fail, 2, pool).results([3]))
        again = dict(Workers(partial(square, 0.05), 2, pool).results(range(8)))
        who = {process for _, process in first}
        assert len(who) == 2
        assert results == {number: number for number in range(4)}
        assert "noise" in capfd.readouterr().err
        assert {process for _, process in again.values()} == who
        assert all(map(is_there, who))
    assert not any(map(is_there, who))


def test_a_pool_replaces_those_that_were_in_the_middle_of_a_job(pool):
    """What was closed early is not done, and no answer of it comes later."""
    with closing(Workers(partial(square, 0.2), 2, pool).results(range(100))) as results:
        _, (_, pid) = next(results)
        assert is_there(pid)
        assert pid != os.getpid()
    assert not is_there(pid)
    squares = dict(Workers(partial(square, 0), 2, pool).results(range(6)))
    assert {job: square for job, (square, _) in squares.items()} == {n: n * n for n in range(6)}


def test_no_worker_outlives_a_parent_that_is_killed():
    """It sees the end of its input, and ends within a second or so."""
    program = f"from {jobs.__name__} import child_with_workers; child_with_workers()"
    with start(cwd=ROOT, program=("-c", program)) as parent:
        workers = set()
        while len(workers) < 2:
            workers.add(int(parent.stdout.readline()))
        assert all(map(is_there, workers))
        parent.kill()
    end = time.monotonic() + 20
    while any(map(is_there, workers)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_there, workers))
