"""Which individuals are streamed, and which rows get into the bank."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

from data.bars import Window
from engine.backends.cpu.backend import CpuBackend
from engine.backends.cpu.streamed.population import COMPILE_SECONDS, LOAD_SECONDS
from engine.batch import Engine
from engine.cold import ROW_SECONDS_A_BAR
from tests.support.parity import assert_same_bits
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(3, 900, jump=0.1)


ROW_SECONDS = ROW_SECONDS_A_BAR * len(BARS)


def make_engine(**options):
    """An engine that has seen nothing, in a process that can stream."""
    engine = make_waiting_engine(**options)
    engine.load_streaming()
    return engine


def make_waiting_engine(**options):
    """An engine that has seen nothing and streams once it pays."""
    return Engine(SPEC, [BARS], [Window.whole(BARS)], device="cpu", **options)


def distinct_populations(count):
    """Populations of which no two share a row with a length, and in each no two individuals."""
    genomes = random_genomes(SPEC, 4 * count, seed=6)
    for gene in SPEC.layout.genes:
        if gene.is_length:
            start = 500 if gene.name == "ema_slow" else 20
            genomes[:, SPEC.layout.index(gene.name)] = start + np.arange(len(genomes))
    return np.split(genomes, count)


def test_a_row_is_computed_when_it_is_asked_for_again():
    """What two populations share gets into the bank with the second; what one has does not."""
    engine = make_engine()
    first, second = random_genomes(SPEC, 12, seed=1), random_genomes(SPEC, 12, seed=2)
    second[:4] = first[:4]
    engine.evaluate(first)
    assert engine.rows_computed == 0
    expected = make_engine().evaluate(second)
    assert_same_bits(expected, engine.evaluate(second), "partly asked for again")
    both = engine.distinct_rows(first) + engine.distinct_rows(second)
    union = engine.distinct_rows(np.concatenate((first, second)))
    assert engine.rows_computed == both - union


def test_rows_of_many_are_computed_at_once():
    """Where many individuals share few rows, rows are cheaper than streaming."""
    engine = make_engine()
    genomes = random_genomes(SPEC, 200, seed=3)
    for gene in SPEC.layout.genes:
        if gene.is_length and gene.name != "max_hold":
            genomes[:, SPEC.layout.index(gene.name)] = gene.default
    engine.evaluate(genomes)
    assert engine.rows_computed == engine.distinct_rows(genomes)


def test_rows_that_do_not_fit_together_are_not_computed():
    """A bank too small for a population is left alone, however often the population comes."""
    genomes = random_genomes(SPEC, 20, seed=4)
    expected = make_engine().evaluate(genomes)
    engine = make_engine(memory_bytes=len(BARS) * 9 * 8)
    for _ in range(3):
        assert_same_bits(expected, engine.evaluate(genomes), "small bank")
    assert engine.rows_computed == 0


@pytest.mark.parametrize("length", [65_536, 65_537])
def test_longest_window_that_is_streamed(length):
    """Up to 65,536 bars a window is streamed; beyond, its rows are computed."""
    engine = make_engine()
    genomes = random_genomes(SPEC, 3, seed=5)
    genomes[0, SPEC.layout.index("z_window")] = length
    engine.evaluate(genomes)
    assert (engine.rows_computed == 0) == (length == 65_536)


def test_rows_are_computed_until_streaming_would_have_paid(monkeypatch):
    """Rows that nobody comes back to are counted; once they cost as much as loading, no more."""
    first, second, third = distinct_populations(3)
    expected = [make_engine().evaluate(genomes) for genomes in (first, second, third)]
    engine = make_waiting_engine(threads=1)
    n_first, n_second = engine.distinct_rows(first), engine.distinct_rows(second)
    # The level is among the rows of both; the second population has the others for itself.
    price = (n_first + n_second - 1) * ROW_SECONDS
    monkeypatch.setattr(CpuBackend, "load_seconds", price * (1.0 + 1e-9))
    assert_same_bits(expected[0], engine.evaluate(first), "before")
    assert_same_bits(expected[1], engine.evaluate(second), "before")
    computed = engine.rows_computed
    assert computed == n_first + n_second - 1
    assert_same_bits(expected[2], engine.evaluate(third), "after")
    assert engine.rows_computed == computed


def test_what_would_be_lost_counts_before_it_is(monkeypatch):
    """A population whose rows alone cost more than loading is streamed at once."""
    (genomes,) = distinct_populations(1)
    engine = make_waiting_engine(threads=1)
    price = engine.distinct_rows(genomes) * ROW_SECONDS
    monkeypatch.setattr(CpuBackend, "load_seconds", price)
    engine.evaluate(genomes)
    assert engine.rows_computed == 0


def test_rows_that_are_asked_for_again_were_not_lost(monkeypatch):
    """A search that comes back to its rows goes on computing them."""
    populations = distinct_populations(6)
    engine = make_waiting_engine(threads=1)
    n_rows = engine.distinct_rows(populations[0])
    monkeypatch.setattr(CpuBackend, "load_seconds", 1.5 * n_rows * ROW_SECONDS)
    engine.evaluate(populations[0])
    for last, new in itertools.pairwise(populations):
        both = np.concatenate((last, new))
        before = engine.rows_computed
        engine.evaluate(both)
        assert engine.rows_computed == before + n_rows - 1
    forgetful = make_waiting_engine(threads=1)
    for genomes in populations:
        forgetful.evaluate(genomes)
    assert forgetful.rows_computed == n_rows


def test_rows_that_do_not_fit_are_lost_each_time(monkeypatch):
    """A population whose rows are computed anew in every call is streamed when that has paid."""
    (genomes,) = distinct_populations(1)
    expected = make_engine().evaluate(genomes)
    engine = make_waiting_engine(threads=1, memory_bytes=len(BARS) * 9 * 8)
    n_rows = engine.distinct_rows(genomes)
    monkeypatch.setattr(CpuBackend, "load_seconds", 1.7 * n_rows * ROW_SECONDS)
    computed = []
    for _ in range(4):
        assert_same_bits(expected, engine.evaluate(genomes), "small bank")
        computed.append(engine.rows_computed)
    assert 0 < computed[0] < computed[1] == computed[2] == computed[3]


def test_whoever_wants_it_streams_at_once():
    """After loading nothing is left to pay, in this process and for every engine."""
    engine = make_waiting_engine()
    engine.load_streaming()
    assert make_waiting_engine()._backend.load_seconds == 0.0
    engine.evaluate(random_genomes(SPEC, 12, seed=7))
    assert engine.rows_computed == 0


def test_loading_costs_less_where_loops_were_kept(tmp_path):
    """A process that finds compiled loops expects to load them; one that finds none, to compile."""
    told = "from engine.backends.cpu.streamed import load_seconds; print(load_seconds())"
    seconds = [
        float(
            subprocess.run(
                [sys.executable, "-c", told],
                env={**os.environ, **extra},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for extra in ({}, {"NUMBA_CACHE_DIR": str(tmp_path)})
    ]
    assert seconds == [LOAD_SECONDS, COMPILE_SECONDS]
