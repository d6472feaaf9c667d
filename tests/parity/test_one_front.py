"""One seed, one search: how the engine divides its work changes no bit of what is found."""

from functools import cache

import pytest

from data import Window, load_bars
from engine.accounts.metrics import compute_metrics, measure_span
from engine.batch import Engine
from optimizer.goals.objectives import Goals, parse_objectives
from optimizer.search.evolution import evolve
from strategy import find_strategy
from tests.support.recording import assert_same_population
from tests.support.searches import settings

BARS = load_bars("sample")
WINDOW = Window.whole(BARS)
SETTINGS = settings(population=70, generations=4, seed=5)


class Market:
    """Seller exhaustion on the sample, judged by an engine that divides its work."""

    def __init__(self, **division):
        spec = find_strategy("seller_exhaustion")
        self.layout = spec.layout
        self.goals = Goals(
            parse_objectives("sharpe_trade,total_return,max_drawdown"), min_trades=10
        )
        self.n_objectives, self.failure_names = 3, self.goals.failure_names
        self.engine, self.span = (
            Engine(spec, [BARS], [WINDOW], **division),
            measure_span(BARS, WINDOW),
        )

    def evaluate(self, genomes):
        """Judge genomes [P, G]."""
        return self.goals.judge(compute_metrics(self.engine.evaluate(genomes), [self.span]))


@cache
def search_undivided():
    """Every generation of the search with all individuals in one chunk, on all cores."""
    return list(evolve(Market(), SETTINGS))


@pytest.mark.parametrize(("chunk", "threads"), [(1, None), (7, 1), (None, 1)])
def test_chunks_and_threads_change_no_bit_of_a_search(chunk, threads):
    """Every population, archive and memory is that of the undivided search."""
    generations = list(evolve(Market(chunk=chunk, threads=threads), SETTINGS))
    assert len(search_undivided()) == len(generations) == 5
    for expected, actual in zip(search_undivided(), generations, strict=True):
        assert_same_population(expected.population, actual.population)
        assert_same_population(expected.archive, actual.archive)
        assert expected.memory.tobytes() == actual.memory.tobytes()
