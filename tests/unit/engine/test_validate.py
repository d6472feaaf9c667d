"""What is asked of each individual before a device sees it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.validate import are_legal
from strategy.errors import GeneError
from tests.support.worlds import SHORT_SPECS, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
LIMITS = (SPEC.least, SPEC.layout.most, SPEC.layout.is_int.astype(np.int64), SPEC.layout.ordered)
ODD = [np.nan, np.inf, -np.inf, 0.0, -1.0, 0.5, 1.0, 2.0, 2.0**31, 1e308, -1e308, 5e-324, 13.0]


@given(st.integers(0, 4), st.integers(0, len(SPEC.layout) - 1), st.sampled_from(ODD))
def test_the_compiled_answer_is_that_of_the_strategy(individual, gene, value):
    """A genome is refused by the loop exactly when the strategy refuses it by name."""
    genomes = random_genomes(SPEC, 5, seed=1)
    genomes[individual, gene] = value
    is_legal = True
    try:
        SPEC.check_genomes(genomes)
    except GeneError:
        is_legal = False
    assert are_legal(genomes, *LIMITS) == is_legal
