"""Durations of bars: as steps show them, as options state them, and as bars are merged."""

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from data.errors import TableError, TimeframeError
from tests.corpus.row import bars, every, reads, refuses

START = np.datetime64("2024-01-01", "m")
DAY = 1440
WEEKDAYS = [day for day in range(300) if day % 7 < 5]
CLOSE = {"stamped": "close"}
TRADED = np.flatnonzero(np.random.Generator(np.random.PCG64(2)).random(6000) < 0.3)
QUARTERS = np.flatnonzero(np.diff(TRADED // 15, prepend=-1))
"""Minutes in which a thin market trades, and the first of each quarter of an hour."""


def minutes_of(numbers):
    """So many minutes, as durations."""
    return np.asarray(numbers).astype("timedelta64[m]")


def at(*minutes, **more):
    """A file of bars so many minutes after the first."""
    return bars([f"{time}Z" for time in START + minutes_of(np.concatenate(minutes))], **more)


def after(*steps, kind="csv"):
    """A file of bars with these steps in minutes."""
    minutes = np.concatenate(([0], np.cumsum(steps)))
    if kind == "csv":
        return at(minutes)
    times = (START + minutes_of(minutes)).astype("datetime64[ns]").astype(np.int64)
    return bars(pa.array(times, pa.timestamp("ns", "UTC")), kind=kind)


def every_day(step, *hours, of=WEEKDAYS):
    """A file of bars so many minutes apart between pairs of hours of days."""
    spans = list(zip(hours[::2], hours[1::2], strict=True))
    clocks = np.concatenate([np.arange(a * 60, b * 60, step) for a, b in spans])
    return at(*(day * DAY + clocks for day in of))


def thin(share, count=5000):
    """A file of one-minute bars of which a share is there."""
    rng = np.random.Generator(np.random.PCG64(2))
    return at(np.flatnonzero(rng.random(count) < share))


def days(count, start="2024-01-01", clock="", skip=lambda day: False):
    """A file of local days, by date alone or with a time of day."""
    first = dt.date.fromisoformat(start)
    dates = [first + dt.timedelta(day) for day in range(count) if not skip(day)]
    return bars([f"{day}{' ' * bool(clock)}{clock}" for day in dates])


def midnights(zone, count, start="2024-01-01"):
    """Local midnights in nanoseconds UTC."""
    first = dt.datetime.fromisoformat(start).replace(tzinfo=ZoneInfo(zone))
    return [int((first + dt.timedelta(day)).timestamp()) * 10**9 for day in range(count)]


def sessions(first, last, step):
    """A file of eight days of New York's sessions, from one minute of the day to another."""
    return at(*((7 + day) * DAY + np.arange(first, last + 1, step) for day in range(8)))


MIXED = {
    "1m then 5m": ("1m", [1] * 600 + [5] * 400),
    "a tenth of 5m here and there":
        ("1m", np.random.Generator(np.random.PCG64(1)).choice([1, 5], 1000, p=[0.9, 0.1]).tolist()),
    "days then weeks": ("1d", [DAY] * 300 + [7 * DAY] * 60),
}  # fmt: skip

ONE = {
    "nights, 1m": ("1m", every_day(1, 14, 21, of=WEEKDAYS[:40])),
    "weekdays": ("1d", at(np.array(WEEKDAYS) * DAY)),
    "summer time":
        ("1h", at(*(d * DAY + 60 * np.arange(7) + 60 * (d > 150) for d in WEEKDAYS))),
    "most minutes": ("1m", thin(0.9)),
    "1 % of 5m": ("1m", after(*[1] * 1980, *[5] * 19)),
    "a day of 23 hours": ("1d", after(*[DAY] * 200, DAY - 60, *[DAY] * 164)),
    "weekends": ("1d", after(*[DAY] * 4, 3 * DAY, *[DAY] * 4)), "two bars": ("1w", after(7 * DAY)),
}  # fmt: skip

UNCLEAR = {"all different": (1, 2, 3, 4, 5), "one shorter": (2, 1, 2, 2, 2)}

MONTHS = bars([f"2024-0{month}-01T00:00Z" for month in range(1, 7)])
FIRSTS = np.arange("2015-01", "2020-02", dtype="datetime64[M]")
PERIODS = {
    "months": FIRSTS,
    "last weekdays of months": [np.busday_offset(month.astype("M8[D]"), -1, roll="forward")
                                for month in FIRSTS],
    "quarters": FIRSTS[::3], "years": FIRSTS[::12],
}  # fmt: skip
RNG = np.random.Generator(np.random.PCG64(6))
FRIDAYS = np.datetime64("2015-01-02") + np.arange(200) * np.timedelta64(7, "D")
THURSDAYS = FRIDAYS - (np.arange(200) % 21 == 5).astype("timedelta64[D]")
WEEKDAY_DATES = np.datetime64("2024-01-01") + np.array(WEEKDAYS, "timedelta64[D]")
LATE = [f"2024-01-{1 + k // 48:02}T{k // 2 % 24:02}:{30 * (k % 2):02}:{3 * (k == 20):02}Z"
        for k in range(60)]  # fmt: skip
BESIDE = {
    "weeks by their last trading day": ("1w", bars([f"{day}" for day in THURSDAYS])),
    "weeks by their first trading day": ("1w", bars([
        f"{day}" for day in FRIDAYS + np.timedelta64(3, "D") + (FRIDAYS - THURSDAYS)])),
    "days at 16:00 and 13:00": ("1d", bars([f"{day} {'13' if k % 20 == 5 else '16'}:00"
                                            for k, day in enumerate(WEEKDAY_DATES)])),
    "hours from 10:30 to 16:00": ("1h", at(*(day * DAY + np.minimum(630 + 60 * np.arange(7), 960)
                                             for day in WEEKDAYS[:60]))),
}  # fmt: skip
TRADES = np.cumsum(RNG.gamma(3, 40, 500).astype(int) + 1)

LENGTHS = {"60s": "1m", "90m": "90m", "24h": "1d", "14d": "2w", " 5m ": "5m", "36500d": "36500d"}
NO_LENGTHS = ("", "15", "0m", "-5m", "1.5h", "15min", "1M", "\u0661m")
TOO_LONG = ("99999999d", "15251w")

SHOWN = (
    *(refuses(f"{name} in {kind}", after(*steps, kind=kind), {}, TimeframeError,
              "spaced in more than one way", f" of {step}, ", "part the file by its spacings")
      for kind, (name, (step, steps)) in zip(("csv", "parquet") * 9, MIXED.items(), strict=False)),
    *(reads(name, file, timeframe=step) for name, (step, file) in ONE.items()),
    *(refuses(f"unclear steps: {name}", after(*(DAY * step for step in steps)), {}, TimeframeError,
              "--source-timeframe") for name, steps in UNCLEAR.items()),
    *(refuses(name, bars([f"{day.astype('M8[D]')}T00:00Z" for day in days]), {}, TimeframeError,
              f"bars are {name.split(' of ')[-1].removeprefix('two ')}, ", never="--")
      for name, days in PERIODS.items()),
    *(reads(name, file, timeframe=step) for name, (step, file) in BESIDE.items()),
    *(reads(f"{name}, at the close", BESIDE[name][1],
            notes=f"{told}: --stamped close reads them so")
      for name, told in (("weeks by their last trading day", "on their last trading day"),
                         ("days at 16:00 and 13:00", "when exchanges of New York close"),
                         ("hours from 10:30 to 16:00", "stamped at their close"))),
    refuses("bars of so much volume", bars([
        f"{time}Z" for time in START + np.array(TRADES, "timedelta64[s]")]), {}, TimeframeError,
            "bars of trades, volume or range have no duration", never="--"),
    reads("months as --timeframe says", MONTHS,
          {"timeframe": "30d"}, timeframe="30d",
          notes=["bars read as 30d because --timeframe says so"]),
    refuses("one bar", bars(1), {}, TimeframeError, "1 bar does not show", "--source-timeframe"),
    *(reads(f"one bar with --{name.replace('_', '-')}", bars(1), {name: "15m"}, made=1,
            timeframe="15m", notes=[f"bars read as 15m because --{name.replace('_', '-')} says so"])
      for name in ("timeframe", "source_timeframe")),
    *(reads(f"a length {text!r}", bars(1), {"source_timeframe": text}, timeframe=shown)
      for text, shown in LENGTHS.items()),
    *(refuses(f"no length {text!a} as {name}", bars(1), {name: text}, TimeframeError,
              f"--{name.replace('_', '-')}")
      for text, name in zip(NO_LENGTHS, ("timeframe", "source_timeframe") * 4, strict=True)),
    *(refuses(f"too long {text[:9]}", bars(1), {"source_timeframe": text}, TimeframeError,
              "too long", "at most 7625w") for text in TOO_LONG),
)  # fmt: skip

STATED = (
    refuses("5m of bars a minute apart", bars(50, "1m"), {"source_timeframe": "5m"}, TimeframeError,
            "49 of 49 bars open sooner", "most of them 1m"),
    *(refuses(f"a thin market, {wanted} wanted", at(TRADED), {"timeframe": wanted}, TimeframeError,
              "--source-timeframe 1m", then={"timeframe": wanted or "1m"})
      for wanted in (None, "15m")),
    reads("minutes of a thin market, merged", at(TRADED),
          {"source_timeframe": "1m", "timeframe": "15m"},
          times=(START + minutes_of(TRADED[QUARTERS] // 15 * 15)).astype("datetime64[ns]")
          .astype(np.int64),
          values={"open": (99.875 + 0.25 * QUARTERS).tolist(),
                  "volume": np.add.reduceat(10.0 + np.arange(len(TRADED)), QUARTERS).tolist()},
          notes=[f"merged {len(TRADED)} bars of 1m into {len(QUARTERS)} of 15m; ",
                 "bars read as 1m because --source-timeframe says so"]),
)  # fmt: skip

STAMPED = (
    reads("stamped at the close", bars(12), CLOSE, first="2023-12-31T23:45", count=12,
          last="2024-01-01T02:30", notes=["bars are stamped at their close because --stamped"]),
    reads("a short last bar", after(*[60] * 479, 30), CLOSE, last="2024-01-20T23:00", count=481),
    *(reads(f"days at their close, {zone}", days(60, "2024-03-01"), {**CLOSE, "tz": zone},
            times=midnights(zone, 60, "2024-02-29"))
      for zone in ("America/New_York", "Europe/Berlin")),
    *(reads(f"closes a moment before, {end}", bars([f"2024-01-01T{hour:02}:59:{end}Z"
                                                    for hour in range(10)]), CLOSE,
            times=every("1h", 10)) for end in ("59", "59.999")),
    refuses("closes alone", bars(9, head="close_time"), {}, TableError,
            "--column timestamp=close_time --stamped close", then={"first": "2023-12-31T23:45"}),
    *(reads(f"sessions at their close, {step}m", sessions(first, 960, step),
            notes="--stamped close reads them so")
      for first, step in ((571, 1), (585, 15))),
    *(reads(f"sessions at their open, {first} to {last}", sessions(first, last, step),
            unsaid="--stamped") for first, last, step in
      ((570, 955, 5), (570, 960, 1))),
)  # fmt: skip

OPEN_BAR = {"now": "2024-01-01T01:59"}
MERGED = (
    reads("a bar in the making", bars(8), **OPEN_BAR, notes=[
        "the bar of 2024-01-01T01:45 is still open until 2024-01-01T02:00",
        "--to 2024-01-01T01:45"]),
    reads("hours of quarters", bars(8), {"timeframe": "1h"}, count=2, timeframe="1h",
          values={"open": [99.875, 100.875], "high": [101.25, 102.25], "low": [99.5, 100.5],
                  "close": [100.75, 101.75], "volume": [46, 62]},
          notes=["merged 8 bars of 15m into 2 of 1h; 0 hold fewer than 4"]),
    reads("volumes are summed from the oldest", bars(4, volume=[1e16, 1.0, 1.0, 0.0]),
          {"timeframe": "1h"}, values={"volume": [1e16]}),
    reads("weeks begin on Monday", bars(14, "1d"), {"timeframe": "1w"},
          times=["2024-01-01", "2024-01-08"]),
    *(refuses(f"{wanted} from quarters", bars(4), {"timeframe": wanted}, TimeframeError,
              f"--timeframe {wanted}", "15m") for wanted in ("5m", "20m")),
    refuses("hours over an edge", bars(5, "1h", start="2024-01-01T00:30"), {"timeframe": "4h"},
            TimeframeError, "1 bars of 1h reach over an edge", "2024-01-01T03:30"),
)  # fmt: skip


def weeks(name, file, tz, clock, first, per_week, **more):
    """Days of a local clock that become weeks."""
    options = {"timeframe": "1w"} | ({"tz": tz} if tz else {})
    zone = ZoneInfo(tz or "UTC")
    opens = [dt.datetime.fromisoformat(f"{first}T{clock}") + dt.timedelta(7 * i) for i in range(50)]
    times = [int(time.replace(tzinfo=zone).timestamp()) * 10**9 for time in opens]
    closes = (100.0 + 0.25 * (np.arange(1, 51) * per_week - 1)).tolist()
    return reads(name, file, options, times=times, values={"close": closes}, **more)


HELSINKI = bars([f"{np.datetime64(time, 'ns')}Z" for time in midnights("Europe/Helsinki", 364)])
"""Local midnights as times in UTC."""
WEEKS = (
    weeks("weeks of Asia/Kolkata", days(350), "Asia/Kolkata", "00:00", "2024-01-01", 7,
          notes="0 hold fewer than 7"),
    *(weeks(f"weeks of days at {clock} of {tz}", days(350, first, clock, lambda day: day % 7 > 4),
            tz, clock, first, 5, notes="0 hold fewer than the usual 5")
      for tz, clock, first in (("America/New_York", "17:00", "2024-01-07"),
                               ("America/New_York", "09:30", "2024-01-08"),
                               (None, "16:00", "2024-01-07"))),
    refuses("weeks of midnights of Helsinki in UTC", HELSINKI, {"timeframe": "1w"}, TimeframeError,
            "--tz"),
    reads("weeks of midnights of Helsinki in UTC, with --tz", HELSINKI,
          {"timeframe": "1w", "tz": "Europe/Helsinki"},
          times=midnights("Europe/Helsinki", 364)[::7],
          notes="--tz Europe/Helsinki changes no time"),
)  # fmt: skip

ROWS = (*SHOWN, *STATED, *STAMPED, *MERGED, *WEEKS)
