"""Parquet files: types, damage, size."""

import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data import LoadOptions, load_bars
from data.errors import LimitError, SourceError, TableError
from tests.support.series import iso, make_bars, make_columns, write_parquet


def frame(count=5):
    """A frame of legal bars with naive times."""
    columns = make_columns(count)
    columns["timestamp"] = columns["timestamp"].astype("datetime64[ns]")
    return pd.DataFrame(columns)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
def test_typed_times_of_any_unit_and_zone(tmp_path, unit, zone):
    """A moment is a moment, however it is stored."""
    ticks = make_columns(5)["timestamp"] // {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}[unit]
    time = pa.array(ticks, type=pa.timestamp(unit, tz=zone))
    bars = load_bars(write_parquet(tmp_path, {**make_columns(5), "timestamp": time}))
    assert make_bars(5).content_hash == bars.content_hash
    assert (bars.notes == ()) == (zone is not None)


@pytest.mark.parametrize(
    "keep",
    [
        lambda f: f,
        lambda f: f.set_index("timestamp"),
        lambda f: f.set_index("timestamp").rename_axis(None),
        lambda f: f.assign(timestamp=iso(make_columns(5)["timestamp"])),
        lambda f: f.assign(timestamp=pd.Categorical(iso(make_columns(5)["timestamp"]))),
        lambda f: f.assign(timestamp=f.timestamp.astype("int64") // 10**6),
        lambda f: f.assign(symbol="series"),
    ],
    ids=["column", "index", "nameless_index", "text", "category", "ms", "symbol"],
)
def test_frames_saved_by_pandas(tmp_path, keep):
    """Indices, texts and categories are read like plain columns."""
    path = tmp_path / "series.parquet"
    keep(frame()).to_parquet(path)
    bars = load_bars(f"parquet:{path}")
    assert make_bars(5).content_hash == bars.content_hash
    assert bars.symbol == "series"


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view()], ids=str)
def test_every_kind_of_text_is_read(tmp_path, kind):
    """Other libraries store text in other types."""
    time = pa.array(iso(make_columns(5)["timestamp"])).cast(kind)
    bars = load_bars(write_parquet(tmp_path, {**make_columns(5), "timestamp": time}))
    assert make_bars(5).content_hash == bars.content_hash


def test_single_precision_is_read_as_it_is(tmp_path):
    """float32 values are exact in float64."""
    columns = {n: c.astype("f4") if n != "timestamp" else c for n, c in make_columns(5).items()}
    assert make_bars(5).content_hash == load_bars(write_parquet(tmp_path, columns)).content_hash


def test_nulls_are_missing_values(tmp_path):
    """A null price is a bad row, dropped on request."""
    close = pa.array([1.0, None, 1.0])
    ones = {name: np.ones(3) for name in ("open", "high", "low", "volume")}
    spec = write_parquet(tmp_path, {**make_columns(3), **ones, "close": close})
    with pytest.raises(Exception, match=r"missing or not finite: row 1 .*--drop-bad-bars"):
        load_bars(spec)
    assert len(load_bars(spec, LoadOptions(drop_bad_bars=True, timeframe="30m"))) == 2


@pytest.mark.parametrize(
    "column", [pa.array([[1.0]] * 5), pa.array([b"1"] * 5), pa.array([{"a": 1}] * 5)], ids=str
)
def test_other_types_are_refused(tmp_path, column):
    """Lists, bytes and structures are no numbers."""
    with pytest.raises(TableError):
        load_bars(write_parquet(tmp_path, {**make_columns(5), "close": column}))


def without_start_of_footer(raw):
    """The file with the first 60 bytes of its footer zeroed."""
    start = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    return raw[:start] + bytes(60) + raw[start + 60 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"",
        lambda raw: b"timestamp,open\n",
        lambda raw: raw[:-100],
        lambda raw: raw[:60] + bytes(200) + raw[260:],
        lambda raw: without_start_of_footer(raw),
    ],
    ids=["empty", "text", "cut", "pages", "footer"],
)
def test_damaged_file_is_refused(tmp_path, damage):
    """One line names the file and what the library found."""
    write_parquet(tmp_path, make_columns(500))
    path = tmp_path / "series.parquet"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(SourceError, match=r"series.parquet: is no readable Parquet file") as caught:
        load_bars(f"parquet:{path}")
    assert "\n" not in str(caught.value)


