"""Files of numbers and when each was known: read as they say, refused where they do not."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.errors import DataError
from data.point_in_time import DatedNumbers, read_dated
from data.zones import LocalZone
from tests.support.series import MINUTE_NS, START_NS, make_bars

DAY_NS = 1440 * MINUTE_NS


def write_csv(tmp_path, text):
    """A CSV file."""
    path = tmp_path / "rates.csv"
    path.write_text(text)
    return str(path)


def test_times_are_utc_and_ascending(tmp_path):
    """Whatever order they were written in; an empty value is not known."""
    path = write_csv(tmp_path, "known_at,value\n1970-01-03T00:00Z,2\n1970-01-02T00:30Z,\n")
    bars = read_dated(path)
    assert bars.known_at.tolist() == [DAY_NS + 30 * MINUTE_NS, 2 * DAY_NS]
    assert np.isnan(bars.values[0])
    assert bars.values[1] == 2.0


def test_a_file_of_several_symbols_tells_them_apart(tmp_path):
    """Each gets its own numbers; of another it has none."""
    path = write_csv(
        tmp_path, "symbol,known_from,value\nA,1970-01-02,1\nB,1970-01-02,2\nA,1970-01-04,3\n"
    )
    bars = read_dated(path)
    assert bars.of("A").values.tolist() == [1.0, 3.0]
    assert bars.of("B").known_at.tolist() == [DAY_NS]
    assert len(bars.of("C").values) == 0


def test_a_symbol_of_digits_keeps_its_zeros(tmp_path):
    """It is a name, also where a file holds numbers; the same number twice is one."""
    path = write_csv(tmp_path, "symbol,known_at,value\n000700,1970-01-02,1\n000700,1970-01-02,1\n")
    assert read_dated(path).of("000700").values.tolist() == [1.0, 1.0]
    path = str(tmp_path / "rates.parquet")
    times = pa.array([86_400], pa.timestamp("s", "UTC"))
    pq.write_table(pa.table({"known_at": times, "symbol": [700], "value": [3]}), path)
    assert read_dated(path).of("700").values.tolist() == [3.0]


def test_times_that_name_no_zone_are_of_the_zone_given(tmp_path):
    """Read as UTC, they would be known hours before they were; a date begins at its midnight."""
    hour = 60 * MINUTE_NS
    for text, is_by_day, there, in_utc in (
        ("2024-01-31T09:30:00", False, 14.5, 9.5),
        ("2024-01-31", True, 5, 0),
        ("2024-01-31T09:30:00Z", False, 9.5, 9.5),
    ):
        path = write_csv(tmp_path, f"known_at,value\n{text},1\n")
        bars, plain = read_dated(path, LocalZone("America/New_York")), read_dated(path)
        assert bars.is_by_day == is_by_day
        assert (bars.known_at % DAY_NS).tolist() == [there * hour]
        assert (plain.known_at % DAY_NS).tolist() == [in_utc * hour]
    with pytest.raises(DataError, match="no IANA zone"):
        read_dated(
            write_csv(tmp_path, "known_at,value\n2024-01-31T09:30:00,1\n"), LocalZone("Nowhere")
        )


def test_parquet_says_the_same(tmp_path):
    """Typed times of any unit."""
    times = pa.array([86_400, 172_800], pa.timestamp("s", "Europe/Berlin"))
    path = tmp_path / "rates.PARQUET"
    pq.write_table(pa.table({"known_at": times, "value": [1, 2]}), path)
    assert read_dated(str(path)).known_at.tolist() == [DAY_NS, 2 * DAY_NS]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("timestamp,value\n1970-01-02,1\n", "known_at"),
        ("known_at,number\n1970-01-02,1\n", "'value'"),
        ("known_at,value\n", "no row"),
        ("known_at,value\n12,1\n", "ISO"),
        ("known_at,value\n1970-01-02,one\n", "no number"),
        ("known_at,value\n1970-01-02,inf\n", "infinite"),
        ("known_at,value\n3000-01-02,1\n", "1678"),
        ("known_at,value,value\n1970-01-02,1,2\n", "two columns"),
        ("known_at,known_from,value\n1970-01-02,1970-01-03,1\n", "two columns"),
        (
            "known_at,value\n1970-01-02T00:00Z,1\n1970-01-01T00:00Z,3\n1970-01-02T00:00Z,2\n",
            "1970-01-02T00:00 on, 1.0 and 2.0",
        ),
        (
            "symbol,known_at,value\nB,1970-01-02,1\nA,1970-01-02,1\nA,1970-01-02,2\n",
            "of A are known from 1970-01-02",
        ),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path, text, message):
    """A period is not the time from which a number was known."""
    with pytest.raises(DataError, match=message):
        read_dated(write_csv(tmp_path, text))


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ("1970-01-02T08:00Z,1\n1970-01-02T00:00Z,1", "1970-01-02T00:00 is earlier"),
        ("1970-01-02T00:00Z,1\n1970-01-02T00:00Z,1", "1970-01-02T00:00 is in the minute"),
        ("1970-01-02T08:00:00Z,1\n1970-01-02T08:00:01Z,1", "1970-01-02T08:00:01 is in the minute"),
        ("1970-01-02T00:00Z,1\n2199-01-02T00:00Z,1", "2199-01-02T00:00 has not been made"),
        ("1970-01-02T00:00Z,1\n1970-01-02T08:00Z,nan", "1970-01-02T08:00 has no rate"),
    ],
    ids=["unsorted", "doubled", "in one minute", "future", "unknown"],
)
def test_payments_are_sorted_single_and_past(tmp_path, rows, fault):
    """As another column each file is read; of several symbols each has an order of its own."""
    path = write_csv(tmp_path, f"known_at,value\n{rows}\n")
    assert len(read_dated(path).values) == 2
    with pytest.raises(DataError, match=rf"rates.csv: the payment at {fault}"):
        read_dated(path, is_paid=True)
    symbols = "symbol,known_at,value\nA,1970-01-02T08:00:00.011Z,1\nB,1970-01-02T00:00Z,2\n"
    symbols += "A,1970-01-02T16:00Z,3\nB,1970-01-02T08:00Z,4\n"
    read = read_dated(write_csv(tmp_path, symbols), is_paid=True)
    assert (read.of("A").as_payments().timestamp // MINUTE_NS % 1440).tolist() == [480, 960]
    assert read.of("B").as_payments().rates.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("name", ["rates.csv", "rates.parquet"])
def test_a_name_of_a_column_that_is_no_text_is_refused(tmp_path, name):
    """In one line, as other unreadable files; also where that column is not read."""
    path = tmp_path / name
    if name.endswith("csv"):
        path.write_text("known_at,value,qzqzqz\n1970-01-02T00:00Z,1,2\n")
    else:
        times = pa.array([DAY_NS], pa.timestamp("ns", "UTC"))
        table = pa.table({"known_at": times, "value": [1.0], "qzqzqz": [2.0]})
        pq.write_table(table, path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"qzqzqz", b"q\xf6qz\xffz"))
    with pytest.raises(DataError, match=rf"{name} cannot be read: 'utf-8'"):
        read_dated(str(path))


def test_dated_numbers_are_known_late_and_grow_old():
    """At the first close that is not before their time; not after so many minutes."""
    bars = make_bars(8, start_ns=0)
    numbers = DatedNumbers(np.array([15, 40, 40]) * MINUTE_NS, np.array([1.0, 2.0, 3.0]), None)
    known = numbers.at_closes(bars, max_age=50)
    nan = np.nan
    assert str(known.tolist()) == str([1.0, 1.0, 3.0, 3.0, 3.0, 3.0, nan, nan])
    assert np.isnan(DatedNumbers(numbers.known_at[:0], np.zeros(0), None).at_closes(bars)).all()
    with pytest.raises(DataError, match="max_age must be above 0 minutes, got 0"):
        numbers.at_closes(bars, max_age=0)


def test_extra_columns_are_part_of_the_bars():
    """They are cut with them and hashed by name; without any the hash is what it was."""
    bars = make_bars(20)
    values = np.arange(20.0)
    beside = bars.cut(0, 20, extra={"b": values, "a": -values})
    assert bars.cut(0, 20).content_hash == bars.content_hash
    assert beside.content_hash != bars.content_hash
    assert beside.until(7).extra["b"].tolist() == values[:7].tolist()
    swapped = bars.cut(0, 20, extra={"a": values, "b": -values})
    assert swapped.content_hash != beside.content_hash
    same = bars.cut(0, 20, extra={"a": -values + 0.0, "b": values})
    assert same.content_hash == beside.content_hash
    with pytest.raises(DataError, match="differ in length"):
        bars.cut(0, 20, extra={"a": values[:3]})
    with pytest.raises(ValueError, match="read-only"):
        beside.extra["a"][0] = 1.0


def test_a_day_of_23_hours_closes_when_the_next_opens():
    """What is known half an hour later belongs to the next day."""
    hour = 60 * MINUTE_NS
    opens = np.array([0, 24, 47, 71]) * hour + 5 * hour + START_NS
    bars = make_bars(4, timestamp=opens, timeframe_ns=24 * hour)
    numbers = DatedNumbers(np.array([opens[2] + hour // 2]), np.array([7.0]), None)
    assert np.array_equal(numbers.at_closes(bars), [np.nan, np.nan, 7.0, 7.0], equal_nan=True)
