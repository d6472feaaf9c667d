"""The power of a search: markets have the edge that is planted, and what is found is counted."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Window
from optimizer.errors import ConfigError
from optimizer.evidence import planted_markets
from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.null import NullJob, NullSearch, NullSettings, NullSetup
from optimizer.evidence.null_markets import NullMarkets
from optimizer.evidence.pick import compute_strengths
from optimizer.evidence.planted_markets import _list_r, _move, _plant, _trade, plant_edge
from optimizer.evidence.power import (
    PlantedSearch,
    PowerRecord,
    PowerRow,
    count_found,
    fit_curve,
)
from optimizer.evidence.power_searches import (
    EDGES,
    FIRST_MARKET,
    MARKETS,
    PlantedJob,
    PowerSettings,
    PowerSetup,
    build_power_record,
)
from optimizer.store import RunStore
from tests.support.evidence import make_planted_market
from tests.support.finer import make_coarse
from tests.support.judging import make_task
from tests.support.recording import HEADER, make_generation

BARS = make_planted_market(7, 3000, 0)


def build_record(critical, spread):
    """A record of edges of which one of 0.1 R has a strength of 1, but that of 0.8 R one of 6."""
    strengths = [10 * edge for edge in EDGES[:-1]] + [6.0]
    rows = [PowerRow(edge, at, 20, 7) for edge, at in zip(EDGES, strengths, strict=True)]
    return PowerRecord("512 x 100", 299, "none", 42.4, critical, spread, tuple(rows))


@pytest.mark.parametrize(
    ("curve", "sentence"),
    [
        # Shares of 0.8 and 0.1 lie at 3 + log(4) and 3 - log(9).
        (
            (3.0, 1.0),
            "an edge of 0.48 R a trade, 42 trades a year, would be found in 8 of 10 cases; below "
            "0.08 R this search is blind.",
        ),
        (
            (6.0, 1.0),
            "an edge of 0.80 R a trade, 42 trades a year, would be found in 5 of 10 cases; below "
            "0.38 R this search is blind.",
        ),
        (
            (9.0, 1.0),
            "no edge up to 0.80 R a trade, 42 trades a year, would be found: it is blind.",
        ),
    ],
)
def test_the_sentence_names_edges_of_the_curve(curve, sentence):
    """The edge that is found, between those measured, and below which nothing is."""
    begin = "With these bars, this strategy and 512 x 100 "
    assert build_record(*curve).describe() == begin + sentence


def test_a_rate_follows_from_strength():
    """Half of the critical strength, and by the logistic curve."""
    record = build_record(3.0, 0.5)
    rates = [record.find_rate(strength) for strength in (3.0, 3.5, 2.5)]
    assert rates == pytest.approx([0.5, 0.731059, 0.268941], abs=1e-6)
    assert record.find_rate(record.find_strength(0.3)) == pytest.approx(0.3)


def test_the_curve_is_the_likeliest():
    """That of which shares were drawn, and the steepest where all from a strength on are found."""
    nulls, strengths = [2.5] * 299, np.linspace(0, 6, 601)
    draw = np.random.Generator(np.random.PCG64(3))
    is_found = draw.random(601) < 1 / (1 + np.exp((3.2 - strengths) / 0.6))

    def fit(flags):
        return fit_curve(
            [
                PlantedSearch(1, 1, 3.0 if flag else 2.0, 30, edge_strength=strength)
                for flag, strength in zip(flags, strengths, strict=True)
            ],
            nulls,
        )

    assert fit(is_found) == pytest.approx((3.2, 0.6), abs=0.15)
    assert fit(strengths > 4) == pytest.approx((4.0, 0.3), abs=0.026)


def test_markets_of_an_edge_are_counted():
    """How many were found, and how strong their edges are."""
    searches = [PlantedSearch(1, 1, value, 30, edge_strength=2 * value) for value in (1.0, 3.0)]
    assert count_found(0.2, searches, [2.5] * 299) == PowerRow(0.2, 4.0, 2, 1)


def test_a_market_is_found_by_the_bet():
    """One of 299 null searches did as well, not two; with as many trades as a verdict needs."""
    nulls = [0.0] * 299
    found = PlantedSearch(1, 1, 1.0, trades=30)
    assert found.is_found(nulls)
    assert found.is_found([2.0, *nulls[1:]])
    assert not found.is_found([2.0, 1.0, *nulls[2:]])
    assert not replace(found, trades=29).is_found(nulls)
    assert not replace(found, strength=None).is_found(nulls)


def list_shuffled(task, *numbers):
    """The task on shuffled markets."""
    setup = NullSetup(task, "none")
    return [setup.build_task(NullJob("shuffled", number)) for number in numbers]


@pytest.mark.parametrize("edge", EDGES)
def test_a_candidate_has_the_edge_that_is_planted(edge):
    """What it earned more than on copies is chance, and stays. So do the ranges of most bars."""
    task, *copies = list_shuffled(make_task(BARS, min_trades=30), 1, 2, 3)
    genome, planted = next(
        (genome, planted)
        for genome in task.random_individuals(100)
        if (planted := _plant(task, copies, genome, edge))
    )
    before, usual, after = (
        np.concatenate([_list_r(_trade(one, genome)) for one in some])
        for some in ([task], copies, [planted])
    )
    error = before.std() / np.sqrt(len(before))
    chance = before.mean() - usual.mean()
    assert after.mean() - chance == pytest.approx(edge, abs=0.1 * error)
    assert planted.planted.trades == len(after)
    shown = edge * np.sqrt(len(after) / (edge**2 + after.var()))
    assert planted.planted.strength == pytest.approx(shown)
    (old,), (bars,) = task.markets.series, planted.markets.series
    ranges = [np.log(b.high / b.low) for b in (old, bars)]
    assert np.median(np.abs(ranges[1] - ranges[0])) < 1e-12
    # Only signals tell: no drift is added.
    assert bars.close[-1] == pytest.approx(old.close[-1])


def test_the_strongest_of_ten_candidates_comes_first(monkeypatch):
    """By what it earns on the last copy; then the second of each ten, and so on."""
    tried = []
    monkeypatch.setattr(planted_markets, "_plant", lambda *given: tried.append(given[2]))
    task, *copies = list_shuffled(make_task(BARS), 1, 2, 3)
    with pytest.raises(ConfigError, match="100 random candidates"):
        plant_edge(task, copies, 0.1, 1)
    _, account = copies[-1].engine().evaluate_account(np.array(tried))
    strengths = np.nan_to_num(compute_strengths(account), nan=-np.inf).reshape(10, 10)
    assert (strengths[:-1] >= strengths[1:]).all()
    assert not (np.diff(strengths[0]) <= 0).all()


def test_each_window_has_its_own_signals():
    """Bars outside of all windows keep their returns."""
    task = make_task(BARS, windows=[Window(0, 100, 2900)], min_trades=20)
    (bars,) = plant_edge(task, [task, task], 0.4, 1).markets.series
    assert np.array_equal(bars.close[:100], BARS.close[:100])
    returns = [np.diff(np.log(b.close[2900:])) for b in (BARS, bars)]
    assert returns[1] == pytest.approx(returns[0], abs=1e-12)
    assert not np.array_equal(bars.close[100:2900], BARS.close[100:2900])


def test_finer_bars_move_with_theirs():
    """All bars that were made up of finer ones still are, and a range is spread over them."""
    hours = make_coarse(BARS, timeframe_ns=4 * BARS.timeframe_ns)
    push = np.where(np.arange(len(hours)) == 5, 0.04, 0.0)
    moved = _move(hours, push)
    assert np.array_equal(moved.finer_spans, hours.finer_spans)
    returns = [np.log(b.finer.prices[3] / b.finer.prices[0]) for b in (hours, moved)]
    first, end = hours.finer_spans[:, 5]
    assert end - first == 4
    expected = np.zeros(len(hours.finer))
    expected[first:end] = 0.01
    assert returns[1] - returns[0] == pytest.approx(expected, abs=1e-12)
    # Without finer bars too.
    plain = _move(replace(hours, finer=None), push)
    assert plain.close == pytest.approx(moved.close, rel=1e-12)


def test_finer_bars_that_are_not_whole_are_left_out():
    """Bars without finer ones are moved as bars alone are."""
    hours = make_coarse(BARS, seed=1, timeframe_ns=4 * BARS.timeframe_ns)
    moved = _move(hours, np.full(len(hours), 0.001))
    counts = [np.diff(b.finer_spans, axis=0)[0] for b in (hours, moved)]
    assert np.array_equal(*counts)
    assert len(moved.finer) == counts[0].sum() < len(hours.finer)


def test_planted_markets_are_shuffled_ones_that_no_null_search_has():
    """With the volume of a shuffled market, and its bars before the first trade."""
    task = make_task(BARS)
    (bars,) = PowerSetup(task, "none").build_task(PlantedJob(3, 0.4)).markets.series
    markets = NullMarkets([BARS], task.markets.windows, task.config.seed, "none")
    (shuffled,) = markets.shuffle_market(FIRST_MARKET + 3)
    assert np.array_equal(bars.volume, shuffled.volume)
    assert not np.array_equal(bars.close, shuffled.close)


def test_too_few_trades_are_refused():
    """With how to have more."""
    task = make_task(BARS, min_trades=2900)
    with pytest.raises(ConfigError, match="take more bars, or wider bounds"):
        plant_edge(task, [task, task], 0.1, 1)


class Crew:
    """Finds all edges from 0.2 R on, and remembers what it searched."""

    def __init__(self):
        self.begun = []

    def submit(self, setup, jobs, **hints):
        """Each job with a strength."""
        for job in jobs:
            self.begun.append(job)
            edge = getattr(job, "edge", 0.0)
            yield job, PlantedSearch(job.number, 1, float(edge >= 0.2), 30, edge_trades=60)


def test_searches_on_record_are_not_made_again(tmp_path):
    """Null searches of a judge count, and so does what an interrupted measurement left."""
    task = make_task(BARS)
    with RunStore.create(tmp_path, "run", HEADER) as store:
        store.record(make_generation(0))
        store.finish({"front": []})
        nulls = Checkpoint(store, NullSettings("none", "shuffled"), NullSearch)
        for number in range(1, 300):
            nulls.add(NullSearch(number, 1, 0.0))
        kept = Checkpoint(store, PowerSettings("none", 0.1), PlantedSearch)
        kept.add(PlantedSearch(7, 1, 0.5, 30, edge_trades=60))
        store.flush()

        def measure():
            crew = Crew()
            setup = NullSetup(task, "none")
            record = build_power_record(store, setup, crew, "cpu", lambda _: None)
            store.flush()
            return record, crew.begun

        record, begun = measure()
        assert [(row.edge, row.found) for row in record.rows] == [(0.05, 0), (0.1, 1), (0.2, 20)]
        # 60 trades in 3,000 hours.
        assert record.trades_per_year == pytest.approx(60 * 365.25 / 125)
        assert len(begun) == 3 * MARKETS - 1
        assert PlantedJob(7, 0.1) not in begun
        assert measure() == (record, [])
