"""Pages to all bars of a range, of exchanges that answer in any way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import FetchError
from data.vendor.paging import PageReader
from tests.support.worlds_of_exchanges import (
    DAY_MS,
    START_MS,
    STEP_MS,
    World,
    draw_world,
    make_rows,
    read_world,
)

YEARS_MS = 4 * 365 * DAY_MS


@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_every_bar_comes_once(seed):
    """From the front or the end, inclusive or not, with holes, in any order, with flawed pages."""
    got, expected = read_world(*draw_world(np.random.default_rng(seed)))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("limit", [50, 200, 1000])
def test_years_before_a_listing_cost_few_calls(limit):
    """Days show where minutes are, where a page is bounded by the limit that was asked for."""
    times = START_MS + YEARS_MS + STEP_MS * np.arange(777)
    world = World(times, limit, limit, "end", "limit", has_days=True)
    got, expected = read_world(world, START_MS, int(times[-1]) + 1)
    np.testing.assert_array_equal(got, expected)
    assert world.calls < 400


def test_days_that_are_none_are_not_believed():
    """An exchange that answers minutes whatever it is asked for is read to its last bar."""
    times = START_MS + STEP_MS * np.r_[np.arange(90), np.arange(5000, 5100)]
    world = World(times, 30, 30, "end", "limit")

    def ask_days(since_ms, limit, until_ms):
        within = times[(times >= since_ms) & (times < since_ms + limit * DAY_MS)]
        return make_rows(within[-30:])

    days = PageReader(ask_days, DAY_MS, 30)
    reader = PageReader(world.ask, STEP_MS, 30, days)
    got = np.concatenate(list(reader.pages(START_MS, int(times[-1]) + 1)))
    np.testing.assert_array_equal(got, make_rows(times))


def test_two_bars_of_one_time_that_differ_are_refused():
    """Either may be the later one, and nothing says which."""

    def ask(since_ms, limit, until_ms):
        return np.array([[START_MS, 1, 1, 1, 1, volume] for volume in (5.0, 6.0)])

    with pytest.raises(FetchError, match="two bars of 2024-01-01T00:00 differ"):
        list(PageReader(ask, STEP_MS, 500).pages(START_MS, START_MS + DAY_MS))
