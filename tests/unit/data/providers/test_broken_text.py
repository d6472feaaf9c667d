"""Text files that are cut, padded, far too wide, or hold a number of two readings."""

import pytest

from data import LoadOptions, load_bars
from data.errors import DataError, SourceError, TableError
from tests.support.series import csv_text, make_bars, make_columns, write_csv

TEXT = csv_text(make_columns(300))
HEADER, *ROWS = TEXT.splitlines()


def with_volumes(*volumes):
    """A file whose first volumes are other texts."""
    rows = [row.rpartition(",")[0] for row in ROWS[: len(volumes)]]
    lines = [f"{row},{volume}" for row, volume in zip(rows, volumes, strict=True)]
    return "\n".join([HEADER, *lines, *ROWS[len(volumes) :], ""])


@pytest.mark.parametrize(
    "lines",
    [[HEADER + ",x" * 200_000, *(row + ",1" * 200_000 for row in ROWS[:5])],
     [HEADER + "," * 200_000, *(row + "," * 200_000 for row in ROWS[:5])],
     [HEADER + ",x" * 20_000, *(row + ",1000000" * 20_000 for row in ROWS[:5])]],
    ids=["named", "empty", "wide rows"],
)  # fmt: skip
def test_a_file_of_far_too_many_columns_is_named(tmp_path, lines):
    """Their number is named, and not that there are no bars."""
    count = lines[0].count(",") + 1
    with pytest.raises(SourceError, match=f"series.csv: has a line of .* and {count} columns"):
        load_bars(write_csv(tmp_path, "\n".join([*lines, ""])))


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize(("at", "line"), [(0, 1), (2000, 32), (len(TEXT), 302)])
def test_zero_bytes_are_counted_and_placed(tmp_path, at, line, ending):
    """What a power cut leaves behind, at the begin, within and at the end."""
    spec = write_csv(tmp_path, TEXT[:at] + "\0" * 4096 + TEXT[at:], f"series.csv{ending}")
    with pytest.raises(SourceError, match=f"holds 4096 zero bytes, the first in line {line}: "):
        load_bars(spec)


def test_zero_bytes_far_behind_the_header_are_found(tmp_path):
    """Wherever they stand."""
    text = csv_text(make_columns(3000))
    with pytest.raises(SourceError, match="holds 9 zero bytes, the first in line 3002"):
        load_bars(write_csv(tmp_path, text + "\0" * 9))


@pytest.mark.parametrize("cut", range(1, 60))
def test_a_file_is_never_cut_without_a_word(tmp_path, cut):
    """Wherever it ends: the bars are those of whole lines, or there are none."""
    text = TEXT[:-cut] if cut > 1 else TEXT
    try:
        bars = load_bars(write_csv(tmp_path, text))
    except DataError:
        return
    assert bars.content_hash == make_bars(len(bars)).content_hash


@pytest.mark.parametrize("volumes", ["1234", "12.5", "7"])
def test_a_last_number_that_may_be_cut_is_refused(tmp_path, volumes):
    """The cause is named, and what to do."""
    rows = [row.rpartition(",")[0] for row in ROWS[:5]]
    lines = [f"{row},{volume}" for row, volume in zip(rows, ("3", "1.25", "7", "8"), strict=False)]
    text = "\n".join([HEADER, *lines, f"{rows[4]},{volumes}"])
    with pytest.raises(SourceError, match=rf"its last line has no end, .*'{volumes}', may be cut"):
        load_bars(write_csv(tmp_path, text))
    assert len(load_bars(write_csv(tmp_path, text + "\n"))) == 5


@pytest.mark.parametrize("last", ['"7"', "7,x"])
def test_a_last_number_that_is_seen_to_be_whole_is_read(tmp_path, last):
    """A quote or an unread column stands behind it."""
    rows = [f"{row.rpartition(',')[0]},{last}" for row in ROWS[:5]]
    header = HEADER + (",name" if "x" in last else "")
    assert load_bars(write_csv(tmp_path, "\n".join([header, *rows]))).volume[4] == 7


@pytest.mark.parametrize(
    "volumes", [('"1,234"', "14.0"), ('"1,234"', "1500"), ('"12,345"', "9.5", '"1,000"')], ids=str
)
def test_a_number_of_two_readings_among_plain_ones_is_refused(tmp_path, volumes):
    """One comma among points: 1,234 may be 1.234 just as well."""
    spec = write_csv(tmp_path, with_volumes(*volumes))
    with pytest.raises(
        TableError, match=r"column 'volume' holds '12?,[0-9]{3}' among numbers such"
    ):
        load_bars(spec)
    whole = load_bars(spec, LoadOptions(decimal="."))
    assert whole.volume[0] == float(volumes[0].strip('"').replace(",", ""))


@pytest.mark.parametrize(
    ("rows", "first"),
    [(('"1,234"', '"2,000"', "12", '"1,500"'), 1234), (('"1,234"', '"1,234,567"', "1500"), 1234),
     (('"1,234"', '"1,234.5"', "14.5"), 1234)], ids=str)  # fmt: skip
def test_thousands_that_are_parted_throughout_are_read(tmp_path, rows, first):
    """A column that parts every thousand, or shows both marks, has one reading."""
    lines = [f"{row.rpartition(',')[0]},{cell}" for row, cell in zip(ROWS, rows, strict=False)]
    assert load_bars(write_csv(tmp_path, "\n".join([HEADER, *lines, ""]))).volume[0] == first


def test_a_point_among_decimal_commas_is_refused_alike(tmp_path):
    """The other way round."""
    rows = [row.replace(".", ";").replace(",", "|").replace(";", ",") for row in ROWS]
    rows = [row.replace(",000000000Z", "Z") for row in rows]
    rows[3] = f"{rows[3].rpartition('|')[0]}|1.234"
    spec = write_csv(tmp_path, "\n".join([HEADER.replace(",", "|"), *rows, ""]))
    with pytest.raises(TableError, match=r"'1.234' among numbers such as '10,0', .*--decimal ,"):
        load_bars(spec)
