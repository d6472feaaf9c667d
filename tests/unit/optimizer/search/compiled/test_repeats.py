"""Repeats found in the table are those that a set of rows finds."""

import numpy as np
import pytest

from optimizer.search.breeding import repair_genomes
from optimizer.search.compiled.repeats import AS_DRAWN, MUTATED, SAMPLED, Newcomers, Seen
from optimizer.search.generation import OPERATORS, UNKNOWN
from optimizer.search.operators import mutate_polynomial, sample_genomes, squarings
from strategy import Gene, GenomeLayout, LessThan
from tests.support.looping import each

LAYOUT = GenomeLayout(
    (
        Gene("fast", "int", 2, 5, 2),
        Gene("kind", "int", 0, 2, 1, options=("a", "b", "c")),
        Gene("stepped", "float", 0.0, 0.3, 0.1, step=0.1),
        Gene("slow", "int", 3, 6, 6),
        Gene("fixed", "float", 0.5, 0.5, 0.5),
    ),
    (LessThan("fast", "slow"),),
)


class Numbers:
    """A stream of numbers that are given."""

    def __init__(self, numbers):
        self.left = numbers

    def random(self, size):
        """The next numbers."""
        count = int(np.prod(size))
        taken, self.left = self.left[:count], self.left[count:]
        return taken.reshape(size)


def make_genomes(way, numbers, genomes):
    """Genomes made in a way, by the operators on whole arrays."""
    if way == MUTATED:
        return mutate_polynomial(numbers, genomes, LAYOUT, eta=7, probability=0.3)
    return sample_genomes(numbers, LAYOUT, len(genomes)) if way == SAMPLED else genomes


@pytest.mark.parametrize("way", [AS_DRAWN, SAMPLED, MUTATED])
@pytest.mark.parametrize("n_numbers", [0, 350, 700, 20_000])
@each("seed", range(20))
def test_newcomers_are_those_of_the_operators(way, n_numbers, seed):
    """Made, repaired and admitted in rounds, as far as there are rounds and numbers."""
    rng = np.random.default_rng([seed, n_numbers])
    rows = repair_genomes(LAYOUT, sample_genomes(rng, LAYOUT, 60))[0]
    rows[20:] += rng.integers(-2, 3, (40, len(LAYOUT)))
    numbers, n_rounds = rng.random(n_numbers), int(rng.integers(0, 4))
    lineage, is_broken = np.full((40, 4), 7), np.zeros(40, dtype=np.bool_)
    expected, origin, broken = rows.copy(), lineage.copy(), is_broken.copy()
    stream, seen, left, rounds = Numbers(numbers), Seen(expected, 20), np.arange(20, 60), n_rounds
    while rounds and left.size and len(stream.left) >= way * left.size * len(LAYOUT):
        children = make_genomes(way, stream, expected[left])
        expected[left], broken[left - 20] = repair_genomes(LAYOUT, children)
        if way == MUTATED:
            origin[left - 20, 3] = OPERATORS.index("mutate")
        elif way == SAMPLED:
            origin[left - 20, 1:] = UNKNOWN, UNKNOWN, OPERATORS.index("immigrate")
        left, rounds = left[seen.admit(left)], rounds - 1
    newcomers = Newcomers(
        Seen(rows, 20), 20, LAYOUT.table, LAYOUT.ordered, (0.3, squarings(7)), lineage, is_broken
    )
    n_left, n_taken, repeats = newcomers.admit(np.arange(20, 60), way, n_rounds, numbers)
    assert (n_left, repeats.tolist()) == (rounds, left.tolist())
    assert n_taken == n_numbers - len(stream.left)
    assert rows.tobytes() == expected.tobytes()
    assert (lineage.tolist(), is_broken.tolist()) == (origin.tolist(), broken.tolist())
