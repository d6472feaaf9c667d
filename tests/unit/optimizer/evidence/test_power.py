"""The power of a search: markets have the edge that is planted, and what is found is counted."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from data.bars import Window
from optimizer.errors import ConfigError
from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.null import NullSearch, NullSettings
from optimizer.evidence.null_markets import NullMarkets
from optimizer.evidence.power import (
    EDGES,
    FIRST_MARKET,
    MARKETS,
    PlantedJob,
    PowerRecord,
    PowerRow,
    PowerSettings,
    PowerSetup,
    _list_r,
    _plant,
    build_power_record,
    is_found,
    plant_edge,
)
from optimizer.store import RunStore
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task
from tests.support.recording import HEADER, make_generation

BARS = make_planted_market(7, 3000, 0)
PRICES = ("open", "high", "low", "close")


def build_record(*found, edges=EDGES):
    """A record of so many of 20 found, by edge."""
    rows = tuple(PowerRow(edge, 20, count) for edge, count in zip(edges, found, strict=False))
    return PowerRecord("512 x 100", 299, "none", rows)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        # Ten twelfths of the way from the second to the third.
        ((2, 6, 18), "an edge of 0.18 R a trade would be found in 8 of 10 cases; below 0.05 R"),
        # The second and the third are taken together as 5 of 20.
        ((1, 6, 4, 20), "an edge of 0.35 R a trade would be found in 8 of 10 cases; below 0.06 R"),
        ((0, 1, 3, 10), "an edge of 0.40 R a trade would be found in 5 of 10 cases; below 0.15 R"),
        ((0, 0, 1, 1), "no edge up to 0.40 R a trade would be found: it is blind."),
    ],
)
def test_the_sentence_lies_between_measured_edges(found, sentence):
    """By lines that never fall, the edge that is found, and below which nothing is."""
    begin = "With these bars, this strategy and 512 x 100 "
    assert build_record(*found).describe().startswith(begin + sentence)


def test_a_rate_lies_between_those_measured():
    """From nothing without an edge up to that of the largest."""
    record = build_record(2, 6, 18)
    rates = [record.find_rate(edge) for edge in (0, 0.025, 0.1, 0.15, 1)]
    assert rates == pytest.approx([0, 0.05, 0.3, 0.6, 0.9])


def test_a_market_is_found_by_the_bet():
    """One of 299 null searches did as well, not two; with as many trades as a verdict needs."""
    nulls = [0.0] * 299
    found = NullSearch(1, 1, 1.0, trades=30)
    assert is_found(found, nulls)
    assert is_found(found, [2.0, *nulls[1:]])
    assert not is_found(found, [2.0, 1.0, *nulls[2:]])
    assert not is_found(replace(found, trades=29), nulls)
    assert not is_found(replace(found, strength=None), nulls)


@pytest.mark.parametrize("edge", EDGES)
def test_a_candidate_earns_the_edge_that_is_planted(edge):
    """Within 10 %, costs included; bars are legal, and most ranges are those that they were."""
    task = make_task(BARS, min_trades=30)
    rows, _ = task.spec.layout.repair(task.random_individuals(40))
    made = [(genome, planted) for genome in rows if (planted := _plant(task, genome, edge))]
    assert made
    genome, planted = made[0]
    assert _list_r(planted, genome).mean() == pytest.approx(edge, rel=0.1)
    (bars,) = planted.markets.series
    ranges = [np.log(b.high / b.low) for b in (BARS, bars)]
    assert np.median(np.abs(ranges[1] - ranges[0])) < 1e-12
    # Only signals tell: no drift is added.
    assert bars.close[-1] == pytest.approx(BARS.close[-1])


def test_each_window_has_its_own_signals():
    """Bars outside of all windows keep their returns."""
    task = make_task(BARS, windows=[Window(0, 100, 2900)], min_trades=20)
    (bars,) = plant_edge(task, 0.4, 1).markets.series
    assert np.array_equal(bars.close[:100], BARS.close[:100])
    returns = [np.diff(np.log(b.close[2900:])) for b in (BARS, bars)]
    assert returns[1] == pytest.approx(returns[0], abs=1e-12)
    assert not np.array_equal(bars.close[100:2900], BARS.close[100:2900])


def test_without_an_edge_a_planted_market_is_the_shuffled_one():
    """One with a number that null searches never have."""
    task = make_task(BARS)
    (bars,) = PowerSetup(task, "none").build_task(PlantedJob("shuffled", 3, 0.0)).markets.series
    markets = NullMarkets([BARS], task.markets.windows, task.config.seed, "none")
    (shuffled,) = markets.shuffle_market(FIRST_MARKET + 3)
    assert all(np.array_equal(getattr(bars, name), getattr(shuffled, name)) for name in PRICES)


def test_too_few_trades_are_refused():
    """With how to have more."""
    with pytest.raises(ConfigError, match="take more bars, or wider bounds"):
        plant_edge(make_task(BARS, min_trades=2900), 0.1, 1)


class Crew:
    """Finds all edges from 0.2 R on, and remembers what it searched."""

    def __init__(self):
        self.begun = []

    def submit(self, setup, jobs, **hints):
        """Each job with a strength."""
        for job in jobs:
            self.begun.append(job)
            yield job, NullSearch(job.number, 1, float(getattr(job, "edge", 0.0) >= 0.2), 30)


def test_searches_on_record_are_not_made_again(tmp_path):
    """Null searches of a judge count, and so does what an interrupted measurement left."""
    task = make_task(BARS)
    with RunStore.create(tmp_path, "run", HEADER) as store:
        store.record(make_generation(0))
        store.finish({"front": []})
        nulls = Checkpoint(store, NullSettings("none", "shuffled"), NullSearch)
        for number in range(1, 300):
            nulls.add(NullSearch(number, 1, 0.0))
        Checkpoint(store, PowerSettings("none", 0.1), NullSearch).add(NullSearch(7, 1, 0.5, 30))
        store.flush()

        def measure():
            crew = Crew()
            run = SimpleNamespace(
                store=store, task=task, again=task, warm_start=None, executor=crew,
                device="cpu", watch=lambda _: None,
                result=SimpleNamespace(evaluated=100, generation=3),
            )  # fmt: skip
            record = build_power_record(run, "none", lambda _: None)
            store.flush()
            return record, crew.begun

        record, begun = measure()
        assert [(row.edge, row.found) for row in record.rows] == [(0.05, 0), (0.1, 1), (0.2, 20)]
        assert len(begun) == 3 * MARKETS - 1
        assert PlantedJob("shuffled", 7, 0.1) not in begun
        assert measure() == (record, [])
