"""Files of numbers and when each was known: read as they say, refused where they do not."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.errors import DataError
from data.point_in_time import DatedNumbers, read_dated
from data.zones import LocalZone
from tests.support.series import MINUTE_NS, START_NS, make_bars

HOUR_NS, DAY_NS = 60 * MINUTE_NS, 1440 * MINUTE_NS
HEAD = "known_at,value\n"


@pytest.fixture
def write(tmp_path):
    """Write text as CSV; gives its path."""

    def write_csv(text):
        (tmp_path / "rates.csv").write_text(text)
        return str(tmp_path / "rates.csv")

    return write_csv


def test_times_are_utc_and_ascending(write, tmp_path):
    """Whatever order they were written in, typed or as text; an empty value is not known."""
    bars = read_dated(write(f"{HEAD}1970-01-03T00:00Z,2\n1970-01-02T00:30Z,\n"))
    assert bars.known_at.tolist() == [DAY_NS + 30 * MINUTE_NS, 2 * DAY_NS]
    assert str(bars.values.tolist()) == "[nan, 2.0]"
    times = pa.array([86_400, 172_800], pa.timestamp("s", "Europe/Berlin"))
    pq.write_table(pa.table({"known_at": times, "value": [1, 2]}), tmp_path / "rates.PARQUET")
    assert read_dated(str(tmp_path / "rates.PARQUET")).known_at.tolist() == [DAY_NS, 2 * DAY_NS]


def test_a_file_of_several_symbols_tells_them_apart(write, tmp_path):
    """Each gets its own numbers, also where its name is of digits; of another it has none."""
    bars = read_dated(
        write("symbol,known_from,value\n000700,1970-01-02,1\nB,1970-01-02,2\n000700,1970-01-04,3\n")
    )
    assert bars.of("000700").values.tolist() == [1.0, 3.0]
    assert bars.of("B").known_at.tolist() == [DAY_NS]
    assert len(bars.of("C").values) == 0
    times = pa.array([86_400], pa.timestamp("s", "UTC"))
    table = pa.table({"known_at": times, "symbol": [700], "value": [3]})
    pq.write_table(table, tmp_path / "rates.parquet")
    assert read_dated(str(tmp_path / "rates.parquet")).of("700").values.tolist() == [3.0]


@pytest.mark.parametrize(
    ("text", "is_by_day", "there", "in_utc"),
    [("2024-01-31T09:30:00", False, 14.5, 9.5), ("2024-01-31", True, 5, 0),
     ("2024-01-31T09:30:00Z", False, 9.5, 9.5)],
)  # fmt: skip
def test_times_that_name_no_zone_are_of_the_zone_given(write, text, is_by_day, there, in_utc):
    """Read as UTC, they would be known hours before they were; a date begins at its midnight."""
    path = write(f"{HEAD}{text},1\n")
    bars, plain = read_dated(path, LocalZone("America/New_York")), read_dated(path)
    assert bars.is_by_day == is_by_day
    assert (bars.known_at % DAY_NS).tolist() == [there * HOUR_NS]
    assert (plain.known_at % DAY_NS).tolist() == [in_utc * HOUR_NS]


REFUSED = {
    "timestamp,value\n1970-01-02,1\n": "known_at",
    HEAD: "no row",
    f"{HEAD}12,1\n": "ISO",
    f"{HEAD}1970-01-02,inf\n": "infinite",
    f"{HEAD}3000-01-02,1\n": "1678",
    "known_at,known_from,value\n1970-01-02,1970-01-03,1\n": "two columns",
    "symbol,known_at,value\nB,1970-01-02,1\nA,1970-01-02,1\nA,1970-01-02,2\n":
        "of A are known from 1970-01-02",
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), REFUSED.items())
def test_what_is_no_such_file_is_refused(write, text, words):
    """A period is not the time from which a number was known."""
    with pytest.raises(DataError, match=words):
        read_dated(write(text))


UNPAID = {
    "doubled": ("1970-01-02T00:00Z,1\n1970-01-02T00:00Z,1", "1970-01-02T00:00 is in the minute"),
    "in one minute": ("1970-01-02T08:00:00Z,1\n1970-01-02T08:00:01Z,1", "1970-01-02T08:00:01"),
    "future": ("1970-01-02T00:00Z,1\n2199-01-02T00:00Z,1", "2199-01-02T00:00"),
    "unknown": ("1970-01-02T00:00Z,1\n1970-01-02T08:00Z,nan", "1970-01-02T08:00 has no rate"),
}


@pytest.mark.parametrize(("rows", "words"), UNPAID.values(), ids=UNPAID)
def test_payments_are_sorted_single_and_past(write, rows, words):
    """As another column each file is read."""
    path = write(f"{HEAD}{rows}\n")
    assert len(read_dated(path).values) == 2
    with pytest.raises(DataError, match=words):
        read_dated(path, is_paid=True)


def test_payments_of_several_symbols_have_an_order_of_their_own(write):
    """They are of the minute in which they are made."""
    path = write("symbol,known_at,value\nA,1970-01-02T08:00:00.011Z,1\nB,1970-01-02T00:00Z,2\n"
                 "A,1970-01-02T16:00Z,3\nB,1970-01-02T08:00Z,4\n")  # fmt: skip
    read = read_dated(path, is_paid=True)
    assert (read.of("A").as_payments().timestamp % DAY_NS).tolist() == [8 * HOUR_NS, 16 * HOUR_NS]
    assert read.of("B").as_payments().rates.tolist() == [2.0, 4.0]


def test_dated_numbers_are_known_late_and_grow_old():
    """At the first close that is not before their time; not after so many minutes."""
    bars = make_bars(8, start_ns=0)
    numbers = DatedNumbers(np.array([15, 40, 40]) * MINUTE_NS, np.array([1.0, 2.0, 3.0]), None)
    known = numbers.at_closes(bars, max_age=50)
    assert str(known.tolist()) == str([1.0, 1.0, 3.0, 3.0, 3.0, 3.0, np.nan, np.nan])
    assert np.isnan(DatedNumbers(numbers.known_at[:0], np.zeros(0), None).at_closes(bars)).all()
    with pytest.raises(DataError, match="max_age"):
        numbers.at_closes(bars, max_age=0)


def test_a_day_of_23_hours_closes_when_the_next_opens():
    """What is known half an hour later belongs to the next day."""
    opens = np.array([5, 29, 52, 76]) * HOUR_NS + START_NS
    bars = make_bars(4, timestamp=opens, timeframe_ns=DAY_NS)
    numbers = DatedNumbers(np.array([opens[2] + HOUR_NS // 2]), np.array([7.0]), None)
    assert np.array_equal(numbers.at_closes(bars), [np.nan, np.nan, 7.0, 7.0], equal_nan=True)


def test_extra_columns_are_part_of_the_bars():
    """They are cut with them and hashed by name; without any the hash is what it was."""
    bars, values = make_bars(20), np.arange(20.0)
    beside = bars.cut(0, 20, extra={"b": values, "a": -values})
    assert beside.until(7).extra["b"].tolist() == values[:7].tolist()
    assert bars.cut(0, 20).content_hash == bars.content_hash != beside.content_hash
    swapped = bars.cut(0, 20, extra={"a": values, "b": -values})
    same = bars.cut(0, 20, extra={"a": -values + 0.0, "b": values})
    assert swapped.content_hash != beside.content_hash == same.content_hash
    with pytest.raises(DataError, match="length"):
        bars.cut(0, 20, extra={"a": values[:3]})
    with pytest.raises(DataError, match="infinite at bar 1"):
        bars.cut(0, 2, extra={"a": np.array([1, np.inf])})
    with pytest.raises(ValueError, match="read-only"):
        beside.extra["a"][0] = 1.0
