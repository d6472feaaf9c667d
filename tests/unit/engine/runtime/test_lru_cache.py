"""What is kept for the next one who asks: bounded, computed once, safe for threads."""

import numpy as np

from engine.runtime.lru_cache import ArrayCache


def row(value=0.0):
    """Ten numbers, 80 bytes."""
    return np.full(10, value)


def test_what_was_asked_for_longest_ago_goes_first():
    """Space for three: the fourth takes the place of the least recently used."""
    kept, computed = ArrayCache(3 * 80), []

    def get(name):
        kept.get((name,), lambda: computed.append(name) or row())

    for name in "abcada":
        get(name)
    assert computed == ["a", "b", "c", "d"]
    assert kept.bytes == 3 * 80
    for name in "acdb":
        get(name)
    assert computed == ["a", "b", "c", "d", "b"]
