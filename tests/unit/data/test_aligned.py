"""Aligned columns in memory, beside the rows of the corpus that read them."""

from dataclasses import replace

import numpy as np
import pytest

from data import LoadOptions, join_bars, keep_bars, load_bars, resample
from data.errors import DataError
from data.mmap_store import pack_bars, unpack_bars
from tests.support.series import MINUTE_NS, make_bars

MOOD = LoadOptions(aligned_columns=("mood",))
NAN = np.nan


def moody(values, **changes):
    """Bars with such a column."""
    return make_bars(len(values), extra={"mood": np.array(values, float)}, **changes)


@pytest.mark.parametrize("spec", ["sample", "polygon:AAPL"])
def test_a_source_that_is_no_file_has_none(spec):
    """The error comes before anything is fetched."""
    with pytest.raises(DataError, match=f"'{spec[:6]}.*' is no file, and has no further columns"):
        load_bars(spec, MOOD)


def test_merging_uses_no_later_bar():
    """Bars of a beginning are the beginning of the bars."""
    values = np.random.default_rng(1).normal(size=40)
    whole = resample(moody(values), 60 * MINUTE_NS).extra["mood"]
    for end in range(4, 40, 4):
        part = resample(moody(values).until(end), 60 * MINUTE_NS).extra["mood"]
        assert part.tolist() == whole[: end // 4].tolist()


def test_parts_are_joined_with_their_values():
    """Two unknown ones are equal where parts overlap; two different ones are refused."""
    whole = moody([1, NAN, 3, 4, NAN, 6])
    joined = join_bars([whole.cut(2, 6), whole.cut(0, 5)], "TEST")
    assert joined.content_hash == whole.content_hash
    other = moody([1, NAN, 3, 4, 5, 6])
    with pytest.raises(DataError, match=r"differ about .*: mood is nan and 5\.0"):
        join_bars([whole.cut(0, 5), other.cut(2, 6)], "TEST")


def test_parts_without_the_column_are_refused():
    """The one without it is named."""
    whole = moody([1, 2, 3, 4], source="a.csv")
    plain = whole.cut(2, 4, extra={}, source="b.csv")
    with pytest.raises(DataError, match=r"'mood' is not in both a\.csv and b\.csv"):
        join_bars([whole.cut(0, 2), plain], "TEST")


def test_they_are_kept_in_a_file_and_in_memory_that_is_mapped(tmp_path):
    """By name, with every bit; the bars alone are another file."""
    bars = moody([1, NAN, -0.0, 4])
    dated = replace(bars, dated=("mood",))
    assert unpack_bars(pack_bars(bars)).content_hash == bars.content_hash
    assert [unpack_bars(pack_bars(series)).dated for series in (bars, dated)] == [(), ("mood",)]
    assert pack_bars(bars) != pack_bars(replace(bars, extra={}))
    assert replace(dated, extra={}).dated == ()
    path, _ = keep_bars(bars, tmp_path)
    options = LoadOptions(timeframe="15m", aligned_columns=("mood",))
    assert load_bars(str(path), options).content_hash == bars.content_hash
    assert not keep_bars(bars, tmp_path)[1]
    with pytest.raises(DataError, match="holds other bars"):
        keep_bars(replace(bars, extra={"mood": -bars.extra["mood"]}), tmp_path)
    with pytest.raises(DataError, match="column 'mood' is dated, and is not kept with bars"):
        keep_bars(dated, tmp_path)


def test_bars_refuse_infinity():
    """From every maker."""
    with pytest.raises(DataError, match="column 'mood' is infinite at bar 1"):
        moody([1, np.inf])
