"""Comparisons on codes hold where the values say so, also where codes are equal."""
# ruff: noqa: F403, F405

import numpy as np
import pytest

from engine.conditions.cpu.operands import Readings
from engine.indicators.cpu.trends import build_series_rows
from engine.runtime.cpu.bitset import list_set_bars
from engine.runtime.cpu.threads import Threads
from strategy.conditions import AnyOf, split_conjunction
from strategy.rows import row_values
from strategy.words import *
from tests.support.worlds import make_bars

RELATE = {">": np.greater, "<": np.less, ">=": np.greater_equal, "<=": np.less_equal}

mean, bound = sma(close, length("span", 5, 2, 40)), gene("bound", 100, 90, 110)
CONDITIONS = {
    "a row and a gene": close > bound,
    "one relation beside another": (bound >= mean) & (close >= mean),
    "rows and genes": (low < bound) & (low <= mean) & (high > mean) & (minute_of_day(0) < 900),
    "bars before others": crosses_above(close, bound) | crosses_below(close, bound),
    "what is not known": (roc(close, 12) * 100 + 100 > bound) & (mean < close),
}


def decide(condition, bars, genes):
    """Where a conjunction, or one of several, holds [T], by the values of rows."""
    if isinstance(condition, AnyOf):
        return np.any([decide(part, bars, genes) for part in condition.parts], axis=0)
    holds = np.ones(len(bars), np.bool_)
    for compare in split_conjunction(condition):
        sides = (row_values(side, bars, genes) for side in (compare.left, compare.right))
        related = RELATE[compare.relation](*sides)
        holds[: compare.bars_ago] = False
        holds[compare.bars_ago :] &= related[: len(bars) - compare.bars_ago]
    return holds


@pytest.mark.parametrize("capacity", [0, 100])
@pytest.mark.parametrize("name", CONDITIONS)
def test_codes_decide_as_values_do(name, capacity):
    """Prices in whole numbers, of which many are equal; genes beyond their bounds; rows let go."""
    spec = strategy("A test.", long=CONDITIONS[name], stop=share(0.02), exit_long=close < mean)
    bars, layout, rng = make_bars(3, 1001, tick=1.0), spec.layout, np.random.default_rng(5)
    (rows,) = build_series_rows([bars], 2**20)
    readings = Readings(rows, layout, Threads(2), [spec.long], capacity=capacity)
    for _ in range(3):
        genomes = np.tile(layout.defaults, (20, 1))
        genomes[:, layout.index("span")] = rng.integers(2, 41, 20)
        away = rng.integers(-1, 2, 20) * rng.choice([0.0, 0.25, 30.0], 20)
        genomes[:, layout.index("bound")] = bars.close[rng.integers(0, 1001, 20)] + away
        readings.begin(genomes)
        words = readings.gather(readings.words(readings.part(spec.long)))
        for genome, word in zip(genomes, words, strict=True):
            genes = dict(zip(layout.names, genome.tolist(), strict=True))
            expected = np.flatnonzero(decide(spec.long, bars, genes))
            assert expected.tolist() == list_set_bars(word).tolist()
