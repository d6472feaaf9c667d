"""Durations of bars."""

import numpy as np
import pytest

from data import format_timeframe, infer_timeframe, parse_timeframe
from data.errors import TimeframeError

DAY_NS = 86_400 * 10**9


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("1m", 60), ("15m", 900), ("60m", 3600), ("4h", 14400), ("1d", 86400),
     ("1w", 604800), (" 5m ", 300)],
)  # fmt: skip
def test_duration_is_a_number_and_a_unit(text, seconds):
    """Each unit of fixed length is read."""
    assert parse_timeframe(text) == seconds * 10**9


@pytest.mark.parametrize(
    "text",
    ["", "m", "15", "0m", "-5m", "1.5h", "15min", "1M", "1e3m", "\u0661m", "9999999m", "1 m"],
    ids=ascii,
)
def test_anything_else_is_refused(text):
    """Months, fractions, zero and other words are no durations."""
    with pytest.raises(TimeframeError, match="-timeframe"):
        parse_timeframe(text)


@pytest.mark.parametrize("text", ["9999999m", "99999999d", "106752d", "15251w", "9" * 5000 + "s"])
def test_a_duration_longer_than_times_hold_is_refused(text):
    """It is one, but no number of nanoseconds; the longest is named, and is read."""
    with pytest.raises(TimeframeError, match="too long; write up to 6 digits, and at most 106751d"):
        parse_timeframe(text)
    assert parse_timeframe("106751d") < 2**63


@pytest.mark.parametrize(
    ("seconds", "text"), [(60, "1m"), (3600, "1h"), (5400, "90m"), (86400, "1d"), (1209600, "2w")]
)
def test_longest_unit_that_divides_is_written(seconds, text):
    """Writing and reading again gives the same duration."""
    assert format_timeframe(seconds * 10**9) == text
    assert parse_timeframe(text) == seconds * 10**9


def test_fractions_of_a_second_are_written_as_nanoseconds():
    """No unit divides 250 ms."""
    assert format_timeframe(250_000_000) == "250000000ns"


def steps(*days):
    """Timestamps with these steps, in days."""
    return np.concatenate(([0], np.cumsum(days))).astype(np.int64) * DAY_NS


def test_most_common_step_is_the_duration():
    """Weekends do not hide daily bars."""
    assert infer_timeframe(steps(1, 1, 1, 1, 3, 1, 1, 1, 1)) == DAY_NS


def test_two_bars_have_a_duration():
    """One step is enough."""
    assert infer_timeframe(steps(7)) == 7 * DAY_NS


def test_one_bar_has_none():
    """A single bar does not show how long it lasts."""
    with pytest.raises(TimeframeError, match=r"1 bar does not show.*--source-timeframe"):
        infer_timeframe(steps())


@pytest.mark.parametrize(
    "days",
    [(31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30), (1, 2, 3, 4, 5), (2, 1, 2, 2, 2)],
    ids=["months", "all_different", "one_shorter"],
)
def test_unclear_steps_are_refused(days):
    """Without a step that half of all have, or with shorter ones, nothing is guessed."""
    with pytest.raises(TimeframeError, match="-timeframe"):
        infer_timeframe(steps(*days))


def test_one_short_step_in_hundreds_is_no_doubt():
    """A day of 23 hours, once a year, leaves the bars daily."""
    time = steps(*[1] * 365)
    time[200:] -= 3600 * 10**9
    assert infer_timeframe(time) == DAY_NS
