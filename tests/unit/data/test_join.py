"""Parts of one market put together."""

import pytest

from data.errors import BarsError
from data.join import join_bars
from tests.support.series import MINUTE_NS, START_NS, make_bars

STEP_NS = 15 * MINUTE_NS


def part(first, count, **changes):
    """Bars [first, first + count) of the same market."""
    whole = make_bars(first + count)
    columns = {name: getattr(whole, name)[first:] for name in
               ("timestamp", "open", "high", "low", "close", "volume")}  # fmt: skip
    return make_bars(count, **{**columns, "symbol": f"part{first}", **changes})


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_parts_in_any_order_are_the_whole(order):
    """Oldest first, every bar once."""
    parts = [part(0, 10), part(10, 5), part(15, 20)]
    joined = join_bars([parts[i] for i in order], "BTC")
    assert joined.content_hash == make_bars(35).content_hash
    assert (joined.symbol, joined.notes) == ("BTC", ("joined from 3 parts",))


def test_bars_that_stand_in_two_parts_count_once():
    """When they are equal, with a note."""
    joined = join_bars([part(0, 12), part(10, 10)], "BTC")
    assert joined.content_hash == make_bars(20).content_hash
    assert "2 bars stood in two parts, equal in both" in joined.notes


def test_parts_that_differ_are_refused():
    """Which one is right is not for a program to say."""
    volume = part(10, 10).volume + 1.0
    with pytest.raises(BarsError, match=r"differ about 2024-01-01T02:30: volume is 20.0 and 21.0"):
        join_bars([part(0, 12), part(10, 10, volume=volume)], "BTC")


def test_durations_must_agree():
    """Hours and quarters are no parts of one series."""
    hour = make_bars(5, step_ns=60 * MINUTE_NS, start_ns=START_NS + 100 * STEP_NS)
    with pytest.raises(BarsError, match=r"there are 15m \(part0\), 1h"):
        join_bars([part(0, 10), hour], "BTC")


def test_notes_are_told_once():
    """What is true of every part is one line."""
    noted = [part(0, 10, notes=("in UTC",)), part(10, 10, notes=("in UTC", "one more"))]
    assert join_bars(noted, "BTC").notes == ("joined from 2 parts", "in UTC", "one more")


def test_gaps_and_zones_of_parts_are_those_of_the_whole():
    """Gaps between parts are counted with those within; parts of two zones have none."""
    parts = [make_bars(9, zone="Asia/Tokyo"), part(20, 10, zone="Asia/Tokyo")]
    joined = join_bars(parts, "BTC")
    assert joined.zone == "Asia/Tokyo"
    assert [note for note in joined.notes if note.startswith("1 gap, 11 bars missing")]
    assert join_bars([parts[0], part(20, 10)], "BTC").zone == "UTC"
