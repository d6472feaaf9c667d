"""Text files: separators, compression, damage, size."""

import gzip
import io
import os
import tarfile
import tracemalloc
import zipfile

import pytest

from data import LoadOptions, load_bars
from data.errors import BarsError, DataError, LimitError, SourceError, TableError
from tests.support.series import csv_text, make_bars, make_columns, write_csv

TEXT = csv_text(make_columns(5))


def write_spec(tmp_path, content, name="series.csv"):
    """Write bytes and give their spec."""
    path = tmp_path / name
    path.write_bytes(content)
    return f"csv:{path}"


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace(",", ";").encode(),
        TEXT.replace(",", "\t").encode(),
        TEXT.rstrip().encode(),
        TEXT.replace("close", '"Close"').encode(),
        gzip.compress(TEXT.encode()),
        TEXT.encode("utf-16"),
        f"sep=,\n{TEXT}".encode(),
        f"# exported\n\nhttps://example.org\n{TEXT}".encode(),
    ],
    ids=[
        "plain",
        "bom",
        "crlf",
        "semicolon",
        "tab",
        "no_last_newline",
        "quoted",
        "gzip",
        "utf16",
        "sep",
        "above",
    ],
)
def test_common_forms_of_a_file_hold_the_same_bars(tmp_path, content):
    """Separators, line ends and compression change nothing."""
    assert make_bars(5).content_hash == load_bars(write_spec(tmp_path, content)).content_hash


def test_columns_beside_the_bars_are_left_alone(tmp_path):
    """Other columns are not read, even where they are no numbers."""
    lines = [line + "," + extra for line, extra in zip(TEXT.split(), "abcdef", strict=True)]
    assert len(load_bars(write_csv(tmp_path, "\n".join(lines)))) == 5


@pytest.mark.parametrize(
    ("name", "symbol"),
    [("BTC-USD.csv", "BTC-USD"), ("eth.csv.gz", "eth"), ("NA.csv", "NA"), ("a.b.CSV", "a.b"),
     ("</script>.csv".replace("/", ""), "<script>"), ("x" * 90 + ".csv", "x" * 61 + "...")],
)  # fmt: skip
def test_symbol_is_the_stem_of_the_file(tmp_path, name, symbol):
    """Text stays text; a very long name is cut."""
    assert load_bars(write_csv(tmp_path, TEXT, name)).symbol == symbol


def test_symbol_with_control_characters_is_refused(tmp_path):
    """A file name that could harm a terminal is no symbol."""
    with pytest.raises(BarsError, match="cannot be printed") as caught:
        load_bars(write_csv(tmp_path, TEXT, "a\x1b[31m.csv"))
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("symbol", ["NA", "NULL", "../../x", "</script>", "nan", "BRK/B"])
def test_symbol_column_is_text(tmp_path, symbol):
    """Words that look like missing values, and paths, stay what they are."""
    lines = TEXT.split()
    named = [lines[0] + ",symbol", *(f"{line},{symbol}" for line in lines[1:])]
    assert load_bars(write_csv(tmp_path, "\n".join(named))).symbol == symbol


def test_several_symbols_are_refused(tmp_path):
    """A file holds the bars of one market."""
    lines = TEXT.split()
    named = [lines[0] + ",ticker", *(f"{line},S{i % 2}" for i, line in enumerate(lines[1:]))]
    with pytest.raises(TableError, match=r"names 2 markets \('S0', 'S1'\); .* series.csv#S0"):
        load_bars(write_csv(tmp_path, "\n".join(named)))


def test_long_symbol_in_a_column_is_refused(tmp_path):
    """Ten kilobytes are no name."""
    lines = TEXT.split()
    named = [lines[0] + ",symbol", *(f"{line},{'A' * 10_000}" for line in lines[1:])]
    with pytest.raises(BarsError, match="10000 characters"):
        load_bars(write_csv(tmp_path, "\n".join(named)))


def make_zip(*contents):
    """A zip archive of some files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for place, content in enumerate(contents):
            archive.writestr(f"series{place}.csv", content)
    return packed.getvalue()


def test_a_report_beside_a_table_in_an_archive_is_left_out(tmp_path):
    """As HistData adds one; a note names it, and bars are those of the table."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("DAT_ASCII_EURUSD_M1_2023.txt", "File Status Report\n")
        archive.writestr("DAT_ASCII_EURUSD_M1_2023.csv", TEXT)
    bars = load_bars(write_spec(tmp_path, packed.getvalue()))
    assert bars.content_hash == load_bars(write_csv(tmp_path, TEXT)).content_hash
    assert "of its archive 'DAT_ASCII_EURUSD_M1_2023.txt' is not read" in bars.notes


