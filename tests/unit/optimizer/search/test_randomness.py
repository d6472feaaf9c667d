"""Numbers are those of numpy's streams, which are decided by their address alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from optimizer.search.randomness import (
    MAX_GENERATION,
    MAX_SEED,
    PURPOSES,
    Draws,
    draw_words,
    scale_to_index,
    scale_to_unit,
    stream,
)


def test_words_have_the_key_of_the_law():
    """The key is the seed, and the index above sixteen bits of purpose."""
    for purpose in ("null_body", "null_gap", "bootstrap", "reorder", "near", "null_mirror"):
        key = np.array([7, 5 << 16 | PURPOSES[purpose]], dtype=np.uint64)
        expected = np.random.Philox(key=key).random_raw(9)
        assert expected.tolist() == draw_words(7, 5, purpose, 9).tolist()


def test_the_largest_word_stays_inside():
    """A unit is below 1, and a place among m is at most m - 1."""
    edges = np.array([0, 2**64 - 1, 2**63], dtype=np.uint64)
    assert scale_to_unit(edges).tolist() == [0.0, 1 - 2.0**-53, 0.5]
    assert scale_to_index(edges, 3).tolist() == [0, 2, 1]
    assert scale_to_index(edges, 1).tolist() == [0, 0, 0]
    assert scale_to_index(edges, 2**53).tolist() == [0, 2**53 - 1, 2**52]


@pytest.mark.parametrize("counts", [{}, {"mutate": 23, "select": 3}, {"mutate": 1}])
def test_numbers_drawn_ahead_are_those_of_the_stream(counts):
    """In whatever shapes they are taken, fewer or more than were drawn at once."""
    draws = Draws(MAX_SEED)
    for generation, n_taken in ((3, 6), (4, 60), (5, 0), (MAX_GENERATION, 6), (3, 7)):
        draws.switch_generation(generation).ahead(counts)
        found = [draws("mutate").random((2, 3, 3)).ravel(), draws("mutate").random((n_taken,))]
        draws.ahead(counts)
        found += [draws("mutate").random((5,)), [float(draws("select").random())]]
        expected = [stream(MAX_SEED, generation, "mutate").random(18 + n_taken + 5)]
        expected.append(stream(MAX_SEED, generation, "select").random(1))
        assert np.concatenate(expected).tolist() == np.concatenate(found).tolist()


@pytest.mark.parametrize("n_taken", [0, 30, 45, 46, 200])
def test_numbers_that_a_thread_draws_for_the_next_generation_are_its_own(n_taken):
    """Whether fewer are asked for or more, and for none where another generation follows."""
    with ThreadPoolExecutor(1) as thread:
        draws = Draws(5, thread)
        for generation, then in ((1, 2), (2, 3), (3, 9), (9, 2)):
            draws.switch_generation(generation).ahead({"mutate": 40, "select": 0})
            draws.begin_next()
            draws.switch_generation(then).ahead({"mutate": n_taken, "redraw": 7})
            found = [draws("mutate").random((n,)) for n in (n_taken, 50)]
            expected = stream(5, then, "mutate").random(n_taken + 50)
            assert expected.tolist() == np.concatenate(found).tolist()
            assert (
                draws("redraw").random((7,)).tolist()
                == stream(5, then, "redraw").random(7).tolist()
            )
