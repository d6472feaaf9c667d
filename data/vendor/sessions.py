"""Days on which a market has bars, by a rule and not a feed, and the ones missing in a range.

Crypto trades every day, currencies Monday to Friday except 25 December and 1 January, American
stocks and indices on weekdays outside the holidays of the New York exchange, and options too
rarely for a rule. A day is one of UTC, in which the regular session of New York lies.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.tseries.holiday import (
    AbstractHolidayCalendar,
    GoodFriday,
    Holiday,
    USLaborDay,
    USMartinLutherKingJr,
    USMemorialDay,
    USPresidentsDay,
    USThanksgivingDay,
    nearest_workday,
    sunday_to_monday,
)

from data.checks import Ints
from data.timeframe import DAY_NS

Days = npt.NDArray[np.datetime64]

CLOSED = (
    *("2001-09-11", "2001-09-12", "2001-09-13", "2001-09-14"),
    *("2004-06-11", "2007-01-02", "2012-10-29", "2012-10-30", "2018-12-05", "2025-01-09"),
)
"""Days on which the New York exchange stayed shut without a rule: attacks, storms, mourning."""


class NewYorkHolidays(AbstractHolidayCalendar):
    """Full holidays of the New York exchange, by its rule 7.2."""

    rules = [  # noqa: RUF012 - the form that the base class reads
        Holiday("New Year", month=1, day=1, observance=sunday_to_monday),
        USMartinLutherKingJr,
        USPresidentsDay,
        GoodFriday,
        USMemorialDay,
        Holiday("Juneteenth", month=6, day=19, start_date="2022-06-19", observance=nearest_workday),
        Holiday("Independence", month=7, day=4, observance=nearest_workday),
        USLaborDay,
        USThanksgivingDay,
        Holiday("Christmas", month=12, day=25, observance=nearest_workday),
    ]


def has_calendar(symbol: str) -> bool:
    """True if a market has a rule."""
    return not symbol.startswith("O:")


def session_days(symbol: str, start_ns: int, end_ns: int) -> Days:
    """Days [D] that lie wholly in a range and on which a market has bars; none without a rule."""
    first, last = -(-start_ns // DAY_NS), end_ns // DAY_NS
    days = np.arange(first, max(first, last)).astype("datetime64[D]")
    if not has_calendar(symbol):
        return days[:0]
    if symbol.startswith("X:") or len(days) == 0:
        return days
    days = days[np.is_busday(days)]
    if symbol.startswith("C:"):
        is_open = [(day.month, day.day) not in ((12, 25), (1, 1)) for day in days.astype(object)]
        return days[np.array(is_open, dtype=np.bool_)]
    return days[~np.isin(days, _new_york_holidays(start_ns, end_ns))]


def missing_sessions(symbol: str, start_ns: int, end_ns: int, timestamp: Ints) -> Days:
    """Days [D] that should have bars and have none; `timestamp` [N] of the bars there are."""
    expected = session_days(symbol, start_ns, end_ns)
    present = np.unique(timestamp // DAY_NS).astype("datetime64[D]")
    return np.setdiff1d(expected, present)


def thin_sessions(symbol: str, start_ns: int, end_ns: int, timestamp: Ints) -> Days:
    """Days that have bars, but fewer than half of the usual; a short session has more."""
    days, counts = np.unique(timestamp // DAY_NS, return_counts=True)
    expected = session_days(symbol, start_ns, end_ns)
    inside = np.isin(days.astype("datetime64[D]"), expected)
    if not inside.any():
        return expected[:0]
    days, counts = days[inside], counts[inside]
    thin: Days = days[2 * counts < np.median(counts)].astype("datetime64[D]")
    return thin


def _new_york_holidays(start_ns: int, end_ns: int) -> Days:
    # Asked with some days to spare: a holiday may be kept on the working day beside it.
    around = pd.Timedelta(days=7)
    start, end = pd.Timestamp(start_ns) - around, pd.Timestamp(end_ns) + around
    holidays = NewYorkHolidays().holidays(start.normalize(), end.normalize())
    ruled = holidays.to_numpy().astype("datetime64[D]")
    return np.union1d(ruled, np.array(CLOSED, dtype="datetime64[D]"))
