"""Null searches in step: each finds what it finds alone, with any others beside it."""

import pytest

from optimizer.judging.null import NullJob, NullSetup
from optimizer.judging.workers import Pool, Workers
from tests.support.null_tasks import TASKS


@pytest.fixture(scope="module")
def pool():
    """Processes that search one task after the other."""
    with Pool() as pool:
        yield pool


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_waves_of_any_size_find_what_processes_find(pool, name):
    """One market at a time, 7 and 32 together, and every one in a process of its own."""
    setup = NullSetup(TASKS[name](), "none")
    jobs = [NullJob("shuffled", n) for n in range(1, 27)]
    jobs += [NullJob("mirrored", n) for n in range(1, 7)]
    expected = dict(Workers(setup, 2, pool).results(jobs))
    assert len({search.strength for search in expected.values()}) > 5
    for size in (1, 7, 32):
        actual = {}
        for begin in range(0, len(jobs), size):
            actual |= setup.run_in_step(jobs[begin : begin + size])
        assert actual == expected, size
        payloads = [actual[job].payload() for job in jobs]
        assert payloads == [expected[job].payload() for job in jobs]
