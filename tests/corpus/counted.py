"""Times that are counted or typed: every unit, changes of unit, and times that no market has."""

import itertools
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa

from data.errors import BarsError, DataError, TableError, TimeframeError
from tests.corpus.row import ONE, bars, every, reads, refuses

NOON, NOON_S = "2024-03-01T12:00", 1_709_294_400
FIRST_S = 1_735_516_800
"""2024-12-30: Binance counts microseconds from 2025-01-01 on."""
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
MINUTE_NS, DAY_S, START_S = 60 * 10**9, 86_400, 1_704_067_200
KINDS = ("csv", "parquet")
DAYS = pd.date_range("2024-01-01", periods=60)
TICKS, TICKS_1980 = 638_396_640_000_000_000, 624_511_296_000_000_000


def typed(times, of, **more):
    """A file of these times, of a type."""
    return bars(pa.array(times, of), **{"kind": "parquet", **more})


def days(*units, start=0):
    """Days in whole numbers, each in its unit."""
    return [(FIRST_S + (start + i) * DAY_S) * UNITS[unit] for i, unit in enumerate(units)]


def as_days(count):
    """These days in nanoseconds."""
    return [(FIRST_S + i * DAY_S) * 10**9 for i in range(count)]


def put(numbers, place, odd):
    """Numbers with one in place of another."""
    return [*numbers[:place], odd, *numbers[place + 1 :]]


def decimals(kind, unit):
    """Days as whole decimals, of a unit or of the calendar."""
    numbers = DAYS.strftime("%Y%m%d") if unit == "calendar" else DAYS.as_unit(unit).asi8
    return bars(pa.array([Decimal(int(number)) for number in numbers]).cast(kind), kind="arrow")


def write_seconds(unit, step):
    """Seconds of 2024 that are typed as another unit."""
    return typed(every(step, 20) // 10**9, pa.timestamp(unit, tz="UTC"))


UNIT = (
    *(reads(f"{unit} as {form}", bars([cell(NOON_S * scale)]), ONE, first=NOON,
            notes=f"times are whole numbers, read as {unit} since 1970 UTC")
      for (unit, scale), (form, cell) in zip(UNITS.items(), [
          ("numbers", int), ("quoted numbers", '"{}"'.format)] * 2, strict=True)),
    *(reads(f"{unit} typed, zone {zone}", typed([NOON_S * scale], pa.timestamp(unit, zone)), ONE,
            first=NOON, zone=zone or "UTC") for (unit, scale), zone in zip(
          UNITS.items(), (None, "America/New_York") * 2, strict=True)),
    *(reads(f"{kind} of {unit}", decimals(kind, unit), times=DAYS.as_unit("ns").asi8)
      for kind, unit in ((pa.decimal128(38, 0), "ns"), (pa.decimal128(38, 6), "s"),
                         (pa.decimal256(38, 6), "calendar"))),
    refuses("whole floats, one missing", typed([float(NOON_S), None], pa.float64()), ONE, BarsError,
            "row 1", "--drop-bad-bars", then={"first": NOON, "count": 1}),
    *(reads(f"ns of 1990, {step} s apart",
            bars([(638_323_200 + i * step) * 10**9 for i in range(4)]), count=4,
            first=638_323_200 * 10**9) for step in (60,)),
    *(refuses(f"ticks of .NET, {step} s apart", bars([TICKS + i * step * 10**7 for i in range(4)]),
              {}, TableError, "1990-03-25", "ticks", "2024-01-01T00:00")
      for step in (60, 86400)),
    refuses("ticks beside seconds", bars([NOON_S, TICKS_1980]), {}, TableError, "ticks"),
)  # fmt: skip

CHANGES = (
    *(reads(f"{first}, then {second}, in {kind}",
            bars(days(first, first, second, second, second), kind=kind), times=as_days(5),
            notes=[f"read as {first} since 1970 UTC" +
                   (f", from row 2 on as {second}" if first != second else "")])
      for kind, (first, second) in zip(KINDS * 8, itertools.product(UNITS, UNITS), strict=True)),
    refuses("files joined in the wrong order",
            bars([*days("us", "us", start=2), *days("ms", "ms")]), {}, BarsError, "--sort",
            then={"times": as_days(4)}),
    *(refuses(name, bars(times), {}, TableError, "several units", "(ms, from row", " on as us",
              never="--sort") for name, times in (
          ("units to and fro", days("ms", "us", "ms", "us")),
          ("the same times in another unit", days("ms", "ms") + days("us", "us")))),
    *(refuses(f"{odd} in row {place}",
              bars(put(days("ms", "ms", "us", "us"), place, odd), kind="parquet"), {}, TableError,
              str(odd), "do not all lie between 1980 and")
      for odd, place in ((0, 0), (FIRST_S * 10, 2), (20_241_231, 3))),
)  # fmt: skip

IMPLAUSIBLE = (
    *(refuses(f"seconds typed as {unit}, {step} apart", write_seconds(unit, step), {}, DataError,
              f"{larger:,} times as large", "from 2024-01-01T00:00 to", f"s for {unit}")
      for unit, larger, step in (("ms", 10**3, "1m"), ("us", 10**6, "1d"), ("ns", 10**9, "1m"))),
    *(refuses(f"{unit} typed as seconds",
              typed((START_S + np.arange(5) * 900) * UNITS[unit], pa.timestamp("s", tz="UTC"),
                    kind="feather"), {}, TableError, "1678 to 2262",
              f"{START_S * UNITS[unit]} are {unit} since 1970", "2024-01-01T00:00")
      for unit in ("ms", "us", "ns")),
    *(refuses(f"{step} ns apart", bars([f"{time}Z" for time in (
        START_S * 10**9 + step * np.arange(20)).astype("datetime64[ns]")]), {}, TimeframeError,
              "do not last whole seconds", f"they last {fits}")
      for step, fits in ((900, "15m"), (3_600_000_000, "1h"))),
    refuses("zero for a missing time", bars(20, timestamp={0: "1970-01-01T00:00Z"}), {}, BarsError,
            "1 row", "before 1970-01-02: row 0", "--drop-bad-bars",
            then={"made": range(1, 20), "notes": ["dropped 1 bad row"]}),
    reads("bars ahead of the clock", bars(9, start="2027-01-15T07:45"), notes=[
        "the bar of 2027-01-15T08:00 is still open", "7 bars ahead of the clock of this machine"]),
    refuses("a year ahead of the clock", bars(9, start="2028-01-16T07:45"), {}, BarsError,
            "8 rows", "ahead of the clock", "2027-01-15", "row 1 ("),
)  # fmt: skip

ROWS = (*UNIT, *CHANGES, *IMPLAUSIBLE)
