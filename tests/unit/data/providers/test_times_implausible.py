"""Implausible times: a unit read wrongly, zero for none, years ahead of the clock."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather

from data import LoadOptions, inspect_source, load_bars
from data.errors import BarsError, DataError, TableError, TimeframeError
from tests.support.series import (
    MINUTE_NS,
    NAMES,
    START_NS,
    csv_text,
    make_bars,
    make_columns,
    write_csv,
    write_parquet,
)

NOW_NS = 1_800_000_000 * 10**9
"""2027-01-15T08:00 UTC."""
DAY_NS = 1440 * MINUTE_NS


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that stands still."""
    monkeypatch.setattr("time.time_ns", lambda: NOW_NS)


def write_times(folder, numbers, unit, step_ns=15 * MINUTE_NS):
    """A Parquet file whose times are numbers of a unit."""
    columns = make_columns(len(numbers), step_ns)
    times = pa.array(np.asarray(numbers, dtype=np.int64), pa.timestamp(unit, tz="UTC"))
    return write_parquet(folder, {**columns, "timestamp": times})


@pytest.mark.parametrize("step_ns", [MINUTE_NS, 15 * MINUTE_NS, 60 * MINUTE_NS, DAY_NS], ids=str)
@pytest.mark.parametrize(("unit", "larger"), [("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
def test_seconds_typed_as_a_shorter_unit_are_refused(tmp_path, unit, larger, step_ns):
    """Days of 2024 would lie in January 1970; the unit that fits is named."""
    numbers = make_columns(20, step_ns)["timestamp"] // 10**9
    words = rf"{larger:,} times as large they lie from 2024-01-01T00:00 to .*: s for {unit}"
    with pytest.raises(DataError, match=words):
        load_bars(write_times(tmp_path, numbers, unit, step_ns))


@pytest.mark.parametrize(("count", "fits"), [(10**3, "ms"), (10**6, "us"), (10**9, "ns")])
def test_shorter_units_typed_as_longer_are_refused(tmp_path, count, fits):
    """The year 56971 is none; the unit that fits is named."""
    numbers = START_NS // 10**9 * count + np.arange(5) * 900 * count
    words = rf"outside 1678 to 2262: it is typed .*{numbers[0]} are {fits} since 1970 .2024-01-01T"
    columns = {**make_columns(5), "timestamp": pa.array(numbers, pa.timestamp("s", tz="UTC"))}
    path = tmp_path / "s.feather"
    feather.write_feather(pa.table(columns), str(path))
    with pytest.raises(TableError, match=words):
        load_bars(str(path))


def test_written_times_of_january_1970_are_refused_alike(tmp_path):
    """As text, where another program took the unit wrongly."""
    columns = make_columns(20)
    spec = write_csv(tmp_path, csv_text({**columns, "timestamp": columns["timestamp"] // 10**6}))
    with pytest.raises(
        BarsError, match=r"20 rows with a time before 1970-01-02: row 0 .*1,000,000 t"
    ):
        load_bars(spec)


@pytest.mark.parametrize("step_ns", [900, 900_000, 900_000_000, 3_600_000_000])
def test_bars_that_do_not_last_whole_seconds_are_refused(tmp_path, step_ns):
    """Bars of 900 ns are no bars: steps were counted in too short a unit."""
    columns = make_columns(20, step_ns)
    with pytest.raises(TimeframeError, match=r"do not last whole seconds; .* they last (15m|1h)"):
        load_bars(write_csv(tmp_path, csv_text(columns)))


def test_zero_for_a_missing_time_is_dropped_when_asked(tmp_path):
    """One row is wrong and the others are good."""
    columns = make_columns(20)
    columns["timestamp"][0] = 0
    spec = write_csv(tmp_path, csv_text(columns))
    with pytest.raises(BarsError, match=r"1 row with a time before 1970-01-02: row 0 .*--drop-bad"):
        load_bars(spec)
    assert inspect_source(spec).problems[0].split(": ")[1].startswith("1 row with a time before")
    assert len(load_bars(spec, LoadOptions(drop_bad_bars=True))) == 19


def test_the_first_time_that_is_one(tmp_path):
    """The second day of 1970, and not a bar before it."""
    assert len(load_bars(write_csv(tmp_path, csv_text(make_columns(9, start_ns=DAY_NS))))) == 9
    early = csv_text(make_columns(9, start_ns=DAY_NS - 15 * MINUTE_NS))
    with pytest.raises(BarsError, match="1 row with a time before 1970-01-02: row 0"):
        load_bars(write_csv(tmp_path, early))


def test_bars_ahead_of_the_clock_are_named_and_a_year_ahead_refused(tmp_path):
    """The message quotes the clock, for it may be the clock that is wrong."""
    ahead = csv_text(make_columns(9, start_ns=NOW_NS - 15 * MINUTE_NS))
    assert load_bars(write_csv(tmp_path, ahead)).notes[1:] == (
        "7 bars ahead of the clock of this machine",
    )
    far = csv_text(make_columns(9, start_ns=NOW_NS + 366 * DAY_NS - 15 * MINUTE_NS))
    words = r"8 rows with a time a year or more ahead of the clock, which says 2027-01-15: row 1 \("
    with pytest.raises(BarsError, match=words):
        load_bars(write_csv(tmp_path, far))


def test_bars_in_memory_are_not_measured_by_a_clock():
    """What was loaded once stays what it is."""
    assert len(make_bars(9, start_ns=NOW_NS + 9000 * DAY_NS)) == 9
    assert set(NAMES) <= set(vars(make_bars(9, start_ns=0)))
