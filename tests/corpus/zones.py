"""Times on local clocks: zones, and hours that a clock shows twice or never."""

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from data.errors import BarsError, TableError
from tests.corpus.row import ONE, bars, reads, refuses

NEW_YORK = "America/New_York"
NO_ZONE = "times name no zone, read as UTC; --tz names another"
NIGHT = ("2024-11-03T00:30", "2024-11-03T01:30", "2024-11-03T02:30")
"""A night in which New York's clocks go back: the time in the middle exists twice."""


def moments(first, last, minutes):
    """Times in nanoseconds UTC from one day to another."""
    times = np.arange(first, last, np.timedelta64(minutes, "m"), dtype="datetime64[m]")
    return times.astype("datetime64[ns]").astype(np.int64)


def clocks(times, zone):
    """The times that clocks of a zone show then, as Python's own library has them."""
    return [dt.datetime.fromtimestamp(int(time) // 10**9, ZoneInfo(zone)) for time in times]


def written(times, zone):
    """Local times as text without a zone."""
    return [f"{time:%Y-%m-%d %H:%M}" for time in clocks(times, zone)]


def told(zone, minutes, repeated, first="2024-01-01", last="2025-01-01"):
    """Rows of a series of local times, oldest and newest first."""
    times = moments(first, last, minutes)
    notes = f"{repeated} local times that clocks show twice are told apart by the order of rows"
    words = {"notes": notes} if repeated else {"unsaid": "twice"}
    return (
        reads(f"{zone}, {minutes}m", bars(lambda: written(times, zone)), {"tz": zone},
              times=times, zone=zone, **words),
        reads(f"{zone}, {minutes}m, newest first", bars(lambda: written(times[::-1], zone)),
              {"tz": zone, "sort": True}, times=times, **words),
    )  # fmt: skip


def local_bars(zone, hours):
    """A row of a year of hours that become longer bars of their own clock."""
    times = moments("2018-01-01", "2019-01-01", 60)
    blocks = [(time.date(), time.hour // hours) for time in clocks(times, zone)]
    first = [i for i, block in enumerate(blocks) if i == 0 or block != blocks[i - 1]]
    ends = np.array([*first[1:], len(times)])
    return reads(
        f"{hours}h of {zone}", bars([f"{time}Z" for time in times.astype("datetime64[ns]")]),
        {"tz": zone, "timeframe": f"{hours}h"}, count=len(first),
        values={"close": (100 + 0.25 * (ends - 1)).tolist()},
        notes=f"--tz {zone} changes no time",
    )  # fmt: skip


def typed(zone, unit="ns"):
    """A file of three weeks of hours whose times are typed with a zone."""
    times = moments("2024-03-01T05", "2024-03-20T04", 60)
    return bars(pa.array(times, pa.timestamp(unit, tz=zone)), kind="parquet")


def skips(zone, minutes):
    """Rows of local times that skip an hour in spring, read without and with their zone."""
    times = moments("2024-03-01", "2024-04-15", minutes)
    local = bars(lambda: written(times, zone))
    return (
        reads(f"an hour that {zone} skips, {minutes}m", local,
              notes=f"in spring: --tz {zone} reads"),
        reads(f"no hour is skipped, {zone}, {minutes}m", local, {"tz": zone}, times=times,
              unsaid="in spring"),
    )  # fmt: skip


READ = (
    reads("around a change", bars(["2024-03-10T01:59", "2024-03-10T03:00"]), {"tz": NEW_YORK},
          times=["2024-03-10T06:59", "2024-03-10T07:00"]),
    *told(NEW_YORK, 15, 8, "2024-10-20", "2024-11-10"), *told("Europe/Helsinki", 60, 2),
    *told("Australia/Lord_Howe", 10, 6, "2024-03-20", "2024-04-20"),
    *told("Asia/Kolkata", 60, 0, "2024-03-01", "2024-05-01"),
    *(reads(f"{reading} of two", bars(NIGHT), ONE | {"tz": NEW_YORK, "ambiguous": reading},
            times=["2024-11-03T04:30", f"2024-11-03T0{hour}:30", "2024-11-03T07:30"],
            notes=f"1 local times that clocks show twice are told apart by --ambiguous {reading}")
      for reading, hour in (("earlier", 5), ("later", 6))),
    *(reads(f"a column {name}", bars([f"2024-01-01 0{hour}:00:00" for hour in range(4)], head=name),
            notes=()) for name in ("Gmt time", "DATE_UTC")),
    reads("a column time_utc beside --tz", bars(
        [f"2024-01-01 0{hour}:00" for hour in range(4)], head="time_utc"), {"tz": "Asia/Tokyo"},
          notes=["times name no zone, read as Asia/Tokyo"], first="2023-12-31T15:00"),
    reads("a column Datum says no zone", bars([f"2024-01-01 0{hour}:00" for hour in range(4)],
                                              head="Datum"), notes=[NO_ZONE]),
    *(reads(f"days of the typed zone {zone}", typed(zone), {"timeframe": "1d"}, zone=named,
            first=first) for zone, named, first in (
                (NEW_YORK, NEW_YORK, "2024-03-01T05:00"), ("+05:30", None, "2024-03-01"),
                ("UTC", "UTC", "2024-03-01"))),
    *(local_bars(zone, hours) for zone, hours in (
        (NEW_YORK, 4), ("America/Sao_Paulo", 24))),
    *(row for zone, minutes in ((NEW_YORK, 15), ("Europe/Berlin", 60))
      for row in skips(zone, minutes)),
)  # fmt: skip

REFUSED = (
    refuses("a time that exists twice", bars(NIGHT), ONE | {"tz": NEW_YORK}, TableError,
            "1 local times exist twice", "row 1 2024-11-03T01:30",
            f"--tz {NEW_YORK} --ambiguous earlier (or later)",
            then=[({}, {"count": 3}), ({"ambiguous": "later"}, {"count": 3})]),
    *(refuses(f"two readings: {name}", bars(["2024-11-03T00:30", *(
        f"2024-11-03T{clock}" for clock in night)]), ONE | {"tz": NEW_YORK}, TableError,
              "exist twice", f"--tz {NEW_YORK} --ambiguous earlier (or later)")
      for name, night in (("back two times", ("01:00", "01:30", "01:00", "01:30", "01:00")),
                          ("one pass", ("01:00", "01:30")))),
    *(refuses(f"a time that {tz} skips", bars([night]), ONE | {"tz": tz}, TableError,
              "1 local times do not exist", f"row 0 {night}", f"--tz {fixed} reads",
              then={"first": first, "zone": fixed}) for tz, night, fixed, first in (
          (NEW_YORK, "2024-03-10T02:30", "Etc/GMT+5", "2024-03-10T07:30"),
          ("Europe/Helsinki", "2024-03-31T03:30", "Etc/GMT-2", "2024-03-31T01:30"))),
    *(refuses(f"no zone {tz!a}", bars(["2024-01-01"]), ONE | {"tz": tz}, TableError,
              "is no IANA zone") for tz in
      ("", "../../etc/passwd", "Mars")),
    refuses("a year of New York that names none",
            bars(lambda: written(moments("2024-01-01", "2025-01-01", 60), NEW_YORK)), {}, BarsError,
            "showed this hour twice", f"--tz {NEW_YORK}",
            then={"times": moments("2024-01-01", "2025-01-01", 60)}),
)  # fmt: skip

ROWS = (*READ, *REFUSED)
