"""Durations of bars as text."""

import pytest

from data import format_timeframe, parse_timeframe


@pytest.mark.parametrize(
    ("seconds", "text"), [(60, "1m"), (3600, "1h"), (5400, "90m"), (86400, "1d"), (1209600, "2w")]
)
def test_longest_unit_that_divides_is_written(seconds, text):
    """Writing and reading again gives the same duration."""
    assert format_timeframe(seconds * 10**9) == text
    assert parse_timeframe(text) == seconds * 10**9
