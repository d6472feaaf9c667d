"""Windows between times, in parts and joined again, and what is held out: nothing is in both."""

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
    """The bar that opens at that very time is held out; a part without a bar is refused."""
    seen, kept = split_window(BARS, Window(3, 8, 90), parse_holdout("2024-01-01T06:00"))
    assert (seen, kept) == (Window(3, 8, 24), Window(3, 24, 90, "held_out"))
    for when in ("2023-12-31", "2024-01-01T02:00", "2024-01-01T22:45", "2030-01-01"):
        with pytest.raises(WindowError, match="82 bars"):
            split_window(BARS, Window(0, 8, 90), parse_holdout(when))


@given(st.integers(0, 50), st.integers(1, 500), st.integers(1, 20))
def test_groups_part_a_range_evenly(start, length, count):
    """Neighbours cover the range once, and their lengths differ by at most one bar."""
    ranges = groups(start, start + length, count)
    assert [bar for a, b in ranges for bar in range(a, b)] == list(range(start, start + length))
    lengths = [b - a for a, b in ranges]
    assert len(ranges) == count
    assert max(lengths) - min(lengths) <= 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40)), max_size=5), st.data())
def test_joined_parts_are_the_windows_again(gaps, data):
    """Whatever was cut; windows with bars between them stay apart, and so do series and roles."""
    windows, start = [], 0
    for number, (gap, length) in enumerate(gaps):
        start += gap + 1
        windows.append(Window(number % 2, start, start + length, ("train", "test")[number % 2]))
        start += length
    shortest = min((length for _, length in gaps), default=1)
    count = data.draw(st.integers(1, shortest))
    assert joined(parts(windows, count)) == tuple(windows)
    assert joined([Window(0, 0, 5), Window(0, 5, 9, "held_out")])[0] == Window(0, 0, 5)
    with pytest.raises(WindowError, match="parts"):
        parts([*windows, Window(0, 0, 3)], 4)


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [(None, None, 0, 8), ("2024-01-01T00:30", None, 2, 8), (None, "2024-01-01T00:30", 0, 2),
     ("2024-01-01 00:31", "2024-01-01T01:00:01", 3, 5),
     ("2024-01-01T01:30+01:00", "2024-01-01T01:00Z", 2, 4), ("1066-10-14", "9999-12-31", 0, 8)],
)  # fmt: skip
def test_window_between_times(start, end, first, last):
    """The start belongs to the window, the end does not; no zone means UTC."""
    assert Window.between(make_bars(8), start, end) == Window(0, first, last)


def test_windows_without_bars_are_refused():
    """A window holds at least one bar; the whole one runs to after the last."""
    for bounds in ((-1, 0, 1), (0, -1, 1), (0, 1, 1), (0, 2, 1), (0, 0, 1, "validate")):
        with pytest.raises(WindowError):
            Window(*bounds)
    for start, words in (("2025-01-01", "2024-01-01T00:00"), ("yesterday", "no time")):
        with pytest.raises(WindowError, match=words):
            Window.between(make_bars(8), start)
    assert Window.whole(make_bars(7), series=2) == Window(2, 0, 7)
