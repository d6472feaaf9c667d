"""Bars as pandas, polars, pyarrow and duckdb write them, in every bit, or refused by their kind."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq

from data.checks import VALUES
from data.errors import DataError
from tests.corpus.row import reads, refuses, saved
from tests.support.series import START_NS

Write = Callable[..., object]

HOUR_NS = 3600 * 10**9
COUNT = 60
STEPS = np.random.default_rng(36).integers(-90_000, 90_000, COUNT).cumsum() + 1_003_303
"""Prices in ten thousandths: hardly one is a number that float64 holds exactly."""


@dataclass(frozen=True)
class WrittenForm:
    """One way in which a program writes bars."""

    program: str
    words: str
    ending: str
    write: Write  # writes the file at a path
    refusal: str = ""  # what begins the reason when the form is refused; empty where it is read

    @property
    def name(self) -> str:
        """Program and words."""
        return f"{self.program} {self.words}"


def list_texts() -> dict[str, list[str]]:
    """The values as decimal text."""
    close = 20_000_000 + STEPS
    opened = np.r_[close[:1], close[:-1]]
    whole = {
        "open": opened,
        "high": np.maximum(opened, close) + 1007,
        "low": np.minimum(opened, close) - 1003,
        "close": close,
        "volume": 12_345 + 7 * np.arange(COUNT),
    }
    return {
        name: [f"{value // 10**4}.{value % 10**4:04}" for value in column]
        for name, column in whole.items()
    }


TEXTS = list_texts()
TIME_NS = START_NS + HOUR_NS * np.arange(COUNT)
VALUES_BY_NAME = {name: np.array([float(text) for text in TEXTS[name]]) for name in VALUES}


def make_frame() -> pd.DataFrame:
    """A frame of pandas with a time in UTC as its index."""
    index = pd.DatetimeIndex(TIME_NS, tz="UTC", name="timestamp")
    return pd.DataFrame(VALUES_BY_NAME, index=index)


def make_polars(**extra: object) -> pl.DataFrame:
    """A frame of polars with a column of times in UTC."""
    time = pl.Series("timestamp", TIME_NS).cast(pl.Datetime("ns")).dt.replace_time_zone("UTC")
    return pl.DataFrame({"timestamp": time, **VALUES_BY_NAME, **extra})


def make_arrow(unit: str = "ns", zone: str | None = "UTC", **changes: object) -> pa.Table:
    """A table of pyarrow with a column of times."""
    ticks = TIME_NS // {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}[unit]
    time = pa.array(ticks).cast(pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
    return pa.table({"timestamp": time, **VALUES_BY_NAME, **changes})


def make_decimals(kind: pa.DataType) -> dict[str, pa.Array]:
    """The values as decimals of a type."""
    return {name: pa.array([Decimal(text) for text in TEXTS[name]], kind) for name in VALUES}


def _pandas(words: str, ending: str, write: Write, refusal: str = "") -> WrittenForm:
    return WrittenForm("pandas", words, ending, lambda path: write(make_frame(), path), refusal)


def _polars(words: str, ending: str, write: Write, refusal: str = "") -> WrittenForm:
    return WrittenForm("polars", words, ending, lambda path: write(make_polars(), path), refusal)


def _arrow(words: str, ending: str, write: Write, refusal: str = "") -> WrittenForm:
    return WrittenForm("pyarrow", words, ending, write, refusal)


def _duckdb(words: str, ending: str, select: str, how: str, refusal: str = "") -> WrittenForm:
    def write(path: Path) -> None:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.register("bars", make_arrow("us"))
            connection.execute(f"COPY (SELECT {select} FROM bars) TO '{path}' ({how})")

    return WrittenForm("duckdb", words, ending, write, refusal)


def _write_duckdb_database(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.register("source", make_arrow("us"))
        connection.execute("CREATE TABLE bars AS SELECT * FROM source")


def _write_stream(table: pa.Table, path: Path, packing: str | None = None) -> None:
    options = pa.ipc.IpcWriteOptions(compression=packing)
    with pa.ipc.new_stream(str(path), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=13)


def _make_r_table() -> pa.Table:
    """As R's arrow writes a data frame: factors, microseconds, its own description."""
    symbol = (
        pa.array(["series"] * COUNT).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    )
    table = make_arrow("us", "UTC", symbol=symbol)
    return table.replace_schema_metadata({"r": "A\n3\n263168\n197888\n5\nUTF-8\n"})


