"""The quality of parts of a series."""

import dataclasses

import numpy as np
import pytest

from data import longest_gaps, quality_of
from data.errors import WindowError
from tests.support.series import MINUTE_NS, START_NS, make_bars, make_columns


@pytest.fixture
def series():
    """Forty quarters of an hour: gaps before bars 10, 20 and 30, no volume in three bars."""
    columns = make_columns(40)
    for place in (10, 20, 30):
        columns["timestamp"][place:] += place * 15 * MINUTE_NS
    columns["volume"][[5, 25, 39]] = 0
    return make_bars(40, **columns)


def test_a_part_has_its_own_quality_and_parts_add_up(series):
    """Silence and gaps of the part; a gap at a cut belongs to the later part, and to no other."""
    part = quality_of(series, 20, 30)
    assert (part.bars, part.silent) == (10, 1)
    assert dataclasses.astuple(part.gaps) == (1, 20, 21 * 15 * MINUTE_NS, 20)
    whole = quality_of(series)
    assert whole.gaps == series.gaps()
    assert (whole.silent, whole.gaps.count, whole.gaps.missing_bars) == (3, 3, 60)
    for cut in range(1, 40):
        parts = (quality_of(series, 0, cut), quality_of(series, cut))
        assert sum(part.silent for part in parts) == 3
        assert sum(part.gaps.count for part in parts) == 3
        assert sum(part.gaps.missing_bars for part in parts) == 60


@pytest.mark.parametrize(("start", "end"), [(40, None), (3, 3), (5, 4), (0, 41), (-1, 3)])
def test_a_part_without_bars_is_refused(series, start, end):
    """Empty, reversed, and beyond the series."""
    with pytest.raises(WindowError):
        quality_of(series, start, end)


def test_gaps_are_told_longest_first():
    """When, how long, and how many bars are missing; a whole series has none."""
    places = np.r_[0:10, 11:31, 35:55]
    bars = make_bars(50, timestamp=START_NS + 15 * MINUTE_NS * places)
    assert [gap["missing_bars"] for gap in longest_gaps(bars)] == [4, 1]
    assert longest_gaps(make_bars(50)) == []
