"""Parts of a cache: written whole, checked to the byte, never in two places."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.cache import (
    CachePart,
    DamagedPartError,
    PartBars,
    SeriesCache,
    SeriesKey,
    TimeRange,
    missing_ranges,
)
from data.checks import VALUES

SECOND_NS = 10**9
KEY = SeriesKey("polygon", "X:ADAUSD", "1m", adjusted=True)


def bars(n=50, start_s=0, seed=1):
    """Some bars of a minute each."""
    rng = np.random.default_rng(seed)
    timestamp = (start_s + 60 * np.arange(n, dtype=np.int64)) * SECOND_NS
    values = {name: rng.random(n) for name in VALUES}
    return PartBars(timestamp, values, "2026-11-21T08:00:00+00:00", ("2024-01-02",))


@pytest.fixture
def cache(tmp_path):
    """An empty cache of one series."""
    return SeriesCache(tmp_path, KEY)


def test_no_byte_can_change_unseen(cache):
    """One bit anywhere in the file makes it damaged."""
    part = cache.write(0, 3000 * SECOND_NS, bars(3))
    whole = part.path.read_bytes()
    for place in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        part.path.write_bytes(changed)
        with pytest.raises(DamagedPartError):
            cache.read(part)
    part.path.write_bytes(whole)
    cache.read(part)


def test_a_part_of_another_series_is_damaged(cache, tmp_path):
    """A file that was moved here from another symbol is not taken."""
    other = SeriesCache(tmp_path, SeriesKey("polygon", "X:BTCUSD", "1m", adjusted=True))
    foreign = other.write(0, 3000 * SECOND_NS, bars())
    target = cache.folder / foreign.path.name
    cache.folder.mkdir(parents=True)
    os.replace(foreign.path, target)
    with pytest.raises(DamagedPartError, match="belongs elsewhere"):
        cache.read(cache.parts()[0])


def test_every_symbol_has_a_folder_of_its_own_within_the_cache(tmp_path):
    """Names that every system takes; what a file system would take for one is two."""
    symbols = ("../../x", "/abs", "X:BTC/USD", "a" * 300, "..", "", "\0", "\u00e9", "CON", "a b",
               "X:BTCUSD", "X_BTCUSD", "x:btcusd", "X:BTC_USD")  # fmt: skip
    keys = [SeriesKey("polygon", s, "1m", adjusted=a) for s in symbols for a in (True, False)]
    for key in keys:
        folder = SeriesCache(tmp_path, key).folder
        assert folder.resolve().is_relative_to(tmp_path.resolve())
        names = folder.relative_to(tmp_path).parts
        assert (len(names), max(map(len, names)) <= 60) == (3, True)
    assert len({str(key.folder).lower() for key in keys}) == len(keys)


@given(st.lists(st.integers(0, 60), unique=True, max_size=12), st.integers(0, 60),
       st.integers(0, 60))  # fmt: skip
def test_what_is_missing_and_what_is_there_make_the_range(edges, one, two):
    """Every second of a range is covered by a part or missing, and none is both."""
    edges.sort()
    pairs = list(zip(edges[::2], edges[1::2], strict=False))
    parts = [CachePart(a, b, "", "", None) for a, b in pairs]
    start, end = min(one, two), max(one, two)
    gaps = missing_ranges(parts, TimeRange(start, end))
    for second in range(start, end):
        covered = any(a <= second < b for a, b in pairs)
        assert sum(a <= second < b for a, b in gaps) == (0 if covered else 1)
    assert all(start <= a < b <= end for a, b in gaps)
