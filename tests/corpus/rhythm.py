"""Gaps in open hours, parted from closed ones by calendars and by the rhythm of weeks."""

import warnings
from functools import cache

import exchange_calendars
import numpy as np
import pyarrow as pa

from data.errors import SourceError
from tests.corpus.row import bars, reads, refuses

MINUTE_NS, DAY_NS = 60 * 10**9, 86_400 * 10**9
HOUR_NS = 60 * MINUTE_NS
NEW_YORK = "America/New_York"


@cache
def calendar_of(name):
    """The calendar of an exchange in 2024."""
    with warnings.catch_warnings(action="ignore"):
        return exchange_calendars.get_calendar(name, start="2024-01-08", end="2024-12-31")


@cache
def opens_of(name, minutes):
    """Opens of all bars of an exchange in 2024."""
    calendar = calendar_of(name)
    opens, closes = calendar.opens_nanos, calendar.closes_nanos
    if name == "XTKS":
        opens = np.sort(np.concatenate((opens, calendar.break_ends_nanos)))
        closes = np.sort(np.concatenate((closes, calendar.break_starts_nanos)))
    spans = zip(opens.tolist(), closes.tolist(), strict=True)
    return np.concatenate([np.arange(a, b, minutes * MINUTE_NS) for a, b in spans])


def file_of(make, *given):
    """A file of bars whose times a function makes, in nanoseconds UTC."""
    return bars(lambda: pa.array(make(*given), pa.timestamp("ns", "UTC")), kind="parquet")


def sessions_of(minutes):
    """Times of New York, a session each."""
    times = opens_of("XNYS", minutes)
    return np.split(times, np.flatnonzero(np.diff(times) > HOUR_NS) + 1)


def without_some(minutes, count=40):
    """New York without one bar of so many sessions."""
    rng = np.random.Generator(np.random.PCG64(5))
    sessions = sessions_of(minutes)
    lacking = set(rng.choice(len(sessions), count, replace=False).tolist())
    return np.concatenate([
        np.delete(session, rng.integers(1, len(session) - 1)) if place in lacking else session
        for place, session in enumerate(sessions)
    ])  # fmt: skip


def without_sessions(count):
    """New York without so many sessions in a row."""
    sessions = sessions_of(15)
    return np.concatenate([*sessions[:100], *sessions[100 + count :]])


def first_days(count):
    """The first sessions of New York."""
    return opens_of("XNYS", 5)[: 78 * count]


def without_three():
    """New York without two bars in a row and one more."""
    return np.delete(opens_of("XNYS", 15), (500, 501, 2000))


def days_of(shift_ns=0, lost=()):
    """Dates of New York's sessions, or moments of these days."""
    days = calendar_of("XNYS").sessions.to_numpy().astype("datetime64[ns]").astype(np.int64)
    return np.delete(days, lost) + shift_ns


def futures():
    """Minutes from Sunday at 17:00 of New York to Friday, without an hour each day."""
    utc = np.arange("2024-01-08", "2024-12-20", dtype="datetime64[m]").astype(np.int64)
    local = utc * MINUTE_NS - np.where((utc > 28_500_000) & (utc < 28_846_440), 4, 5) * HOUR_NS
    in_week = (local - 4 * DAY_NS) % (7 * DAY_NS)
    is_open = (in_week < 4 * DAY_NS + 17 * HOUR_NS) | (in_week >= 6 * DAY_NS + 17 * HOUR_NS)
    return utc[is_open & ~(in_week % DAY_NS // HOUR_NS == 17)] * MINUTE_NS


EXCHANGES = {"XNYS": (247, 9), "XTKS": (485, 12)}
"""Pauses in 2024, and weekdays without a session, by Python's package of calendars."""

ROWS = (
    *(reads(f"{name}, {minutes}m, {options}", file_of(opens_of, name, minutes), options,
            notes=[f"{pauses} pauses", rule, f" {days_off} {word}"], unsaid="missing")
      for (name, (pauses, days_off)), minutes in zip(EXCHANGES.items(), (5, 15), strict=True)
      for options, rule, word in (({}, "by the rhythm of its weeks", "days without a bar"),
                                  ({"calendar": name}, f"the calendar of {name}", "holidays"))),
    *(reads(f"forty lost bars of {minutes}m, {options}", file_of(without_some, minutes), options,
            notes="gaps in open hours, 40 bars missing; the longest from")
      for minutes, options in ((5, {}), (15, {"calendar": "XNYS"}))),
    *(reads(f"days {words}, {calendar}", file_of(days_of, shift), {
        "source_timeframe": "1d", "calendar": calendar}, notes="2024-03-29", unsaid="missing")
      for words, shift in (("by date", 0), ("at midnight of New York in UTC", 5 * HOUR_NS))
      for calendar in (None, "XNYS")),
    *(reads(f"{days} days of New York", file_of(first_days, days), notes="by the rhythm of",
            unsaid="missing") for days in (4, 20)),
    reads("ten sessions are a holiday", file_of(without_sessions, 10), unsaid="missing"),
    reads("eleven are an outage", file_of(without_sessions, 11), notes=f"{11 * 26} bars missing"),
    *(reads(f"three bars lost, {options}", file_of(without_three), options, missing=(3, 3),
            notes="2 gaps in open hours, 3 bars missing; the longest from 2024-02-05T15:45 to ")
      for options in ({}, {"calendar": "XNYS"})),
    refuses("nearly a calendar", file_of(without_three), {"calendar": "XNYSE"}, SourceError,
            "--calendar 'XNYSE'", "did you mean 'XNYS'"),
    refuses("years that no calendar knows", bars(50, start="1970-01-02"), {"calendar": "XSHG"},
            SourceError, "--calendar XSHG", "1970-", "leave it out"),
)  # fmt: skip
