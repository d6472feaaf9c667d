"""The cap on a source holds for what is decoded, whatever size its file states."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from data import point_in_time
from data.errors import LimitError
from data.load import load_bars
from data.table import LoadOptions
from tests.support.series import make_columns

CAP, ROWS = 2_000_000, 400


def shared_text():
    """A word of a megabyte at which every row looks."""
    _, view, text = pa.array(["A" * 1_000_000], pa.string_view()).buffers()
    shared = pa.py_buffer(view.to_pybytes() * ROWS)
    return pa.Array.from_buffers(pa.string_view(), ROWS, [None, shared, text])


def table(symbol):
    """Sound bars of these symbols."""
    return pa.table({**make_columns(ROWS), "symbol": symbol})


def pad_varint(value, length):
    """A number as Thrift writes it, in so many bytes."""
    left = value << 1
    return bytes([(left >> 7 * i) & 127 | 128 for i in range(length - 1)]) + bytes(
        [left >> 7 * (length - 1)]
    )


def write_false_footer(path):
    """Pages that unpack to more than the 1,000 bytes that the footer states."""
    words = pa.array([f"{i:06d}" + "A" * 25_000 for i in range(ROWS)])
    pq.write_table(table(words), path, compression="zstd", use_dictionary=False,
                   data_page_size=1 << 30, version="1.0")  # fmt: skip
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


def write_shared_text(path):
    """A Feather file whose text is a page long on disk, and rows times that in memory."""
    pa.feather.write_feather(table(shared_text()), str(path), compression="zstd")


BOMBS = {"false.parquet": (write_false_footer, "unpacks to 10"),
         "large.parquet": (write_large_footer, "footer"),
         "shared.feather": (write_shared_text, "400000000 bytes")}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_unpacks_to_more_than_the_cap_is_refused(tmp_path, name):
    """Whatever its footer states, and however often a text is shared."""
    write, words = BOMBS[name]
    write(tmp_path / name)
    with pytest.raises(LimitError, match=words):
        load_bars(str(tmp_path / name), LoadOptions(max_bytes=CAP))


def test_a_dated_file_has_the_same_cap(tmp_path, monkeypatch):
    """Packed text and the symbols of typed rows."""
    monkeypatch.setattr(point_in_time, "LARGEST_SOURCE_BYTES", CAP)
    row = b"2024-01-01T00:00Z,1.0" + b" " * 1000 + b"\n"
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"known_at,value\n" + row * 2500, 1))
    times = pa.array(np.arange(ROWS), pa.timestamp("s"))
    word = pa.DictionaryArray.from_arrays(np.zeros(ROWS, np.int32), ["A" * 1_000_000])
    dated = pa.table({"known_at": times, "value": np.zeros(ROWS), "symbol": word})
    pq.write_table(dated, tmp_path / "b.parquet", compression="zstd")
    for name in ("a.csv.gz", "b.parquet"):
        with pytest.raises(LimitError, match="above the cap of"):
            point_in_time.read_dated(str(tmp_path / name))
