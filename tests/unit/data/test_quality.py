"""The quality of parts of a series."""

import dataclasses

import pytest

from data import LoadOptions, load_bars, quality_of
from data.errors import WindowError
from tests.support.looping import each
from tests.support.series import MINUTE_NS, make_bars, make_columns


@pytest.fixture
def series():
    """Forty quarters of an hour: gaps before bars 10, 20 and 30, no volume in three bars."""
    columns = make_columns(40)
    for place in (10, 20, 30):
        columns["timestamp"][place:] += place * 15 * MINUTE_NS
    columns["volume"][[5, 25, 39]] = 0
    return make_bars(40, **columns)


def test_a_part_has_its_own_quality(series):
    """Silence and gaps of the part, and nothing of the rest."""
    part = quality_of(series, 20, 30)
    assert (part.bars, part.silent) == (10, 1)
    assert dataclasses.astuple(part.gaps) == (1, 20, 21 * 15 * MINUTE_NS, 20)


@each("cut", range(1, 40))
def test_parts_add_up_to_the_whole(series, cut):
    """A gap at the cut belongs to the later part, and to no other."""
    parts = (quality_of(series, 0, cut), quality_of(series, cut))
    whole = quality_of(series)
    assert sum(part.silent for part in parts) == whole.silent == 3
    assert sum(part.gaps.count for part in parts) == whole.gaps.count == 3
    assert sum(part.gaps.missing_bars for part in parts) == whole.gaps.missing_bars == 60
    assert whole.gaps == series.gaps()


@pytest.mark.parametrize(("start", "end"), [(40, None), (3, 3), (5, 4), (0, 41), (-1, 3)])
def test_a_part_without_bars_is_refused(series, start, end):
    """Empty, reversed, and beyond the series."""
    with pytest.raises(WindowError):
        quality_of(series, start, end)


def test_gaps_of_a_real_market_lie_in_its_last_fifth(real_folder):
    """4,253 of 4,262: a search that holds it out never meets them."""
    spec = f"parquet:{real_folder}/uniusdt_15m.parquet"
    bars = load_bars(spec, LoadOptions(dedupe=True))
    cut = len(bars) - len(bars) // 5
    assert quality_of(bars, 0, cut).gaps.count == 9
    assert quality_of(bars, cut).gaps.count == 4253
