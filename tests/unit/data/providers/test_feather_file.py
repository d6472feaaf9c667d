"""Feather files: size before unpacking, damage, other kinds."""

import contextlib

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

from data import DataError, LoadOptions, load_bars
from data.errors import LimitError, SourceError
from data.providers.feather_file import unpacked_bytes
from tests.support.series import make_bars, make_columns


def write(folder, count=5, name="series.feather", **options):
    """Legal bars as a Feather file; gives its path."""
    columns = make_columns(count)
    columns["timestamp"] = pa.array(columns["timestamp"], type=pa.timestamp("ns", tz="UTC"))
    path = folder / name
    pa.feather.write_feather(pa.table(columns), str(path), **options)
    return path


@pytest.mark.parametrize(
    "options",
    [{"compression": "lz4"}, {"compression": "zstd", "chunksize": 7},
     {"compression": "uncompressed"}], ids=str)  # fmt: skip
def test_size_is_known_before_unpacking(tmp_path, options):
    """Six columns of eight bytes, whatever the packing and however many parts."""
    path = write(tmp_path, 100, **options)
    size = unpacked_bytes(path.read_bytes())
    assert 6 * 8 * 100 <= size < 6 * 8 * 100 + 2000
    assert load_bars(f"feather:{path}").content_hash == make_bars(100).content_hash
    with pytest.raises(LimitError, match=r"unpacks to \d+ bytes, above the cap of 4000; --max-b"):
        load_bars(f"feather:{path}", LoadOptions(max_bytes=4000))


def test_a_bomb_is_refused_before_memory_grows(tmp_path):
    """Many million equal rows in a small file are judged by what they unpack to."""
    path = tmp_path / "bomb.feather"
    zeros = pa.array(np.zeros(6_000_000))
    names = ("timestamp", "open", "high", "low", "close", "volume")
    pa.feather.write_feather(
        pa.table(dict.fromkeys(names, zeros)), str(path), compression="zstd", chunksize=6_000_000
    )
    assert path.stat().st_size < 300_000
    before = pa.total_allocated_bytes()
    with pytest.raises(LimitError, match="unpacks to 288"):
        load_bars(f"feather:{path}")
    assert pa.total_allocated_bytes() - before < 1_000_000


@pytest.mark.parametrize("keep", [0, 3, 8, 40, 300, -9, -1])
def test_a_cut_file_is_refused(tmp_path, keep):
    """One line of error, wherever it ends."""
    path = write(tmp_path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(SourceError, match=r"^series.feather: is no ") as caught:
        load_bars(f"feather:{path}")
    assert "\n" not in str(caught.value)


def test_a_flipped_byte_never_crashes(tmp_path):
    """Damage is refused, or the bars are checked like any others."""
    whole = write(tmp_path, compression="uncompressed").read_bytes()
    path = tmp_path / "damaged.feather"
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with contextlib.suppress(DataError):
            assert len(load_bars(f"feather:{path}")) == 5


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"FEA1" + b"\0" * 40, "of version 1; write it anew"),
        (b"PAR1" + b"\0" * 40, "is no Feather"),
    ],
    ids=["version 1", "parquet"],
)
def test_other_kinds_are_named(tmp_path, content, words):
    """What it is, or what it is not."""
    (tmp_path / "x.feather").write_bytes(content)
    with pytest.raises(SourceError, match=words):
        load_bars(f"feather:{tmp_path}/x.feather")
