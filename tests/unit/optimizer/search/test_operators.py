"""Sampling, selection, crossover and mutation: against DEAP, and on cases checked by hand."""

import numpy as np
import pytest
from deap.tools import crossover, mutation

from optimizer.search.operators import (
    cross_simulated_binary,
    mutate_polynomial,
    sample_genomes,
    select_parents,
)
from optimizer.search.randomness import stream
from optimizer.search.ranking import Ranking
from optimizer.search.toolbox import make_toolbox
from strategy import Gene, GenomeLayout
from tests.support.searches import Analytic, float_layout, int_layout, settings

WIDE = GenomeLayout(
    tuple(
        Gene(f"gene_{i}", "float", low=low, high=high, default=low)
        for i, (low, high) in enumerate([(0.0, 1.0), (-5.0, 20.0), (100.0, 100.5)])
    )
)


class Script:
    """Stands in for the module `random` within DEAP and reads numbers from a list."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def random(self):
        """The next number of the script."""
        return self.numbers.pop(0)


def open_stream():
    """The same stream at its start, every time."""
    return stream(11, 2, "mutate")


@pytest.mark.parametrize("eta", [1, 15])
def test_crossover_equals_deap(eta, monkeypatch):
    """Fed with the same uniform numbers, the children are DEAP's but for the last bits of `pow`."""
    parents = sample_genomes(stream(1, 0, "initial"), WIDE, 40)
    replay = open_stream()
    replay.random((20, 1))
    draws = replay.random((3, 20, 3))
    expected = parents.copy()
    for pair in range(20):
        for gene in range(3):
            script = Script(draws[:, pair, gene])
            monkeypatch.setattr(crossover, "random", script)
            first, second = [parents[2 * pair, gene]], [parents[2 * pair + 1, gene]]
            low, high = [WIDE.low[gene]], [WIDE.high[gene]]
            crossover.cxSimulatedBinaryBounded(first, second, eta, low, high)
            expected[2 * pair, gene], expected[2 * pair + 1, gene] = first[0], second[0]
    children = cross_simulated_binary(open_stream(), parents, WIDE, eta=eta, probability=1.0)
    assert (expected != parents).mean() > 0.3
    np.testing.assert_allclose(children, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("eta", [1, 15])
def test_mutation_equals_deap(eta, monkeypatch):
    """Fed with the same uniform numbers, the mutants are DEAP's but for the last bits of `pow`."""
    genomes = sample_genomes(stream(1, 0, "initial"), WIDE, 40)
    draws = open_stream().random((2, 40, 3))
    expected = genomes.copy()
    for i in range(40):
        for gene in range(3):
            monkeypatch.setattr(mutation, "random", Script(draws[:, i, gene]))
            individual = [genomes[i, gene]]
            mutation.mutPolynomialBounded(individual, eta, [WIDE.low[gene]], [WIDE.high[gene]], 0.5)
            expected[i, gene] = individual[0]
    mutants = mutate_polynomial(open_stream(), genomes, WIDE, eta=eta, probability=0.5)
    assert (expected != genomes).mean() > 0.3
    np.testing.assert_allclose(mutants, expected, rtol=1e-12, atol=1e-12)


def test_sample_is_uniform_over_whole_values():
    """Each whole value of a gene comes up equally often, both bounds included."""
    genomes = sample_genomes(open_stream(), int_layout((3, 6)), 40_000)
    values, counts = np.unique(genomes, return_counts=True)
    assert values.tolist() == [3.0, 4.0, 5.0, 6.0]
    assert (np.abs(counts - 10_000) < 400).all()


def test_better_rank_wins_then_wider_crowding():
    """In every tournament between the two, the same one wins."""
    by_rank = Ranking(np.array([1, 0]), np.array([np.inf, 0.0]))
    by_crowding = Ranking(np.array([0, 0]), np.array([0.5, 2.0]))
    for ranking in (by_rank, by_crowding):
        assert {1} == set(select_parents(open_stream(), ranking, 50).tolist())


def test_equals_win_equally_often():
    """Ties are decided by the draw, not by the place in the population."""
    ranking = Ranking(np.zeros(2, dtype=np.int64), np.zeros(2))
    share = select_parents(open_stream(), ranking, 10_000).mean()
    assert 0.48 < share < 0.52


def test_every_individual_takes_part_equally_often():
    """With as many parents as individuals, the best is chosen exactly twice and the worst never."""
    ranking = Ranking(np.arange(64), np.zeros(64))
    chosen = np.bincount(select_parents(open_stream(), ranking, 64), minlength=64)
    assert chosen[0] == 2
    assert chosen[63] == 0
    assert chosen.max() == 2


PROBLEM = Analytic(float_layout(5))


def test_words_are_bound_to_genes_and_settings():
    """Calling a word gives the bits of the operator with the settings of the run."""
    toolbox = make_toolbox(PROBLEM, settings(population=8, generations=1))
    genomes = toolbox.sample(stream(1, 0, "initial"), count=6)
    layout = PROBLEM.layout
    mated = cross_simulated_binary(
        stream(1, 1, "crossover"), genomes, layout, eta=15, probability=0.9
    )
    mutated = mutate_polynomial(stream(1, 1, "mutate"), genomes, layout, eta=7, probability=0.2)
    assert np.array_equal(mated, toolbox.mate(stream(1, 1, "crossover"), genomes))
    assert np.array_equal(mutated, toolbox.mutate(stream(1, 1, "mutate"), genomes))


def test_default_mutation_chance_counts_free_genes():
    """One over the genes that can move; all frozen counts as one."""
    for bounds, expected in ((((1, 9), (4, 4), (2, 3)), 0.5), (((4, 4),), 1.0)):
        problem = Analytic(int_layout(*bounds))
        for chance in (None, 0.25):
            wanted = settings(population=8, generations=1, mutation_probability=chance)
            bound = make_toolbox(problem, wanted).mutate.keywords["probability"]
            assert bound == (expected if chance is None else chance)
