"""What is kept for the next one who asks: bounded, computed once, safe for threads."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

from engine.runtime.lru_cache import ArrayCache

THREADS = 8


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


def test_threads_that_want_the_same_wait_for_one():
    """What is kept is computed once, however many ask at the same time."""
    kept, begin, computed = ArrayCache(2**20), Barrier(THREADS), []

    def ask(_):
        begin.wait()
        for name in range(50):
            kept.get((name,), lambda: computed.append(0) or row())

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(ask, range(THREADS)))
    assert len(computed) == 50
