"""Frames as people have them: read as pandas means them, or refused with a way on that works."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from data import load_bars
from data.errors import DataError
from optimizer.errors import ConfigError
from optimizer.run.frames import holding_frames
from optimizer.run.sources import keep_frames, load_options

COUNT = 60

INDEX = pd.date_range("2024-01-01", periods=COUNT, freq="15min", tz="UTC")

LATE = INDEX + pd.Timedelta("59614ms")


def make_frame(seed=36):
    """Bars of a quarter of an hour, their times as index."""
    rng = np.random.default_rng(seed)
    close = 100 * np.exp(np.cumsum(rng.normal(0, 0.004, COUNT)))
    opens = np.r_[100, close[:-1]]
    high, low = np.maximum(opens, close) * 1.001, np.minimum(opens, close) * 0.999
    values = {"open": opens, "high": high, "low": low, "close": close}
    return pd.DataFrame({**values, "volume": rng.integers(1, 99, COUNT) / 4}, index=INDEX)


FRAME, OTHER = make_frame(), make_frame(37)

PRICES = {"Open": "open", "High": "high", "Low": "low", "Close": "close", "Volume": "volume"}

NAMED = FRAME.rename(columns={low: high for high, low in PRICES.items()})


def hold(tmp_path, bars, **settings):
    """Configuration in which they are sources."""
    return holding_frames({"bars": bars, "runs": str(tmp_path), **settings}, "evolve")


def read(tmp_path, bars, **settings):
    """Series of what is passed as bars, by symbol; the file that a run keeps of it has the same."""
    with hold(tmp_path, bars, **settings) as config:
        options = load_options(config)
        series = [load_bars(source, options) for source in config.data]
        keep_frames(config)
    for bars, source in zip(series, config.data, strict=True):
        kept = load_bars(source, options)
        for name in ("content_hash", "symbol", "zone", "notes"):
            assert getattr(kept, name) == getattr(bars, name)
    return {bars.symbol: bars for bars in series}


def hashes(tmp_path, bars, **settings):
    """What bars say, by symbol."""
    return {name: one.content_hash for name, one in read(tmp_path, bars, **settings).items()}


@pytest.fixture
def plain(tmp_path):
    """Bars of the plain frame."""
    return read(tmp_path, FRAME)["bars"]


def find_refusal(tmp_path, bars, **settings):
    """The line with which it is refused."""
    with pytest.raises((ConfigError, DataError)) as caught:
        read(tmp_path, bars, **settings)
    message = str(caught.value)
    assert "\n" not in message
    assert ".parquet" not in message
    return message


def list_ways(message, frame):
    """What a message says to pass in place of a frame."""
    texts = re.split(r",? or (?:pass )?", re.search(r"(?:pass|as in) (.*)$", message)[1])
    return [eval(text.removeprefix("bars="), {"frame": frame}) for text in texts]


def index(labels):
    """The frame with other labels of its rows."""
    return FRAME.set_axis(labels)


COUNTED = FRAME.reset_index(names="start_time")
TIMESTAMPS = INDEX.as_unit("s").asi8
CLOSES = index(INDEX + pd.Timedelta("15min"))
TWICE = pd.concat([FRAME, FRAME[["open"]].set_axis(["close"], axis=1)], axis=1)

# Of any type that pandas has for times, and under any name; prices of any type.
SAME = {
    "naive": index(INDEX.tz_localize(None)),
    "New York": index(INDEX.tz_convert("America/New_York")),
    "periods": index(INDEX.tz_localize(None).to_period("15min")),
    "intervals": index(
        pd.IntervalIndex.from_arrays(INDEX, INDEX + pd.Timedelta("15min"), closed="left")
    ),
    "text": index(INDEX.strftime("%Y-%m-%d %H:%M:%S")),
    "objects": index(pd.Index(list(INDEX.to_pydatetime()), dtype=object)),
    "seconds": index(pd.Index(TIMESTAMPS)),
    "a range of seconds": index(pd.RangeIndex(0, COUNT * 900, 900) + int(INDEX[0].timestamp())),
    "nanoseconds, named": index(pd.Index(INDEX.as_unit("ns").asi8, name="open_time")),
    "named as a price": index(INDEX.rename("close")),
    "rows counted": COUNTED,
    "rows counted far": pd.concat(
        [row.set_axis(row.index + 12_000_000) for row in (COUNTED.iloc[:1], COUNTED.iloc[1:])]
    ),
    "long doubles": FRAME.astype(np.longdouble),
    "sparse": FRAME.astype(pd.SparseDtype(np.float64)),
    "nullable": FRAME.convert_dtypes(),
    "pyarrow": FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "prices as text": FRAME.map(repr),
    # Names that sound like time do not matter beside an index of times.
    **{
        f"column {name}": FRAME.assign(**{name: values})
        for name, values in {
            "time": INDEX.time,
            "date": INDEX.date,
            "t": np.arange(COUNT),
            "epoch": [{"a": 1}] * COUNT,
            "datetime": INDEX.tz_convert("Asia/Tokyo"),
            "timestamp": [None] * COUNT,
            "close_time": INDEX + pd.Timedelta("15min"),
        }.items()
    },
}


@pytest.mark.parametrize("name", SAME)
def test_a_frame_of_the_same_bars_is_read_as_the_plain_one(tmp_path, plain, name):
    """Each number that float64 holds comes back in every bit."""
    assert hashes(tmp_path, SAME[name]) == {"bars": plain.content_hash}


VOLUMES = {"Volume USDT": FRAME["close"], "Volume BTC": FRAME["volume"]}
CONTRACTS = FRAME.assign(symbol=["ESH4"] * 30 + ["ESM4"] * 30)
STAMPED = FRAME.rename_axis("opened").assign(date=LATE)
CALLED = FRAME.rename(columns={"close": "Last Price", "volume": "7"})

# A frame, a word of the message, and settings with which it is the plain one.
SETTLED = {
    "closes by name": (
        CLOSES.rename_axis("close_time"), "--column timestamp=close_time --stamped close",
        {"columns": {"timestamp": "close_time"}, "stamped": "close"},
    ),
    "an index by its name": (STAMPED, "", {"columns": {"timestamp": "opened"}}),
    "an index as the time": (STAMPED, "", {"columns": {"timestamp": "timestamp"}}),
    "columns in any case": (CALLED, "", {"columns": {"close": "last price", "volume": "7"}}),
    "contracts": (CONTRACTS, "2 markets", {"columns": {"symbol": "none"}}),
    "two columns": (TWICE.loc[:, ~TWICE.columns.duplicated()], "", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", SETTLED)
def test_settings_say_what_a_frame_leaves_open(tmp_path, plain, name):
    """Names are in any case; an index of times is the first place."""
    frame, word, settings = SETTLED[name]
    if word:
        assert word in find_refusal(tmp_path, frame)
    assert hashes(tmp_path, frame, **settings) == {"bars": plain.content_hash}


def test_days_that_close_are_none_that_open(tmp_path):
    """An index of whole days is one of closes too, where a column of closes is equal to it."""
    days = index(pd.date_range("2024-01-02", periods=COUNT, tz="UTC"))
    frame = days.assign(close_time=days.index)
    assert "--stamped close" in find_refusal(tmp_path, frame)
    bars = read(tmp_path, frame, stamped="close")["bars"]
    assert bars.timestamp[0] == pd.Timestamp("2024-01-01", tz="UTC").value


@pytest.mark.parametrize("columns", [{"timestamp": "Sent"}, {"date": "day", "time": "clock"}])
def test_settings_overrule_the_index(tmp_path, columns):
    """An option names the column of times."""
    frame = FRAME.assign(sent=LATE, timestamp=LATE)
    if "date" in columns:
        frame = FRAME.assign(day=LATE.strftime("%Y-%m-%d"), clock=LATE.strftime("%H:%M:%S.%f"))
    assert read(tmp_path, frame, columns=columns)["bars"].timestamp[0] == LATE[0].value


@pytest.mark.parametrize(
    "frame",
    [
        FRAME.assign(timestamp=LATE.as_unit("ms").asi8),
        FRAME.rename_axis("timestamp").assign(timestamp=LATE),
        FRAME.assign(ts=LATE, start=LATE, unix=INDEX + pd.Timedelta("1s")),
        pa.Table.from_pandas(FRAME.assign(ts=LATE)),
    ],
    ids=["number", "called as the index", "two others", "pyarrow"],
)
def test_times_that_differ_from_the_index_are_refused(tmp_path, plain, frame):
    """Each way that the message names leads to bars: of the index, or of the column."""
    first, second = list_ways(find_refusal(tmp_path, frame), frame)
    assert hashes(tmp_path, first) == {"bars": plain.content_hash}
    late = read(tmp_path, second)["bars"]
    assert late.timestamp[0] == LATE[0].value
    assert late.close.tobytes() == plain.close.tobytes()


@pytest.mark.parametrize(
    "values",
    [[{"a": 1}] * COUNT, [1, "x"] * (COUNT // 2), np.zeros(COUNT, dtype=complex)],
    ids=["dicts", "mixed", "complex"],
)
def test_a_column_that_is_not_read_does_not_matter(tmp_path, values):
    """Whatever it holds: the file is that of the frame without it."""
    frame = FRAME.assign(mood=values)
    frame.attrs["client"] = object()
    for bars in (FRAME, frame):
        read(tmp_path, bars)
    assert len(list(tmp_path.iterdir())) == 1


WIDE = pd.concat({"AAA": NAMED, "BBB": OTHER.set_axis(NAMED.columns, axis=1)}, axis=1)

LONG = pd.concat(
    [NAMED.assign(Ticker="AAA"), OTHER.set_axis(NAMED.columns, axis=1).assign(Ticker="BBB")]
)

LEVELS = LONG.set_index("Ticker", append=True)

PARTS = pl.from_pandas(LONG.reset_index(names="time"))

SEVERAL = {
    "yfinance, by ticker": WIDE,
    "a frame each": {name: WIDE[name] for name in ("AAA", "BBB")},
    "a wide frame each": dict.fromkeys(("AAA", "BBB"), WIDE),
    "groups": LONG.groupby("Ticker"),
    "groups as a dict": dict(tuple(LONG.groupby("Ticker"))),
    "levels, time first": LEVELS,
    "groups by a level, as a dict": dict(tuple(LEVELS.swaplevel().groupby(level=0))),
    "groups of polars": PARTS.group_by("Ticker"),
    "parts of polars": PARTS.partition_by("Ticker", as_dict=True),
    "tables of pyarrow": {
        name: pa.Table.from_pandas(WIDE[name].reset_index(names="time")) for name in ("AAA", "BBB")
    },
    "two columns of symbols": {
        name: WIDE[name].assign(Ticker=name, symbol=name) for name in ("AAA", "BBB")
    },
}


@pytest.mark.parametrize("name", SEVERAL)
def test_frames_of_several_tickers_are_read(tmp_path, plain, name):
    """However they hold them, each is a market."""
    other = read(tmp_path, OTHER)["bars"]
    expected = {"AAA": plain.content_hash, "BBB": other.content_hash}
    assert hashes(tmp_path, SEVERAL[name]) == expected


@pytest.mark.parametrize("frame", [WIDE[["AAA"]], LEVELS.iloc[:COUNT], LONG.iloc[:COUNT]])
def test_one_ticker_names_its_market(tmp_path, plain, frame):
    """In a level or in a column."""
    assert hashes(tmp_path, frame) == {"AAA": plain.content_hash}


def test_rows_of_other_tickers_are_no_bars(tmp_path):
    """A frame of several tickers has rows in which one of them did not trade."""
    wide = WIDE.copy()
    wide.loc[INDEX[-5:], "AAA"] = np.nan
    series = read(tmp_path, wide)
    assert (len(series["AAA"]), len(series["BBB"])) == (COUNT - 5, COUNT)
    assert any("5 rows" in note for note in series["AAA"].notes)
    wide.loc[INDEX[3], ("AAA", "Close")] = np.nan
    assert "bars['AAA']" in find_refusal(tmp_path, wide)


UNKNOWN = LONG.rename(columns={"Ticker": "Name"})

DAYS = UNKNOWN.reset_index(names="t").assign(
    date=lambda rows: rows["t"].dt.strftime("%Y-%m-%d"),
    time=lambda rows: rows.pop("t").dt.strftime("%H:%M"),
)

FLAT = FRAME.reset_index(names="time")

# Frames of several levels or markets; what the message says to pass is read.
LEFT_OPEN = {
    "rows of two": LONG,
    "rows of two, unknown": UNKNOWN,
    "rows of two, days and clocks": DAYS,
    "an index of tickers": LONG.reset_index(names="t").set_index("Ticker"),
    "polars": PARTS,
    "symbol first": pd.concat({"AAA": FLAT}),
    "levels of two": pd.concat({"AAA": FLAT, "BBB": OTHER}),
    "three levels": pd.concat({"X": LEVELS.swaplevel()}),
}


@pytest.mark.parametrize("name", LEFT_OPEN)
def test_a_frame_that_may_be_several_says_how_to_pass_it(tmp_path, plain, name):
    """In words of the library that made it."""
    frame = LEFT_OPEN[name]
    (way,) = list_ways(find_refusal(tmp_path, frame), frame)
    assert next(iter(hashes(tmp_path, way).values())) == plain.content_hash


@pytest.mark.parametrize(
    ("frame", "count"),
    [
        (LONG.iloc[COUNT:], 2),
        (PARTS.filter(pl.col("Ticker") == "BBB"), 2),
        (LEVELS.iloc[COUNT:], 1),
    ],
    ids=["column", "polars", "level of markets"],
)
def test_a_key_that_differs_from_the_frame_is_refused(tmp_path, frame, count):
    """Both are named, and each way on is read."""
    message = find_refusal(tmp_path, {"AAA": frame})
    assert message.startswith("bars['AAA']: its ")
    assert "'BBB'" in message
    ways = list_ways(message, frame)
    assert len(ways) == count
    for way in ways:
        assert len(read(tmp_path, way if isinstance(way, dict) else {"AAA": way})) == 1


FAULTS = {
    "a high below the close": (
        FRAME.assign(high=FRAME["high"].where(FRAME.index != INDEX[3], 1.0)),
        "--drop-bad-bars", {"drop_bad_bars": True},
    ),
    "a thin market": (
        FRAME.iloc[np.flatnonzero(np.random.default_rng(1).uniform(size=COUNT) < 0.4)],
        "--source-timeframe", {"source_timeframe": "15m"},
    ),
    "days that could be months": (
        index(pd.date_range("2024", periods=COUNT, freq="h").strftime("%d/%m/%Y %H:%M")).iloc[:12],
        "--time-format", {"time_format": "%d/%m/%Y %H:%M"},
    ),
    "closes": (index(INDEX - pd.Timedelta("1ms")), "--stamped close", {"stamped": "close"}),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_an_option_that_a_message_names_is_a_setting(tmp_path, name):
    """Of the same name, with which the frame is read."""
    frame, flag, settings = FAULTS[name]
    message = find_refusal(tmp_path, {"AAA": frame})
    assert message.startswith("bars['AAA']: ")
    assert flag in message
    assert len(read(tmp_path, {"AAA": frame}, **settings)["AAA"]) > 10


NAN, MIXED = float("nan"), FRAME["close"].astype(object)

# What is passed, and words of the message.
REFUSED = {
    "text": ({"AAA": FRAME.assign(close=[1, "x"] * 30)}, ["bars['AAA']", "'close'", "row 1 'x'"]),
    "an index of rows": (FRAME.set_axis(pd.RangeIndex(COUNT)), ["frame.set_index(times)"]),
    "no time": (COUNTED.drop(columns="start_time"), ["timestamp"]),
    "two of a symbol": ({1: FRAME, "1": OTHER}, ["two frames", "'1'"]),
    "no rows": (FRAME.iloc[:0], ["no bars"]),
    "doubled": (TWICE, ["two columns 'close'"]),
    **{
        f"key {key!r}": ({key: FRAME}, ["as in bars={'BTC': frame}"])
        for key in ("", "  ", None, NAN, 1.5, True, ("AAA", "BBB"), "A\nB", "A" * 65, INDEX[0])
    },
    **{
        f"got {got}": (value, [f"in place of data, got {got}"])
        for got, value in {
            "None": None,
            "'bars.csv'": "bars.csv",
            "{}": {},
            "a DataFrame": [FRAME],
            "a dict as bars['A']": {"A": {"B": FRAME}},
            "a ndarray": FRAME.to_numpy(),
        }.items()
    },
}


@pytest.mark.parametrize("name", REFUSED)
def test_frames_that_cannot_be_read_are_refused(tmp_path, name):
    """By what was passed and what is wrong with it; nothing is kept."""
    bars, words = REFUSED[name]
    message = find_refusal(tmp_path, bars)
    assert all(word in message for word in words)


@pytest.mark.parametrize("missing", ["", "n/a"])
def test_words_for_no_number_among_numbers_are_read_as_in_a_file(tmp_path, missing):
    """Other numbers keep every bit, and the row is dropped with the option."""
    close = MIXED.where(INDEX[0] != INDEX, missing)
    bars = read(tmp_path, FRAME.assign(close=close), drop_bad_bars=True)["bars"]
    assert bars.close.tolist() == FRAME["close"].tolist()[1:]


def test_other_columns_are_noted_or_aligned(tmp_path, plain):
    """One that is left out as in a file; those asked for by name or place, whatever they are."""
    bars = read(tmp_path, NAMED.assign(**{"Adj Close": 1.0}))["bars"]
    assert any("'Adj Close'" in note for note in bars.notes)
    frame = FRAME.assign(day=np.arange(COUNT), x=np.arange(COUNT))
    asked = ["day", "mood=X", "other=7"]
    bars = read(tmp_path, frame, aligned_columns=asked)["bars"]
    assert [bars.extra[name][5] for name in ("day", "mood", "other")] == [5, 5, 5]
    # A price that stands twice is read by its place; the key says whose volume is the base's.
    doubled = read(tmp_path, TWICE, columns={"close": "7"})["bars"]
    assert doubled.close.tobytes() == plain.open.tobytes()
    volumes = FRAME.drop(columns="volume").assign(**VOLUMES)
    assert hashes(tmp_path, {"BTC/USDT": volumes}) == {"BTC/USDT": plain.content_hash}


def test_a_file_that_is_not_what_was_kept_is_written_anew(tmp_path, plain):
    """Cut short, or saved by another program; other damage is an error that names the file."""
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    pd.read_parquet(path).assign(close=OTHER["close"].to_numpy()).to_parquet(path)
    for other in (content[:-9], b"", path.read_bytes()):
        path.write_bytes(other)
        assert hashes(tmp_path, FRAME) == {"bars": plain.content_hash}
        assert path.read_bytes() == content
    path.write_bytes(content[:700] + bytes(9) + content[709:])
    with pytest.raises(DataError, match=path.name):
        load_bars(path)


def test_bars_share_no_memory_with_the_frame(tmp_path):
    """A frame that changes later changes no bars."""
    with hold(tmp_path, FRAME) as config:
        bars = load_bars(config.data[0])
    assert not np.shares_memory(FRAME.index.asi8, bars.timestamp)
    assert not any(np.shares_memory(FRAME[name], getattr(bars, name)) for name in FRAME)
