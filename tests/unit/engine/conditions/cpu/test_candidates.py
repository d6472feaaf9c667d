"""Conjunctions at their candidates equal the reference, whatever is ruled out."""

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.conditions.cpu import operands
from engine.conditions.cpu.candidates import bound_conjunction
from engine.conditions.cpu.kernels import gather_words
from engine.conditions.cpu.operands import Readings
from engine.indicators.cpu.trends import build_series_rows
from engine.runtime.cpu.bitset import list_set_bars
from engine.runtime.cpu.threads import Threads
from strategy import words as w
from strategy.conditions import AllOf, Compare
from strategy.language import Claim, as_expression
from strategy.signals import truth
from tests.support.worlds import make_bars, random_genomes

N_BARS = 300
BARS = make_bars(5, N_BARS, flat=0.1, gaps=0.02)
BOUNDS = ((0.5, 2.0), (-1.0, 1.0), (-100.0, 0.0), (-8e307, 8e307), (3.0, 3.0))


def form_sides(row, other, gene, is_free):
    """Expressions with a gene: of the first it has bounds, of those behind `is_free` none."""
    bounded = [gene, gene * row, row + gene, other - gene * row, (gene - row) / other]
    bounded += [w.minimum(row, gene), w.maximum(gene * other, row) - other]
    unbounded = [abs(row - gene), row / gene, gene * row - gene, w.sma(row * gene, 4)]
    return unbounded if is_free else bounded


@st.composite
def conjunctions(draw):
    """Two to five comparisons, at least one of which has a real gene."""
    rows = (w.close, w.open, w.sma(w.close, w.length("n", 5, 2, 20)), w.rsi(w.close, 4))
    rows += (w.zscore(w.volume, w.length("m", 6, 3, 9)), w.close - w.lag(w.close, 2))
    conditions = []
    for place in range(draw(st.integers(2, 5))):
        row, other = (draw(st.sampled_from(rows)) for _ in range(2))
        low, high = draw(st.sampled_from(BOUNDS))
        gene = w.gene(f"x{place}", draw(st.sampled_from((low, high))), low, high)
        sides = form_sides(row, other, gene, draw(st.booleans()) and place > 0)
        side = draw(st.sampled_from([*sides, other] if place else sides))
        left, right = draw(st.permutations((row, side)))
        relation, ago = draw(st.sampled_from(("<", ">", "<=", ">="))), draw(st.integers(0, 3))
        conditions.append(Compare(as_expression(left), relation, as_expression(right), ago))
    return Claim(AllOf(tuple(conditions)))


def build_readings(conjunction):
    """Readings and layout of a strategy that enters where a conjunction holds."""
    strategy = w.strategy("A test.", long=conjunction, stop=w.share(0.02), target=w.share(0.02))
    (rows,) = build_series_rows([BARS], 2**24)
    return strategy, rows, Readings(rows, strategy.layout, Threads(2), [strategy.long])


def assert_as_the_reference(strategy, rows, readings, genomes):
    """Each individual's words are the bars that the reference finds."""
    readings.begin(genomes)
    addresses = readings.words(readings.part(strategy.long))
    for genome, actual in zip(genomes, gather_words(addresses, readings.n_words), strict=True):
        expected = truth(strategy.long, rows, strategy.layout.decode(genome))
        assert list_set_bars(actual).tolist() == np.flatnonzero(expected).tolist()


@given(conjunctions(), st.integers(0, 1000))
def test_random_conjunctions_hold_where_the_reference_says(conjunction, seed):
    """Genes within bounds and at them, rows with holes, overflow; also for the next population."""
    strategy, rows, readings = build_readings(conjunction)
    assert bound_conjunction(strategy.long, strategy.layout) is not None
    layout = strategy.layout
    ends = np.array([layout.low, layout.high, layout.defaults])
    with patch.object(operands, "MOST_SHARE", 1.0):
        for genomes in (random_genomes(strategy, 6, seed), ends, random_genomes(strategy, 6, seed)):
            assert_as_the_reference(strategy, rows, readings, genomes)
