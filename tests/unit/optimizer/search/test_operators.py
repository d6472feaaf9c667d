"""Sampling, selection, crossover and mutation: against DEAP, and on cases checked by hand."""

import numpy as np

from optimizer.search.operators import (
    cross_simulated_binary,
    mutate_polynomial,
    sample_genomes,
    select_parents,
)
from optimizer.search.randomness import stream
from optimizer.search.ranking import Ranking
from optimizer.search.toolbox import make_toolbox
from tests.support.searches import Analytic, float_layout, int_layout, settings


def open_stream():
    """The same stream at its start, every time."""
    return stream(11, 2, "mutate")


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
