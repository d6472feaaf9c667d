"""Words come from Philox alone, and are read in two ways."""

import numpy as np

from optimizer.evidence.philox import draw_words, scale_to_index, scale_to_unit
from optimizer.search.randomness import PURPOSES


def test_words_have_the_key_of_the_law():
    """The key is the seed, and the index above sixteen bits of purpose."""
    for purpose in ("null_body", "null_gap", "bootstrap", "reorder", "near", "null_mirror"):
        key = np.array([7, 5 << 16 | PURPOSES[purpose]], dtype=np.uint64)
        expected = np.random.Philox(key=key).random_raw(9)
        assert expected.tolist() == draw_words(7, 5, purpose, 9).tolist()


def test_purposes_have_the_numbers_of_the_law():
    """A number is part of every recorded run."""
    numbers = {"null_body": 13, "null_gap": 14, "bootstrap": 15, "reorder": 16, "near": 17}
    numbers |= {"null_mirror": 18, "forecast_weights": 19, "forecast_batches": 20, "look_ahead": 21}
    assert numbers == {name: number for name, number in PURPOSES.items() if number > 12}


def test_the_largest_word_stays_inside():
    """A unit is below 1, and a place among m is at most m - 1."""
    edges = np.array([0, 2**64 - 1, 2**63], dtype=np.uint64)
    assert scale_to_unit(edges).tolist() == [0.0, 1 - 2.0**-53, 0.5]
    assert scale_to_index(edges, 3).tolist() == [0, 2, 1]
    assert scale_to_index(edges, 1).tolist() == [0, 0, 0]
    assert scale_to_index(edges, 2**53).tolist() == [0, 2**53 - 1, 2**52]
