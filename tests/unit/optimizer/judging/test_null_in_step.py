"""Null searches in step: each finds what it finds alone, whoever is searched beside it."""

import pytest

from data.bars import Window
from optimizer.judging.null import NullJob, NullSetup
from optimizer.judging.workers import Workers
from tests.support.evidence import make_planted_market
from tests.support.examples import RSI_PULLBACK
from tests.support.judging import make_task

BARS, OTHER = make_planted_market(7, 900, 8), make_planted_market(8, 700, 8)
SEVERAL = (Window(0, 100, 500), Window(0, 500, 900), Window(1, 50, 700))

TASKS = {
    "shipped": lambda: make_task(BARS, plateau=2, generations=5),
    "several": lambda: make_task(BARS, OTHER, windows=SEVERAL, over_windows="pooled"),
    "worst": lambda: make_task(BARS, OTHER, windows=SEVERAL, over_windows="worst"),
    "near": lambda: make_task(BARS, objectives="strength@near,max_drawdown", population=8),
    "words": lambda: make_task(BARS, spec=RSI_PULLBACK, min_trades=2),
    "grid": lambda: make_task(BARS, search="lattice", steps={"reward_r": 1.0}, generations=0),
}
"""A search that may end before others, windows that are one account and not, neighbours that are
asked too, a strategy in words, and a grid."""


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_waves_of_any_size_find_what_processes_find(name):
    """One market at a time, 7 and 32 together, and every one in a process of its own."""
    setup = NullSetup(TASKS[name](), "none")
    jobs = [NullJob("shuffled", n) for n in range(1, 27)]
    jobs += [NullJob("mirrored", n) for n in range(1, 7)]
    expected = dict(Workers(setup, 2).results(jobs))
    assert len({one.strength for one in expected.values()}) > 5
    for size in (1, 7, 32):
        found = {}
        for begin in range(0, len(jobs), size):
            found |= setup.run_in_step(jobs[begin : begin + size])
        assert found == expected, size
        payloads = [found[job].payload() for job in jobs]
        assert payloads == [expected[job].payload() for job in jobs]
