"""The cap on a source holds for what is decoded, whatever size its file states."""

import gzip
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from data.load import load_bars
from data.table import LARGEST_SOURCE_BYTES, LoadOptions
from tests.support.commands import run
from tests.support.paths import ROOT
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


def long_word(kind=None):
    """One word of a megabyte that stands in every row, as a dictionary."""
    word = pa.array(["A" * 1_000_000], kind or pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(ROWS, np.int32)), word)


def shared_text():
    """A word that every row looks at."""
    one = pa.array(["A" * 1_000_000], pa.string_view())
    _, view, text = one.buffers()
    shared = pa.py_buffer(view.to_pybytes() * ROWS)
    return pa.Array.from_buffers(pa.string_view(), ROWS, [None, shared, text])


def long_words(letters, count=ROWS):
    """Words that differ, so that no dictionary repeats them."""
    return pa.array([f"{i:06d}" + "A" * letters for i in range(count)])


def table(**changed):
    """Sound bars, with these columns beside or in place of theirs."""
    return pa.table({**make_columns(ROWS), **changed})


def write_parquet(path, columns, **options):
    """Write columns, packed."""
    pq.write_table(columns, path, compression="zstd", **options)


def write_feather(path, columns, **options):
    """The same in the other form."""
    pa.feather.write_feather(columns, str(path), compression="zstd", **options)


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


def write_false_footer(path):
    """Pages that unpack to more than the footer states."""
    options = {"use_dictionary": False, "data_page_size": 1 << 30, "version": "1.0"}
    write_parquet(path, table(symbol=long_words(100_000)), **options)
    shrink_footer(path)


def write_large_footer(path):
    """A footer of a million columns without a row."""
    columns = b"\x19\xfc\xa0\x8d\x06" + b"\x26\x00\x00" * 100_000
    group = columns + b"\x16\x00\x16\x00\x00"
    schema = b"\x19\x1c\x48\x01a\x15\x00\x00"
    footer = b"\x15\x02" + schema + b"\x16\x00\x19\xac" + group * 10 + b"\x00"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def write_many_rows(path):
    """Nine million equal rows in groups."""
    zeros = np.zeros(900_000, dtype=np.int64)
    piece = pa.table(dict.fromkeys(make_columns(1), zeros))
    with pq.ParquetWriter(path, piece.schema, compression="zstd") as writer:
        for _ in range(10):
            writer.write_table(piece)


def write_many_words(path):
    """A dictionary of many long words."""
    codes = pa.array(np.arange(ROWS, dtype=np.int32) % 800)
    column = pa.DictionaryArray.from_arrays(codes, long_words(500_000, 800))
    write_feather(path, table(symbol=column))


def write_zip(path, content):
    """An archive of one file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("cells.csv", content)


CELLS = b"timestamp,open,high,low,close,volume\n" + b",,,,,\n" * 3_000_000
NULLS = dict.fromkeys(make_columns(1), pa.nulls(30_000_000))
ZEROS = dict.fromkeys(make_columns(1), np.zeros(6_000_000))
WORDS = "text takes 4000000000 bytes"
DATED = b"known_at,value\n" + (b"2024-01-01T00:00Z,1.0" + b" " * 1000 + b"\n") * 400_000

BOMBS = {
    "a text of zeros": ("csv:x.zip", lambda path: write_zip(path, b"0" * 300_000_000),
                        "unpacks to more than 20000000 bytes"),
    "zeros in gzip": ("csv:x.csv.gz", lambda path: path.write_bytes(gzip.compress(
        b"0" * 300_000_000, 1)), "unpacks to more than 20000000 bytes"),
    "empty cells": ("csv:x.zip", lambda path: write_zip(path, CELLS), "3000001 rows of 6 columns"),
    "empty cells in gzip": ("csv:x.csv.gz", lambda path: path.write_bytes(gzip.compress(CELLS, 1)),
                            "3000001 rows of 6 columns"),
    **{f"a word as {kind}": ("parquet:x.parquet", lambda path, kind=kind: write_parquet(
        path, table(symbol=long_word(kind))), WORDS)
       for kind in (pa.string(), pa.large_string(), pa.binary())},
    "pages larger than stated": ("parquet:x.parquet", write_false_footer, "unpacks to 40"),
    "a footer": ("parquet:x.parquet", write_large_footer, "footer"),
    "many rows": ("parquet:x.parquet", write_many_rows, "9000000 rows of 6 columns take 432000000"),
    "a word in Feather": ("feather:x.feather", lambda path: write_feather(
        path, table(symbol=long_word())), WORDS),
    "a word that rows share": ("feather:x.feather", lambda path: write_feather(
        path, table(symbol=shared_text())), WORDS),
    "many words in Feather": ("feather:x.feather", write_many_words, "unpacks to 40"),
    "zeros in Feather": ("feather:x.feather", lambda path: write_feather(
        path, pa.table(ZEROS), chunksize=6_000_000), "unpacks to 288"),
    "nulls in Feather": ("feather:x.feather", lambda path: write_feather(
        path, pa.table(NULLS), chunksize=30_000_000),
        "30000000 rows of 6 columns take 1440000000 bytes"),
    "dated numbers": ("dated:x.parquet", lambda path: write_parquet(path, pa.table({
        "known_at": pa.array(np.arange(ROWS), pa.timestamp("s")), "value": np.zeros(ROWS),
        "symbol": long_word()})), "above the cap of"),
    "dated numbers in gzip": ("dated:x.csv.gz", lambda path: path.write_bytes(
        gzip.compress(DATED, 1)), "above the cap of"),
}  # fmt: skip
"""Small files that stand for far more than the cap, by source, and words of their refusal."""


@pytest.mark.parametrize("name", BOMBS)
def test_a_source_beyond_the_cap_is_refused_before_memory_grows(tmp_path, name):
    """A process of its own grows by little while it refuses a file of less than the cap."""
    (spec, write, words) = BOMBS[name]
    source, _, file = spec.partition(":")
    write(tmp_path / file)
    assert (tmp_path / file).stat().st_size < CAP
    done = run(f"{source}:{tmp_path}/{file}", CAP, cwd=ROOT, program=("-c", READING))
    assert "LimitError" in done.err, done.err
    assert words in done.err
    assert int(done.out) < PEAK + (LARGEST_SOURCE_BYTES if source == "dated" else 0)


def test_columns_that_nobody_needs_are_not_read(tmp_path):
    """A wide column beside the bars neither counts nor is unpacked."""
    write_parquet(tmp_path / "x.parquet", table(comment=long_words(100_000)), use_dictionary=False)
    before = pa.total_allocated_bytes()
    assert len(load_bars(f"parquet:{tmp_path}/x.parquet", LoadOptions(max_bytes=CAP))) == ROWS
    assert pa.total_allocated_bytes() <= before
