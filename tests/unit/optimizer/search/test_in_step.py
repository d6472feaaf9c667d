"""Searches that advance together."""

from collections.abc import Iterator

import numpy as np
import pytest

from optimizer.search.evolution import Evolution, evolve
from optimizer.search.in_step import run_alone, run_in_step
from optimizer.search.problem import Search, evaluate_genomes
from optimizer.search.stopping import stop_reason
from strategy import STRATEGIES
from tests.support.searches import HalfForbidden, Zdt1, bits, float_layout, settings

SELLER = STRATEGIES["seller_exhaustion"].layout


def counting(number: int, log: list[str]):
    """Asks `number` times for a double, and finds the sum; it notes its end."""
    total = 0
    try:
        for step in range(number):
            total += yield 10 * number + step
        return total
    finally:
        log.append(f"end {number}")


def test_those_who_have_ended_leave_the_others():
    """One call answers all open questions, in order, and none twice."""
    calls, log = [], []

    def answer(asked):
        calls.append(dict(asked))
        return [2 * number for number in asked.values()]

    searches = {n: counting(n, log) for n in (2, 0, 3, 1)}
    results = list(run_in_step(searches, answer))
    assert results == [(0, 0), (1, 20), (2, 82), (3, 186)]
    assert calls == [{2: 20, 3: 30, 1: 10}, {2: 21, 3: 31}, {3: 32}]
    assert [
        (n, run_alone(counting(n, log), lambda number: 2 * number)) for n in range(4)
    ] == results


@pytest.mark.parametrize("is_asked_first", [True, False])
def test_an_error_of_one_ends_all(is_asked_first):
    """It reaches the caller, and the others are closed."""
    log: list[str] = []

    def faulty():
        if is_asked_first:
            yield 1
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(run_in_step({1: counting(4, log), 2: faulty()}, lambda asked: list(asked.values())))
    assert log == ["end 4"]


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
