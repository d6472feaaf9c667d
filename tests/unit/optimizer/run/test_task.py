"""A task fits its data before any work begins, and its header holds what decides its results."""

import pytest

from engine.fast_case import find_fast_case
from optimizer.config.run_config import RunConfig
from optimizer.run.task import (
    prepare,
)
from strategy import find_strategy
from tests.support.commands import write_market


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """A market of 3,000 bars in a file."""
    return write_market(tmp_path_factory.mktemp("market") / "bars.csv")


@pytest.fixture(scope="module")
def task(market):
    """A task on that market."""
    return prepare(RunConfig(data=market), for_search=True)


def test_lengths_scale_with_the_timeframe(market):
    """On bars four times as long every length is a quarter; other genes stay."""
    config = RunConfig(data=market, timeframe="1h")
    layout, published = (
        prepare(config).spec.layout,
        find_strategy("seller_exhaustion").layout,
    )
    assert layout.gene("ema_slow").default == published.gene("ema_slow").default / 4
    assert layout.gene("max_hold").high == published.gene("max_hold").high / 4
    assert layout.gene("reward_r") == published.gene("reward_r")


@pytest.mark.parametrize(("asked", "population", "islands"), [(3, 24, 3), (4, 24, 3), (9, 5, 1)])
def test_islands_hold_enough_individuals(market, asked, population, islands):
    """There are fewer where they would hold less than eight."""
    config = RunConfig(data=market, islands=asked, population=population)
    assert prepare(config).config.islands == islands


@pytest.mark.parametrize(
    ("changes", "done", "individuals"),
    [
        ({}, -1, 100 * 11 + 50),
        ({}, 4, 100 * 6 + 50),
        ({"max_evaluations": 300}, -1, 300 + 50),
        ({"search": "lattice", "steps": {"reward_r": 1.5, "max_hold": 95.0}}, -1, 20 + 20_000),
        ({"search": "lattice", "steps": {"reward_r": 1.5}, "regret": 0}, -1, 4),
    ],
    ids=["all", "resumed", "few", "lattice", "no_regret"],
)
def test_the_work_of_a_run_is_known_before_it(market, changes, done, individuals):
    """Individuals that are left to evaluate times bars, and the rows that they may read."""
    config = RunConfig(
        **{"data": market, "population": 100, "generations": 10, "polish": 50, "threads": 2}
        | {"holdout": "20%"}
        | changes
    )
    task = prepare(config)
    work = task.workload(done)
    assert work.individual_bars == individuals * 2400
    case = find_fast_case(task.spec)
    assert work.row_bars == min(individuals * len(case.rows), case.most_rows) * 2400
    assert work.threads == 2
