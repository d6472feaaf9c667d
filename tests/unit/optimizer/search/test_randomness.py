"""Numbers are those of numpy's streams, which are decided by their address alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from optimizer.search.draws import Draws
from optimizer.search.randomness import (
    MAX_GENERATION,
    MAX_SEED,
    PURPOSES,
    draw_words,
    scale_to_index,
    scale_to_unit,
    stream,
)

WORD = 2**64


def philox_block(counter: int, key: tuple[int, int]) -> list[int]:
    """Philox4x64-10 in plain integers, after Salmon et al. (2011): four 64-bit words."""
    x = [counter % WORD, 0, 0, 0]
    k = list(key)
    for _ in range(10):
        left, right = 0xD2E7470EE14C6C93 * x[0], 0xCA5A826395121157 * x[2]
        x = [right // WORD ^ x[1] ^ k[0], right % WORD, left // WORD ^ x[3] ^ k[1], left % WORD]
        k = [(k[0] + 0x9E3779B97F4A7C15) % WORD, (k[1] + 0xBB67AE8584CAA73B) % WORD]
    return x


def test_stream_equals_the_published_generator():
    """The doubles are the upper 53 bits of Philox words, so any device can draw the same ones."""
    seed, generation = 1234567890123, 41
    key = (seed, generation * 2**16 + PURPOSES["mutate"])
    words = philox_block(1, key) + philox_block(2, key)
    expected = [(word >> 11) * 2.0**-53 for word in words]
    assert expected == stream(seed, generation, "mutate").random(8).tolist()


def test_every_part_of_the_address_counts():
    """Changing the seed, the generation or the purpose gives other numbers."""
    addresses = [(5, 3, purpose) for purpose in PURPOSES] + [(6, 3, "select"), (5, 4, "select")]
    starts = {tuple(stream(*address).random(4).tolist()) for address in addresses}
    assert len(addresses) == len(starts)


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
    numbers["planted"] = 22
    assert numbers == {name: number for name, number in PURPOSES.items() if number > 12}


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
