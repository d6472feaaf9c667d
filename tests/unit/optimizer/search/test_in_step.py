"""Searches that advance together."""

from collections.abc import Iterator

import numpy as np
import pytest

from optimizer.search.evolution import Evolution, evolve
from optimizer.search.in_step import run_in_step
from optimizer.search.problem import Search, evaluate_genomes
from optimizer.search.stopping import stop_reason
from strategy import STRATEGIES
from tests.support.searches import HalfForbidden, Zdt1, bits, float_layout, settings

SELLER = STRATEGIES["seller_exhaustion"].layout


def asking(search: Search, wanted) -> Iterator:
    """A search as a generator; it finds its generations up to where a rule stops it."""
    generations = []
    while (genomes := search.ask()) is not None:
        generations.append(search.tell((yield genomes)))
        if stop_reason(wanted, generations[-1], 0.0):
            break
    return generations


@pytest.mark.parametrize("n_searches", [1, 7])
def test_searches_in_step_find_what_they_find_alone(n_searches):
    """Every generation in every bit, whatever ends first and is answered beside it."""
    layouts = [(HalfForbidden(SELLER, 3), 9), (Zdt1(float_layout(4)), 12)]
    cases = {}
    for number in range(n_searches):
        problem, population = layouts[number % 2]
        changes = {"plateau": 2 + number % 3, "islands": 1 + number % 2, "migration": 2}
        cases[number] = problem, settings(population, 5 + number % 4, seed=number, **changes)
    searches = {
        number: asking(Evolution(problem, wanted), wanted)
        for number, (problem, wanted) in cases.items()
    }

    def answer(asked):
        return [evaluate_genomes(cases[number][0], genomes) for number, genomes in asked.items()]

    results = dict(run_in_step(searches, answer))
    lengths = set()
    for number, (problem, wanted) in cases.items():
        alone = []
        for generation in evolve(problem, wanted):
            alone.append(generation)
            if stop_reason(wanted, generation, 0.0):
                break
        lengths.add(len(alone))
        assert bits(results[number]) == bits(alone), number
    assert len(lengths) > 1 or n_searches == 1
    assert np.isfinite([each.hypervolume for each in results[0]]).all()
