"""How a search stands: counts of all, and a rate of what the process does once it is warm."""

import pytest

from optimizer.config.run_config import RunConfig
from optimizer.run.progress import Mark, measure_progress
from optimizer.run.task import prepare
from optimizer.search.evolution import evolve
from tests.support.commands import write_market


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A task, and the initial generation of its search."""
    spec = write_market(tmp_path_factory.mktemp("market") / "bars.csv")
    task = prepare(RunConfig(data=spec, population=8, min_trades=3, device="cpu"))
    problem = task.problem(task.engine())
    return task, next(iter(evolve(problem, task.config)))


def test_the_rate_is_that_since_the_process_is_warm(found):
    """The 40 seconds before it count neither for the rate nor for the time left."""
    progress = measure_progress(*found, Mark(2, 16, 40.0), Mark(6, 48, 42.0))
    assert progress.individual_bars_per_s == 32 * 3000 / 2.0
    assert progress.eta_s == 0.5 * found[0].config.generations
