"""Numbers drawn by compiled loops are those of numpy's streams."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from optimizer.search.draws import Draws
from optimizer.search.randomness import MAX_GENERATION, MAX_SEED, stream


def test_draws_of_another_generation_are_its_streams():
    """Turned to another generation, each stream begins where one opened there would, once."""
    draws = Draws(5)
    for generation in (0, 1, 9):
        draws.switch_generation(generation)
        for purpose in ("select", "mutate"):
            expected = stream(5, generation, purpose).random(30)
            found = [draws(purpose).random((10,)) for _ in range(3)]
            assert expected.tolist() == np.concatenate(found).tolist()


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
