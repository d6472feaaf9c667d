"""Mutation and crossover gene by gene have the bits of the same formulas on whole arrays."""

import numpy as np
import pytest

from optimizer.search.operators import (
    cross_simulated_binary,
    move_by_difference,
    mutate_polynomial,
    squarings,
)
from strategy import Gene, GenomeLayout
from tests.support.looping import each

LAYOUT = GenomeLayout(
    (
        Gene("length", "int", 2, 9, 5),
        Gene("flag", "int", 0, 1, 0),
        Gene("fixed", "float", 0.5, 0.5, 0.5),
        Gene("level", "float", -3.0, 7.0, 0.0),
        Gene("tiny", "float", 0.0, 1e-12, 0.0),
    )
)


def population(seed, count):
    """Legal genomes, many of them at a bound."""
    rng = np.random.default_rng([seed, count])
    share = np.clip(rng.normal(0.5, 0.6, (count, len(LAYOUT))), 0.0, 1.0)
    return LAYOUT.clip(LAYOUT.low + share * (LAYOUT.high - LAYOUT.low))


def power(values, n_squarings):
    """Values to the power of 2 ** n_squarings."""
    for _ in range(n_squarings):
        values = values * values
    return values


def root(values, n_squarings):
    """The root of that order."""
    for _ in range(n_squarings):
        values = np.sqrt(values)
    return values


def stated_mutants(draws, genomes, eta, chance):
    """Bounded polynomial mutation of all genes at once."""
    n, low, high = squarings(eta), LAYOUT.low, LAYOUT.high
    is_down = draws[1] < 0.5
    extent = np.where(high > low, high - low, 1.0)
    room = np.where(is_down, genomes - low, high - genomes) / extent
    tail = 2.0 * np.minimum(draws[1], 1.0 - draws[1])
    reach = 1.0 - root(tail + (1.0 - tail) * power(1.0 - room, n), n)
    direction = np.where(is_down, -1.0, 1.0)
    moved = np.clip(genomes + direction * (reach * extent), low, high)
    stepped = genomes + direction
    is_inside = (low <= stepped) & (stepped <= high)
    stepped = np.where(is_inside, stepped, genomes - direction)
    whole = np.where(np.rint(moved) == genomes, stepped, np.rint(moved))
    is_mutated = (draws[0] < chance) & (low < high)
    return np.where(is_mutated, np.where(LAYOUT.is_int, whole, moved), genomes)


def stated_spread(draws, gap, room, n):
    """How far children lie from the middle, in units of the gap."""
    nearness = gap / (gap + 2.0 * np.maximum(room, 0.0))
    scaled = draws * (2.0 - power(nearness, n))
    return root(np.where(scaled <= 1.0, scaled, 1.0 / (2.0 - scaled)), n)


def stated_children(pair_draws, draws, parents, eta, chance):
    """Bounded simulated binary crossover of all pairs at once."""
    n, n_pairs = squarings(eta), len(parents) // 2
    first, second = parents[0 : 2 * n_pairs : 2], parents[1 : 2 * n_pairs : 2]
    is_crossed = (pair_draws < chance) & (draws[0] < 0.5) & (first != second)
    below, above = np.minimum(first, second), np.maximum(first, second)
    gap, middle = np.where(is_crossed, above - below, 1.0), below + above
    near_low = 0.5 * (middle - stated_spread(draws[1], gap, below - LAYOUT.low, n) * gap)
    near_high = 0.5 * (middle + stated_spread(draws[1], gap, LAYOUT.high - above, n) * gap)
    is_swapped = draws[2] < 0.5
    children = parents.copy()
    left, right = (
        np.where(is_swapped, near_high, near_low),
        np.where(is_swapped, near_low, near_high),
    )
    children[0 : 2 * n_pairs : 2] = np.where(is_crossed, left, first)
    children[1 : 2 * n_pairs : 2] = np.where(is_crossed, right, second)
    return LAYOUT.clip(children)


@pytest.mark.parametrize("eta", [1, 3, 15, 63])
@each("count", [0, 1, 2, 301])
@each("chance", [0.0, 0.3, 1.0])
def test_mutants_have_the_bits_of_the_formula(eta, count, chance):
    """For genes of either kind, at bounds, between them, and frozen."""
    genomes = population(eta, count)
    draws = np.random.default_rng(eta).random((2, *genomes.shape))
    expected = stated_mutants(draws, genomes, eta, chance)
    rng = np.random.default_rng(eta)
    offspring = mutate_polynomial(rng, genomes, LAYOUT, eta=eta, probability=chance)
    assert expected.tolist() == offspring.tolist()


@pytest.mark.parametrize("eta", [1, 3, 15, 63])
@each("count", [0, 1, 2, 301])
@each("chance", [0.0, 0.3, 1.0])
def test_children_have_the_bits_of_the_formula(eta, count, chance):
    """For pairs that agree in some genes, lie at bounds, and for one left over."""
    parents = population(eta, count)
    rng = np.random.default_rng(eta)
    pair_draws, draws = rng.random((count // 2, 1)), rng.random((3, count // 2, len(LAYOUT)))
    expected = stated_children(pair_draws, draws, parents, eta, chance)
    rng = np.random.default_rng(eta)
    offspring = cross_simulated_binary(rng, parents, LAYOUT, eta=eta, probability=chance)
    assert expected.tolist() == offspring.tolist()
    rng = np.random.default_rng(eta)
    first = cross_simulated_binary(rng, parents, LAYOUT, eta=eta, probability=chance, both=False)
    assert offspring[: count // 2 * 2 : 2].tolist() == first.tolist()


@pytest.mark.parametrize("count", [0, 1, 2, 301])
def test_differences_have_the_bits_of_the_formula(count):
    """For genes of either kind and steps that leave the bounds; one gene moves at least."""
    parents, ahead, behind = (population(seed, count) for seed in (1, 2, 3))
    rng = np.random.default_rng(4)
    draws, chances = rng.random((3, count, 1)), rng.random((count, len(LAYOUT)))
    shares = np.array([0.125, 0.5, 1.0])[np.floor(3 * draws[1]).astype(np.int64)]
    is_moved = chances < shares
    is_moved[np.arange(count), np.floor(len(LAYOUT) * draws[2, :, 0]).astype(np.int64)] = True
    steps = 0.25 + 0.75 * draws[0]
    expected = np.where(is_moved, parents + steps * (ahead - behind), parents)
    expected = np.where(expected < LAYOUT.low, 0.5 * (parents + LAYOUT.low), expected)
    expected = np.where(expected > LAYOUT.high, 0.5 * (parents + LAYOUT.high), expected)
    offspring = move_by_difference(np.random.default_rng(4), parents, ahead, behind, LAYOUT)
    assert LAYOUT.clip(expected).tolist() == offspring.tolist()
