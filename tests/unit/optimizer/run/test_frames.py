"""Frames as people have them: read as pandas means them, or refused with a way on that works."""

import re
from datetime import timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from data import load_bars
from data.errors import DataError
from optimizer.errors import ConfigError, OptimizerError
from optimizer.run.frames import frames_as_files
from optimizer.run.sources import load_options

COUNT = 60

INDEX = pd.date_range("2024-01-01", periods=COUNT, freq="15min", tz="UTC")


def keep_frames(settings, folder):
    """Settings in which frames are files."""
    with frames_as_files(settings, "evolve", folder) as readable:
        return readable


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


def read(tmp_path, bars, **settings):
    """Series of what is passed as bars, by symbol."""
    with frames_as_files({"bars": bars, **settings}, "evolve", tmp_path) as config:
        options = load_options(config)
        series = [load_bars(source, options) for source in config.data]
    return {bars.symbol: bars for bars in series}


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


INDEXES = {
    "naive": INDEX.tz_localize(None),
    "New York": INDEX.tz_convert("America/New_York"),
    "an hour east": INDEX.tz_convert(timezone(timedelta(hours=1))),
    "periods": INDEX.tz_localize(None).to_period("15min"),
    "intervals": pd.IntervalIndex.from_arrays(INDEX, INDEX + pd.Timedelta("15min"), closed="left"),
    "categories": pd.CategoricalIndex(INDEX.tz_localize(None)),
    "text": INDEX.strftime("%Y-%m-%d %H:%M:%S"),
    "objects": pd.Index(list(INDEX.to_pydatetime()), dtype=object),
    "seconds": pd.Index(INDEX.as_unit("s").asi8),
    "floats": pd.Index(INDEX.as_unit("s").asi8.astype(float)),
    "a range of seconds": pd.RangeIndex(0, COUNT * 900, 900) + int(INDEX[0].timestamp()),
    "nanoseconds, named": pd.Index(INDEX.as_unit("ns").asi8, name="open_time"),
    "named Date": INDEX.rename("Date"),
    "named as a price": INDEX.rename("close"),
    "microseconds": INDEX.as_unit("us"),
    "the only level": pd.MultiIndex.from_arrays([INDEX]),
}


@pytest.mark.parametrize("name", INDEXES)
def test_an_index_of_times_is_the_time(tmp_path, plain, name):
    """Of any type that pandas has for times, and under any name."""
    bars = read(tmp_path, FRAME.set_axis(INDEXES[name]))["bars"]
    assert bars.content_hash == plain.content_hash


