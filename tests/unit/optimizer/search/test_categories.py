"""Genes without order and genes with a step in every operator of a search."""

import numpy as np
import pytest

from optimizer.search.breeding import repair_genomes
from optimizer.search.evolution import neighbours
from optimizer.search.operators import (
    cross_simulated_binary,
    exchange_genes,
    move_by_difference,
    mutate_polynomial,
    sample_genomes,
)
from optimizer.search.randomness import stream
from strategy import Gene, GenomeLayout

OPTIONS = ("a", "b", "c", "d", "e")
LAYOUT = GenomeLayout(
    (
        Gene("kind", "int", 0, 4, 1, options=OPTIONS),
        Gene("some", "int", 1, 3, 2, options=OPTIONS),
        Gene("stepped", "float", 0.0, 0.3, 0.1, step=0.1),
        Gene("real", "float", 0.0, 1.0, 0.5),
        Gene("length", "int", 2, 9, 5),
    )
)
STEPS = {0.0, 0.1, 0.2, 0.3}


def draw_stream():
    """A random stream."""
    return stream(1, 1, "mutate")


def population(count=400):
    """Legal genomes."""
    return sample_genomes(stream(1, 0, "initial"), LAYOUT, count)


def vary():
    """Children of each operator."""
    parents, ahead, behind = population(), population()[::-1], np.roll(population(), 7, axis=0)
    yield parents
    yield mutate_polynomial(draw_stream(), parents, LAYOUT, eta=15, probability=1.0)
    yield cross_simulated_binary(draw_stream(), parents, LAYOUT, eta=15, probability=1.0)
    yield move_by_difference(draw_stream(), parents, ahead, behind, LAYOUT)
    yield exchange_genes(draw_stream(), parents, ahead, 0.5)


@pytest.mark.parametrize("children", list(vary()))
def test_children_have_options_and_values_of_steps(children):
    """Within bounds; a repair changes no bit of them."""
    assert set(children[:, 0]) == {0.0, 1.0, 2.0, 3.0, 4.0}
    assert set(children[:, 1]) == {1.0, 2.0, 3.0}
    assert set(children[:, 2]) == STEPS
    assert repair_genomes(LAYOUT, children)[0].tolist() == children.tolist()


def test_a_mutation_draws_another_option_each_as_likely():
    """Whatever the old one; as often as any gene is mutated."""
    genomes = np.repeat(LAYOUT.defaults[None], 30_000, axis=0)
    mutants = mutate_polynomial(draw_stream(), genomes, LAYOUT, eta=63, probability=0.5)
    counts = np.bincount(mutants[:, 0].astype(int), minlength=5)
    assert abs(counts[1] - 15_000) < 500
    assert np.abs(counts[[0, 2, 3, 4]] - 3750).max() < 250
    assert set(mutants[mutants[:, 1] != 2.0, 1]) == {1.0, 3.0}


def list_changes(genome, others):
    """Genes in which each of others differs, with the values there."""
    return [
        {LAYOUT.names[g]: row[g] for g in np.flatnonzero(row != genome).tolist()} for row in others
    ]


def test_neighbours_are_all_other_options_and_the_next_steps():
    """When a front is polished."""
    genome = LAYOUT.defaults
    changes = list_changes(genome, neighbours(LAYOUT, genome[None])[0])
    of = {name: sorted(c[name] for c in changes if set(c) == {name}) for name in LAYOUT.names}
    assert of["kind"] == [0.0, 2.0, 3.0, 4.0]
    assert of["some"] == [1.0, 3.0]
    assert of["stepped"] == [0.0, 0.2]
    assert of["length"] == [4.0, 6.0]
    assert len(changes) == 4 + 2 + 2 + 2 + 2
