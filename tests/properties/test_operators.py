"""Laws of the operators, over layouts of every shape."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.config.values import ETAS
from optimizer.search.operators import (
    cross_simulated_binary,
    mutate_polynomial,
    sample_genomes,
)
from optimizer.search.randomness import stream
from tests.support.searches import layouts

SEEDS = st.integers(0, 2**63 - 1)
COUNTS = st.integers(0, 9)
VARIATIONS = pytest.mark.parametrize(
    "vary", [cross_simulated_binary, mutate_polynomial], ids=["crossover", "mutation"]
)


@VARIATIONS
@given(layouts(), SEEDS, COUNTS, st.sampled_from(ETAS))
def test_variation_is_repeatable_and_leaves_parents_alone(vary, layout, seed, count, eta):
    """The same stream gives the same bits, from parents that may not even be written to."""
    parents = sample_genomes(stream(seed, 0, "initial"), layout, count)
    before = parents.tobytes()
    parents.flags.writeable = False
    first = vary(stream(seed, 1, "mutate"), parents, layout, eta=eta, probability=0.5)
    second = vary(stream(seed, 1, "mutate"), parents, layout, eta=eta, probability=0.5)
    assert first.tobytes() == second.tobytes()
    assert ((layout.low <= first) & (first <= layout.high)).all()
    assert np.array_equal(np.rint(first[:, layout.is_int]), first[:, layout.is_int])
    assert before == parents.tobytes()
    assert not np.shares_memory(parents, first)
