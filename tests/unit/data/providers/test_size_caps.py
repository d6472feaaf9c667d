"""The cap on a source holds for what is decoded, whatever size its file states."""

import gzip
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from tests.support.commands import printed
from tests.support.series import make_columns

CAP = 20_000_000
ROWS = 4000
PEAK = 250_000_000
"""What refusals may take: some times the cap, and far less than any of these files asks for."""

READING = """
import resource, sys
import pyarrow.csv, pyarrow.feather, pyarrow.parquet
from data import point_in_time
from data.errors import LimitError
from data.load import load_bars
from data.table import LoadOptions
point_in_time.LARGEST_SOURCE_BYTES = int(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for spec in sys.argv[2:]:
    try:
        if spec.startswith("dated:"):
            point_in_time.read_dated(spec.removeprefix("dated:"))
        else:
            load_bars(spec, LoadOptions(max_bytes=int(sys.argv[1])))
    except LimitError as error:
        print("refused", error)
    unit = 1 if sys.platform == "darwin" else 1024
    print("grown", (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit)
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


def write_false_footer(path):
    """Pages that unpack to more than the 1,000 bytes that the footer states."""
    options = {"use_dictionary": False, "data_page_size": 1 << 30, "version": "1.0"}
    write_parquet(path, table(symbol=long_words(25_000)), **options)
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


def write_large_footer(path):
    """A footer of a million columns without a row."""
    columns = b"\x19\xfc\xa0\x8d\x06" + b"\x26\x00\x00" * 100_000
    group = columns + b"\x16\x00\x16\x00\x00"
    schema = b"\x19\x1c\x48\x01a\x15\x00\x00"
    footer = b"\x15\x02" + schema + b"\x16\x00\x19\xac" + group * 10 + b"\x00"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def write_many_rows(path):
    """Three million equal rows in groups."""
    piece = pa.table(dict.fromkeys(make_columns(1), np.zeros(300_000, dtype=np.int64)))
    with pq.ParquetWriter(path, piece.schema, compression="zstd") as writer:
        for _ in range(10):
            writer.write_table(piece)


def write_zip(path, content):
    """An archive of one file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("cells.csv", content)


def write_gzip(path, content):
    """A packed file."""
    path.write_bytes(gzip.compress(content, 1))


CELLS = b"timestamp,open,high,low,close,volume\n" + b",,,,,\n" * 3_000_000
ZEROS = b"0" * 40_000_000
NULLS = dict.fromkeys(make_columns(1), pa.nulls(30_000_000))
WORDS = "4000000000 bytes"
DATED = b"known_at,value\n" + (b"2024-01-01T00:00Z,1.0" + b" " * 1000 + b"\n") * 25_000

BOMBS = {
    "csv:a.zip": (lambda path: write_zip(path, ZEROS), "20000000 bytes"),
    "csv:b.csv.gz": (lambda path: write_gzip(path, ZEROS * 8), "20000000 bytes"),
    "csv:c.zip": (lambda path: write_zip(path, CELLS), "3000001 rows of 6 columns"),
    "csv:d.csv.gz": (lambda path: write_gzip(path, CELLS), "3000001 rows of 6 columns"),
    **{f"parquet:{kind}.parquet": (
        lambda path, kind=kind: write_parquet(path, table(symbol=long_word(kind))), WORDS)
       for kind in (pa.string(), pa.large_string(), pa.binary())},
    "parquet:e.parquet": (write_false_footer, "unpacks to 10"),
    "parquet:f.parquet": (write_large_footer, "footer"),
    "parquet:g.parquet": (write_many_rows, "3000000 rows of 6 columns take 144000000"),
    "feather:h.feather": (lambda path: write_feather(path, table(symbol=long_word())), WORDS),
    "feather:i.feather": (lambda path: write_feather(path, table(symbol=shared_text())), WORDS),
    "feather:j.feather": (lambda path: write_feather(
        path, table(symbol=long_words(5000))), "unpacks to 20"),
    "feather:k.feather": (lambda path: write_feather(
        path, pa.table(NULLS), chunksize=30_000_000), "30000000 rows of 6 columns"),
    "dated:l.parquet": (lambda path: write_parquet(path, pa.table({
        "known_at": pa.array(np.arange(ROWS), pa.timestamp("s")), "value": np.zeros(ROWS),
        "symbol": long_word()})), "above the cap of"),
    "dated:m.csv.gz": (lambda path: write_gzip(path, DATED), "above the cap of"),
}  # fmt: skip
"""Small files that stand for far more than the cap, by source, and words of their refusal."""


def test_sources_beyond_the_cap_are_refused_before_memory_grows(tmp_path):
    """A process of its own grows by little while it refuses files of less than the cap."""
    specs = []
    for spec, (write, _) in BOMBS.items():
        source, _, file = spec.partition(":")
        write(tmp_path / file)
        assert (tmp_path / file).stat().st_size < CAP
        specs.append(f"{source}:{tmp_path / file}")
    lines = printed(READING, CAP, *specs).splitlines()
    refused = [line for line in lines if line.startswith("refused")]
    assert [words for (_, words), line in zip(BOMBS.values(), refused, strict=True)
            if words not in line] == []  # fmt: skip
    grown = [int(line.split()[1]) for line in lines if line.startswith("grown")]
    assert grown[-1] < PEAK, dict(zip(specs, grown, strict=False))
