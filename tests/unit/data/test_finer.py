"""Finer bars: which bars are made up of them, what a series with them is, and where they go."""

from dataclasses import replace

import numpy as np
import pytest

from data import resample
from data.bars import FinerBars
from data.errors import BarsError
from tests.support.finer import HOUR_NS, make_coarse
from tests.support.series import make_bars

QUARTERS = make_bars(42)
HOURS = make_coarse(QUARTERS)


def test_a_bar_is_made_up_of_those_that_open_in_it():
    """The last hour has two of them."""
    assert HOURS.finer_spans.tolist() == [[*range(0, 44, 4)], [*range(4, 44, 4), 42]]


@pytest.mark.parametrize("row", range(4))
def test_one_bit_is_enough_to_make_up_no_bar(row):
    """Of the first open, the largest high, the smallest low and the last close."""
    prices = HOURS.finer.prices.copy()
    k = [4, 7, 4, 7][row]
    prices[row, k] = np.nextafter(prices[row, k], prices[row, k] * 2)
    first, end = replace(HOURS, finer=replace(HOURS.finer, prices=prices)).finer_spans
    assert (end - first).tolist() == [4, 0, *[4] * 8, 2]


def test_bars_outside_the_finer_ones_are_made_up_of_none():
    """Before they begin, after they end, and where there are none at all."""
    some = HOURS.finer.between(int(HOURS.timestamp[3]), int(HOURS.timestamp[5]))
    first, end = replace(HOURS, finer=some).finer_spans
    assert np.flatnonzero(end > first).tolist() == [3, 4]
    first, end = replace(HOURS, finer=some.between(0, 1)).finer_spans
    np.testing.assert_array_equal(first, end)


def test_the_hash_is_of_both():
    """Without finer bars it is the one that it was."""
    plain = resample(QUARTERS, HOUR_NS)
    assert replace(HOURS, finer=None).content_hash == plain.content_hash
    moved = replace(HOURS.finer, prices=HOURS.finer.prices * 1.5)
    hashes = {bars.content_hash for bars in (plain, HOURS, replace(HOURS, finer=moved))}
    assert len(hashes) == 3
    assert replace(HOURS, finer=replace(HOURS.finer, source="x")).content_hash == HOURS.content_hash


def test_a_bar_has_none_that_open_when_the_next_one_does():
    """An hour that is over after three quarters; cut behind it, it is made up of as many."""
    first, last = [0, 3], [2, 6]
    high, low = (
        edge.reduceat(column[:7], first)
        for edge, column in ((np.maximum, QUARTERS.high), (np.minimum, QUARTERS.low))
    )
    bars = QUARTERS.cut(
        0, 2, timestamp=QUARTERS.timestamp[first], open=QUARTERS.open[first], high=high, low=low,
        close=QUARTERS.close[last], timeframe_ns=HOUR_NS, finer=QUARTERS.as_finer(),
    )  # fmt: skip
    assert (bars.over_ns - bars.timestamp).tolist() == [HOUR_NS * 3 // 4, HOUR_NS]
    assert bars.finer_spans.tolist() == [[0, 3], [3, 7]]
    assert bars.until(1).finer_spans.tolist() == [[0], [3]]


def test_a_cut_series_has_those_of_its_bars():
    """Nothing after an end is known."""
    cut = HOURS.cut(2, 5)
    assert cut.finer.timestamp.tolist() == QUARTERS.timestamp[8:20].tolist()
    assert cut.finer_spans.tolist() == [[0, 4, 8], [4, 8, 12]]


def test_longer_bars_are_no_finer_ones():
    """Nor those of the same duration."""
    with pytest.raises(BarsError, match="finer bars of 15m are not shorter than those of 15m"):
        replace(QUARTERS, finer=QUARTERS.as_finer())
    with pytest.raises(BarsError, match="there are no finer bars"):
        _ = QUARTERS.finer_spans
    assert len(FinerBars(HOURS.timestamp[:0], np.empty((4, 0)), 1)) == 0
