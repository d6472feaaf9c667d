"""Windows cut into parts, parts joined again, and what is held out, so that nothing is in both."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import Window, joined, parse_holdout, parts, split_window
from data.errors import WindowError
from data.windows import groups
from tests.support.series import make_bars

BARS = make_bars(96)
"""One day of 15-minute bars."""


@pytest.mark.parametrize("text", ["", "0%", "100%", "20", "0.2", "-5%", "20 %", "soon", "2024"])
def test_what_is_no_share_and_no_time_is_refused(text):
    """The message shows both forms."""
    with pytest.raises(WindowError, match=r"--holdout .* such as 20%.* such as 2024-01-31"):
        parse_holdout(text)


@given(st.integers(0, 95), st.integers(2, 96), st.integers(1, 99))
def test_parts_are_neighbours_and_share_no_bar(start, length, percent):
    """Together they are the window; the later one has the share, rounded down."""
    window = Window(0, start, min(start + length, 96))
    share = parse_holdout(f"{percent}%")
    if int(len(window) * Fraction(percent, 100)) == 0:
        with pytest.raises(WindowError, match="none held out"):
            split_window(BARS, window, share)
        return
    seen, kept = split_window(BARS, window, share)
    assert (seen.start, seen.end, kept.end) == (window.start, kept.start, window.end)
    assert len(kept) == len(window) * percent // 100


def test_a_time_parts_where_bars_open_from_then_on():
    """The bar that opens at that very time is held out."""
    seen, kept = split_window(BARS, Window(3, 8, 90), parse_holdout("2024-01-01T06:00"))
    assert (seen, kept) == (Window(3, 8, 24), Window(3, 24, 90, "held_out"))


def test_a_series_until_a_bar_holds_nothing_after_it():
    """The part is a series of its own; the whole stays itself."""
    part = BARS.until(10)
    assert len(part) == 10
    assert part.close.tolist() == BARS.close[:10].tolist()
    assert part.content_hash == make_bars(10).content_hash
    assert BARS.until(96) is BARS


@given(st.integers(0, 50), st.integers(1, 500), st.integers(1, 20))
def test_groups_part_a_range_evenly(start, length, count):
    """Neighbours cover the range once, and their lengths differ by at most one bar."""
    ranges = groups(start, start + length, count)
    assert [bar for a, b in ranges for bar in range(a, b)] == list(range(start, start + length))
    lengths = [b - a for a, b in ranges]
    assert len(ranges) == count
    assert max(lengths) - min(lengths) <= 1


def test_parts_keep_series_and_role():
    """Each searched window becomes windows of its own."""
    windows = parts([Window(0, 0, 10), Window(1, 3, 8, "train")], 2)
    assert windows == (
        Window(0, 0, 5),
        Window(0, 5, 10),
        Window(1, 3, 5, "train"),
        Window(1, 5, 8, "train"),
    )


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
