"""Dates and times of day in two columns, typed, written or as numbers, and parts of a date."""

import datetime as dt

import pandas as pd
import pyarrow as pa

from data.errors import BarsError, DataError, TableError
from tests.corpus.row import ONE, bars, every, reads, refuses, table

MOMENTS = [dt.datetime(2024, 1, 1) + dt.timedelta(minutes=15 * i) for i in range(200)]
DAY_TEXTS = [f"{moment:%Y-%m-%d}" for moment in MOMENTS]
DATES = {
    "date32": pa.array([moment.date() for moment in MOMENTS]),
    "date64": pa.array([moment.date() for moment in MOMENTS]).cast(pa.date64()),
    "midnight": pa.array([moment.date() for moment in MOMENTS]).cast(pa.timestamp("ns")),
    "number": pa.array([int(f"{moment:%Y%m%d}") for moment in MOMENTS]),
    "float": pa.array([float(f"{moment:%Y%m%d}") for moment in MOMENTS]),
    "text": pa.array(DAY_TEXTS),
    "category": pa.array(DAY_TEXTS).dictionary_encode(),
}
MINUTES = [60 * moment.hour + moment.minute for moment in MOMENTS]
TIMES = {
    "time32[s]": pa.array([60 * m for m in MINUTES]).cast(pa.int32()).cast(pa.time32("s")),
    "time64[us]": pa.array([moment.time() for moment in MOMENTS]),
    "time64[ns]": pa.array([moment.time() for moment in MOMENTS]).cast(pa.time64("ns")),
    "duration": pa.array([60 * 10**9 * m for m in MINUTES]).cast(pa.duration("ns")),
    "HHMM": pa.array([int(f"{moment:%H%M}") for moment in MOMENTS]),
    "HHMM float": pa.array([float(f"{moment:%H%M}") for moment in MOMENTS]),
    "HHMMSS": pa.array([int(f"{moment:%H%M%S}") for moment in MOMENTS]),
    "HHMMSSmmm": pa.array([int(f"{moment:%H%M%S}000") for moment in MOMENTS]),
    "six digits": pa.array([f"{moment:%H%M%S}" for moment in MOMENTS]),
    "few digits": pa.array([str(int(f"{moment:%H%M}")) for moment in MOMENTS]),
    "text": pa.array([f"{moment:%H:%M}" for moment in MOMENTS]),
    "whole time": pa.array(MOMENTS),
}
PAIRS = [
    (dates, times)
    for k, dates in enumerate(DATES.items())
    for n, times in enumerate(TIMES.items())
    if n % len(DATES) == k or n == k + 3
]
"""Each kind of date with two or three kinds of time, and each kind of time with a date."""

PAIRS = [
    (dates, times)
    for k, dates in enumerate(DATES.items())
    for n, times in enumerate(TIMES.items())
    if n % len(DATES) == k or n == k + 3
]
"""Each kind of date with two or three kinds of time, and each kind of time with a date."""

NO_TIMES = {
    "minutes": pa.array([960, 1275, 1]), "seconds": pa.array([34200.5, 34260.5, 34320.5]),
    "negative": pa.array([-1, 0, 1]), "letters": pa.array(["a", "b", "c"]),
    "negative duration": pa.array([-1, 0, 1]).cast(pa.duration("s")),
    "longer than a day": pa.array([90_000, 90_001, 90_002]).cast(pa.duration("s")),
    "1900": pa.array([dt.datetime(1900, 1, 1, 9)] * 3), "empty": pa.array([None] * 3, pa.int64()),
}  # fmt: skip
THREE = [dt.date(2024, 1, day) for day in (1, 2, 3)]
NOON = "2024-03-01T12:00"
DAYS = pd.date_range("2024-01-01", periods=60)
DAY_NS = DAYS.as_unit("ns").asi8
HOURS = pd.date_range("2024-01-01", periods=60, freq="h")
PARTS = {"year": DAYS.year, "month": DAYS.month, "day": DAYS.day}
TITLES = {name.title(): part for name, part in PARTS.items()}
FIXED = {"open": 10.0, "high": 12.0, "low": 9.0, "close": 11.0, "volume": 5.0}


def both(date, time, **more):
    """A file of one bar, of a date and a time of day."""
    return bars({"date": [date], "time": [time]}, **more)


ROWS = (
    *(reads(f"{date} and {time}", bars({"date": dates, "time": times}, kind="parquet"),
            times=every("15m", 200))
      for (date, dates), (time, times) in PAIRS),
    *(reads(f"the date {date} and the time {time}", both(date, time), ONE, first=NOON)
      for date, time in (("2024.03.01", "12:00"), ("20240301", "120000"), ("20240301", "1200"),
                         ("01.03.2024", "12:00:00"), ("2024/03/01", "12:00 PM"))),
    *(reads(f"the date {date} and the whole time {time}", both(date, time), ONE, first=NOON)
      for date, time in (("2024-03-01", "20240301120000000"), ("20240301", "20240301120000"),
                         ("2024/03/01", "2024-03-01 12:00"))),
    *(refuses(f"no date and time: {date}, {time}", both(date, time), ONE, TableError,
              "columns 'date' and 'time' could both be the time")
      for date, time in (("2024-03-02", "2024-03-01T12:00"), ("2024-03-01 10:00", "12:00"),
                         ("x", "y"))),
    *(reads(f"a time of day with {offset}", both("2024-01-02", f"12:00:00{offset}"), ONE,
            first=f"2024-01-02T{hour}:00") for offset, hour in
      (("Z", 12), (" UTC", 12), ("+01:00", 11), ("-0500", 17), (" +05", "07"))),
    *(reads(f"digits {clock}", bars({"date": THREE, "time": [clock] * 3}),
            first=f"2024-01-01T{first}") for clock, first in
      (("000931", "00:09:31"), ("931", "09:31"), ("93101", "09:31:01"))),
    *(refuses(f"no time of day: {name}", bars({"date": pa.array(THREE), "time": times},
                                              kind="parquet"), {}, DataError,
              "--column timestamp=date or --column timestamp=time")
      for name, times in NO_TIMES.items()),
    refuses("a missing time of day", bars({"date": pa.array([THREE[0]] * 3), "time": pa.array(
        [dt.time(9), None, dt.time(11)])}, kind="parquet"), {}, BarsError, "row 1", "no time"),
    *(refuses(f"parts of a date, {'/'.join(parts)}{' and hours' * bool(more)}",
              table({**parts, **more, **FIXED}), {}, DataError,
              f"columns {' and '.join(map(repr, parts))} are parts of one date")
      for parts, more in ((PARTS, {}), (TITLES, {"hour": 9, "minute": 30}))),
    *(reads(f"parts of a date beside the time {time!r}", table({time: DAYS, **PARTS, **FIXED}),
            times=DAY_NS) for time in ("date", "time", "timestamp", "")),
    *(refuses(f"hours in a column {name}",
              table({"date": HOURS.strftime("%Y-%m-%d"), name: HOURS.hour, **FIXED}), {}, DataError,
              f"column '{name}' holds the hours of dates", never=("market", "--sort"))
      for name in ("hour", "Hour")),
    reads("hours beside whole times", table({"time": DAYS, "hour": 7, **FIXED},
                                            picks=[1, 0, *range(2, 60)]), {"sort": True},
          times=DAY_NS),
    refuses("times of day without a date",
            table({"session": DAYS.strftime("%Y-%m-%d"), "time": "09:30", **FIXED}), {}, DataError,
            "times of day without a date", "--column date=NAME --column time=NAME"),
)  # fmt: skip
