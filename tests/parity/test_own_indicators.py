"""Indicators without code of their own: every device gives the bits of their definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window
from engine.batch import Engine
from engine.contract import Form
from engine.ledger import ACCUMULATOR_INDEX
from engine.reference import Reference
from engine.replay import certify
from engine.rows.plan import plan_rows
from tests.support.own import LISTED, MIXED, OWN_SPECS, drift
from tests.support.parity import assert_same_bits, assert_same_trades
from tests.support.strategies import CROSSINGS
from tests.support.worlds import costs, make_bars, markets, random_genomes, windows_of

SPECS = OWN_SPECS | {"crossings": CROSSINGS}

SERIES = [
    make_bars(3, 500, jump=0.1, flat=0.05, gaps=0.05),
    make_bars(4, 131, jump=0.3, silent=0.05, tick=0.5),
    make_bars(5, 6),
]
WINDOWS = [
    Window.whole(SERIES[0]),
    Window(1, 20, 120),
    Window(0, 60, 200),
    Window.whole(SERIES[2], 2),
]


def engine_of(spec, device, **options):
    """An engine on all series and windows."""
    return Engine(spec, SERIES, WINDOWS, device=device, **options)


def trades_of(accumulators):
    """How many trades all made together."""
    return accumulators[:, :, ACCUMULATOR_INDEX["trades"]].sum()


@pytest.mark.parametrize("name", SPECS)
def test_trades_are_those_of_the_reference(name, device):
    """Several series and windows, one shorter than most warm-ups: the same bits throughout."""
    genomes = random_genomes(SPECS[name], 20, seed=1)
    engine = engine_of(SPECS[name], device)
    assert_same_trades(Reference(SPECS[name], SERIES, WINDOWS), engine, genomes)
    assert trades_of(engine.evaluate(genomes)) > 100
    assert certify(engine, genomes).is_green


@pytest.mark.parametrize("name", SPECS)
def test_chunks_and_a_crowded_bank_change_no_bit(name, device):
    """Rows come and go, are taken in parts, or are there already."""
    spec = SPECS[name]
    genomes = random_genomes(spec, 40, seed=2)
    roomy = engine_of(spec, device)
    expected = roomy.evaluate(genomes)
    plan = roomy.memory_plan(1)
    n_rows = plan_rows(spec, genomes).n_rows
    room = 2 * (len(spec.rows) + 2) * plan.slot_bytes
    beside = 0 if device == "cpu" else plan.series_bytes
    crowded = engine_of(spec, device, memory_bytes=room + beside, chunk=7)
    for _ in range(2):
        assert_same_bits(expected, crowded.evaluate(genomes), "a crowded bank")
    assert crowded.rows_computed > n_rows
    assert_same_bits(expected[::-1], roomy.evaluate(genomes[::-1]), "in another order")
    assert roomy.rows_computed == n_rows


@given(data=st.data())
def test_worlds_give_the_same_trades(data):
    """For any market, windows and costs."""
    spec = data.draw(st.sampled_from(list(SPECS.values())))
    series = [data.draw(markets(200)) for _ in range(data.draw(st.integers(1, 2)))]
    windows = [data.draw(windows_of(bars, s)) for s, bars in enumerate(series)]
    arguments = (spec, series, windows, data.draw(costs()))
    genomes = random_genomes(spec, 4, seed=data.draw(st.integers(0, 99)))
    assert_same_trades(Reference(*arguments), Engine(*arguments, device="cpu"), genomes)


def test_a_row_is_what_its_definition_says(device):
    """Unknown up to its warm-up, whatever the definition says there, and then its values."""
    bars = SERIES[0]
    engine = engine_of(MIXED, device)
    expected = drift(bars.close, 3, 0.125)
    assert_same_bits(expected, engine.row(Form("drift", "close"), (3.0, 0.125)), "drift")
    found = engine.row(Form("late", "true_range"), (5,))
    assert np.isnan(found[:15]).all()
    spread = np.abs(bars.close[14:-1, None] - np.stack([bars.high, bars.low], axis=1)[15:])
    widest = np.maximum(spread.max(axis=1), (bars.high - bars.low)[15:])
    assert_same_bits(4.0 * widest, found[15:], "late")
    assert np.isnan(engine.row(Form("late", "true_range"), (5,), series=2)).all()


def test_nothing_signals_before_the_warm_up(device):
    """Though every row is known, and the comparisons hold, long before."""
    genome = MIXED.layout.encode({"bars": 12, "slow": 3, "weight": 0.5, "drift_min": -3.0})
    warm_up = MIXED.warm_up(MIXED.layout.decode(genome))
    assert warm_up == 36
    engine, reference = engine_of(MIXED, device), Reference(MIXED, SERIES, WINDOWS)
    for found, expected in zip(engine.signals(genome), reference.signals(genome), strict=True):
        assert found.tolist() == expected
        assert all(bar >= warm_up for bar in expected)
    early = MIXED.layout.encode({"bars": 2, "slow": 3, "weight": 0.5, "drift_min": -3.0})
    assert 6 <= engine.signals(early)[0][0] < warm_up


def test_rows_are_computed_once(device, monkeypatch):
    """Each pair of a parameter tuple and a series, whoever asks and however often."""
    calls = []
    monkeypatch.setitem(drift.__globals__, "statistics", Counting(calls))
    engine = engine_of(LISTED, device)
    genomes = random_genomes(LISTED, 30, seed=3)
    for _ in range(2):
        engine.evaluate(genomes)
    windows = {5, *genomes[:, LISTED.layout.index("bars")].astype(int).tolist()}
    bars = sum(max(len(one) - n + 1, 0) for one in SERIES for n in windows)
    assert len(calls) == bars


class Counting:
    """Stands in for the module of medians."""

    def __init__(self, calls):
        self.calls = calls

    def median(self, values):
        """The same, counted."""
        self.calls.append(len(values))
        return sorted(values)[len(values) // 2]
