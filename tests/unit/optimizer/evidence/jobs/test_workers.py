"""Jobs are done once each, by the workers there are, and none outlives its parent."""

import os
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from optimizer.evidence.jobs.workers import Pool, Workers
from tests.support import jobs
from tests.support.commands import start
from tests.support.jobs import Dying, Failing, Squares, Talking
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared_pool():
    """Processes for tests that end none."""
    with Pool() as pool:
        yield pool


def run_jobs(setup, count, numbers=range(6)):
    """Job to result, and the processes that did them."""
    with Pool() as pool:
        results = list(Workers(setup.run, count, pool).results(numbers))
    assert sorted(job for job, _ in results) == sorted(numbers), "each job once"
    return {job: square for job, (square, _) in results}, {who for _, (_, who) in results}


def is_there(process):
    """Whether a process is alive, and no remains of one."""
    with suppress(OSError):
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX"
    return False


@pytest.mark.parametrize("everybody", [False, True])
def test_a_worker_that_is_killed_loses_nothing(everybody):
    """Its job is done here, all others by processes, as long as these live."""
    results, who = run_jobs(Dying(os.getpid(), 0, everybody), 2, range(4))
    assert results == {job: job * job for job in range(4)}
    assert os.getpid() in who
    assert (len(who) == 1) == everybody


@pytest.mark.parametrize("count", [1, 2])
def test_what_a_job_raises_arrives(shared_pool, count):
    """With its type, wherever it was raised."""
    with pytest.raises(ValueError, match="no square"):
        list(Workers(Failing(3).run, count, shared_pool).results(range(6)))


def test_a_pool_waits_for_the_next_setup(capfd):
    """The same processes, whatever they did or printed, which is no answer; leaving ends them."""
    with Pool() as pool:
        _, first = zip(*Workers(Squares(0.05).run, 2, pool).results(range(8)), strict=True)
        results = dict(Workers(Talking().run, 2, pool).results(range(4)))
        again = dict(Workers(Squares(0.05).run, 2, pool).results(range(8)))
        who = {process for _, process in first}
        assert len(who) == 2
        assert results == {number: number for number in range(4)}
        assert "noise" in capfd.readouterr().err
        assert {process for _, process in again.values()} == who
        assert all(map(is_there, who))
    assert not any(map(is_there, who))


def test_a_pool_replaces_those_that_were_in_the_middle_of_a_job():
    """What was closed early is not done, and no answer of it comes later."""
    with Pool() as pool:
        with closing(Workers(Squares(0.2).run, 2, pool).results(range(100))) as results:
            _, (_, pid) = next(results)
            assert is_there(pid)
            assert pid != os.getpid()
        assert not is_there(pid)
        squares = dict(Workers(Squares().run, 2, pool).results(range(6)))
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
