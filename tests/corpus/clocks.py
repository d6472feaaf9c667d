"""Dates and times of day in two columns, typed, written or as numbers, and parts of a date."""

import datetime as dt

import pandas as pd
import pyarrow as pa

from data.errors import DataError, TableError
from tests.corpus.row import ONE, bars, every, reads, refuses, table

MOMENTS = [dt.datetime(2024, 1, 1) + dt.timedelta(minutes=15 * i) for i in range(200)]
DAY_TEXTS = [f"{moment:%Y-%m-%d}" for moment in MOMENTS]
DATES = {"date32": pa.array([moment.date() for moment in MOMENTS]),
         "midnight": pa.array([moment.date() for moment in MOMENTS]).cast(pa.timestamp("ns")),
         "number": pa.array([int(f"{moment:%Y%m%d}") for moment in MOMENTS]),
         "text": pa.array(DAY_TEXTS)}  # fmt: skip
MINUTES = [60 * moment.hour + moment.minute for moment in MOMENTS]
TIMES = {"time32[s]": pa.array([60 * m for m in MINUTES]).cast(pa.int32()).cast(pa.time32("s")),
         "time64[us]": pa.array([moment.time() for moment in MOMENTS]),
         "duration": pa.array([60 * 10**9 * m for m in MINUTES]).cast(pa.duration("ns")),
         "HHMM": pa.array([int(f"{moment:%H%M}") for moment in MOMENTS]),
         "HHMMSS": pa.array([int(f"{moment:%H%M%S}") for moment in MOMENTS]),
         "six digits": pa.array([f"{moment:%H%M%S}" for moment in MOMENTS]),
         "few digits": pa.array([str(int(f"{moment:%H%M}")) for moment in MOMENTS]),
         "text": pa.array([f"{moment:%H:%M}" for moment in MOMENTS]),
         "whole time": pa.array(MOMENTS)}  # fmt: skip
PAIRS = [
    (dates, times)
    for k, dates in enumerate(DATES.items())
    for n, times in enumerate(TIMES.items())
    if n % len(DATES) == k
]
"""Each kind of date with one or two kinds of time, and each kind of time with a date."""

NO_TIMES = {
    "minutes": pa.array([960, 1275, 1]), "seconds": pa.array([34200.5, 34260.5, 34320.5]),
    "negative duration": pa.array([-1, 0, 1]).cast(pa.duration("s")),
    "longer than a day": pa.array([90_000, 90_001, 90_002]).cast(pa.duration("s")),
    "1900": pa.array([dt.datetime(1900, 1, 1, 9)] * 3),
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
      for date, time in (("2024.03.01", "12:00"), ("20240301", "120000"),
                         ("01.03.2024", "12:00:00"), ("2024/03/01", "12:00 PM"))),
    *(reads(f"the date {date} and the whole time {time}", both(date, time), ONE, first=NOON)
      for date, time in (("2024-03-01", "20240301120000000"),
                         ("2024/03/01", "2024-03-01 12:00"))),
    *(refuses(f"no date and time: {date}, {time}", both(date, time), ONE, TableError,
              "columns 'date' and 'time' could both be the time")
      for date, time in (("2024-03-02", "2024-03-01T12:00"), ("2024-03-01 10:00", "12:00"),
                         ("x", "y"))),
    *(reads(f"digits {clock}", bars({"date": THREE, "time": [clock] * 3}),
            first=f"2024-01-01T{first}") for clock, first in
      (("000931", "00:09:31"), ("931", "09:31"), ("93101", "09:31:01"))),
    *(refuses(f"no time of day: {name}", bars({"date": pa.array(THREE), "time": times},
                                              kind="parquet"), {}, DataError,
              "--column timestamp=date or --column timestamp=time")
      for name, times in NO_TIMES.items()),
    *(refuses(f"parts of a date, {'/'.join(parts)}{' and hours' * bool(more)}",
              table({**parts, **more, **FIXED}), {}, DataError,
              f"columns {' and '.join(map(repr, parts))} are parts of one date")
      for parts, more in ((PARTS, {}), (TITLES, {"hour": 9, "minute": 30}))),
    *(reads(f"parts of a date beside the time {time!r}", table({time: DAYS, **PARTS, **FIXED}),
            times=DAY_NS) for time in ("date", "")),
    refuses("hours in a column", table({"date": HOURS.strftime("%Y-%m-%d"), "Hour": HOURS.hour,
                                        **FIXED}), {}, DataError,
            "column 'Hour' holds the hours of dates", never=("market", "--sort")),
    refuses("times of day without a date",
            table({"session": DAYS.strftime("%Y-%m-%d"), "time": "09:30", **FIXED}), {}, DataError,
            "times of day without a date", "--column date=NAME --column time=NAME"),
)  # fmt: skip
