"""Parquet and Feather: types of columns, frames of pandas, damage, and caps on what is unpacked."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from data.errors import BarsError, LimitError, SourceError
from tests.corpus.row import bars, reads, refuses, saved
from tests.support.series import iso, make_columns

TICKS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}
TIME = make_columns(5)["timestamp"]
HEADS = tuple(make_columns(1))


def frame():
    """Five bars as pandas holds them, their times without a zone."""
    columns = make_columns(5)
    return pd.DataFrame({**columns, "timestamp": columns["timestamp"].astype("datetime64[ns]")})


def timed(stamps, kind="parquet", **more):
    """Five bars with these times."""
    return bars({"timestamp": stamps}, kind=kind, **more)


def arrow(count=5, **changed):
    """A table of bars with these columns beside or in place of theirs."""
    return pa.table({**make_columns(count), **changed})


def parquet(make, damage=None, **options):
    """A Parquet file of the table of a function; some of its bytes are changed by another."""

    def write(path):
        pq.write_table(make(), path, **options)
        if damage:
            path.write_bytes(damage(path.read_bytes()))

    return saved("series.parquet", write)


def feathered(make, damage=None, **options):
    """The same in the other form."""

    def write(path):
        feather.write_feather(make(), str(path), **options)
        if damage:
            path.write_bytes(damage(path.read_bytes()))

    return saved("series.feather", write)


def without_start_of_footer(raw):
    """The file with the first 60 bytes of its footer zeroed."""
    start = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    return raw[:start] + bytes(60) + raw[start + 60 :]


def one_word(text, rows=5, kind=None):
    """A word that stands in every row, as a dictionary."""
    codes = pa.array(np.zeros(rows, np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array([text], kind))


FRAMES = {
    "an index": lambda f: f.set_index("timestamp"),
    "an index without a name": lambda f: f.set_index("timestamp").rename_axis(None),
    "categories": lambda f: f.assign(timestamp=pd.Categorical(iso(TIME))),
    "milliseconds": lambda f: f.assign(timestamp=f.timestamp.astype("int64") // 10**6),
}
DAMAGED = {"empty": lambda raw: b"", "cut": lambda raw: raw[:-100],
           "footer": without_start_of_footer}  # fmt: skip
PLAIN = {"compression": "none", "use_dictionary": False}
PACKED = {"compression": "zstd"}
NO_PARQUET = "series.parquet: is no readable Parquet file"
LONG = [f"{i:06d}" + "A" * 100_000 for i in range(300)]

ROWS = (
    *(reads(f"times in {unit} of {zone}", timed(pa.array(TIME // TICKS[unit], pa.timestamp(
        unit, tz=zone))), made=5, notes=() if zone else "no zone")
      for unit, zone in zip(TICKS, (None, "UTC", "America/New_York", None), strict=True)),
    *(reads(f"times of pandas as {words}", saved(
        "series.parquet", lambda path, keep=keep: keep(frame()).to_parquet(path)), made=5,
        symbol="series") for words, keep in FRAMES.items()),
    *(refuses(f"faults of every kind, {kind}", bars(
        200, kind=kind, volume={5: np.nan}, high={50: 112.495}, picks=[
            *range(100), 101, 100, *range(102, 200), 199]), None, BarsError, "row 5",
        then=[({"dedupe": True, "drop_bad_bars": True, "sort": True, "tick": 0.01},
               {"values": {"close": 100 + 0.25 * np.delete(np.arange(200), 5), "high": {49: 112.5}},
                "notes": ["dropped 1 bad", "widened", "dropped 1 repeated", "1 gap"]})])
      for kind in ("csv", "parquet", "stream")),
    *(refuses(f"{words} Parquet", parquet(lambda: arrow(500), damage, **PACKED), None,
              SourceError, NO_PARQUET)
      for words, damage in DAMAGED.items()),
    refuses("one long word in every row", parquet(lambda: arrow(
        300, symbol=["A" * 100_000] * 300), **PACKED), {"max_bytes": 20_000_000}, LimitError,
        "text takes 30000000 bytes"),
    reads("a word in a dictionary", parquet(lambda: arrow(symbol=one_word("ABC"))),
          {"max_bytes": 20_000_000}, symbol="ABC"),
    *(reads(f"Feather, {packing}", feathered(lambda: arrow(100), compression=packing, chunksize=7),
            made=100) for packing in ("lz4", "zstd", "uncompressed")),
    *(refuses(f"Feather above the cap, {packing}", feathered(
        lambda: arrow(100), compression=packing, chunksize=7), {"max_bytes": 4000}, LimitError,
        "series.feather: ", "unpacks to ", "above the cap of 4000; --max-bytes")
      for packing in ("lz4", "uncompressed")),
    *(refuses(f"Feather cut to {keep}", feathered(arrow, lambda raw, keep=keep: raw[:keep]), None,
              SourceError, "series.feather: is no ") for keep in (0, 8, 300, -1)),
    refuses("a word of every row in Feather", feathered(
        lambda: arrow(4000, symbol=one_word("A" * 10_000, 4000)), **PACKED),
        {"max_bytes": 20_000_000}, LimitError, "text takes 40000000 bytes"),
)  # fmt: skip
