"""Two columns of one name: what is not needed is passed over, what is needed is named by place."""

import re

import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from data import load_bars
from data.errors import DataError
from data.table import LoadOptions
from tests.support.flags import parse_options

NAMES = ["time", "open", "high", "low", "close", "volume"]
ROWS = [[10.0 + i, 12.0 + i, 9.0 + i, 11.0 + i, 5.0 + i] for i in range(4)]
TIMES = [f"2024-01-0{i}T00:00Z" for i in range(1, 5)]


def write(folder, kind, names, columns):
    """A file of columns [N] each, of which several may have one name; and its source."""
    path = folder / f"bars.{kind}"
    if kind == "csv":
        rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
        path.write_text("\n".join([",".join(names), *rows, ""]))
        return str(path)
    table = pa.Table.from_arrays([pa.array(column) for column in columns], names=list(names))
    {"parquet": pq.write_table, "feather": feather.write_feather}[kind](table, str(path))
    return str(path)


def add_column(name, column):
    """Names and columns of four bars, with one more column behind."""
    return [*NAMES, name], [TIMES, *(list(each) for each in zip(*ROWS, strict=True)), column]


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("name", ["open", "close", "volume"])
def test_a_doubled_column_that_is_needed_is_read_by_its_place(tmp_path, kind, name):
    """Each place that the message names is the column that stands there."""
    names, columns = add_column(name, [9.5, 10.5, 11.5, 12.5])
    spec = write(tmp_path, kind, names, columns)
    with pytest.raises(DataError, match=f"could both be {name}; say which with --column") as caught:
        load_bars(spec)
    offers = re.findall(rf"--column {name}=(\d+)", str(caught.value))
    assert offers == [str(NAMES.index(name) + 1), "7"]
    for place in offers:
        bars = load_bars(spec, LoadOptions(columns={name: place}))
        assert getattr(bars, name).tolist() == columns[int(place) - 1]


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
def test_a_name_of_two_columns_says_not_which(tmp_path, kind):
    """Neither is taken; the message names their places."""
    spec = write(tmp_path, kind, *add_column("close", [9.5, 10.5, 11.5, 12.5]))
    with pytest.raises(DataError, match="close=close: 2 columns are named so") as caught:
        load_bars(spec, LoadOptions(columns={"close": "close"}))
    bars = load_bars(spec, parse_options(str(caught.value)))
    assert bars.close.tolist() == [row[3] for row in ROWS]


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
def test_doubled_columns_that_are_not_needed_are_skipped(tmp_path, kind):
    """Two notes beside the bars, the last of them without an end of its line."""
    names, columns = add_column("note", list("abcd"))
    spec = write(tmp_path, kind, [*names, "note"], [*columns, list("efgh")])
    assert load_bars(spec).close.tolist() == [row[3] for row in ROWS]


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
def test_a_doubled_aligned_column_is_read_by_its_place(tmp_path, kind):
    """The one that was meant, after the message named both."""
    names, columns = add_column("mood", [1.0, 2.0, 3.0, 4.0])
    spec = write(tmp_path, kind, [*names, "mood"], [*columns, [5.0, 6.0, 7.0, 8.0]])
    with pytest.raises(DataError, match="--aligned-column mood=7 or --aligned-column mood=8"):
        load_bars(spec, LoadOptions(aligned_columns=("mood",)))
    bars = load_bars(spec, LoadOptions(aligned_columns=("mood=8",)))
    assert bars.extra["mood"].tolist() == [5.0, 6.0, 7.0, 8.0]


def test_doubled_columns_of_times_must_agree(tmp_path):
    """As other columns of times; a place settles it."""
    later = [time.replace("T00", "T01") for time in TIMES]
    spec = write(tmp_path, "csv", *add_column("timestamp", TIMES))
    assert len(load_bars(spec)) == 4
    names, columns = add_column("timestamp", TIMES)
    spec = write(tmp_path, "csv", [*names, "timestamp"], [*columns, later])
    with pytest.raises(DataError, match="--column timestamp=7 or --column timestamp=8"):
        load_bars(spec)
    bars = load_bars(spec, LoadOptions(columns={"timestamp": "8"}))
    assert bars.timestamp[0] % (86_400 * 10**9) == 3600 * 10**9


def test_an_index_without_a_name_is_read_beside_empty_names(tmp_path):
    """Commas at the end of lines, as a spreadsheet leaves them."""
    names, columns = add_column("", [""] * 4)
    spec = write(tmp_path, "csv", ["", *names[1:], ""], [*columns, [""] * 4])
    assert load_bars(spec).close.tolist() == [row[3] for row in ROWS]


def test_ticks_that_stand_twice_are_named_by_an_option_that_exists(tmp_path):
    """A column that counts ticks is the volume with the option."""
    names, columns = add_column("ticks", [1.0, 2.0, 3.0, 4.0])
    names[5] = "tickvol"
    spec = write(tmp_path, "csv", names, columns)
    with pytest.raises(DataError, match="could both be tick_volume; say which with") as caught:
        load_bars(spec)
    assert load_bars(spec, parse_options(str(caught.value))).volume.tolist() == [5.0, 6.0, 7.0, 8.0]


def test_a_name_with_blanks_is_offered_as_a_shell_takes_it(tmp_path):
    """The option of a message can be copied."""
    names, columns = add_column("Close Price", [9.5, 10.5, 11.5, 12.5])
    names[4] = "Closing Price"
    spec = write(tmp_path, "csv", names, columns)
    with pytest.raises(DataError, match="--column 'close=Closing Price'") as caught:
        load_bars(spec)
    assert load_bars(spec, parse_options(str(caught.value))).close.tolist() == [
        11.0,
        12.0,
        13.0,
        14.0,
    ]


def test_a_frame_of_pandas_with_doubled_columns_is_read_by_place(tmp_path):
    """As concatenating two frames side by side leaves them."""
    frame = pd.DataFrame(ROWS, columns=NAMES[1:], index=pd.Index(TIMES, name="time"))
    both = pd.concat([frame, frame + 100], axis=1)
    both.to_csv(tmp_path / "bars.csv")
    with pytest.raises(DataError, match="'open \\(column 2\\)' and 'open \\(column 7\\)'"):
        load_bars(str(tmp_path / "bars.csv"))
    places = {name: str(7 + k) for k, name in enumerate(NAMES[1:])}
    bars = load_bars(str(tmp_path / "bars.csv"), LoadOptions(columns=places))
    assert bars.open.tolist() == [row[0] + 100 for row in ROWS]
