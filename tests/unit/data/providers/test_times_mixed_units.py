"""Whole-number times whose unit changes within a file, or from one file of a market to the next."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from data import DataError, join_bars, load_bars
from data.providers.times import read_times
from data.table import LoadOptions

DAY_S = 86_400
FIRST_S = 1_735_516_800
"""2024-12-30: Binance counts microseconds from 2025-01-01 on."""

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
VALUES = {"open": 10.0, "high": 12.0, "low": 9.0, "close": 11.0, "volume": 5.0}


def count_times(*units, start=0):
    """Days in whole numbers, each in its unit."""
    return [(FIRST_S + (start + i) * DAY_S) * UNITS[unit] for i, unit in enumerate(units)]


def write(folder, times, kind="csv", name="bars"):
    """A file of a bar a time, and its source."""
    path = folder / f"{name}.{kind}"
    if kind == "parquet":
        columns = {name: [value] * len(times) for name, value in VALUES.items()}
        pq.write_table(pa.table({"open_time": times, **columns}), path)
    elif kind == "csv":
        cells = [(t, *VALUES.values(), int(t) + 1, 1.5, 7, 3.5, 4.5, 0) for t in times]
        path.write_text("".join(",".join(map(str, row)) + "\n" for row in cells))
    return str(path)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("first", UNITS)
@pytest.mark.parametrize("second", UNITS)
def test_a_unit_may_change_once_within_a_file(tmp_path, kind, first, second):
    """Any unit after any other; the note names the first row."""
    times = count_times(first, first, second, second, second)
    bars = load_bars(write(tmp_path, times, kind))
    assert (bars.timestamp // 10**9).tolist() == [FIRST_S + i * DAY_S for i in range(5)]
    (note,) = [note for note in bars.notes if "whole numbers" in note]
    later = f", from row 2 on as {second}" if first != second else ""
    assert note == f"times are whole numbers, read as {first} since 1970 UTC{later}"


def test_newest_first_and_three_units_are_read(tmp_path):
    """The order of times goes on in its own direction."""
    spec = write(tmp_path, count_times("s", "ms", "ms", "us")[::-1])
    bars = load_bars(spec, LoadOptions(sort=True))
    assert (bars.timestamp // 10**9).tolist() == [FIRST_S + i * DAY_S for i in range(4)]


def test_files_joined_in_the_wrong_order_are_sorted(tmp_path):
    """Their times are certain; their order is another matter."""
    spec = write(tmp_path, [*count_times("us", "us", start=2), *count_times("ms", "ms")])
    with pytest.raises(DataError, match="let --sort do it"):
        load_bars(spec)
    assert len(load_bars(spec, LoadOptions(sort=True))) == 4


def test_files_of_one_market_may_count_in_different_units(tmp_path):
    """A month in milliseconds and the next in microseconds are one series."""
    parts = [
        load_bars(write(tmp_path, count_times(*["ms"] * 3), name="a")),
        load_bars(write(tmp_path, count_times(*["us"] * 3, start=3), name="b")),
    ]
    bars = join_bars(parts, "X")
    assert (bars.timestamp // 10**9).tolist() == [FIRST_S + i * DAY_S for i in range(6)]


@pytest.mark.parametrize(
    "times",
    [
        count_times("ms", "us", "ms", "us"),
        count_times("ms", "ms") + count_times("us", "us"),
    ],
    ids=["to and fro", "the same times again"],
)
def test_units_that_change_without_going_on_are_refused(tmp_path, times):
    """Each block is named, and what helps."""
    with pytest.raises(DataError, match=r"several units .*ms from row 0, us.*write all in one"):
        load_bars(write(tmp_path, times))


@pytest.mark.parametrize("odd", [0, 5, FIRST_S * 10, FIRST_S * 10**4, 20_241_231], ids=str)
def test_a_number_that_is_a_time_in_no_unit_is_refused(tmp_path, odd):
    """A digit more or less makes no other time."""
    times = count_times("ms", "ms", "us", "us")
    for place in range(4):
        changed = [*times[:place], odd, *times[place + 1 :]]
        with pytest.raises(DataError, match="which do not all lie between 1980 and"):
            load_bars(write(tmp_path, changed, "parquet"))


NUMBERS = st.one_of(
    st.integers(0, 2**62),
    st.builds(
        lambda second, unit: second * UNITS[unit],
        st.integers(315_532_800, 4_102_444_799),
        st.sampled_from(list(UNITS)),
    ),
)


def find_times(numbers):
    """Times of a column in nanoseconds; None where it is refused."""
    try:
        return read_times({"t": pa.array(numbers)}, None, "f")[0].tolist()
    except DataError:
        return None


TICKS_1980 = 624_511_296_000_000_000
"""The second of 1980 in ticks of .NET, and a moment of 1989 in nanoseconds."""


@given(st.lists(NUMBERS, min_size=1, max_size=6))
@example([FIRST_S, TICKS_1980])
@example([TICKS_1980, 1_704_067_200_000_000_001])
def test_a_number_is_never_another_time(numbers):
    """Whatever stands beside it: each is read as it is alone, or the column is refused."""
    for number, time_ns in zip(numbers, find_times(numbers) or (), strict=False):
        # Beside another, a number that may be ticks is settled.
        assert [time_ns] == (find_times([number]) or [number])


def test_ticks_beside_another_unit_are_refused():
    """As they are alone."""
    assert find_times([FIRST_S, TICKS_1980]) is None
