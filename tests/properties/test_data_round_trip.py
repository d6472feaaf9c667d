"""Law: whatever the file format, the same bars come out, bit for bit."""

import gzip
import tempfile
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from data import Bars, DataError, LoadOptions, load_bars
from data.checks import VALUES
from optimizer.run.settings import hold_settings
from tests.support.series import START_NS, write_parquet

PRICES = st.floats(1e-300, 1e300, allow_nan=False, allow_infinity=False)
VOLUMES = st.floats(0.0, 1e300, allow_nan=False, allow_infinity=False)


@st.composite
def bars_of_any_kind(draw):
    """Legal bars of any magnitude, with gaps, of any fixed duration."""
    count = draw(st.integers(2, 30))
    step_ns = draw(st.sampled_from([1, 60, 900, 3600, 86_400])) * 10**9
    steps = draw(arrays(np.int64, count - 1, elements=st.sampled_from([1, 1, 1, 1, 2, 70])))
    steps[: count // 2 + 1] = 1
    # More of them would be a second spacing, which is refused.
    steps[np.flatnonzero(steps > 1)[3:]] = 1
    quotes = np.sort(draw(arrays(np.float64, (count, 4), elements=PRICES)), axis=1)
    swap = draw(arrays(np.bool_, count))
    return Bars(
        timestamp=START_NS + step_ns * np.concatenate(([0], np.cumsum(steps))),
        open=np.where(swap, quotes[:, 1], quotes[:, 2]),
        high=quotes[:, 3],
        low=quotes[:, 0],
        close=np.where(swap, quotes[:, 2], quotes[:, 1]),
        volume=draw(arrays(np.float64, count, elements=VOLUMES)),
        symbol="TEST",
        timeframe_ns=step_ns,
    )


def list_columns(bars):
    """The six columns by name."""
    names = ("timestamp", "open", "high", "low", "close", "volume")
    return {name: getattr(bars, name) for name in names}


@given(bars=bars_of_any_kind(), kind=st.sampled_from(["csv", "parquet", "feather"]), data=st.data())
def test_aligned_columns_keep_every_bit(bars, kind, data):
    """Beside bars of any kind, whatever is known and what is not; without the flag nothing is."""
    numbers = st.one_of(st.just(np.nan), st.floats(allow_nan=False, allow_infinity=False))
    columns = st.lists(numbers, min_size=len(bars), max_size=len(bars))
    extra = {name: np.array(data.draw(columns)) for name in ("mood", "b")}
    frame = pd.DataFrame({**list_columns(bars), **extra})
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/series.{kind}"
        write = {"csv": "to_csv", "parquet": "to_parquet", "feather": "to_feather"}[kind]
        getattr(frame, write)(path, **({"index": False} if kind == "csv" else {}))
        read = load_bars(path, LoadOptions(aligned_columns=("mood", "b")))
        assert replace(bars, extra=extra).content_hash == read.content_hash
        assert bars.content_hash == load_bars(path).content_hash


@given(bars=bars_of_any_kind(), order=st.randoms(use_true_random=False),
       at=st.lists(st.integers(0, 29), max_size=10))  # fmt: skip
def test_sorting_and_dropping_undo_any_shuffle_and_repetition(bars, order, at):
    """Rows in whatever order, some of them again, are the same series, where that is asked for."""
    rows = [*range(len(bars)), *(place % len(bars) for place in at)]
    order.shuffle(rows)
    columns = {name: column[rows] for name, column in list_columns(bars).items()}
    with tempfile.TemporaryDirectory() as folder:
        spec = write_parquet(Path(folder), columns)
        loaded = load_bars(spec, LoadOptions(sort=True, dedupe=True))
    assert bars.content_hash == loaded.content_hash
    assert any("sorted by time" in note for note in loaded.notes) == (rows != sorted(rows))
    assert any(f"dropped {len(at)} repeated" in note for note in loaded.notes) == bool(at)


FORMS = {
    "pandas, times as index": lambda frame: frame.set_index("timestamp"),
    "pandas, New York": lambda frame: frame.assign(
        timestamp=frame["timestamp"].dt.tz_convert("America/New_York")
    ).set_index("timestamp"),
    "pandas, whole numbers": lambda frame: frame.assign(
        timestamp=frame["timestamp"].dt.as_unit("ns").astype(np.int64)
    ),
    "pandas, nullable": lambda frame: frame.astype(dict.fromkeys(VALUES, "Float64")),
    "pandas, objects": lambda frame: frame.astype(object),
    "pandas, of arrow": lambda frame: frame.astype(dict.fromkeys(VALUES, "double[pyarrow]")),
    "pandas, columns of a ticker": lambda frame: pd.concat(
        {"TEST": frame.set_index("timestamp")}, axis=1
    ),
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
    "duckdb": lambda frame: duckdb.sql("SELECT * FROM frame").df(),
}
"""Bars in memory as libraries hold them."""


@given(bars=bars_of_any_kind(), form=st.sampled_from(sorted(FORMS)))
def test_frames_keep_every_bit(bars, form):
    """Whatever library holds them, and whether times are the index or a column."""
    times = pd.to_datetime(bars.timestamp, utc=True)
    frame = FORMS[form](pd.DataFrame({**list_columns(bars), "timestamp": times}))
    with hold_settings({"bars": frame}, "evolve") as config:
        assert load_bars(config.data[0]).content_hash == bars.content_hash


def refusal(spec):
    """The message with which a source is refused; None where it is read."""
    try:
        load_bars(spec)
    except DataError as error:
        return str(error)
    return None


STARTS = st.sampled_from(
    [b"", b"ARROW1\0\0", b"PK\x03\x04", b"PAR1", b"\xff\xfe", b"sep=,\n", b"1,"]
)


@given(
    start=STARTS,
    garbage=st.binary(max_size=300),
    kind=st.sampled_from(["csv", "parquet", "feather"]),
    packed=...,
)
def test_garbage_is_refused_in_our_words(start: bytes, garbage: bytes, kind: str, packed: bool):
    """Any bytes at all end in a DataError of one line, never in another exception."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "series"
        garbage = start + garbage
        path.write_bytes(gzip.compress(garbage) if packed else garbage)
        message = refusal(f"{kind}:{path}")
    assert message is not None
    assert "\n" not in message
