"""Repeats found in the table are those that a set of rows finds."""

import numpy as np
import pytest

from optimizer.search.compiled.repeats import Seen
from tests.support.looping import each


@pytest.mark.parametrize("n_genes", [1, 2, 11])
@each("seed", range(20))
def test_repeats_are_those_of_a_set(seed, n_genes):
    """In one call and over several, for many repeats and for few, the first of equals is new."""
    rng = np.random.default_rng([seed, n_genes])
    known = rng.integers(0, 1 + seed, (int(rng.integers(0, 50)), n_genes)).astype(np.float64)
    parts = [rng.integers(0, 2 + seed, (count, n_genes)) * 1.0 for count in (0, 1, 40, 200)]
    seen, first = Seen(np.concatenate([known, *parts]), len(known)), len(known)
    expected = {tuple(row) for row in known.tolist()}
    for part in parts:
        places = np.arange(first, first + len(part))
        answers, first = [], first + len(part)
        for row in part.tolist():
            answers.append(tuple(row) in expected)
            expected.add(tuple(row))
        assert answers == seen.admit(places).tolist()


def test_genomes_that_differ_in_the_last_bit_are_new():
    """Rows are compared in full, bit by bit."""
    genomes = np.array([[1.0, 2.0], [1.0, np.nextafter(2.0, 3.0)], [1.0, 2.0]])
    assert Seen(genomes, 0).admit(np.arange(3)).tolist() == [False, False, True]


def test_a_row_that_changed_is_asked_for_anew():
    """A repeat takes no place, so that what is drawn instead may take it."""
    rows = np.array([[1.0], [1.0], [2.0]])
    seen = Seen(rows, 1)
    assert seen.admit(np.array([1])).tolist() == [True]
    rows[1] = 2.0
    assert seen.admit(np.array([1, 2])).tolist() == [False, True]


def test_a_full_table_still_finds_everybody():
    """All rows, whether their hashes are neighbours or not."""
    seen = Seen(np.arange(4096.0)[:, None], 2048)
    assert seen.admit(np.arange(2048, 4096)).sum() == 0
    assert seen.admit(np.arange(4096)).all()
