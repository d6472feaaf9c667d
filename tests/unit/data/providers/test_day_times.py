"""Dates and times of day in two columns, typed, written or as numbers."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from data import DataError, load_bars
from tests.support.series import MINUTE_NS, START_NS, make_columns, write_csv, write_parquet

COUNT = 200
MOMENTS = [datetime.datetime(2024, 1, 1) + datetime.timedelta(minutes=15 * i) for i in range(COUNT)]

DATES = {
    "date32": pa.array([moment.date() for moment in MOMENTS]),
    "date64": pa.array([moment.date() for moment in MOMENTS]).cast(pa.date64()),
    "midnight": pa.array([moment.date() for moment in MOMENTS]).cast(pa.timestamp("ns")),
    "number": pa.array([int(f"{moment:%Y%m%d}") for moment in MOMENTS]),
    "float": pa.array([float(f"{moment:%Y%m%d}") for moment in MOMENTS]),
    "text": pa.array([f"{moment:%Y-%m-%d}" for moment in MOMENTS]),
    "category": pa.array([f"{moment:%Y-%m-%d}" for moment in MOMENTS]).dictionary_encode(),
}
MINUTES = [60 * moment.hour + moment.minute for moment in MOMENTS]
TIMES = {
    "time32[s]": pa.array([60 * m for m in MINUTES]).cast(pa.int32()).cast(pa.time32("s")),
    "time64[us]": pa.array([moment.time() for moment in MOMENTS]),
    "time64[ns]": pa.array([moment.time() for moment in MOMENTS]).cast(pa.time64("ns")),
    "duration": pa.array([MINUTE_NS * m for m in MINUTES]).cast(pa.duration("ns")),
    "HHMM": pa.array([int(f"{moment:%H%M}") for moment in MOMENTS]),
    "HHMM float": pa.array([float(f"{moment:%H%M}") for moment in MOMENTS]),
    "HHMMSS": pa.array([int(f"{moment:%H%M%S}") for moment in MOMENTS]),
    "HHMMSSmmm": pa.array([int(f"{moment:%H%M%S}000") for moment in MOMENTS]),
    "six digits": pa.array([f"{moment:%H%M%S}" for moment in MOMENTS]),
    "few digits": pa.array([str(int(f"{moment:%H%M}")) for moment in MOMENTS]),
    "text": pa.array([f"{moment:%H:%M}" for moment in MOMENTS]),
    "whole time": pa.array(MOMENTS),
}


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("date", DATES)
def test_any_two_columns_that_make_a_time_are_joined(tmp_path, date, time):
    """Whatever their types, the bars open when the two say together."""
    columns = make_columns(COUNT)
    del columns["timestamp"]
    bars = load_bars(write_parquet(tmp_path, {"date": DATES[date], "time": TIMES[time], **columns}))
    wanted = np.arange(COUNT) * 15 * MINUTE_NS + START_NS
    assert bars.timestamp.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("offset", ["Z", " UTC", "+01:00", "-0500", " +05"])
def test_a_time_of_day_may_have_an_offset(tmp_path, offset):
    """It is that of the joined time."""
    rows = "".join(f"2024-01-0{day},12:00:00{offset},1,1,1,1,1\n" for day in (2, 3, 4))
    bars = load_bars(write_csv(tmp_path, f"date,time,open,high,low,close,volume\n{rows}"))
    ahead = {"+01:00": 1, "-0500": -5, " +05": 5}.get(offset, 0)
    assert bars.timestamp[0] == START_NS + (36 - ahead) * 60 * MINUTE_NS


@pytest.mark.parametrize(
    ("written", "second"),
    [("000931", 571), ("931", 9 * 3600 + 31 * 60), ("93101", 9 * 3600 + 31 * 60 + 1)],
)
def test_six_digits_are_hours_minutes_seconds(tmp_path, written, second):
    """Leading zeros count: 000931 is half a minute past nine after midnight, 931 a morning."""
    rows = "".join(f"2024-01-0{day},{written},1,1,1,1,1\n" for day in (1, 2, 3))
    bars = load_bars(write_csv(tmp_path, f"date,time,open,high,low,close,volume\n{rows}"))
    assert bars.timestamp[0] == START_NS + second * 10**9


@pytest.mark.parametrize(
    "time",
    [
        pa.array([960, 1275, 1]),
        pa.array([34200.5, 34260.5, 34320.5]),
        pa.array([-1, 0, 1]),
        pa.array(["a", "b", "c"]),
        pa.array([-1, 0, 1]).cast(pa.duration("s")),
        pa.array([90_000, 90_001, 90_002]).cast(pa.duration("s")),
        pa.array([datetime.datetime(1900, 1, 1, 9)] * 3),
        pa.array([None, None, None], pa.int64()),
    ],
    ids=str,
)
def test_what_is_no_time_of_day_is_refused(tmp_path, time):
    """The remedy that is named reads the file, where one column is the time."""
    columns = make_columns(3, step_ns=24 * 60 * MINUTE_NS)
    date = pa.array([datetime.date(2024, 1, day) for day in (1, 2, 3)])
    del columns["timestamp"]
    spec = write_parquet(tmp_path, {"date": date, "time": time, **columns})
    with pytest.raises(DataError, match=r"with --column timestamp=date or --column timestamp=t"):
        load_bars(spec)


def test_missing_times_of_day_are_missing_times(tmp_path):
    """A row without a time of day is refused as any row without a time."""
    columns = make_columns(3)
    del columns["timestamp"]
    time = pa.array([datetime.time(9), None, datetime.time(11)])
    date = pa.array([datetime.date(2024, 1, 1)] * 3)
    with pytest.raises(DataError, match="row 1"):
        load_bars(write_parquet(tmp_path, {"date": date, "time": time, **columns}))
