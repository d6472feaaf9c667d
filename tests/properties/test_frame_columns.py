"""Law: a column of a frame dropped, renamed or doubled changes no bar without a word."""

import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import DataError, load_bars
from data.checks import VALUES
from data.providers.column_names import ROLES
from optimizer.errors import ConfigError
from optimizer.run.frames import frames_as_files
from tests.properties.test_data_round_trip import bars_of_any_kind, list_columns

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

COUNT = 30

INDEX = pd.date_range("2024-01-01", periods=COUNT, freq="15min", tz="UTC", name="timestamp")


def make_frame():
    """Bars of which any two prices may be exchanged, beside a feature that may be a price too."""
    rng = np.random.default_rng(36)
    names = ("open", "high", "low", "close", "volume", "mood")
    frame = pd.DataFrame({name: rng.uniform(100, 101, COUNT) for name in names}, index=INDEX)
    return frame.assign(high=frame.max(axis=1), low=frame.min(axis=1))


FRAME = make_frame()

NAMES = st.one_of(
    st.sampled_from(sorted(ROLES)),
    st.sampled_from(sorted(ROLES)).map(str.title),
    st.sampled_from(["Volume BTC", "volume_usd", "Adj Close", "bid_open", "mid.c", "index", ""]),
    st.text(min_size=1, max_size=8).filter(lambda text: text.isprintable()),
)


@st.composite
def changed_frames(draw):
    """The frame with one column dropped, renamed, or followed by another of a name."""
    name = draw(st.sampled_from(list(FRAME.columns)))
    change = draw(st.sampled_from(["drop", "rename", "double", "copy"]))
    if change == "drop":
        return FRAME.drop(columns=name)
    if change == "rename":
        return FRAME.rename(columns={name: draw(NAMES)})
    values = FRAME[draw(st.sampled_from(["mood", name]))]
    title = name if change == "double" else draw(NAMES)
    place = draw(st.integers(0, len(FRAME.columns)))
    columns = [FRAME.iloc[:, :place], values.to_frame(title), FRAME.iloc[:, place:]]
    return pd.concat(columns, axis=1)


def write_memory(frame, folder):
    """As bars that a person passes."""
    with frames_as_files({"bars": frame}, "evolve", Path(folder)) as config:
        return config.data[0]


def write_rows(frame, folder):
    """As bars that a person passes whose times are a column."""
    rows = frame.reset_index(allow_duplicates=True)
    with frames_as_files({"bars": rows}, "evolve", Path(folder)) as config:
        return config.data[0]


@pytest.mark.parametrize("write", [write_memory, write_rows])
@given(frame=changed_frames())
def test_a_changed_column_changes_no_bar(write, frame):
    """What is read has the times, prices and volumes of before; all else is refused."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            bars = load_bars(write(frame, folder))
        except (DataError, ConfigError):
            return
    for name in ("open", "high", "low", "close", "volume"):
        assert getattr(bars, name).tobytes() == FRAME[name].to_numpy().tobytes(), name
    assert bars.timestamp.tolist() == INDEX.as_unit("ns").asi8.tolist()


@given(bars=bars_of_any_kind(), form=st.sampled_from(sorted(FORMS)))
def test_frames_keep_every_bit(bars, form):
    """Whatever library holds them, and whether times are the index or a column."""
    times = pd.to_datetime(bars.timestamp, utc=True)
    frame = FORMS[form](pd.DataFrame({**list_columns(bars), "timestamp": times}))
    with tempfile.TemporaryDirectory() as folder:
        assert load_bars(write_memory(frame, folder)).content_hash == bars.content_hash