def test_footer_is_judged_before_a_row_is_read(tmp_path):
    """Nine million rows in a small file are refused by their number."""
    path = tmp_path / "bomb.parquet"
    zeros = np.zeros(900_000, dtype=np.int64)
    piece = pa.table(dict.fromkeys(make_columns(1), zeros))
    with pq.ParquetWriter(path, piece.schema, compression="zstd") as writer:
        for _ in range(10):
            writer.write_table(piece)
    del piece
    assert path.stat().st_size < 300_000
    before = pa.total_allocated_bytes()
    with pytest.raises(LimitError, match=r"9000000 rows of 6 columns take 432000000.*--max-bytes"):
        load_bars(f"parquet:{path}")
    assert pa.total_allocated_bytes() - before < 1_000_000


def test_cap_is_exact(tmp_path):
    """Five rows of six columns take 240 bytes; with room for its pages too the file passes."""
    spec = write_parquet(tmp_path, make_columns(5))
    with pytest.raises(LimitError, match=r"5 rows of 6 columns take 240 bytes.*--max-bytes"):
        load_bars(spec, LoadOptions(max_bytes=239))
    assert len(load_bars(spec, LoadOptions(max_bytes=2000))) == 5


def test_checksums_of_pages_are_verified(tmp_path):
    """A value changed on disk is noticed where the file has checksums."""
    columns = {**make_columns(500)}
    path = tmp_path / "series.parquet"
    pq.write_table(
        pa.table(columns), path, compression="none", use_dictionary=False,
        write_page_checksum=True,
    )  # fmt: skip
    raw = path.read_bytes()
    at = raw.index(np.float64(columns["volume"][300]).tobytes() + np.float64(311.0).tobytes())
    path.write_bytes(raw[:at] + np.float64(99.0).tobytes() + raw[at + 8 :])
    with pytest.raises(SourceError, match="no readable Parquet file"):
        load_bars(f"parquet:{path}")


def test_one_long_word_in_every_row_is_refused(tmp_path):
    """Text that unpacks to more than the cap is refused while it is still packed."""
    rows = 300
    word = pa.array(["A" * 100_000] * rows)
    spec = write_parquet(tmp_path, {**make_columns(rows), "symbol": word})
    with pytest.raises(LimitError, match="text takes 30000000 bytes"):
        load_bars(spec, LoadOptions(max_bytes=20_000_000))


DECIMAL_TYPES = {
    "decimal128(18, 4)": (pa.decimal128(18, 4), 10**10),
    "decimal128(38, 10)": (pa.decimal128(38, 10), 10**27),
    "decimal128(30, 25)": (pa.decimal128(30, 25), 10**4),
    "decimal256(60, 30)": (pa.decimal256(60, 30), 10**25),
}


@pytest.mark.parametrize("name", DECIMAL_TYPES)
def test_decimals_are_the_nearest_numbers(tmp_path, name):
    """Each is the float that its text is, in every bit, missing ones and parts of columns too."""
    kind, largest = DECIMAL_TYPES[name]
    rng = np.random.default_rng(36)
    scale = min(int(largest * 10.0**kind.scale), 10**kind.precision)
    whole = [int(scale * part) for part in np.exp(-20 * rng.random(2000))] + [2**53 - 1, 2**53 + 1]
    with decimal.localcontext(prec=80):
        prices = [decimal.Decimal(value + 1).scaleb(-kind.scale) for value in whole]
        prices = [price for price in prices if price < 10 ** (kind.precision - kind.scale)]
        column = pa.chunked_array(
            [pa.array([None, *prices[:1]], kind)[1:], pa.array(prices[1:], kind)]
        )
    columns = {
        **make_columns(len(prices)),
        **dict.fromkeys(("open", "high", "low", "close"), column),
    }
    bars = load_bars(write_parquet(tmp_path, columns))
    assert bars.close.tolist() == [float(price) for price in prices]
