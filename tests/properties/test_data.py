"""Laws of files, columns, times and merged bars: the same bars come out, or a word is said."""

import datetime as dt
import gzip
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from data import Bars, DataError, LoadOptions, load_bars, resample
from data.checks import VALUES
from data.errors import TableError
from data.providers.columns import ALIASES
from data.providers.time_columns import read_times
from optimizer.run.settings import hold_settings
from tests.support.series import MINUTE_NS, START_NS, make_bars, write_parquet


@st.composite
def minutes(draw):
    """Minute bars with gaps, whole volumes and prices that wander."""
    at = np.array(sorted(draw(st.sets(st.integers(0, 400), min_size=2, max_size=80))))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    quotes = np.sort(rng.integers(50, 200, (len(at), 4)), axis=1).astype(float)
    return make_bars(
        len(at),
        timestamp=START_NS + MINUTE_NS * at,
        timeframe_ns=MINUTE_NS,
        open=quotes[:, 1],
        high=quotes[:, 3],
        low=quotes[:, 0],
        close=quotes[:, 2],
        volume=rng.integers(0, 1000, len(at)).astype(float),
    )


@given(bars=minutes(), minutes_a_bar=st.sampled_from([2, 5, 15, 60, 1440]))
def test_merging_equals_a_plain_loop(bars, minutes_a_bar):
    """One bucket at a time, in plain Python, gives the same bars."""
    length_ns = minutes_a_bar * MINUTE_NS
    merged = resample(bars, length_ns)
    edges = sorted({int(t) // length_ns * length_ns for t in bars.timestamp})
    assert edges == merged.timestamp.tolist()
    for k, edge in enumerate(edges):
        inside = [i for i in range(len(bars)) if edge <= bars.timestamp[i] < edge + length_ns]
        assert merged.open[k] == bars.open[inside[0]]
        assert merged.close[k] == bars.close[inside[-1]]
        assert merged.high[k] == max(bars.high[i] for i in inside)
        assert merged.low[k] == min(bars.low[i] for i in inside)
        assert merged.volume[k] == sum(bars.volume[i] for i in inside)


@given(bars=minutes(), cut=st.integers(1, 79))
def test_later_bars_do_not_change_earlier_ones(bars, cut):
    """A merged bar that is over stays as it is when more bars arrive."""
    end = 1 + cut % (len(bars) - 1)
    columns = {n: getattr(bars, n)[:end] for n in ("open", "high", "low", "close", "volume")}
    prefix = make_bars(end, timestamp=bars.timestamp[:end], timeframe_ns=MINUTE_NS, **columns)
    early, late = resample(prefix, 5 * MINUTE_NS), resample(bars, 5 * MINUTE_NS)
    over = len(early) - 1
    for name in ("timestamp", "open", "high", "low", "close", "volume"):
        assert np.array_equal(getattr(early, name)[:over], getattr(late, name)[:over])


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


HOUR_MS = 3600 * 1000
COUNT = 40
PRICE_NAMES = ("open", "high", "low", "close")
RANDOM = np.random.Generator(np.random.PCG64(36))
CLOSE = 100 + RANDOM.integers(-90, 90, COUNT).cumsum() / 64
OPEN = np.r_[CLOSE[:1], CLOSE[:-1]] + RANDOM.integers(-3, 4, COUNT) / 128
TIME_MS = START_NS // 10**6 + HOUR_MS * np.arange(COUNT)
DATES = TIME_MS.astype("datetime64[ms]").astype("datetime64[s]").astype(str)

COLUMNS = {
    "time": TIME_MS,
    "close_time": TIME_MS + HOUR_MS - 1,
    "later": TIME_MS + 7 * HOUR_MS,
    "day": [date[:10] for date in DATES],
    "clock": [date[11:] for date in DATES],
    "open": OPEN,
    "high": np.maximum(OPEN, CLOSE) + RANDOM.integers(1, 30, COUNT) / 64,
    "low": np.minimum(OPEN, CLOSE) - RANDOM.integers(1, 30, COUNT) / 64,
    "close": CLOSE,
    "adjusted": CLOSE / 2,
    "vwap": (OPEN + CLOSE) / 2,
    "volume": RANDOM.integers(100, 10_000, COUNT) / 4,
    "quote": RANDOM.integers(10_000, 10**6, COUNT) / 4,
    "trades": RANDOM.integers(1, 500, COUNT),
    "symbol": ["BTCUSDT"] * COUNT,
}
"""What files hold, each column other numbers."""

LAYOUTS = (
    {"time": "timestamp", **{name: name for name in (*PRICE_NAMES, "volume")}},
    {"time": "open_time", **{name: name for name in (*PRICE_NAMES, "volume")},
     "close_time": "close_time", "quote": "quote_volume", "trades": "count"},
    {"day": "<DATE>", "clock": "<TIME>", **{name: f"<{name.upper()}>" for name in PRICE_NAMES},
     "trades": "<TICKVOL>", "volume": "<VOL>"},
    {"time": "Date", "adjusted": "Adj Close", "close": "Close", "high": "High", "low": "Low",
     "open": "Open", "volume": "Volume"},
)  # fmt: skip
"""Files by what each column holds and is called."""

NAMES = st.one_of(
    st.sampled_from(list(ALIASES.values())).flatmap(st.sampled_from),
    st.sampled_from(["Adj Close", "vwap", "Volume USDT", "x", "", "1", "close.1", "Unnamed: 0"]),
)
CHANGES = st.sampled_from(["drop", "rename", "double", "rename double"])


@st.composite
def changed_files(draw):
    """Names of a file and what they hold: one dropped, renamed, or doubled with other numbers."""
    layout = draw(st.sampled_from(LAYOUTS))
    table = [(name, held) for held, name in layout.items()]
    place = draw(st.integers(0, len(table) - 1))
    change = draw(CHANGES)
    if change == "drop":
        return [*table[:place], *table[place + 1 :]]
    if change == "rename":
        table[place] = (draw(NAMES), table[place][1])
        return table
    name = table[place][0] if change == "double" else draw(NAMES)
    other = draw(st.one_of(st.just("later"), st.sampled_from(list(COLUMNS))))
    table.insert(draw(st.integers(0, len(table))), (name, other))
    return table


def write(folder, kind, table):
    """A file of named columns, and its source."""
    path = Path(folder) / f"bars.{kind}"
    columns = pa.Table.from_arrays(
        [pa.array(column) for _, column in table], names=[n for n, _ in table]
    )
    if kind == "parquet":
        pq.write_table(columns, path)
    else:
        pa.csv.write_csv(columns, path)
    return str(path)


def is_noted(bars, word):
    """Whether a note speaks of a column."""
    return any(word in note for note in bars.notes)


@settings(max_examples=100)
@given(changed_files(), st.sampled_from(["csv", "parquet"]))
@example(
    [
        ("timestamp", "day"),
        ("timestamp", "time"),
        *((name, name) for name in (*PRICE_NAMES, "volume")),
    ],
    "parquet",
)
def test_a_changed_column_is_refused_or_changes_nothing(file, kind):
    """The bars are the same in every bit, or the file is refused; another volume is noted."""
    with tempfile.TemporaryDirectory() as folder:
        spec = write(folder, kind, [(name, COLUMNS[held]) for name, held in file])
        try:
            bars = load_bars(spec)
        except DataError:
            return
        assert bars.timestamp.tolist() == (TIME_MS * 10**6).tolist(), bars.notes
        for name in PRICE_NAMES:
            assert getattr(bars, name).tolist() == COLUMNS[name].tolist(), (name, bars.notes)
        if bars.volume.tolist() != COLUMNS["volume"].tolist():
            assert is_noted(bars, "volume is read from"), bars.notes


DATE_FORMS = (
    ["Y", "m", "d"], ["y", "m", "d"], ["Y", "b", "d"], ["Y", "B", "d"], ["Y", "j"], ["y", "j"],
    ["a", "Y", "m", "d"], ["A", "y", "b", "d"],
)  # fmt: skip
CLOCKS = (
    [], ["H"], ["H", "M"], ["H", "M", "S"], ["H", "M", "S", "f"], ["I", "M", "p"],
    ["I", "M", "S", "p"], ["H", "M", "S", "z"], ["H", "M", "S", "f", "z"], ["H", "f"],
)  # fmt: skip
SEPARATORS = st.sampled_from(["", "", "", "-", "/", ".", ":", " ", "  ", "T", ",", "%%", "(", "0"])
MOMENTS = st.one_of(
    st.datetimes(dt.datetime(1969, 1, 1), dt.datetime(2068, 12, 31)),
    st.datetimes(dt.datetime(1969, 1, 1), dt.datetime(1969, 12, 31)),
    st.datetimes(dt.datetime(2068, 1, 1), dt.datetime(2068, 12, 31)),
)
"""All that two digits of a year can say, and often the first and the last of them."""

ZONES = st.sampled_from([dt.UTC, dt.timezone(dt.timedelta(hours=-5, minutes=-30))])
FIRST_NS, LAST_NS = -2_208_988_800 * 10**9, 4_102_444_800 * 10**9
"""1900 and 2100."""

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@st.composite
def formats(draw):
    """Directives that make a time, in any order, with anything between them."""
    names = draw(
        st.permutations([*draw(st.sampled_from(DATE_FORMS)), *draw(st.sampled_from(CLOCKS))])
    )
    return "".join(f"%{name}{draw(SEPARATORS)}" for name in names)


def read(text, form):
    """Nanoseconds since 1970 as the house reads them, None where it refuses."""
    try:
        return int(read_times({"t": pa.array([text.strip()])}, None, "f", form)[0][0])
    except TableError:
        return None


def expect(text, form):
    """Nanoseconds since 1970 as Python reads them, None where it refuses."""
    try:
        moment = dt.datetime.strptime(text.strip(), form.strip())
    except (ValueError, re.error):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return (moment - EPOCH) // dt.timedelta(microseconds=1) * 1000


@settings(max_examples=120, derandomize=True)
@given(formats(), MOMENTS, ZONES)
def test_times_are_read_as_strptime_reads_them(form, moment, zone):
    """What Python writes by a format is read as Python reads it; years of no market are refused."""
    text = moment.replace(tzinfo=zone).strftime(form)
    expected = expect(text, form)
    is_known = expected is not None and FIRST_NS <= expected < LAST_NS
    assert read(text, form) == (expected if is_known else None), (form, text)