def make_tar(content):
    """A tar archive with one file."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("series.csv")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (make_zip(TEXT, TEXT), "is a zip archive of 2 files; .* data import FOLDER --join NAME"),
        (make_zip(TEXT)[:-40], "cannot be unpacked"),
        (make_tar(TEXT.encode()), "tar archive; unpack it first"),
        (gzip.compress(make_tar(TEXT.encode())), "tar archive; unpack it first"),
        (b"PAR1" + b"\0" * 50, "Parquet file; write parquet:PATH"),
        (TEXT.encode("utf-16-le"), "is no text"),
        (b"\xff\xfea", "is no text in UTF-16"),
        (b"time,open\x81,high\n1,2,3\n", "no text in UTF-8"),
        ((TEXT + TEXT).encode()[:-9] + b"\xff\n", "no readable CSV file"),
        (gzip.compress(TEXT.encode())[:-20], "cannot be unpacked"),
        (gzip.compress(TEXT.encode())[:30] + b"xxxxxxxxxx", "cannot be unpacked"),
        (TEXT.encode() + b"1,2,3\n", "no readable CSV file .*6 columns"),
        (b"\n" + TEXT.encode(), "first line is blank"),
    ],
    ids=["two in a zip", "cut_zip", "tar", "tar_gz", "parquet", "utf16", "cut_utf16",
         "header_bytes", "value_bytes", "cut_gzip", "damaged_gzip", "short_row", "blank_line"],
)  # fmt: skip
def test_what_is_no_csv_file_is_named(tmp_path, content, words):
    """One line names the file's kind and the remedy."""
    with pytest.raises(SourceError, match=words) as caught:
        load_bars(write_spec(tmp_path, content))
    assert str(caught.value).startswith("series.csv: ")
    assert "\n" not in str(caught.value)


def test_what_a_file_holds_cannot_reach_the_terminal(tmp_path):
    """Escape characters of a broken row are not printed."""
    with pytest.raises(SourceError, match="no readable CSV file") as caught:
        load_bars(write_spec(tmp_path, TEXT.encode() + b"\x1b[31m,1\n"))
    assert str(caught.value).isprintable()


def test_missing_file_is_named(tmp_path):
    """The path is shown."""
    with pytest.raises(SourceError, match=r"none.csv: there is no such file"):
        load_bars(f"csv:{tmp_path}/none.csv")


def test_folders_pipes_and_empty_paths_are_no_files(tmp_path):
    """Only an ordinary file is read: a pipe would never end."""
    os.mkfifo(tmp_path / "pipe.csv")
    for address in (str(tmp_path), f"{tmp_path}/pipe.csv", "/dev/zero"):
        with pytest.raises(SourceError, match="is no file"):
            load_bars(f"csv:{address}")
    with pytest.raises(SourceError, match="write csv:PATH"):
        load_bars("csv:")
    with pytest.raises(DataError, match="zero byte"):
        load_bars("csv:a\0b")


def test_file_above_the_cap_is_refused_by_its_size(tmp_path):
    """The message names the size, the cap and the option."""
    spec = write_csv(tmp_path, TEXT)
    with pytest.raises(LimitError, match=f"has {len(TEXT)} bytes, above the cap of 100;.*--max-b"):
        load_bars(spec, LoadOptions(max_bytes=100))
    assert len(load_bars(spec, LoadOptions(max_bytes=len(TEXT)))) == 5


def test_unpacked_size_is_what_counts(tmp_path):
    """A small gzip file of a large text is judged by the text."""
    spec = write_csv(tmp_path, TEXT, "series.csv.gz")
    with pytest.raises(LimitError, match="unpacks to more than 100 bytes"):
        load_bars(spec, LoadOptions(max_bytes=100))
    assert len(load_bars(spec, LoadOptions(max_bytes=len(TEXT)))) == 5


def test_a_zip_archive_of_one_file_is_that_file(tmp_path):
    """As exchanges hand out their history; the archive names the market."""
    bars = load_bars(write_spec(tmp_path, make_zip(TEXT), "BTCUSDT-15m.zip"))
    assert bars.content_hash == make_bars(5).content_hash
    assert bars.symbol == "BTCUSDT-15m"
    assert load_bars(str(tmp_path / "BTCUSDT-15m.zip")).content_hash == bars.content_hash


def test_zip_bomb_is_refused_before_memory_grows(tmp_path):
    """The archive's stated size is not believed; bytes are counted."""
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("bomb.csv", b"0" * 48_000_000)
    assert path.stat().st_size < 60_000
    tracemalloc.start()
    try:
        with pytest.raises(LimitError, match=r"unpacks to more than 40000000 bytes.*--max-bytes"):
            load_bars(f"csv:{path}", LoadOptions(max_bytes=40_000_000))
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_gzip_bomb_is_refused_before_memory_grows(tmp_path):
    """240 MB in a quarter of a megabyte cost time, not memory."""
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=9) as packed:
        for _ in range(240):
            packed.write(b"0" * 1_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(LimitError, match="above the cap of 200000000; --max-bytes"):
            load_bars(f"csv:{path}")
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
