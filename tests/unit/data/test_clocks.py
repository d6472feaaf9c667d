"""Clocks that change within a series, and hours that exchanges change, which are none."""

import numpy as np
import pytest

from data.bars import Bars
from data.hours import find_open_gaps, gap_lines
from data.mmap_store import pack_bars, unpack_bars
from data.zones import earliest_moments
from tests.support.series import MINUTE_NS

DAY_NS, HOUR_NS = 1440 * MINUTE_NS, 60 * MINUTE_NS
NEW_YORK = "America/New_York"


def sessions(first, end, hours, *, zone="UTC", step=15, seed=1):
    """Opens of bars between minutes of weekdays that a function of the day gives, on a clock.

    One day in fifty is a holiday, one in a hundred ends at half time.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    days = np.arange(np.datetime64(first), np.datetime64(end))
    opens = []
    for day in days[np.is_busday(days) & (rng.random(len(days)) > 0.02)]:
        start, stop = hours(day)
        stop = (start + stop) // 2 if rng.random() < 0.01 else stop
        minutes = np.arange(start, stop, step) + int(day.astype(int)) * 1440
        opens.append(minutes * MINUTE_NS)
    return earliest_moments(np.concatenate(opens), zone)


def stocks(first, end, **more):
    """Sessions from 09:30 to 16:00."""
    return sessions(first, end, lambda day: (570, 960), **more)


def then(before, after):
    """Times of one part and of the next."""
    return np.concatenate((before, after))


JOINED = {
    "UTC, then New York": (
        then(stocks("2023-10-02", "2024-01-16", zone=NEW_YORK), stocks("2024-01-16", "2024-05-02")),
        "14:30 until 2024-01-15 and at 09:30 from 2024-01-16"),
    "New York, then Chicago": (
        then(stocks("2023-04-03", "2023-07-06"), stocks("2023-07-06", "2024-02-01") - HOUR_NS),
        "09:30 until 2023-07-05 and at 08:30 from 2023-07-06"),
}  # fmt: skip


@pytest.mark.parametrize("name", JOINED)
def test_two_clocks_and_the_day_between_them_are_named(name):
    """Nights are no gaps then, and parts that are mapped say the same."""
    times, words = JOINED[name]
    gaps = find_open_gaps(times, 15 * MINUTE_NS)
    assert gaps.clocks.startswith(f"sessions begin at {words} on: is it one clock?")
    assert gaps.clocks in gap_lines(times, 15 * MINUTE_NS, gaps)
    assert gaps.missing.sum() <= 10
    ones = np.ones(len(times))
    bars = Bars(times, ones, ones, ones, ones, ones, "X", 15 * MINUTE_NS, open_gaps=gaps)
    assert unpack_bars(pack_bars(bars)).open_gaps.notes == gaps.notes


def later_in_winter(day):
    """Sessions that begin and end an hour later from October to March."""
    month = int(day.astype("M8[M]").astype(int)) % 12
    return (540, 1020) if 3 <= month < 9 else (600, 1080)


ONE = {
    "summer time in UTC": stocks("2021-01-04", "2024-05-02", zone=NEW_YORK),
    "the hour that Ramadan takes": stocks("2021-01-04", "2024-05-02", zone="Africa/Casablanca"),
    "opens before and after": sessions(
        "2022-01-04", "2024-05-02",
        lambda day: (570, 960) if day < np.datetime64("2023-05-01") else (240, 1200)),
    "half years": sessions("2021-01-04", "2024-05-02", later_in_winter),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE)
def test_hours_that_change_are_one_clock(name):
    """Of an exchange, of the year, of a season."""
    gaps = find_open_gaps(ONE[name], 15 * MINUTE_NS)
    assert gaps.clocks == ""
    assert not any("one clock" in line for line in gap_lines(ONE[name], 15 * MINUTE_NS, gaps))
