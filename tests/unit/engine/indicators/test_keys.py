"""Numbers of sets of genes: the same ones later, and arrays that are found by them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.indicators.keys import Keys, number_once

SIZES = st.integers(1, 200)


@given(seed=st.integers(0, 2**32), sizes=st.lists(SIZES, min_size=1, max_size=4), spread=SIZES)
def test_equal_sets_have_one_number(seed, sizes, spread):
    """Populations one after the other: numbers tell sets apart, and count them as they come."""
    rng = np.random.default_rng(seed)
    keys, known = Keys([2, 0]), {}
    for size in sizes:
        genomes = rng.integers(0, spread, (size, 3)).astype(float)
        genomes[:, 2] += rng.choice([0.0, 0.5, 2.0**60])
        once = number_once(genomes, [2, 0])
        for expected, actual in zip(Keys([2, 0]).number(genomes), once, strict=True):
            assert expected.tolist() == actual.tolist()
        numbers, fresh = keys.number(genomes)
        first_new = {}
        for p, genome in enumerate(genomes):
            name = genome[2], genome[0]
            if name not in known:
                known[name] = len(known)
                first_new[known[name]] = p
        assert numbers.tolist() == [known[genome[2], genome[0]] for genome in genomes]
        assert fresh.tolist() == list(first_new.values())
        assert keys.count == len(known)


def test_what_is_forgotten_is_new_again():
    """Those that stay are counted from 0 on, in the order given."""
    keys = Keys([0])
    keys.number(np.arange(100.0)[:, None])
    keys.keep(np.array([70, 3]))
    numbers, fresh = keys.number(np.array([[3.0], [70.0], [5.0], [3.0]]))
    assert numbers.tolist() == [1, 0, 2, 1]
    assert fresh.tolist() == [2]
