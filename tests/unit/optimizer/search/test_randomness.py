"""Streams of random numbers are decided by their address alone."""

import pytest

from optimizer.errors import ConfigError
from optimizer.search.randomness import MAX_GENERATION, MAX_SEED, PURPOSES, stream

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


def test_purposes_have_distinct_small_numbers():
    """No two purposes share a stream, and each fits the sixteen bits kept for it."""
    numbers = set(PURPOSES.values())
    assert len(PURPOSES) == len(numbers)
    assert all(0 <= number < 2**16 for number in numbers)


@pytest.mark.parametrize(
    ("seed", "generation", "word"),
    [(-1, 0, "seed"), (MAX_SEED + 1, 0, "seed"), (0, -1, "gen"), (0, MAX_GENERATION + 1, "gen")],
    ids=["seed_negative", "seed_too_large", "generation_negative", "generation_too_large"],
)
def test_addresses_out_of_range_are_refused(seed, generation, word):
    """The message names the part that is out of range."""
    with pytest.raises(ConfigError, match=word):
        stream(seed, generation, "initial")
