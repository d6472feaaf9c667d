"""Durations of bars as text, and when bars are over."""

import numpy as np
import pytest

from data import format_timeframe, parse_timeframe
from data.timeframe import DAY_NS, find_bar_ends


@pytest.mark.parametrize(
    ("seconds", "text"), [(60, "1m"), (3600, "1h"), (5400, "90m"), (86400, "1d"), (1209600, "2w")]
)
def test_longest_unit_that_divides_is_written(seconds, text):
    """Writing and reading again gives the same duration."""
    assert format_timeframe(seconds * 10**9) == text
    assert parse_timeframe(text) == seconds * 10**9


def test_a_bar_is_over_after_its_duration_or_when_the_next_one_opens():
    """Days of 24, 23 and 25 hours, as clocks are put forward and back."""
    opens = np.array([0, 24, 47, 72]) * DAY_NS // 24
    assert (find_bar_ends(opens, DAY_NS) * 24 // DAY_NS).tolist() == [24, 47, 71, 96]
