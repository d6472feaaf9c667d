"""Closed hours of a series, beside the rows of the corpus that find them: wherever bars go."""

import pytest

from data import LoadOptions, cut_at_gaps, join_bars, load_bars, quality_of, resample
from data.mmap_store import pack_bars, unpack_bars
from tests.corpus.rhythm import HOUR_NS, MINUTE_NS, file_of, without_three

pytestmark = pytest.mark.filterwarnings("ignore:Series.values returning:DeprecationWarning")
"""The package asks pandas so; Python hides a library's own deprecations."""


@pytest.fixture
def stock(tmp_path):
    """The path of a file of a New York stock that lacks three bars."""
    path = tmp_path / "series.parquet"
    file_of(without_three).write(path)
    return str(path)


def test_parts_of_a_series_know_its_closed_hours(stock):
    """Windows and parts between long gaps count what they lack, and add up."""
    bars = load_bars(stock)
    whole = quality_of(bars).gaps
    assert (whole.count, whole.missing_bars) == (2, 3)
    assert bars.gaps().missing_bars > 10_000
    for cut in (499, 500, 501, 1997, 1998, 1999):
        parts = [quality_of(bars, 0, cut).gaps, quality_of(bars, cut).gaps]
        assert sum(part.missing_bars for part in parts) == 3
    series = [part for _, part in cut_at_gaps(bars, 20 * HOUR_NS)]
    assert len(series) > 40
    assert sum(quality_of(part).gaps.missing_bars for part in series) == 3
    longest = bars.gaps_in_open_hours().longest_at
    assert bars.timestamp[longest] - bars.timestamp[longest - 1] == 45 * MINUTE_NS


def test_every_way_to_bars_says_the_same(stock):
    """Read, merged, joined from parts, mapped from a file."""
    bars = load_bars(stock)
    gaps, pauses = bars.notes
    hours = resample(bars, HOUR_NS)
    assert hours.open_gaps is not None
    assert sum("missing" in note for note in hours.notes) == len(hours.open_gaps.missing)
    assert not any("gaps in open hours, 3" in note for note in hours.notes)
    joined = join_bars([bars.cut(0, 3000), bars.cut(3000, len(bars))], "x")
    assert (joined.notes[1:], joined.open_gaps.missing.tolist()) == ((gaps, pauses), [2, 1])
    mapped = unpack_bars(pack_bars(bars))
    assert mapped.open_gaps.notes == bars.open_gaps.notes
    assert mapped.gaps_in_open_hours() == bars.gaps_in_open_hours()
    by_name = load_bars(stock, LoadOptions(calendar="XNYS"))
    assert by_name.gaps_in_open_hours() == bars.gaps_in_open_hours()
    assert by_name.content_hash == bars.content_hash
