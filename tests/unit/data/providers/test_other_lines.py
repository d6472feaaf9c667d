"""Lines of text files that are no rows: titles, remarks below, header lines that come again."""

import pytest

from data import load_bars
from data.errors import DataError
from data.table import LoadOptions
from tests.support.flags import parse_options

HEADER = "Time,Open,High,Low,Last,Volume"
ROWS = [f"2024-01-0{i},10,12,9,11,{i}" for i in range(1, 6)]
NAMED = ["AAPL", "BRK.B", "MSFT", "T", "X"]


def write(folder, *lines, end="\n"):
    """A file of lines, and its source."""
    (folder / "bars.csv").write_text("\n".join(lines) + end, encoding="utf-8")
    return str(folder / "bars.csv")


def volumes(spec, **options):
    """Volumes of the bars, which count the rows, and notes."""
    bars = load_bars(spec, LoadOptions(**options))
    return bars.volume.tolist(), bars.notes


BELOW = {
    "Barchart": ['"Downloaded from Barchart.com as of 11-25-2026 10:53am CST"'],
    "commas": ["Downloaded from Barchart.com, as of Nov 25, 2026"],
    "a spreadsheet": ["Data provided by the exchange,,,,,"],
    "blank lines": ["", "Source: Some Vendor Ltd.", "", "All times are local times.", ""],
}


@pytest.mark.parametrize("end", ["\n", "", "\r\n"])
@pytest.mark.parametrize("kind", BELOW)
def test_remarks_below_the_rows_are_skipped(tmp_path, kind, end):
    """With a note for each, whether the last line has an end or not."""
    volume, notes = volumes(write(tmp_path, HEADER, *ROWS, *BELOW[kind], end=end))
    assert volume == [1, 2, 3, 4, 5]
    messages = [note for note in notes if note.startswith("a line below the rows is passed over: ")]
    assert len(messages) == len(list(filter(None, BELOW[kind])))


@pytest.mark.parametrize("cut", range(1, 16))
@pytest.mark.parametrize(
    ("header", "rows"),
    [
        (HEADER, ROWS),
        (HEADER, [f'"Tue, Jan {i:02d}, 2024",10.25,12.25,9.25,11.25,{i}' for i in range(1, 6)]),
        (HEADER, [f"{i:02d} January 2024,10.25,12.25,9.25,11.25,{i}" for i in range(1, 6)]),
        (f"Name,{HEADER}", [f"Some Company,{row}" for row in ROWS]),
        (f"Symbol,{HEADER}", [f"{n},{row}" for n, row in zip(NAMED, ROWS, strict=True)]),
    ],
    ids=["dates", "day names", "month names", "names", "symbols"],
)
def test_a_row_that_was_cut_is_no_remark(tmp_path, header, rows, cut):
    """Wherever it was cut: the file is refused."""
    with pytest.raises(DataError):
        load_bars(write(tmp_path, header, *rows[:4], rows[4][:cut], end=""))


@pytest.mark.parametrize("word", ["EOF", "Total", "x,y", "1 2"])
def test_what_may_be_data_is_not_skipped(tmp_path, word):
    """A single word, or numbers, may be part of a row."""
    with pytest.raises(DataError, match="no readable CSV file"):
        load_bars(write(tmp_path, HEADER, *ROWS, word))


def test_remarks_between_rows_are_refused(tmp_path):
    """Only the last lines are passed over."""
    with pytest.raises(DataError, match="no readable CSV file"):
        load_bars(write(tmp_path, HEADER, *ROWS[:2], *BELOW["Barchart"], *ROWS[2:]))


@pytest.mark.parametrize(
    "titles",
    [["Historical prices of Apple Inc."], ["AAPL, Apple Inc.", "", "daily; adjusted"]],
    ids=["one", "three"],
)
def test_titles_above_the_header_are_skipped(tmp_path, titles):
    """Where a later line names all prices; a note counts them."""
    volume, notes = volumes(write(tmp_path, *titles, HEADER, *ROWS))
    assert volume == [1, 2, 3, 4, 5]
    assert f"{len(titles)} lines above the header are passed over" in notes


def test_a_row_is_no_title(tmp_path):
    """Rows above a header line are not lost."""
    with pytest.raises(DataError):
        load_bars(write(tmp_path, *ROWS[:3], HEADER, *ROWS[3:]))


@pytest.mark.parametrize("again", [HEADER, HEADER.lower(), "date,o,h,l,close,vol", f" {HEADER} "])
@pytest.mark.parametrize("place", [1, 4, 5])
def test_a_header_that_comes_again_is_dropped_where_a_person_says_so(tmp_path, again, place):
    """As of joined months; without the option the message names it."""
    spec = write(tmp_path, HEADER, *ROWS[:place], again, *ROWS[place:], again)
    with pytest.raises(DataError, match=f"row {place} names the columns again") as caught:
        load_bars(spec)
    bars = load_bars(spec, parse_options(str(caught.value)))
    assert bars.volume.tolist() == [1, 2, 3, 4, 5]
    assert "dropped 2 rows that name the columns again" in bars.notes


def test_a_header_below_rows_that_had_none_is_dropped(tmp_path):
    """Binance began to name columns at some time."""
    rows = [
        f"{1_735_516_800_000 + 86_400_000 * i},10,12,9,11,{i + 1},{1_735_603_199_999 + i},1,2,3,4,0"
        for i in range(4)
    ]
    names = "open_time,open,high,low,close,volume,close_time,quote_volume,count,a,b,ignore"
    spec = write(tmp_path, *rows[:2], names, *rows[2:])
    assert volumes(spec, drop_bad_bars=True)[0] == [1, 2, 3, 4]


def test_a_header_in_another_order_is_never_dropped(tmp_path):
    """What stands behind it is another thing than before."""
    other = "Time,Open,High,Low,Volume,Last"
    with pytest.raises(DataError):
        volumes(write(tmp_path, HEADER, *ROWS[:2], other, *ROWS[2:]), drop_bad_bars=True)


def test_a_header_of_several_lines_that_comes_again_is_dropped_whole(tmp_path):
    """As yfinance writes it: names, tickers, and the name of the index."""
    header = ["Price,Close,High,Low,Open,Volume", "Ticker,X,X,X,X,X", "Date,,,,,"]
    rows = [f"2024-01-0{i},11,12,9,10,{i}" for i in range(1, 6)]
    spec = write(tmp_path, *header, *rows[:3], *header, *rows[3:])
    with pytest.raises(DataError, match="row 3 names the columns again") as caught:
        load_bars(spec)
    bars = load_bars(spec, parse_options(str(caught.value)))
    assert bars.volume.tolist() == [1, 2, 3, 4, 5]
    assert "dropped 3 rows that name the columns again" in bars.notes


@pytest.mark.parametrize("last", ["a b" * 200_000, "Down\rloaded from a vendor", "\0 a word", '"'])
def test_last_lines_that_are_no_text_are_refused_in_our_words(tmp_path, last):
    """Too long, broken, or never closed."""
    with pytest.raises(DataError):
        load_bars(write(tmp_path, HEADER, *ROWS, last))


def test_lines_that_end_as_on_old_machines_are_read(tmp_path):
    """A carriage return alone, which no line feed follows."""
    (tmp_path / "bars.csv").write_bytes("\r".join([HEADER, *ROWS, ""]).encode())
    assert volumes(str(tmp_path / "bars.csv"))[0] == [1, 2, 3, 4, 5]
