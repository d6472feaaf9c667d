"""Days on which markets have bars."""

import numpy as np
import pytest

from data.vendor.aggregates import has_calendar, missing_sessions, session_days


def ns(day):
    """The start of a day, or a time in it."""
    return int(np.datetime64(day, "ns").astype(np.int64))


def days(symbol, start, end):
    """Sessions as text."""
    return [str(day) for day in session_days(symbol, ns(start), ns(end))]


YEARS = {2019: 252, 2020: 253, 2021: 252, 2022: 251, 2023: 250, 2024: 252, 2025: 250}
"""Trading days of the New York exchange, as it counts them."""

CLOSED = ("2024-01-01", "2024-01-15", "2024-02-19", "2024-03-29", "2024-05-27", "2024-06-19",
          "2024-07-04", "2024-09-02", "2024-11-28", "2024-12-25", "2022-06-20", "2021-07-05",
          "2021-12-24", "2018-12-05", "2012-10-29", "2025-01-09", "2023-01-02",
          "2024-06-22")  # fmt: skip
"""Full holidays as they were kept, storms and mourning, and weekends."""

OPEN = ("2021-12-31", "2021-06-18", "2024-11-29", "2024-12-24", "2020-04-13")
"""Before a New Year on a Saturday, before Juneteenth was kept, and on short days."""


@pytest.mark.parametrize("symbol", ["SPY", "I:SPX"])
def test_new_york_keeps_its_days(symbol):
    """Holidays, and days of mourning, are left out."""
    kept = days(symbol, "2012-01-01", "2026-01-01")
    counts = {year: sum(day.startswith(f"{year}") for day in kept) for year in YEARS}
    assert counts == YEARS
    assert [day for day in CLOSED if day in kept] == []
    assert [day for day in OPEN if day not in kept] == []


def test_other_markets_keep_theirs():
    """Crypto never rests, currencies on weekends and two days; options trade too rarely."""
    year = ("2024-01-01", "2025-01-01")
    assert len(days("X:BTCUSD", *year)) == 366
    currencies = days("C:EURUSD", *year)
    assert len(currencies) == 260
    assert not {"2024-01-01", "2024-12-25", "2024-01-06"} & set(currencies)
    assert not has_calendar("O:SPY251219C00650000")
    assert days("O:SPY251219C00650000", *year) == []


def test_only_whole_days_are_expected_and_one_bar_is_enough():
    """A range that begins and ends within days counts those between."""
    assert days("X:BTCUSD", "2024-01-01T12:00", "2024-01-04T12:00") == ["2024-01-02", "2024-01-03"]
    at = np.array([ns("2024-01-02T15:00"), ns("2024-01-04T20:59")])
    missing = missing_sessions("AAPL", ns("2024-01-01"), ns("2024-01-06"), at)
    assert [str(day) for day in missing] == ["2024-01-03", "2024-01-05"]
