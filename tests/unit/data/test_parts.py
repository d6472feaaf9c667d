"""A series cut at its long gaps."""

import numpy as np

from data import cut_at_gaps
from tests.support.series import MINUTE_NS, make_bars, make_columns

DAY_NS = 1440 * MINUTE_NS


def make_gapped(*places, gap_ns=DAY_NS):
    """Sixty quarters of an hour with a gap before each of the places."""
    timestamp = make_columns(60)["timestamp"]
    for place in places:
        timestamp[place:] += gap_ns
    return make_bars(60, timestamp=timestamp)


def test_parts_together_are_the_series():
    """Every bar is in one part, in order, and no part holds a long gap."""
    bars = make_gapped(20, 45)
    parts = cut_at_gaps(bars, DAY_NS // 2)
    assert [(first, len(part)) for first, part in parts] == [(0, 20), (20, 25), (45, 15)]
    for name in ("timestamp", "open", "high", "low", "close", "volume"):
        joined = np.concatenate([getattr(part, name) for _, part in parts])
        assert joined.tobytes() == getattr(bars, name).tobytes()
    assert all(part.gaps().count == 0 for _, part in parts)


def test_parts_bear_the_symbol_and_the_first_says_why():
    """One note a series, not one a part."""
    parts = [part for _, part in cut_at_gaps(make_gapped(20), DAY_NS // 2)]
    assert [part.symbol for part in parts] == ["TEST", "TEST"]
    assert [part.notes for part in parts] == [("cut into 2 parts at gaps longer than 12h",), ()]


def test_a_step_of_exactly_the_longest_is_no_cut():
    """Only what is longer cuts."""
    bars = make_gapped(20)
    step = int(np.diff(bars.timestamp).max())
    assert len(cut_at_gaps(bars, step)) == 1
    assert len(cut_at_gaps(bars, step - 1)) == 2
