"""Which individuals are streamed, and which rows get into the bank."""

import numpy as np
import pytest

from data.bars import Window
from engine.batch import Engine
from tests.support.parity import assert_same_bits
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(3, 900, jump=0.1)


def make_engine(**options):
    """An engine that has seen nothing."""
    return Engine(SPEC, [BARS], [Window.whole(BARS)], device="cpu", **options)


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