FEATURES = {
    "time": INDEX.time,
    "date": INDEX.date,
    "day": INDEX.day,
    "Date": INDEX.normalize(),
    "trading_day": (INDEX + pd.Timedelta("6h")).normalize(),
    "start": np.arange(COUNT) % 2 == 0,
    "t": np.arange(COUNT),
    "ts": np.linspace(0, 1, COUNT),
    "dt": INDEX - INDEX[0],
    "epoch": [{"a": 1}] * COUNT,
    "utc": ["open", "closed"] * (COUNT // 2),
    "tag": np.zeros(COUNT),
    "end": np.arange(COUNT),
    "end_time": INDEX.normalize(),
    "datetime": INDEX.tz_convert("Asia/Tokyo"),
    "unix": INDEX.as_unit("s").asi8,
    "timestamp": [None] * COUNT,
    "close_time": INDEX + pd.Timedelta("15min"),
}


@pytest.mark.parametrize("name", FEATURES)
def test_names_that_sound_like_time_do_not_matter_beside_an_index(tmp_path, plain, name):
    """Days, times of day and other numbers are columns like any; equal times are no matter."""
    bars = read(tmp_path, FRAME.assign(**{name: FEATURES[name]}))["bars"]
    assert bars.content_hash == plain.content_hash


LATE = INDEX + pd.Timedelta("59614ms")

DIFFERING = {
    "a stamp of the message": FRAME.assign(timestamp=LATE.as_unit("ms").asi8),
    "text": FRAME.assign(open_time=LATE.strftime("%Y-%m-%d %H:%M:%S.%fZ")),
    "whole times called date": FRAME.assign(Date=LATE),
    "called as the index": FRAME.rename_axis("timestamp").assign(timestamp=LATE),
    "two others": FRAME.assign(ts=LATE, start=LATE, unix=INDEX + pd.Timedelta("1s")),
    "the index once more": FRAME.assign(ts=LATE, start=INDEX),
}


@pytest.mark.parametrize("name", DIFFERING)
def test_times_that_differ_from_the_index_are_refused(tmp_path, plain, name):
    """Each way that the message names leads to bars: of the index, or of the column."""
    frame = DIFFERING[name]
    message = find_refusal(tmp_path, frame)
    assert "its index and its column" in message
    first, second = re.search(r"pass (frame\..+) or (frame\..+)$", message).groups()
    assert read(tmp_path, evaluate(first, frame))["bars"].content_hash == plain.content_hash
    late = read(tmp_path, evaluate(second, frame))["bars"]
    assert late.timestamp[0] == LATE[0].value
    assert late.close.tobytes() == plain.close.tobytes()


def evaluate(expression, frame):
    """Options that a message names."""
    return eval(expression, {"frame": frame})


def test_settings_overrule_the_index(tmp_path, plain):
    """An option names the column of times, or the index."""
    frame = FRAME.assign(sent=LATE, timestamp=LATE)
    for column in ("sent", "Sent", "timestamp"):
        late = read(tmp_path, frame, columns={"timestamp": column})["bars"]
        assert late.timestamp[0] == LATE[0].value
    days = FRAME.assign(day=LATE.strftime("%Y-%m-%d"), clock=LATE.strftime("%H:%M:%S.%f"))
    late = read(tmp_path, days, columns={"date": "day", "time": "clock"})["bars"]
    assert late.timestamp[0] == LATE[0].value
    named = FRAME.rename_axis("opened").assign(date=LATE)
    for name in ("opened", "timestamp"):
        bars = read(tmp_path, named, columns={"timestamp": name})["bars"]
        assert bars.content_hash == plain.content_hash


@pytest.mark.parametrize("start", [0, 1, 12_000_000])
def test_an_index_that_counts_rows_is_no_time(tmp_path, plain, start):
    """However far it has counted, and whatever rows were left out."""
    frame = FRAME.reset_index(names="start_time")
    frame = frame.set_axis(pd.RangeIndex(start, start + COUNT))
    assert read(tmp_path, frame)["bars"].content_hash == plain.content_hash
    rows = pd.concat([frame.iloc[:1], frame.iloc[1:]])
    assert read(tmp_path, rows)["bars"].content_hash == plain.content_hash
    assert "no column is named timestamp" in find_refusal(
        tmp_path, frame.drop(columns="start_time")
    )


def test_an_index_of_closes_is_no_time_at_which_bars_open(tmp_path, plain):
    """By its name or by a column of closes; the message names the option for closes."""
    closes = FRAME.set_axis(INDEX + pd.Timedelta("15min"))
    named = closes.rename_axis("close_time")
    assert "--column timestamp=close_time --stamped close" in find_refusal(tmp_path, named)
    settings = {"columns": {"timestamp": "close_time"}, "stamped": "close"}
    assert read(tmp_path, named, **settings)["bars"].content_hash == plain.content_hash
    beside = closes.assign(close_time=closes.index)
    assert "--stamped close" in find_refusal(tmp_path, beside)
    assert read(tmp_path, beside, stamped="close")["bars"].content_hash == plain.content_hash


UNUSED = {
    "dicts": [{"a": 1}] * COUNT,
    "lists": [[1, 2]] * COUNT,
    "sets": [{1}] * COUNT,
    "objects": [object()] * COUNT,
    "sparse": pd.arrays.SparseArray(np.zeros(COUNT)),
    "mixed": [1, "x"] * (COUNT // 2),
    "complex": np.zeros(COUNT, dtype=complex),
    "periods": INDEX.tz_localize(None).to_period("D"),
    "long doubles": np.zeros(COUNT, dtype=np.longdouble),
}


@pytest.mark.parametrize("name", UNUSED)
def test_a_column_that_is_not_read_does_not_matter(tmp_path, name):
    """Whatever it holds: the file is that of the frame without it."""
    frame = FRAME.assign(**{name: UNUSED[name]})
    frame.attrs["client"] = object()
    sources = [keep_frames({"bars": each}, tmp_path).data for each in (FRAME, frame)]
    assert sources[0] == sources[1]
    assert len(list(tmp_path.iterdir())) == 1


TYPES = {
    "long doubles": FRAME.astype(np.longdouble),
    "sparse": FRAME.astype(pd.SparseDtype(np.float64)),
    "nullable": FRAME.convert_dtypes(),
    "objects": FRAME.astype(object),
    "pyarrow": FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "text": FRAME.map(repr),
}


@pytest.mark.parametrize("name", TYPES)
def test_prices_of_any_type_are_the_same(tmp_path, plain, name):
    """Each number that float64 holds comes back in every bit."""
    assert read(tmp_path, TYPES[name])["bars"].content_hash == plain.content_hash


def test_prices_that_are_no_numbers_are_refused(tmp_path):
    """By the name of their column, and with rows that hold others."""
    frame = FRAME.assign(close=[1, "x"] * (COUNT // 2))
    message = find_refusal(tmp_path, {"AAA": frame})
    assert message.startswith("bars['AAA']: column 'close' holds text that is no number: row 1 'x'")
    frame = FRAME.assign(close=FRAME["close"].astype(object).where(INDEX[0] != INDEX, 1j))
    message = find_refusal(tmp_path, {"AAA": frame})
    assert message.startswith("bars['AAA']: column 'close' holds what is no number, text or time")


@pytest.mark.parametrize("missing", ["", "n/a", "-"])
def test_words_for_no_number_among_numbers_are_read_as_in_a_file(tmp_path, missing):
    """Other numbers keep every bit, and the row is dropped with the option."""
    close = FRAME["close"].astype(object).where(INDEX[0] != INDEX, missing)
    bars = read(tmp_path, FRAME.assign(close=close), drop_bad_bars=True)["bars"]
    assert bars.close.tolist() == FRAME["close"].tolist()[1:]


@pytest.mark.parametrize("labels", ["rows", "names"])
def test_an_index_that_holds_no_times_is_named(tmp_path, labels):
    """It is no column of the frame."""
    index = pd.RangeIndex(COUNT) if labels == "rows" else [f"r{i}" for i in range(COUNT)]
    message = find_refusal(tmp_path, FRAME.set_axis(index))
    assert "its index" in message
    assert ("frame.set_index(times) passes such" in message) == (labels == "rows")


def test_what_is_left_out_keeps_its_note(tmp_path):
    """A column that is not written is noted as that of a file is."""
    bars = read(tmp_path, NAMED.assign(**{"Adj Close": 1.0}))["bars"]
    assert (
        "column 'Adj Close' is not read: open, high, low and close stay as they are" in bars.notes
    )


WIDE = pd.concat({"AAA": NAMED, "BBB": OTHER.set_axis(NAMED.columns, axis=1)}, axis=1)

LONG = pd.concat(
    [NAMED.assign(Ticker="AAA"), OTHER.set_axis(NAMED.columns, axis=1).assign(Ticker="BBB")]
)

LEVELS = LONG.set_index("Ticker", append=True)

SEVERAL = {
    "yfinance, by ticker": WIDE,
    "yfinance, by price": WIDE.swaplevel(axis=1).sort_index(axis=1),
    "with the time as a column": WIDE.rename_axis("Date").reset_index(),
    "a frame each": {name: WIDE[name] for name in ("AAA", "BBB")},
    "a wide frame each": dict.fromkeys(("AAA", "BBB"), WIDE),
    "groups": LONG.groupby("Ticker"),
    "groups by a list": LONG.groupby(["Ticker"]),
    "groups as a dict": dict(tuple(LONG.groupby("Ticker"))),
    "groups as a list": list(LONG.groupby("Ticker")),
    "levels, time first": LEVELS,
    "levels, ticker first": LEVELS.swaplevel(),
    "groups by a level": LEVELS.groupby(level="Ticker"),
    "groups by a level, as a dict": dict(tuple(LEVELS.swaplevel().groupby(level=0))),
    "groups of polars": pl.from_pandas(LONG.reset_index(names="time")).group_by("Ticker"),
    "parts of polars": pl.from_pandas(LONG.reset_index(names="time")).partition_by(
        "Ticker", as_dict=True
    ),
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
    series = read(tmp_path, SEVERAL[name])
    other = read(tmp_path, OTHER)["bars"]
    hashes = {symbol: bars.content_hash for symbol, bars in series.items()}
    assert hashes == {"AAA": plain.content_hash, "BBB": other.content_hash}


def test_rows_of_other_tickers_are_no_bars(tmp_path):
    """A frame of several tickers has rows in which one of them did not trade."""
    wide = WIDE.copy()
    wide.loc[INDEX[-5:], "AAA"] = np.nan
    series = read(tmp_path, wide)
    assert (len(series["AAA"]), len(series["BBB"])) == (COUNT - 5, COUNT)
    assert "5 rows are of other tickers, and left out" in series["AAA"].notes
    wide.loc[INDEX[3], ("AAA", "Close")] = np.nan
    assert "bars['AAA']" in find_refusal(tmp_path, wide)


def test_one_ticker_names_its_market(tmp_path, plain):
    """In a level or in a column; what no frame names is called bars."""
    for frame in (WIDE[["AAA"]], LEVELS.iloc[:COUNT], LONG.iloc[:COUNT]):
        series = read(tmp_path, frame)
        assert {symbol: bars.content_hash for symbol, bars in series.items()} == {
            "AAA": plain.content_hash
        }


def test_rows_of_several_tickers_are_grouped(tmp_path, plain):
    """The message names the column, known as one of symbols or not, and groups by it are read."""
    unknown = LONG.rename(columns={"Ticker": "Name"})
    parted = unknown.reset_index(names="t").assign(
        date=lambda rows: rows["t"].dt.strftime("%Y-%m-%d"),
        time=lambda rows: rows.pop("t").dt.strftime("%H:%M"),
    )
    by_ticker, by_name = (
        frame.reset_index(names="t").set_index(name)
        for frame, name in ((LONG, "Ticker"), (unknown, "Name"))
    )
    frames = (LONG, unknown, LONG.sort_index(), unknown.sort_index(), parted, by_ticker, by_name)
    for frame in frames:
        message = find_refusal(tmp_path, frame)
        assert message.startswith("bars: its column")
        assert "parts the rows into 2 markets ('AAA', 'BBB')" in message
        series = read(tmp_path, evaluate(message.partition("pass bars=")[2], frame))
        assert series["AAA"].content_hash == plain.content_hash
        assert sorted(series) == ["AAA", "BBB"]


def test_ways_on_are_those_of_the_library_that_made_the_frame(tmp_path, plain):
    """A frame of polars has other words than one of pandas, which the message makes of it first."""
    long = pl.from_pandas(LONG.reset_index(names="time"))
    for frame in (long, long.to_arrow()):
        message = find_refusal(tmp_path, frame)
        series = read(tmp_path, evaluate(message.partition("pass bars=")[2], frame))
        assert series["AAA"].content_hash == plain.content_hash
    keyed = long.filter(pl.col("Ticker") == "AAA")
    message = find_refusal(tmp_path, {"ABC": keyed})
    dropped = evaluate(re.search(r"pass (frame.*)$", message)[1], keyed)
    assert read(tmp_path, {"ABC": dropped})["ABC"].content_hash == plain.content_hash
    stamped = pa.Table.from_pandas(FRAME.assign(ts=LATE))
    for way in re.search(r"pass (frame.+) or (frame.+)$", find_refusal(tmp_path, stamped)).groups():
        assert len(read(tmp_path, evaluate(way, stamped))["bars"]) == COUNT


TRADED = FRAME.iloc[np.flatnonzero(np.random.default_rng(1).uniform(size=COUNT) < 0.4)]

FAULTS = {
    "newest first": FRAME.iloc[::-1],
    "a row twice": FRAME.iloc[np.sort(np.r_[0:COUNT, 5])],
    "a high below the close": FRAME.assign(high=FRAME["high"].where(FRAME.index != INDEX[3], 1.0)),
    "a price that is missing": FRAME.assign(open=FRAME["open"].where(FRAME.index != INDEX[3])),
    "prices below zero": FRAME.assign(**(FRAME[["open", "high", "low", "close"]] - 200)),
    "a thin market": TRADED,
    "days that could be months": FRAME.set_axis(
        pd.date_range("2024-01-01", periods=COUNT, freq="h")[:COUNT].strftime("%d/%m/%Y %H:%M")
    ).iloc[:12],
    "decimals that could be thousands": FRAME.map(lambda number: f"{number:.3f}".replace(".", ",")),
    "no volume": FRAME.assign(volume=-1),
    "closes": FRAME.set_axis(INDEX - pd.Timedelta("1ms")),
}

FLAGS = {
    "--sort": {"sort": True},
    "--dedupe": {"dedupe": True},
    "--drop-bad-bars": {"drop_bad_bars": True},
    "--price-offset": {"price_offset": 300.0},
    "--source-timeframe": {"source_timeframe": "15m"},
    "--time-format": {"time_format": "%d/%m/%Y %H:%M"},
    "--decimal": {"decimal": ","},
    "--column volume=none": {"columns": {"volume": "none"}},
    "--stamped close": {"stamped": "close"},
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_option_that_a_message_names_is_a_setting(tmp_path, name):
    """Of the same name, with which the frame is read."""
    message = find_refusal(tmp_path, {"AAA": FAULTS[name]})
    assert message.startswith("bars['AAA']: ")
    named = [flag for flag in FLAGS if flag in message]
    assert named
    last = named[-1] if name == "prices below zero" else named[0]
    assert len(read(tmp_path, {"AAA": FAULTS[name]}, **FLAGS[last])["AAA"]) > 10


OF_ANOTHER = {
    "column": LONG.iloc[COUNT:],
    "column 'Ticker'": LONG.iloc[COUNT:].reset_index(names="t").set_index("Ticker"),
    "level of tickers": WIDE[["BBB"]],
    "level of markets": LEVELS.iloc[COUNT:],
}


@pytest.mark.parametrize("name", OF_ANOTHER)
def test_a_key_that_differs_from_the_frame_is_refused(tmp_path, name):
    """Both are named, and each way on is read."""
    frame = OF_ANOTHER[name]
    message = find_refusal(tmp_path, {"AAA": frame})
    assert message.startswith(f"bars['AAA']: its {name}")
    assert "'BBB'" in message
    ways = re.findall(r"bars=(\{'BBB': frame\})|(frame\.(?:drop|reset_index)\(.*\))", message)
    assert len(ways) == (2 if "column" in name else 1)
    for keyed, dropped in ways:
        bars = evaluate(keyed, frame) if keyed else {"AAA": evaluate(dropped, frame)}
        assert len(read(tmp_path, bars)) == 1
    if "column" in name:
        refusal = find_refusal(tmp_path, {"AAA": frame}, columns={"symbol": "Ticker"})
        assert "drop" not in refusal
        assert list(read(tmp_path, {"BBB": frame}, columns={"symbol": "Ticker"})) == ["BBB"]


@pytest.mark.parametrize(
    "key", ["", "  ", None, float("nan"), 1.5, True, ("AAA", "BBB"), "A\nB", "A" * 65, INDEX[0]]
)
def test_a_key_that_is_no_symbol_is_refused(tmp_path, key):
    """In one line, with what a key looks like."""
    message = find_refusal(tmp_path, {key: FRAME})
    assert message.endswith("name it, as in bars={'BTC': frame}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("key", [1, np.int64(1), ("1",), "../1", "BRK/B", "/etc/passwd", "C:\\1"])
def test_a_key_is_a_symbol_and_no_path(tmp_path, key):
    """Numbers of assets and any printable text; files stay in the folder."""
    (symbol,) = read(tmp_path / "kept", {key: FRAME})
    assert symbol == (str(key[0]) if isinstance(key, tuple) else str(key))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_two_frames_of_one_symbol_are_refused(tmp_path):
    """A number and its text are one symbol."""
    message = find_refusal(tmp_path, {1: FRAME, "1": OTHER})
    assert message == "bars has two frames of the symbol '1': leave one"


LEVELLED = {
    "symbol first": pd.concat({"AAA": FRAME.reset_index(names="time")}),
    "several": pd.concat({"AAA": FRAME.reset_index(names="time"), "BBB": OTHER}),
    "three": pd.concat({"X": LEVELS.swaplevel()}),
    "two times": FRAME.set_index(INDEX.normalize(), append=True),
}


@pytest.mark.parametrize("name", LEVELLED)
def test_an_index_of_several_levels_says_how_to_leave_one(tmp_path, plain, name):
    """The frame that the message names is read."""
    frame = LEVELLED[name]
    message = find_refusal(tmp_path, frame)
    assert "bars has an index of several levels" in message
    bars = evaluate(re.search(r"as in (?:bars=)?(.*)$", message)[1], frame)
    assert next(iter(read(tmp_path, bars).values())).content_hash == plain.content_hash


def test_columns_of_three_levels_say_how_to_leave_two(tmp_path):
    """The frame that the message names is read."""
    frame = pd.concat({"yahoo": WIDE}, axis=1)
    message = find_refusal(tmp_path, frame)
    assert sorted(read(tmp_path, evaluate(message.partition("as in ")[2], frame))) == ["AAA", "BBB"]


NO_FRAMES = {
    "None": None,
    "3": 3,
    "'bars.csv'": "bars.csv",
    "{}": {},
    "[]": [],
    "a DataFrame": [FRAME],
    "1 as bars['A']": {"A": 1},
    "a dict as bars['A']": {"A": {"B": FRAME}},
    "a Series": FRAME["close"],
    "a ndarray": FRAME.to_numpy(),
}


@pytest.mark.parametrize("got", NO_FRAMES)
def test_what_is_no_frame_is_refused(tmp_path, got):
    """By what bars may be, and what was got."""
    assert find_refusal(tmp_path, NO_FRAMES[got]).endswith(f"in place of data, got {got}")


@pytest.mark.parametrize("frame", [FRAME, WIDE, LEVELS, FRAME.reset_index()])
def test_a_frame_without_rows_is_refused(tmp_path, frame):
    """Others are read when it is left out, as in the message."""
    assert "there are no bars" in find_refusal(tmp_path, frame.iloc[:0])
    message = find_refusal(tmp_path, {"AAA": FRAME, "BBB": OTHER.iloc[:0]})
    assert message == "bars['BBB']: there are no bars, the frame has no rows; leave it out"


def test_columns_of_one_level_are_names(tmp_path, plain):
    """As pandas leaves them when others are dropped."""
    frame = FRAME.set_axis(pd.MultiIndex.from_arrays([FRAME.columns]), axis=1)
    assert read(tmp_path, frame)["bars"].content_hash == plain.content_hash


def test_bars_and_data_are_not_both_given(tmp_path):
    """One of them is left out."""
    assert "in place of data" in find_refusal(tmp_path, FRAME, data=["sample"])


def test_doubled_columns_are_refused_where_they_are_read(tmp_path, plain):
    """A price that stands twice is refused; by its place one of them is read."""
    twice = pd.concat([FRAME, FRAME[["open"]].set_axis(["close"], axis=1)], axis=1)
    assert find_refusal(tmp_path, twice) == "bars has two columns 'close': leave one"
    left = twice.loc[:, ~twice.columns.duplicated()]
    assert read(tmp_path, left)["bars"].content_hash == plain.content_hash
    # The index is the first place.
    other = read(tmp_path, twice, columns={"close": "7"})["bars"]
    assert other.close.tobytes() == plain.open.tobytes()
    feature = pd.concat([FRAME.assign(mood=1), FRAME[["open"]].set_axis(["mood"], axis=1)], axis=1)
    assert read(tmp_path, feature)["bars"].content_hash == plain.content_hash


def test_a_volume_that_is_missing_is_read_as_the_message_says(tmp_path):
    """By another column, or as none."""
    frame = FRAME.rename(columns={"volume": "traded"})
    message = find_refusal(tmp_path, {"AAA": frame})
    assert message.startswith("bars['AAA']: no column is named volume")
    assert "--column volume=none" in message
    assert not read(tmp_path, {"AAA": frame}, columns={"volume": "none"})["AAA"].volume.any()
    assert read(tmp_path, {"AAA": frame}, columns={"volume": "traded"})["AAA"].volume.any()


def test_settings_name_columns_in_any_case_and_by_place(tmp_path, plain):
    """An index of times is the first place, as the column that it becomes."""
    frame = FRAME.rename(columns={"close": "Last Price", "volume": "7"})
    for close in ("last price", "5", "Last Price"):
        bars = read(tmp_path, frame, columns={"close": close, "volume": "7"})["bars"]
        assert bars.content_hash == plain.content_hash


def test_aligned_columns_of_any_name_are_read(tmp_path):
    """Beside an index of times also one that is called as a day."""
    frame = FRAME.assign(day=np.arange(COUNT), x=np.arange(COUNT))
    asked = ["day", "mood=X", "other=7"]
    bars = read(tmp_path, frame, aligned_columns=asked)["bars"]
    assert [bars.extra[name][5] for name in ("day", "mood", "other")] == [5, 5, 5]


def test_errors_name_what_was_passed(tmp_path):
    """Also those that are found later, in the file."""
    broken = FRAME.assign(high=FRAME["high"].where(FRAME.index != INDEX[3], 1.0))
    assert "bars['AAA']" in find_refusal(tmp_path, {"AAA": broken})
    assert find_refusal(tmp_path, FRAME.iloc[::-1]).startswith("bars: ")


def test_a_file_that_is_not_what_was_kept_is_written_anew(tmp_path, plain):
    """Cut short, or saved by another program; other damage is an error that names the file."""
    (source,) = keep_frames({"bars": FRAME}, tmp_path).data
    path = tmp_path / source.rpartition("/")[2]
    content = path.read_bytes()
    pd.read_parquet(path).assign(close=OTHER["close"].to_numpy()).to_parquet(path)
    edited = path.read_bytes()
    for other in (content[:-9], content[:99], b"", edited):
        path.write_bytes(other)
        assert read(tmp_path, FRAME)["bars"].content_hash == plain.content_hash
        assert path.read_bytes() == content
    path.write_bytes(content[:700] + bytes(9) + content[709:])
    with pytest.raises(DataError, match=path.name):
        read(tmp_path, FRAME)


def test_rows_of_several_contracts_are_one_market_where_a_person_says_so(tmp_path, plain):
    """Under the key, or as bars; their names differ in a column that is not read then."""
    frame = FRAME.assign(symbol=["ESH4"] * 30 + ["ESM4"] * 30)
    assert "parts the rows into 2 markets" in find_refusal(tmp_path, {"ES": frame})
    settings = {"columns": {"symbol": "none"}}
    for bars, symbol in (({"ES": frame}, "ES"), (frame, "bars")):
        assert read(tmp_path, bars, **settings)[symbol].content_hash == plain.content_hash


def test_the_key_says_which_volume_is_that_of_the_base(tmp_path, plain):
    """As a column of symbols does in a file."""
    volumes = {"Volume USDT": FRAME["close"], "Volume BTC": FRAME["volume"]}
    frame = FRAME.drop(columns="volume").assign(**volumes)
    assert "could both be volume" in find_refusal(tmp_path, frame)
    assert read(tmp_path, {"BTC/USDT": frame})["BTC/USDT"].content_hash == plain.content_hash


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    """No traceback where the folder of runs is a file."""
    (tmp_path / "runs").write_text("")
    with pytest.raises(OptimizerError, match="cannot be written"):
        keep_frames({"bars": FRAME}, tmp_path / "runs")


def test_frames_that_earlier_versions_kept_are_read(tmp_path, plain):
    """As a whole, under the name that was theirs; what is kept now stands beside them."""
    path = tmp_path / "bars-0123456789abcdef.parquet"
    rows = FRAME.assign(mood=1.0, symbol="AAA").reset_index(names="timestamp")
    path.write_bytes(rows.to_parquet(index=False))
    assert read(tmp_path, {"AAA": FRAME})["AAA"].content_hash == plain.content_hash
    bars = load_bars(f"parquet:{path}")
    assert (bars.symbol, bars.content_hash) == ("AAA", plain.content_hash)
