"""Bars as bits, and extremes of blocks, against the plain way."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.positions.cpu.block_minmax import BLOCK, Extremes, Levels, build_extremes, first_touch
from engine.runtime.compiling.loops import compiled_loop
from engine.runtime.cpu.bitset import is_set, list_set_bars, next_alone, next_set
from tests.support.positions import pack_words
from tests.support.worlds import make_bars

N = 300


@compiled_loop
def search_words(words, first, end):
    """Of the first of two conditions each bar, and the next one; the next of exactly one."""
    bits = np.array([is_set(words, 0, bar) for bar in range(N)])
    alone, nowhere = next_alone(words, 0, 1, first, end), next_alone(words, -1, -1, first, end)
    single = next_alone(words, 0, -1, first, end), next_alone(words, -1, 0, first, end)
    return bits, next_set(words, 0, first, end), alone, nowhere, single


@compiled_loop
def find_touch(prices, levels, first, last):
    """`first_touch`, which only loops call."""
    return first_touch(Extremes(*prices), Levels(*levels), first, last)


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
    words = np.array([pack_words(longs), pack_words(shorts)])
    bits, following, alone, nowhere, single = search_words(words, first, end)
    assert bits.tolist() == longs.tolist()
    assert list_set_bars(words[0]).tolist() == np.flatnonzero(longs).tolist()
    assert following == find_first(longs, first, end)
    assert alone == find_first(longs ^ shorts, first, end)
    assert nowhere == end
    assert single == (following, following)


def find_first(holds, first, end):
    """The first bar of a range at which something holds; its end where none is."""
    later = np.flatnonzero(holds[first:end])
    return first + int(later[0]) if len(later) else end


@given(
    seed=st.integers(0, 2**32),
    first=st.integers(0, 1199),
    span=st.integers(0, 1200),
    below=st.sampled_from([-np.inf, 0.5, 0.9, 0.99]),
    above=st.sampled_from([np.inf, 1.5, 1.1, 1.01]),
    gain=st.sampled_from([np.nan, 0.0, 0.01, 0.3]),
    side=st.sampled_from([0, 1]),
)
def test_the_first_touch_is_found_across_blocks(seed, first, span, below, above, gain, side):
    """Single bars and blocks, at both ends cut off; prices and gains of both sides."""
    bars = make_bars(seed, 1200, jump=0.1)
    prices = build_extremes(bars.open, bars.high, bars.low, bars.close)
    assert prices.blocks.shape == (2, 1200 // BLOCK + BLOCK)
    last, entry = min(first + span, 1199), bars.open[first]
    lower, upper, least = below * entry, above * entry, gain * entry
    gone = bars.high - entry if side == 0 else entry - bars.low
    holds = (bars.low <= lower) | (bars.high >= upper) | (gone >= least)
    bar = find_touch(tuple(prices), (lower, upper, side, entry, least), first, last)
    assert bar == find_first(holds, first, last + 1)
