"""Bars as bits, and extremes of blocks, against the plain way."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.cpu.extremes import LARGE, SMALL, extremes_of, first_touch
from engine.cpu.words import is_set, list_marks, next_set, words_of
from tests.support.worlds import make_bars

N = 300


@given(
    seed=st.integers(0, 2**32),
    share=st.sampled_from([0.0, 0.01, 0.5, 1.0]),
    first=st.integers(0, N - 1),
    span=st.integers(0, N),
)
def test_words_hold_what_bools_hold(seed, share, first, span):
    """Single bars, the next one, and the bars of exactly one side, in any range."""
    rng, end = np.random.default_rng(seed), min(first + span, N)
    longs, shorts = rng.random((2, N)) < share
    words, other = words_of(longs), words_of(shorts)
    assert [is_set(words, t) for t in range(N)] == longs.tolist()
    later = np.flatnonzero(longs[first:end])
    assert next_set(words, first, end) == (first + int(later[0]) if len(later) else end)
    out = np.full(N, -1, np.int32)
    count = list_marks(words, other, first, end, out)
    alone = first + np.flatnonzero((longs ^ shorts)[first:end])
    assert out[:count].tolist() == (2 * alone + shorts[alone]).tolist()


@given(
    seed=st.integers(0, 2**32),
    first=st.integers(0, 1199),
    span=st.integers(0, 1200),
    below=st.sampled_from([-np.inf, 0.5, 0.9, 0.99]),
    above=st.sampled_from([np.inf, 1.5, 1.1, 1.01]),
)
def test_the_first_touch_is_found_across_blocks(seed, first, span, below, above):
    """Single bars, small and large blocks, at both ends cut off."""
    bars = make_bars(seed, 1200, jump=0.1)
    prices = extremes_of(bars.open, bars.high, bars.low, bars.close)
    assert len(prices.low_small) == 1200 // SMALL
    assert len(prices.low_large) == 1200 // LARGE
    last = min(first + span, 1199)
    lower, upper = below * bars.open[first], above * bars.open[first]
    touched = (bars.low <= lower) | (bars.high >= upper)
    found = np.flatnonzero(touched[first : last + 1])
    expected = first + int(found[0]) if len(found) else last + 1
    assert first_touch(prices, first, last, lower, upper) == expected
