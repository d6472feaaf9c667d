"""Repeats found in the table are those that a set of rows finds."""

import numpy as np
import pytest

from optimizer.search.breeding import Seen
from tests.support.looping import each


@pytest.mark.parametrize("n_genes", [1, 2, 11])
@each("seed", range(20))
def test_repeats_are_those_of_a_set(seed, n_genes):
    """In one call and over several, for many repeats and for few, the first of equals is new."""
    rng = np.random.default_rng([seed, n_genes])
    known = rng.integers(0, 1 + seed, (int(rng.integers(0, 50)), n_genes)).astype(np.float64)
    parts = [rng.integers(0, 2 + seed, (count, n_genes)) * 1.0 for count in (0, 1, 40, 200)]
    seen = Seen(known, sum(map(len, parts)))
    expected = {tuple(row) for row in known.tolist()}
    for part in parts:
        answers = []
        for row in part.tolist():
            answers.append(tuple(row) in expected)
            expected.add(tuple(row))
        assert answers == seen.admit(part).tolist()


def test_genomes_that_differ_in_the_last_bit_are_new():
    """Rows are compared in full, bit by bit."""
    genomes = np.array([[1.0, 2.0], [1.0, np.nextafter(2.0, 3.0)], [1.0, 2.0]])
    assert Seen(genomes[:0], 3).admit(genomes).tolist() == [False, False, True]


def test_a_full_table_still_finds_everybody():
    """As many rows as there is room for, all of one hash's neighbourhood or not."""
    genomes = np.arange(4096.0)[:, None]
    seen = Seen(genomes[:2048], 2048)
    assert seen.admit(genomes[2048:]).sum() == 0
    assert seen.admit(genomes).all()
