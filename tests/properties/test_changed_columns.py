"""Law: a column dropped, renamed or doubled changes no time, price or volume without a word."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data import DataError, load_bars
from data.providers.columns import ALIASES
from tests.support.series import START_NS

HOUR_MS = 3600 * 1000
COUNT = 40
PRICES = ("open", "high", "low", "close")
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
    {"time": "timestamp", **{name: name for name in (*PRICES, "volume")}},
    {"time": "open_time", **{name: name for name in (*PRICES, "volume")},
     "close_time": "close_time", "quote": "quote_volume", "trades": "count"},
    {"day": "<DATE>", "clock": "<TIME>", **{name: f"<{name.upper()}>" for name in PRICES},
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
    [("timestamp", "day"), ("timestamp", "time"), *((name, name) for name in (*PRICES, "volume"))],
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
        for name in PRICES:
            assert getattr(bars, name).tolist() == COLUMNS[name].tolist(), (name, bars.notes)
        if bars.volume.tolist() != COLUMNS["volume"].tolist():
            assert is_noted(bars, "volume is read from"), bars.notes
