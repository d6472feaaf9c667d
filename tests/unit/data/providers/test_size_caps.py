"""The cap on a source holds for what is decoded, whatever size its file states."""

import gzip
import io
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from data.errors import DataError, LimitError
from data.load import load_bars
from data.table import LARGEST_SOURCE_BYTES, LoadOptions
from tests.support.series import make_columns

CAP = 20_000_000
ROWS = 4000
PEAK = 250_000_000
"""What a refusal may take: some times the cap, and far less than any of these files asks for."""

READING = """
import resource, sys
import pyarrow.csv, pyarrow.feather, pyarrow.parquet
from data.errors import DataError
from data.point_in_time import read_dated
from data.load import load_bars
from data.table import LoadOptions
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    if sys.argv[1].startswith("dated:"):
        read_dated(sys.argv[1].removeprefix("dated:"))
    else:
        load_bars(sys.argv[1], LoadOptions(max_bytes=int(sys.argv[2])))
except DataError as error:
    print(type(error).__name__, error, file=sys.stderr)
unit = 1 if sys.platform == "darwin" else 1024
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit)
"""


def refused_peak(spec):
    """Bytes by which a process of its own grows while it refuses a source, and its words."""
    done = subprocess.run(
        [sys.executable, "-c", READING, spec, str(CAP)], capture_output=True, text=True, check=True
    )
    assert "LimitError" in done.stderr, done.stderr
    return int(done.stdout), done.stderr


def long_word(kind):
    """One word of a megabyte that stands in every row, as a dictionary."""
    word = pa.array(["A" * 1_000_000], kind)
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(ROWS, np.int32)), word)


def table(**changed):
    """Sound bars, with these columns beside or in place of theirs."""
    return pa.table({**make_columns(ROWS), **changed})


def write_parquet(path, columns, **options):
    """Write columns, packed, and say how they are named as a source."""
    pq.write_table(columns, path, compression="zstd", **options)
    return f"parquet:{path}"


def write_feather(path, columns, **options):
    """The same in the other form."""
    pa.feather.write_feather(columns, str(path), compression="zstd", **options)
    return f"feather:{path}"


def pad_varint(value, length):
    """A number as Thrift writes it, in so many bytes."""
    left = value << 1
    return bytes([(left >> 7 * i) & 127 | 128 for i in range(length - 1)]) + bytes(
        [left >> 7 * (length - 1)]
    )


def shrink_footer(path):
    """Let the footer of a Parquet file claim that nothing in it unpacks to more than 1,000."""
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[start:]
    group = pq.ParquetFile(path).metadata.row_group(0)
    sizes = {group.column(i).total_uncompressed_size for i in range(group.num_columns)}
    for size in (group.total_byte_size, *sizes):
        length = (size.bit_length() + 7) // 7
        footer = footer.replace(pad_varint(size, length), pad_varint(1000, length))
    path.write_bytes(content[:start] + footer)
    assert pq.ParquetFile(path).metadata.row_group(0).total_byte_size == 1000


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()], ids=str)
def test_a_dictionary_of_one_long_word_stays_packed(tmp_path, kind):
    """A few kilobytes that stand for 4 GB of text are refused before they are written out."""
    spec = write_parquet(tmp_path / "word.parquet", table(symbol=long_word(kind)))
    assert (tmp_path / "word.parquet").stat().st_size < 300_000
    peak, words = refused_peak(spec)
    assert "text takes 4000000000 bytes" in words
    assert peak < PEAK


def test_a_page_is_judged_by_its_own_header(tmp_path):
    """A footer that states less than its pages unpack to hides nothing."""
    path = tmp_path / "pages.parquet"
    # Words that differ, so that they are not repeated by a dictionary.
    words = pa.array([f"{i:06d}" + "A" * 100_000 for i in range(ROWS)])
    spec = write_parquet(
        path, table(symbol=words), use_dictionary=False, data_page_size=1 << 30, version="1.0"
    )
    del words
    shrink_footer(path)
    assert path.stat().st_size < CAP
    peak, message = refused_peak(spec)
    assert "unpacks to 40" in message
    assert peak < PEAK


def test_more_values_than_rows_are_refused(tmp_path):
    """A list holds more values than the file has rows, and is refused before it is read."""
    path = tmp_path / "list.parquet"
    lists = pa.array([[0.0] * 20_000] * ROWS)
    spec = write_parquet(path, table(volume=lists))
    del lists
    before = pa.total_allocated_bytes()
    with pytest.raises(DataError, match=r"holds list.*no single value"):
        load_bars(spec, LoadOptions(max_bytes=CAP))
    assert pa.total_allocated_bytes() - before < 1_000_000


def test_a_footer_has_a_cap_of_its_own(tmp_path):
    """What describes the rows may not take more than the rows themselves."""
    path = tmp_path / "footer.parquet"
    empty_column = b"\x26\x00\x00"
    columns = b"\x19\xfc\xa0\x8d\x06" + empty_column * 100_000
    group = columns + b"\x16\x00\x16\x00\x00"
    schema = b"\x19\x1c\x48\x01a\x15\x00\x00"
    footer = b"\x15\x02" + schema + b"\x16\x00\x19\xac" + group * 10 + b"\x00"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    peak, words = refused_peak(f"parquet:{path}")
    assert "footer" in words
    assert peak < PEAK


