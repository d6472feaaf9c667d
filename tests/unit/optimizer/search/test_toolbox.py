"""The toolbox speaks DEAP's words and binds them to the operators on arrays."""

import numpy as np

from optimizer.search.operators import cross_simulated_binary, mutate_polynomial
from optimizer.search.randomness import stream
from optimizer.search.toolbox import make_toolbox
from tests.support.searches import Analytic, float_layout, int_layout, settings

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
