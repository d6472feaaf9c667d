"""Parts of a time in columns of their own, and times as databases keep them."""

import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from data import load_bars
from data.errors import DataError
from data.table import LoadOptions
from tests.support.flags import parse_options

COUNT = 60
DAYS = pd.date_range("2024-01-01", periods=COUNT)
HOURS = pd.date_range("2024-01-01", periods=COUNT, freq="h")
NUMBERS = np.random.Generator(np.random.PCG64(7)).integers(1, 9, COUNT)
BARS = {"open": 10.0, "high": 12.0, "low": 9.0, "close": 11.0, "volume": NUMBERS}


def save(folder, index=False, **columns):
    """A CSV file of these columns and the bars; its path."""
    path = folder / "bars.csv"
    pd.DataFrame({**columns, **BARS}, index=DAYS).to_csv(path, index=index)
    return str(path)


def part_days(names=("year", "month", "day")):
    """Year, month and day of each row."""
    return dict(zip(names, (DAYS.year, DAYS.month, DAYS.day), strict=True))


@pytest.mark.parametrize("names", [("year", "month", "day"), ("Year", "Month", "Day")])
@pytest.mark.parametrize("further", [{}, {"hour": 9, "minute": 30}], ids=["alone", "with hours"])
def test_parts_of_a_date_are_all_named(tmp_path, names, further):
    """The day alone is no time, and not to blame."""
    shown = " and ".join(map(repr, names))
    with pytest.raises(DataError, match=f"columns {shown} are parts of one date"):
        load_bars(save(tmp_path, **part_days(names), **further))


@pytest.mark.parametrize("time", ["date", "time", "timestamp", ""])
def test_parts_of_a_date_beside_the_time_are_left_out(tmp_path, time):
    """As features that a person added, also beside an index without a name."""
    columns = {time: DAYS} if time else {}
    bars = load_bars(save(tmp_path, index=not time, **columns, **part_days()))
    assert bars.timestamp.tolist() == DAYS.as_unit("ns").asi8.tolist()


@pytest.mark.parametrize("name", ["hour", "Hour"])
def test_hours_in_a_column_of_their_own_part_no_markets(tmp_path, name):
    """They are named, and what to write."""
    dates = HOURS.strftime("%Y-%m-%d")
    with pytest.raises(DataError, match=f"column '{name}' holds the hours of dates"):
        load_bars(save(tmp_path, date=dates, **{name: HOURS.hour}))


def test_hours_beside_whole_times_are_left_out(tmp_path):
    """Rows in another order are sorted, rows of two markets are parted by these."""
    path = save(tmp_path, time=HOURS[::-1].to_numpy()[np.r_[1, 0, 2:COUNT]], hour=7)
    assert len(load_bars(path, LoadOptions(sort=True))) == COUNT
    path = save(tmp_path, date=DAYS.repeat(2)[:COUNT], hour=7, fund=["a", "b"] * (COUNT // 2))
    with pytest.raises(DataError, match="column 'fund' parts the rows into 2 markets"):
        load_bars(path)


def test_times_of_day_without_a_date_are_named(tmp_path):
    """The options name the column of dates, which has another name."""
    path = save(tmp_path, session=DAYS.strftime("%Y-%m-%d"), time="09:30")
    with pytest.raises(DataError, match="holds times of day without a date") as caught:
        load_bars(path)
    options = parse_options(str(caught.value).replace("date=NAME", "date=session")
                            .replace("time=NAME", "time=time"))  # fmt: skip
    assert load_bars(path, options).timeframe == "1d"


@pytest.mark.parametrize("kind", [pa.decimal128, pa.decimal256], ids=["128", "256"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns", "calendar"])
@pytest.mark.parametrize("scale", [0, 6])
def test_whole_decimals_are_times(tmp_path, kind, unit, scale):
    """As databases write whole numbers; they are exact."""
    numbers = DAYS.strftime("%Y%m%d").astype(int) if unit == "calendar" else DAYS.as_unit(unit).asi8
    time = pa.array([decimal.Decimal(int(number)) for number in numbers]).cast(kind(38, scale))
    rows = pa.table({"time": time, **{name: np.full(COUNT, value) for name, value in BARS.items()}})
    with pa.ipc.new_file(tmp_path / "bars.arrow", rows.schema) as file:
        file.write_table(rows)
    bars = load_bars(str(tmp_path / "bars.arrow"))
    assert bars.timestamp.tolist() == DAYS.as_unit("ns").asi8.tolist()


def test_hours_with_am_and_pm_are_read(tmp_path):
    """As CryptoDataDownload wrote them."""
    bars = load_bars(save(tmp_path, Date=HOURS.strftime("%Y-%m-%d %I-%p")))
    assert bars.timestamp.tolist() == HOURS.as_unit("ns").asi8.tolist()
