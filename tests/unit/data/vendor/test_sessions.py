"""Days on which markets have bars."""

import numpy as np
import pytest

from data.vendor.sessions import has_calendar, missing_sessions, session_days

DAY_NS = 86_400 * 10**9


def ns(day):
    """The start of a day."""
    return int(np.datetime64(day, "ns").astype(np.int64))


def days(symbol, start, end):
    """Sessions as text."""
    return [str(day) for day in session_days(symbol, ns(start), ns(end))]


YEARS = {2019: 252, 2020: 253, 2021: 252, 2022: 251, 2023: 250, 2024: 252, 2025: 250}
"""Trading days of the New York exchange, as it counts them."""


@pytest.mark.parametrize(("year", "count"), YEARS.items())
def test_a_year_of_new_york_has_its_days(year, count):
    """Holidays, and days of mourning, are left out."""
    assert len(days("AAPL", f"{year}-01-01", f"{year + 1}-01-01")) == count


@pytest.mark.parametrize(
    "day",
    ["2024-01-01", "2024-01-15", "2024-02-19", "2024-03-29", "2024-05-27", "2024-06-19",
     "2024-07-04", "2024-09-02", "2024-11-28", "2024-12-25", "2022-06-20", "2021-07-05",
     "2021-12-24", "2018-12-05", "2012-10-29", "2025-01-09", "2023-01-02", "2024-06-22"],
)  # fmt: skip
def test_new_york_is_closed(day):
    """Full holidays as they were kept, storms and mourning, and weekends."""
    assert day not in days("SPY", "2012-01-01", "2026-01-01")


@pytest.mark.parametrize(
    "day", ["2021-12-31", "2021-06-18", "2024-11-29", "2024-12-24", "2020-04-13"]
)
def test_new_york_is_open(day):
    """Before a New Year on a Saturday, before Juneteenth was kept, and on short days."""
    assert day in days("I:SPX", "2020-01-01", "2025-01-01")


def test_crypto_never_rests():
    """Every day, weekends and New Year too."""
    assert len(days("X:BTCUSD", "2024-01-01", "2025-01-01")) == 366


def test_currencies_rest_on_weekends_and_two_days():
    """262 weekdays less New Year and Christmas."""
    sessions = days("C:EURUSD", "2024-01-01", "2025-01-01")
    assert len(sessions) == 260
    assert not {"2024-01-01", "2024-12-25", "2024-01-06"} & set(sessions)


def test_options_have_no_rule():
    """They trade too rarely; nothing is expected of them."""
    assert not has_calendar("O:SPY251219C00650000")
    assert days("O:SPY251219C00650000", "2024-01-01", "2025-01-01") == []


def test_only_whole_days_are_expected():
    """A range that begins and ends within days counts those between."""
    start, end = ns("2024-01-01T12:00"), ns("2024-01-04T12:00")
    whole_days = session_days("X:BTCUSD", start, end)
    assert [str(day) for day in whole_days] == ["2024-01-02", "2024-01-03"]
    assert len(session_days("X:BTCUSD", start, start)) == 0


def test_missing_sessions_are_those_without_a_bar():
    """One bar is enough for a day; none is named."""
    at = np.array([ns("2024-01-02T15:00"), ns("2024-01-04T20:59")])
    missing = missing_sessions("AAPL", ns("2024-01-01"), ns("2024-01-06"), at)
    assert [str(day) for day in missing] == ["2024-01-03", "2024-01-05"]