def _make_days(clock: str) -> pd.DataFrame:
    frame = make_frame().reset_index()
    days, moments = frame.timestamp.dt.date, frame.timestamp.dt
    columns = {
        "typed": moments.time,
        "number": moments.hour * 100 + moments.minute,
        "duration": frame.timestamp - moments.normalize(),
    }
    values = {name: frame[name] for name in VALUES}
    return pd.DataFrame({"date": days, "time": columns[clock], **values})


PLAIN = "* REPLACE (timestamp::TIMESTAMP AS timestamp)"
DECIMALS = "timestamp, " + ", ".join(f"{name}::DECIMAL(18,4) AS {name}" for name in VALUES)
DAY_AND_CLOCK = (
    "timestamp::TIMESTAMP::DATE AS date, timestamp::TIMESTAMP::TIME AS time, "
    "open, high, low, close, volume"
)
EPOCH = "* REPLACE (epoch_ms(timestamp) AS timestamp)"

FORMS = (
    _pandas("CSV, times as index", ".csv", lambda f, p: f.to_csv(p)),
    _pandas("CSV, gzip", ".csv.gz", lambda f, p: f.to_csv(p)),
    _pandas("CSV, zip", ".zip", lambda f, p: f.to_csv(p)),
    _pandas("CSV, tabs", ".tsv", lambda f, p: f.to_csv(p, sep="\t")),
    _pandas("CSV, index without a name", ".csv", lambda f, p: f.rename_axis(None).to_csv(p)),
    _pandas("Parquet, times as index", ".parquet", lambda f, p: f.to_parquet(p)),
    _pandas("Parquet, times as column, zstd", ".parquet",
            lambda f, p: f.reset_index().to_parquet(p, compression="zstd")),
    _pandas("Parquet, index without a name", ".pq", lambda f, p: f.rename_axis(None).to_parquet(p)),
    _pandas("Parquet, nullable types", ".parquet",
            lambda f, p: f.reset_index().convert_dtypes().to_parquet(p)),
    _pandas("Parquet, local times of New York", ".parquet",
            lambda f, p: f.tz_convert("America/New_York").to_parquet(p)),
    _pandas("Parquet, dates and typed times of day", ".parquet",
            lambda _, p: _make_days("typed").to_parquet(p)),
    _pandas("Parquet, dates and times such as 931", ".parquet",
            lambda _, p: _make_days("number").to_parquet(p)),
    _pandas("Parquet, dates and durations since midnight", ".parquet",
            lambda _, p: _make_days("duration").to_parquet(p)),
    _pandas("Feather, lz4", ".feather", lambda f, p: f.reset_index().to_feather(p)),
    _pandas("Feather, zstd", ".feather",
            lambda f, p: f.reset_index().to_feather(p, compression="zstd")),
    _polars("CSV", ".csv", lambda f, p: f.write_csv(p)),
    _polars("Parquet, zstd", ".parquet", lambda f, p: f.write_parquet(p)),
    _polars("Parquet, lz4", ".parquet", lambda f, p: f.write_parquet(p, compression="lz4")),
    _polars("Parquet, streamed", ".parquet", lambda f, p: f.lazy().sink_parquet(p)),
    _polars("Parquet, decimals", ".parquet",
            lambda f, p: f.with_columns(pl.col(VALUES).cast(pl.Decimal(18, 4))).write_parquet(p)),
    _polars("Arrow", ".arrow", lambda f, p: f.write_ipc(p)),
    _polars("Arrow, lz4", ".arrow", lambda f, p: f.write_ipc(p, compression="lz4")),
    _polars("Arrow, zstd", ".ipc", lambda f, p: f.write_ipc(p, compression="zstd")),
    _polars("Arrow, for older readers", ".arrow",
            lambda f, p: f.write_ipc(p, compat_level=pl.CompatLevel.oldest())),
    _polars("Arrow, categorical symbol and texts", ".arrow",
            lambda f, p: f.with_columns(
                symbol=pl.lit("series").cast(pl.Categorical),
                timestamp=pl.col("timestamp").dt.to_string("iso:strict"),
            ).write_ipc(p, compression="lz4")),
    _polars("Arrow stream", ".arrows", lambda f, p: f.write_ipc_stream(p)),
    _polars("Arrow stream, zstd", ".arrow",
            lambda f, p: f.write_ipc_stream(p, compression="zstd")),
    _polars("Avro", ".avro", lambda f, p: f.drop("timestamp").write_avro(p), "is an Avro file"),
    _polars("JSON", ".json", lambda f, p: f.write_json(p), "is a JSON file"),
    _arrow("Parquet, format 1.0", ".parquet",
           lambda p: pq.write_table(make_arrow("ms"), p, version="1.0")),
    _arrow("Parquet, times of 96 bits", ".parquet",
           lambda p: pq.write_table(make_arrow(), p, use_deprecated_int96_timestamps=True)),
    _arrow("Parquet, pages of version 2, brotli", ".parquet",
           lambda p: pq.write_table(make_arrow(), p, data_page_version="2.0",
                                    compression="brotli")),
    _arrow("Parquet, float64 in split bytes", ".parquet",
           lambda p: pq.write_table(make_arrow(), p, use_byte_stream_split=list(VALUES),
                                    use_dictionary=False)),
    _arrow("Parquet, decimals of 128 bits", ".parquet",
           lambda p: pq.write_table(make_arrow(**make_decimals(pa.decimal128(30, 10))), p)),
    _arrow("Parquet, decimals of 256 bits", ".parquet",
           lambda p: pq.write_table(make_arrow(**make_decimals(pa.decimal256(50, 20))), p)),
    _arrow("Feather, zstd", ".feather",
           lambda p: pa.feather.write_feather(make_arrow(), str(p), compression="zstd")),
    _arrow("Feather as R writes it, factors", ".feather",
           lambda p: pa.feather.write_feather(_make_r_table(), str(p))),
    _arrow("Parquet as R writes it, factors", ".parquet",
           lambda p: pq.write_table(_make_r_table(), p)),
    _arrow("Arrow stream, lz4", ".arrows", lambda p: _write_stream(make_arrow(), p, "lz4")),
    _arrow("Arrow, text in views", ".arrow",
           lambda p: _write_stream(
               make_arrow(symbol=pa.array(["series"] * COUNT).cast(pa.string_view())), p)),
    _arrow("CSV", ".csv", lambda p: pa.csv.write_csv(make_arrow(), str(p))),
    _arrow("ORC", ".orc", lambda p: pa.orc.write_table(make_arrow(), str(p)), "is an ORC file"),
    _duckdb("Parquet", ".parquet", "*", "FORMAT parquet"),
    _duckdb("Parquet, version 2, zstd", ".parquet", "*",
            "FORMAT parquet, CODEC zstd, PARQUET_VERSION v2"),
    _duckdb("Parquet, times without a zone, lz4", ".parquet", PLAIN, "FORMAT parquet, CODEC lz4"),
    _duckdb("Parquet, decimals", ".parquet", DECIMALS, "FORMAT parquet"),
    _duckdb("Parquet, DATE and TIME", ".parquet", DAY_AND_CLOCK, "FORMAT parquet"),
    _duckdb("Parquet, milliseconds since 1970", ".parquet", EPOCH, "FORMAT parquet, CODEC gzip"),
    _duckdb("CSV", ".csv", "*", "FORMAT csv, HEADER"),
    _duckdb("CSV, gzip", ".csv.gz", "*", "FORMAT csv, HEADER, COMPRESSION gzip"),
    _duckdb("CSV, semicolons, DATE and TIME", ".txt", DAY_AND_CLOCK,
            "FORMAT csv, HEADER, DELIMITER ';'"),
    _duckdb("CSV, milliseconds since 1970", ".csv", EPOCH, "FORMAT csv, HEADER"),
    WrittenForm("duckdb", "database", ".duckdb", _write_duckdb_database, "is a DuckDB database"),
)  # fmt: skip

FILES = {form: saved(f"series{form.ending}", form.write) for form in FORMS}

ROWS = tuple(
    refuses(form.name, file, {}, DataError, f"series{form.ending}: {form.refusal}")
    if form.refusal
    else reads(form.name, file, times=TIME_NS, symbol="series", timeframe="1h",
               values=VALUES_BY_NAME)
    for form, file in FILES.items()
)  # fmt: skip
