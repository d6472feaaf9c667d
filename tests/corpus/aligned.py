"""Aligned columns: further columns of the bars' own file, each value with its row."""

import numpy as np
import pyarrow as pa

from data.errors import BarsError, DataError
from tests.corpus.row import bars, reads, refuses, table
from tests.support.series import make_columns

NAN = np.nan
MOOD = {"aligned_columns": ("mood",)}
CELLS = ["", "1.5", "NaN", "-2", "n/a", "0"]
ROWS_OF_8 = [5, 0, 0, 3, 1, 2, 4, 6, 7]


def moody(*cells, name="mood", **more):
    """A file of bars with one more column of such cells."""
    return bars(len(cells), **{name: list(cells)}, **more)


def asked(*columns):
    """The option that asks for them."""
    return {"aligned_columns": columns}


def of_types(kind):
    """A file of a kind with columns of several widths before and behind the bars."""
    mood = pa.array([1.5, None, NAN, -2], pa.float32())
    word = pa.array(["1", "", "3", ""]).dictionary_encode()
    count = pa.array([1, 2, None, 4], pa.int16())
    made = make_columns(4)
    made["timestamp"] = made["timestamp"].astype("datetime64[ns]")
    return table({"mood": mood, "word": word, **made, "count": count}, kind=kind)


def two_names():
    """Columns of two markets whose names pandas wrote into one."""
    made = make_columns(4)
    named = {"timestamp": made["timestamp"].astype("datetime64[ns]")}
    for at, symbol in enumerate(("A", "B")):
        named |= {f"('{name}', '{symbol}')": made[name] for name in list(made)[1:]}
        named[f"('mood', '{symbol}')"] = np.arange(4.0) + 10 * at
    return table(named, kind="parquet")


def two_symbols():
    """Rows of two markets by turns."""
    rows = {name: np.repeat(column, 2) for name, column in make_columns(4).items()}
    rows["timestamp"] = rows["timestamp"].astype("datetime64[ns]")
    return table({**rows, "symbol": ["A", "B"] * 4, "mood": np.arange(8.0)}, kind="parquet")


ROWS = (
    reads("a column that is asked for", moody(*CELLS), MOOD, made=6,
          values={"mood": [NAN, 1.5, NAN, -2, NAN, 0]},
          notes="aligned: 'mood', stated to be known at the close of each bar"),
    *(reads(f"a column asked for as {name}", moody("1", "2", "3", name="Mood Index"), asked(name),
            values={"mood": [1, 2, 3]}, notes="'mood' ('Mood Index')")
      for name in ("mood=mood index", "mood=7")),
    *(reads(f"typed in {kind}", of_types(kind), asked("mood", "word", "count"), made=4,
            values={"mood": [1.5, NAN, NAN, -2], "word": [1, NAN, 3, NAN], "count": [1, 2, NAN, 4]})
      for kind in ("parquet", "feather")),
    reads("names of two markets in one", two_names(), MOOD, market="B",
          values={"mood": [10, 11, 12, 13]}),
    *(refuses(f"no name {names}", bars(2), asked(*names), DataError, "--aligned-column", words)
      for names, words in (
          (["a-b"], "'a-b' must look like NAME, or NAME=COLUMN"), (["mood="], "must look like"),
          (["mood", "mood=other"], "two columns"), (["close"], "have 'close' already"))),
    *(refuses(f"no column {name} of {cells}", moody(*cells), asked(name), DataError, *words)
      for cells, name, words in (
          (("1", "2", "good"), "mood", ("column 'mood'", "row 2 'good'")),
          (("1", "-inf", "2"), "mood", ("series.csv", "column 'mood' is infinite in row 1")),
          (("1", "2", "3"), "mod", ("--aligned-column mod: there is no such column",)),
          (("1", "2", "3"), "fear=mod", ("--aligned-column fear=mod: there is no such column",)),
          (("1", "2", "3"), "when=timestamp", ("'timestamp' is the timestamp of",)))),
    reads("values go where their rows go",
          bars(8, open={3: -5.0}, mood=list(range(8)), picks=ROWS_OF_8),
          MOOD | {"drop_bad_bars": True, "sort": True, "dedupe": True},
          made=[0, 1, 2, 4, 5, 6, 7], values={"mood": [0, 1, 2, 4, 5, 6, 7]}),
    refuses("rows that differ in it alone", table({
        "timestamp": ["2024-01-01T00:00Z", "2024-01-01T00:00Z", "2024-01-01T00:15Z"], "open": 10,
        "high": 12, "low": 9, "close": 11, "volume": 5, "mood": [1, 9, 3]}),
            MOOD | {"dedupe": True}, BarsError, "but other values", "mood=1.0)", "mood=9.0)"),
    reads("a longer bar has the last value", bars(10, mood=[1, 2, 3, 4, 5, 6, 7, None, 9, 10]),
          MOOD | {"timeframe": "1h"}, values={"mood": [4, NAN, 10]}),
)  # fmt: skip
