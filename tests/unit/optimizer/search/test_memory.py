"""What a search remembers goes through plain numbers and back."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from optimizer.search.generation import Memory, from_numbers, to_numbers

COUNTS = st.integers(0, 2**53 - 1)
FLOATS = st.floats(allow_nan=False)


@given(COUNTS, FLOATS, COUNTS, COUNTS, st.lists(FLOATS), COUNTS)
def test_numbers_lead_back(evaluated, best, grown, stirred, credits, seed):
    """Every field keeps every bit, whatever the number of operators and objectives."""
    low, high = np.random.default_rng(seed).normal(size=(2, 1 + seed % 5))
    memory = Memory(evaluated, best, grown, stirred, tuple(credits), low, high)
    copied = from_numbers(to_numbers(memory), len(low))
    assert to_numbers(copied).tobytes() == to_numbers(memory).tobytes()
    assert copied.credits == memory.credits
    assert (copied.evaluated, copied.grown_at, copied.stirred_at) == (evaluated, grown, stirred)
    assert copied.low.tobytes() == low.tobytes()
