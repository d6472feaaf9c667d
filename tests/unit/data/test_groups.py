"""Windows cut into parts, and parts joined again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import Window, joined, parts
from data.errors import WindowError
from data.groups import groups


@given(st.integers(0, 50), st.integers(1, 500), st.integers(1, 20))
def test_groups_part_a_range_evenly(start, length, count):
    """Neighbours cover the range once, and their lengths differ by at most one bar."""
    found = groups(start, start + length, count)
    assert [bar for a, b in found for bar in range(a, b)] == list(range(start, start + length))
    lengths = [b - a for a, b in found]
    assert len(found) == count
    assert max(lengths) - min(lengths) <= 1


def test_parts_keep_series_and_role():
    """Each searched window becomes windows of its own."""
    found = parts([Window(0, 0, 10), Window(1, 3, 8, "train")], 2)
    assert found == (
        Window(0, 0, 5),
        Window(0, 5, 10),
        Window(1, 3, 5, "train"),
        Window(1, 5, 8, "train"),
    )


def test_more_parts_than_bars_are_refused():
    """No part may be empty."""
    with pytest.raises(WindowError, match="3 bars cannot be cut into 4 parts"):
        parts([Window(0, 0, 3)], 4)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40)), max_size=5), st.data())
def test_joined_parts_are_the_windows_again(gaps, data):
    """Whatever was cut; windows with bars between them stay apart, and so do series and roles."""
    windows, start = [], 0
    for number, (gap, length) in enumerate(gaps):
        start += gap + 1
        windows.append(Window(number % 2, start, start + length))
        start += length
    count = data.draw(st.integers(1, min((length for _, length in gaps), default=1)))
    assert joined(parts(windows, count)) == tuple(windows)
    assert joined([Window(0, 0, 5), Window(0, 5, 9, "held_out")])[0] == Window(0, 0, 5)
