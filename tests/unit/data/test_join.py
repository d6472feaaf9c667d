"""Parts of one market put together, and a series cut at its long gaps."""

import numpy as np
import pytest

from data import cut_at_gaps
from data.checks import COLUMNS
from data.errors import BarsError, DataError
from data.join import join_bars
from tests.support.series import MINUTE_NS, START_NS, make_bars, make_columns

STEP_NS, DAY_NS = 15 * MINUTE_NS, 1440 * MINUTE_NS
MOOD = np.array([1, np.nan, 3, 4, np.nan, 6])


def part(first, count, **changes):
    """Bars [first, first + count) of the same market."""
    columns = {name: column[first:] for name, column in make_columns(first + count).items()}
    return make_bars(count, **{**columns, "symbol": f"part{first}", **changes})


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_parts_in_any_order_are_the_whole(order):
    """Oldest first, every bar once, notes once; a bar that stands in two parts counts once."""
    parts = [part(0, 10, notes=("in UTC",)), part(10, 5, notes=("in UTC", "more")), part(13, 22)]
    joined = join_bars([parts[i] for i in order], "BTC")
    assert joined.content_hash == make_bars(35).content_hash
    assert joined.symbol == "BTC"
    first, *notes = joined.notes
    assert "3 parts" in first
    assert sorted(notes) == ["2 bars stood in two parts, equal in both", "in UTC", "more"]


REFUSED = {
    "other volumes": ([part(0, 12), part(10, 10, volume=part(10, 10).volume + 1.0)],
                      r"2024-01-01T02:30: volume is 20\.0 and 21\.0"),
    "lower volumes": ([part(0, 12), part(10, 10, volume=part(10, 10).volume - 1.0)],
                      r"2024-01-01T02:30: volume is 20\.0 and 19\.0"),
    "durations": ([part(0, 10), make_bars(5, 4 * STEP_NS, START_NS + 100 * STEP_NS)], "15m.*1h"),
    "unknown values": ([part(0, 5, extra={"mood": MOOD[:5]}),
                        part(2, 4, extra={"mood": np.arange(3.0, 7.0)})], r"mood is nan and 5\.0"),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "words"), REFUSED.values(), ids=REFUSED)
def test_parts_that_differ_are_refused(parts, words):
    """Which one is right is not for a program to say."""
    with pytest.raises(DataError, match=words) as refused:
        join_bars(parts, "BTC")
    assert isinstance(refused.value, BarsError)


def test_aligned_values_are_joined_with_their_bars():
    """Two unknown ones are equal where parts overlap."""
    whole = make_bars(6, extra={"mood": MOOD})
    joined = join_bars([whole.cut(2, 6), whole.cut(0, 5)], "TEST")
    assert joined.content_hash == whole.content_hash


def test_gaps_and_zones_of_parts_are_those_of_the_whole():
    """Gaps between parts are counted with those within; parts of two zones have none."""
    parts = [make_bars(9, zone="Asia/Tokyo"), part(20, 10, zone="Asia/Tokyo")]
    joined = join_bars(parts, "BTC")
    assert joined.zone == "Asia/Tokyo"
    assert any(note.startswith("1 gap, 11 bars missing") for note in joined.notes)
    assert join_bars([parts[0], part(20, 10)], "BTC").zone == "UTC"


def make_gapped(*places):
    """Sixty quarters of an hour with a gap of a day before each of the places."""
    timestamp = make_columns(60)["timestamp"]
    for place in places:
        timestamp[place:] += DAY_NS
    return make_bars(60, timestamp=timestamp)


def test_a_series_is_cut_at_its_long_gaps():
    """Every bar is in one part, in order; the first one says why. A step of the longest is none."""
    bars = make_gapped(20, 45)
    parts = cut_at_gaps(bars, DAY_NS // 2)
    assert [(first, len(part), part.symbol) for first, part in parts] == [
        (0, 20, "TEST"), (20, 25, "TEST"), (45, 15, "TEST"),
    ]  # fmt: skip
    for name in COLUMNS:
        joined = np.concatenate([getattr(part, name) for _, part in parts])
        assert joined.tobytes() == getattr(bars, name).tobytes()
    assert all(part.gaps().count == 0 for _, part in parts)
    assert [part.notes for _, part in parts] == [
        ("cut into 3 parts at gaps longer than 12h",), (), (),
    ]  # fmt: skip
    step = int(np.diff(bars.timestamp).max())
    assert cut_at_gaps(bars, step) == ((0, bars),)
    assert len(cut_at_gaps(bars, step - 1)) == 3