@pytest.mark.parametrize("is_view", [False, True])
def test_text_that_rows_share_is_counted_in_feather(tmp_path, is_view):
    """A dictionary, packed as it may be, or views of one text: as large as written out."""
    column = long_word(pa.string())
    path = tmp_path / "word.feather"
    if is_view:
        # Each row looks at the same text.
        one = pa.array(["A" * 1_000_000], pa.string_view())
        _, view, text = one.buffers()
        shared = pa.py_buffer(view.to_pybytes() * ROWS)
        column = pa.Array.from_buffers(pa.string_view(), ROWS, [None, shared, text])
    spec = write_feather(path, table(symbol=column))
    peak, words = refused_peak(spec)
    assert "text takes 4000000000 bytes" in words
    assert peak < PEAK


def test_a_packed_dictionary_is_counted_in_feather(tmp_path):
    """The words of a dictionary count as unpacked, as the values do."""
    words = pa.array([f"{i:06d}" + "A" * 500_000 for i in range(800)])
    codes = pa.array(np.arange(ROWS, dtype=np.int32) % 800)
    column = pa.DictionaryArray.from_arrays(codes, words)
    spec = write_feather(tmp_path / "words.feather", table(symbol=column))
    del words, column
    peak, message = refused_peak(spec)
    assert "unpacks to 40" in message
    assert peak < PEAK


def test_rows_without_bytes_are_counted_in_feather(tmp_path):
    """A column of nulls takes nothing in the file, and eight bytes a row once it is read."""
    rows = 30_000_000
    nulls = dict.fromkeys(("timestamp", "open", "high", "low", "close", "volume"), pa.nulls(rows))
    spec = write_feather(tmp_path / "nulls.feather", pa.table(nulls), chunksize=rows)
    peak, words = refused_peak(spec)
    assert "30000000 rows of 6 columns take 1440000000 bytes" in words
    assert peak < PEAK


@pytest.mark.parametrize("kind", ["gzip", "zip"])
def test_empty_cells_of_packed_text_are_counted(tmp_path, kind):
    """A short cell takes eight bytes once it is read, however little it takes packed."""
    text = b"timestamp,open,high,low,close,volume\n" + b",,,,,\n" * 3_000_000
    path = tmp_path / ("cells.csv.gz" if kind == "gzip" else "cells.zip")
    if kind == "gzip":
        path.write_bytes(gzip.compress(text))
    else:
        memory = io.BytesIO()
        with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("cells.csv", text)
        path.write_bytes(memory.getvalue())
    peak, words = refused_peak(f"csv:{path}")
    assert "3000001 rows of 6 columns" in words
    assert peak < PEAK


@pytest.mark.parametrize("kind", ["parquet", "csv.gz"])
def test_dated_numbers_have_the_same_cap(tmp_path, kind):
    """A file of numbers with times is read as carefully as bars are."""
    path = tmp_path / f"rates.{kind}"
    if kind == "parquet":
        rows = pa.array(np.arange(ROWS), pa.timestamp("s"))
        numbers = pa.array(np.zeros(ROWS))
        columns = {"known_at": rows, "value": numbers, "symbol": long_word(pa.string())}
        write_parquet(path, pa.table(columns))
    else:
        line = b"2024-01-01T00:00Z,1.0" + b" " * 1000 + b"\n"
        path.write_bytes(gzip.compress(b"known_at,value\n" + line * 400_000))
    peak, words = refused_peak(f"dated:{path}")
    assert "above the cap of" in words
    assert peak < PEAK + LARGEST_SOURCE_BYTES


def test_columns_that_nobody_needs_are_not_read(tmp_path):
    """A wide column beside the bars neither counts nor is unpacked."""
    wide = pa.array([f"{i:06d}" + "A" * 100_000 for i in range(ROWS)])
    spec = write_parquet(tmp_path / "wide.parquet", table(comment=wide), use_dictionary=False)
    before = pa.total_allocated_bytes()
    del wide
    assert len(load_bars(spec, LoadOptions(max_bytes=CAP))) == ROWS
    assert pa.total_allocated_bytes() <= before


def test_a_word_as_long_as_it_may_be_is_read(tmp_path):
    """A dictionary within the cap is read as text of its own."""
    word = pa.DictionaryArray.from_arrays(pa.array(np.zeros(ROWS, np.int32)), pa.array(["ABC"]))
    spec = write_parquet(tmp_path / "word.parquet", table(symbol=word))
    assert load_bars(spec, LoadOptions(max_bytes=CAP)).symbol == "ABC"
    with pytest.raises(LimitError):
        load_bars(spec, LoadOptions(max_bytes=1000))


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_a_header_of_no_page_is_refused(tmp_path, place):
    """One line of error, whatever stands where a page should begin."""
    path = tmp_path / "pages.parquet"
    spec = write_parquet(path, table())
    content = bytearray(path.read_bytes())
    content[4 + place] = (0, 0x0C, 0xFF, 0x18)[place]
    path.write_bytes(content)
    with pytest.raises(DataError, match="no readable Parquet file"):
        load_bars(spec)


def test_text_that_is_no_text_is_refused(tmp_path):
    """Bytes that are no UTF-8 in a column of text are found before they are looked at."""
    path = tmp_path / "text.parquet"
    pq.write_table(
        table(symbol=pa.array(["ABCDEFGH"] * ROWS)), path, compression="none", use_dictionary=False
    )
    path.write_bytes(path.read_bytes().replace(b"ABCDEFGH", b"ABC\xffEFGH"))
    with pytest.raises(DataError, match="no readable Parquet file"):
        load_bars(f"parquet:{path}")
