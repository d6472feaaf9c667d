"""Frames as people have them are read or refused; trades have columns of legs and payments."""

import io
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from data import Bars, LoadOptions, load_bars
from data.errors import DataError
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, Trade
from optimizer.cli.console import format_csv
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError
from optimizer.report.trades import build_trades_frame, collect_trades, compute_cost_facts
from optimizer.run.backtest import build_ledger_table, list_details
from optimizer.run.markets import load_options
from optimizer.run.runner import keep_frames
from optimizer.run.settings import hold_settings
from optimizer.run.task import prepare
from tests.support.commands import write_market
from tests.support.order_cases import TWO_TARGETS

COUNT, FOLDER = 60, "runs [1]"

INDEX = pd.date_range("2024-01-01", periods=COUNT, freq="15min", tz="UTC")

QUARTER = pd.Timedelta("15min")

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

PLAIN, BOTH = {"bars": FRAME}, {"AAA": FRAME, "BBB": OTHER}


class Case(NamedTuple):
    """A thing that is passed as bars, and what becomes of it."""

    bars: object
    words: tuple[str, ...] = ()  # of its refusal without the settings; empty where it is read
    series: Mapping[str, pd.DataFrame] = PLAIN  # read with the settings, by symbol; empty for none
    settings: Mapping[str, object] = {}
    ways: tuple[pd.DataFrame, ...] = ()  # read as the first of each way on that the refusal names
    note: str = ""  # within a note on the bars


def refused(bars, *words, **settings):
    """A case that is refused with the settings too."""
    return Case(bars, words, {}, settings)


def index(labels):
    """The frame with other labels of its rows."""
    return FRAME.set_axis(labels)


def hold(tmp_path, bars, **settings):
    """Configuration in which they are sources."""
    return hold_settings({"bars": bars, "runs": str(tmp_path / FOLDER), **settings}, "evolve")


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


def hash_bars(frame):
    """What the bars of a frame of times and values say."""
    times = frame.index.as_unit("ns").asi8
    columns = {name: frame[name].to_numpy() for name in FRAME}
    step = int(np.diff(times).min())
    return Bars(timestamp=times, **columns, symbol="any", timeframe_ns=step).content_hash


def find_refusal(tmp_path, bars, **settings):
    """The line with which it is refused."""
    with pytest.raises((ConfigError, DataError)) as caught:
        read(tmp_path, bars, **settings)
    message = str(caught.value)
    assert "\n" not in message
    assert ".parquet" not in message
    assert not list(tmp_path.iterdir())
    return message


def list_ways(message, bars):
    """What a message says to pass in place of bars, which may be a frame under a key."""
    frame = bars["AAA"] if isinstance(bars, dict) else bars
    texts = re.split(r",? or (?:pass )?", re.search(r"(?:pass|as in) (.*)$", message)[1])
    for text in texts:
        way = eval(text.removeprefix("bars="), {"frame": frame})
        is_bare = isinstance(bars, dict) and not isinstance(way, dict)
        yield {"AAA": way} if is_bare else way


PRICES = {"Open": "open", "High": "high", "Low": "low", "Close": "close", "Volume": "volume"}
NAMED, NAMED_OTHER = (
    frame.rename(columns={low: high for high, low in PRICES.items()}) for frame in (FRAME, OTHER)
)
COUNTED = FRAME.reset_index(names="start_time")
MIXED = FRAME["close"].astype(object)
CLOSES = index(INDEX + QUARTER)
DAYS = index(pd.date_range("2024-01-02", periods=COUNT, tz="UTC"))
WRITTEN = index(pd.date_range("2024", periods=COUNT, freq="h", tz="UTC")).iloc[:12]
TWICE = pd.concat([FRAME, FRAME[["open"]].set_axis(["close"], axis=1)], axis=1)
CLOCKED = FRAME.assign(day=LATE.strftime("%Y-%m-%d"), clock=LATE.strftime("%H:%M:%S.%f"))
STAMPED = FRAME.rename_axis("opened").assign(date=LATE)
CONTRACTS = FRAME.assign(symbol=["ESH4"] * 30 + ["ESM4"] * 30)
THIN = FRAME.iloc[np.flatnonzero(np.random.default_rng(1).uniform(size=COUNT) < 0.4)]
VOLUMES = FRAME.drop(columns="volume").assign(
    **{"Volume USDT": FRAME["close"], "Volume BTC": FRAME["volume"]}
)

# Times of any type that pandas has, and under any name; prices of any type.
TYPES = {
    "naive": index(INDEX.tz_localize(None)),
    "New York": index(INDEX.tz_convert("America/New_York")),
    "periods": index(INDEX.tz_localize(None).to_period("15min")),
    "intervals": index(pd.IntervalIndex.from_arrays(INDEX, INDEX + QUARTER, closed="left")),
    "objects": index(pd.Index(list(INDEX.to_pydatetime()), dtype=object)),
    "seconds": index(pd.Index(INDEX.as_unit("s").asi8)),
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
    "of arrow": FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "prices as text": FRAME.map(repr),
}

# Columns that do not matter: names that sound like time beside an index of times, any values.
BESIDE = {
    "time": INDEX.time, "epoch": [{"a": 1}] * COUNT, "timestamp": [None] * COUNT,
    "close_time": INDEX + QUARTER, "mood": [1, "x"] * (COUNT // 2),
    "phase": np.zeros(COUNT, dtype=complex),
}  # fmt: skip

# Settings say what a frame leaves open: names are in any case, an index of times is the first.
SETTLED = {
    "closes by name": Case(
        CLOSES.rename_axis("close_time"), ("--column timestamp=close_time --stamped close",),
        settings={"columns": {"timestamp": "close_time"}, "stamped": "close"},
    ),
    "days that close": Case(
        DAYS.assign(close_time=DAYS.index), ("--stamped close",),
        {"bars": DAYS.set_axis(DAYS.index - pd.Timedelta("1D"))}, {"stamped": "close"},
    ),
    "closes": Case(
        index(INDEX - pd.Timedelta("1ms")), ("bars: its index holds", "--stamped close"),
        {"bars": index(INDEX - QUARTER)}, {"stamped": "close"},
    ),
    "an index as the time": Case(STAMPED, settings={"columns": {"timestamp": "timestamp"}}),
    "columns in any case": Case(
        FRAME.rename(columns={"close": "Last Price", "volume": "7"}),
        settings={"columns": {"close": "last price", "volume": "7"}},
    ),
    "contracts": Case(CONTRACTS, ("2 markets",), settings={"columns": {"symbol": "none"}}),
    "a column in place of the index": Case(
        FRAME.assign(sent=LATE, timestamp=LATE), (), {"bars": index(LATE)},
        {"columns": {"timestamp": "Sent"}},
    ),
    "a column called as the index": Case(
        FRAME.assign(timestamp=LATE), ("its index",), {"bars": index(LATE)},
        {"columns": {"timestamp": "timestamp"}},
    ),
    "a row without a time": Case(
        index(INDEX.where(INDEX[3] != INDEX)), ("row 3",), {"bars": FRAME.drop(INDEX[3])},
        {"drop_bad_bars": True},
    ),
    "two in place of the index": Case(
        CLOCKED, (), {"bars": index(LATE)}, {"columns": {"date": "day", "time": "clock"}}
    ),
    "a price that stands twice": Case(
        TWICE, ("two columns 'close'",), {"bars": FRAME.assign(close=FRAME["open"])},
        {"columns": {"close": "7"}},
    ),
    "a high below the close": Case(
        {"AAA": FRAME.assign(high=FRAME["high"].where(INDEX[3] != INDEX, 1.0))},
        ("bars['AAA']: ", "--drop-bad-bars"), {"AAA": FRAME.drop(INDEX[3])},
        {"drop_bad_bars": True},
    ),
    "a thin market": Case(
        {"AAA": THIN}, ("bars['AAA']: ", "--source-timeframe"), {"AAA": THIN},
        {"source_timeframe": "15m"},
    ),
    "days that could be months": Case(
        WRITTEN.set_axis(WRITTEN.index.strftime("%d/%m/%Y %H:%M")), ("bars: ", "--time-format"),
        {"bars": WRITTEN}, {"time_format": "%d/%m/%Y %H:%M"},
    ),
    **{
        f"{missing!r} among numbers": Case(
            FRAME.assign(close=MIXED.where(INDEX[0] != INDEX, missing)), (),
            {"bars": FRAME.iloc[1:]}, {"drop_bad_bars": True},
        )
        for missing in ("", "n/a")
    },
    "other columns": Case(NAMED.assign(**{"Adj Close": 1.0}), note="'Adj Close'"),
    "volumes of both assets": Case({"BTC/USDT": VOLUMES}, series={"BTC/USDT": FRAME}),
}  # fmt: skip

# Times that differ from the index; each way leads to bars, of the index or of the column.
DIFFERING = {
    "as numbers": FRAME.assign(timestamp=LATE.as_unit("ms").asi8),
    "called as the index": FRAME.rename_axis("timestamp").assign(timestamp=LATE),
    "two others": FRAME.assign(ts=LATE, start=LATE, unix=INDEX + pd.Timedelta("1s")),
}

WIDE = pd.concat({"AAA": NAMED, "BBB": NAMED_OTHER}, axis=1)
LONG = pd.concat([NAMED.assign(Ticker="AAA"), NAMED_OTHER.assign(Ticker="BBB")])
LEVELS = LONG.set_index("Ticker", append=True)
PARTS = pl.from_pandas(LONG.reset_index(names="time"))
GAPPY = WIDE.mask(
    np.outer(np.arange(COUNT) >= COUNT - 5, WIDE.columns.get_level_values(0) == "AAA")
)
UNKNOWN = LONG.rename(columns={"Ticker": "Name"})
FLAT = FRAME.reset_index(names="time")
DAY_AND_CLOCK = UNKNOWN.reset_index(names="t").assign(
    date=lambda rows: rows["t"].dt.strftime("%Y-%m-%d"),
    time=lambda rows: rows.pop("t").dt.strftime("%H:%M"),
)

# However they hold several tickers, each is a market.
SEVERAL = {
    "yfinance, by ticker": WIDE,
    "a frame each": {name: WIDE[name] for name in BOTH},
    "a wide frame each": dict.fromkeys(BOTH, WIDE),
    "groups": LONG.groupby("Ticker"),
    "groups as a dict": dict(tuple(LONG.groupby("Ticker"))),
    "levels, time first": LEVELS,
    "groups of polars": PARTS.group_by("Ticker"),
    "parts of polars": PARTS.partition_by("Ticker", as_dict=True),
    "tables of pyarrow": {
        name: pa.Table.from_pandas(WIDE[name].reset_index(names="time")) for name in BOTH
    },
    "two columns of symbols": {name: WIDE[name].assign(Ticker=name, symbol=name) for name in BOTH},
}

# Frames that may be several; the way is in words of the library that made them.
LEFT_OPEN = {
    "rows of two, unknown": UNKNOWN,
    "rows of two, days and clocks": DAY_AND_CLOCK,
    "polars": PARTS,
    "symbol first": pd.concat({"AAA": FLAT}),
    "levels of two": pd.concat({"AAA": FLAT, "BBB": OTHER}),
    "three levels": pd.concat({"X": LEVELS.swaplevel()}),
}

# A key that differs from the frame: both are named.
KEYED = {
    "column": (LONG.iloc[COUNT:], (OTHER, OTHER)),
    "polars": (PARTS.filter(pl.col("Ticker") == "BBB"), (OTHER, OTHER)),
    "level of markets": (LEVELS.iloc[COUNT:], (OTHER,)),
}

REFUSED = {
    "text": refused(
        {"AAA": FRAME.assign(close=[1, "x"] * 30)}, "bars['AAA']", "'close'", "row 1 'x'"
    ),
    "an index of rows": refused(index(pd.RangeIndex(COUNT)), "frame.set_index(times)"),
    "no time": refused(COUNTED.drop(columns="start_time"), "timestamp"),
    "two of a symbol": refused({1: FRAME, "1": OTHER}, "two frames", "'1'"),
    "closes of two": refused(
        UNKNOWN.set_axis(UNKNOWN.index - pd.Timedelta("1ms")), "parts the rows into 2 markets"
    ),
    "no rows": refused(FRAME.iloc[:0], "no bars"),
    "a hole": refused(WIDE.mask(WIDE.iloc[3, 3] == WIDE), "bars['AAA']"),
    "too large": refused(FRAME, "above the cap of 2879", "--max-bytes", max_bytes=2879),
    **{
        f"key {key!r}": refused({key: FRAME}, "as in bars={'BTC': frame}")
        for key in (
            "", None, 1.5, ("AAA", "BBB"), "A\nB", "A" * 65
        )
    },
    **{
        f"got {got}": refused(value, f"in place of data, got {got}")
        for got, value in {
            "None": None,
            "'bars.csv'": "bars.csv",
            "{}": {},
            "a DataFrame": [FRAME],
            "a dict as bars['A']": {"A": {"B": FRAME}},
            "a ndarray": FRAME.to_numpy(),
            "a recarray": FRAME.to_records(),
        }.items()
    },
}  # fmt: skip

CASES = {
    **{name: Case(frame) for name, frame in TYPES.items()},
    **{f"beside {name}": Case(FRAME.assign(**{name: held})) for name, held in BESIDE.items()},
    **SETTLED,
    **{
        f"times {name}": Case(frame, ("its index",), {}, ways=(FRAME, index(LATE)))
        for name, frame in DIFFERING.items()
    },
    **{name: Case(bars, series=BOTH) for name, bars in SEVERAL.items()},
    **{
        f"one {name}": Case(frame, series={"AAA": FRAME})
        for name, frame in {
            "ticker": WIDE[["AAA"]], "level": LEVELS.iloc[:COUNT], "column": LONG.iloc[:COUNT]
        }.items()
    },
    "rows of other tickers": Case(
        GAPPY, series={"AAA": FRAME.iloc[:-5], "BBB": OTHER}, note="5 rows"
    ),
    **{f"several {name}": Case(bars, ("",), {}, ways=(FRAME,)) for name, bars in LEFT_OPEN.items()},
    **{
        f"key and {name}": Case({"AAA": frame}, ("bars['AAA']: its ", "'BBB'"), {}, ways=ways)
        for name, (frame, ways) in KEYED.items()
    },
    **REFUSED,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_frames_are_read_as_meant_or_refused_with_a_way_on(tmp_path, name):
    """Each number keeps every bit; a refusal is one line, and keeps nothing."""
    case = CASES[name]
    if case.words:
        message = find_refusal(tmp_path, case.bars, **({} if case.series else case.settings))
        assert all(word in message for word in case.words)
        ways = list(list_ways(message, case.bars)) if case.ways else []
        for way, frame in zip(ways, case.ways, strict=True):
            first = next(iter(read(tmp_path, way).values()))
            assert first.content_hash == hash_bars(frame)
    if case.series:
        series = read(tmp_path, case.bars, **case.settings)
        assert {symbol: bars.content_hash for symbol, bars in series.items()} == {
            symbol: hash_bars(frame) for symbol, frame in case.series.items()
        }
        assert any(case.note in note for note in (*next(iter(series.values())).notes, ""))


def test_columns_are_aligned_by_name_or_place(tmp_path):
    """Those that are asked for, whatever they are called; a run keeps no other."""
    frame = FRAME.assign(day=np.arange(COUNT), x=np.arange(COUNT))
    bars = read(tmp_path, frame, aligned_columns=["day", "mood=X", "other=7"])["bars"]
    assert [bars.extra[name][5] for name in ("day", "mood", "other")] == [5, 5, 5]
    (path,) = (tmp_path / FOLDER).iterdir()
    with pytest.raises(DataError, match=r"--aligned-column x: .* no such column; .*'mood'"):
        load_bars(path, LoadOptions(aligned_columns="x"))


def test_a_file_that_is_not_what_was_kept_is_written_anew(tmp_path):
    """Cut short, or saved by another program; other damage is an error that names the file."""
    bars = read(tmp_path, FRAME)["bars"]
    (path,) = (tmp_path / FOLDER).iterdir()
    content, written = path.read_bytes(), path.stat().st_ino
    read(tmp_path, FRAME)
    assert path.stat().st_ino == written
    pd.read_parquet(path).assign(close=OTHER["close"].to_numpy()).to_parquet(path)
    damaged = bytearray(content)
    damaged[len(content) // 3] ^= 1
    for other in (content[:-9], b"", path.read_bytes(), damaged):
        path.write_bytes(other)
        assert read(tmp_path, FRAME)["bars"].content_hash == bars.content_hash
        assert path.read_bytes() == content
    path.write_bytes(damaged)
    with pytest.raises(DataError, match=path.name):
        load_bars(path)


def test_bars_share_no_memory_with_the_frame(tmp_path):
    """A frame that changes later changes no bars."""
    with hold(tmp_path, FRAME) as config:
        bars = load_bars(config.data[0])
    assert not np.shares_memory(FRAME.index.asi8, bars.timestamp)
    assert not any(np.shares_memory(FRAME[name], getattr(bars, name)) for name in FRAME)


@pytest.fixture(scope="module")
def traded_task(tmp_path_factory):
    """The task, its reference, and the ledger of the strategy above."""
    spec = write_market(tmp_path_factory.mktemp("market") / "bars.csv", 1500)
    task = replace(prepare(RunConfig(data=[spec])), spec=TWO_TARGETS, costs=Costs(fee_unit=0.5))
    reference = task.build_reference(task.markets.windows)
    return task, reference, reference.trades(TWO_TARGETS.layout.defaults)


def collect(task, ledgers):
    """Columns of trades with their details."""
    details = list_details(task, task.spec.layout.defaults, ledgers)
    markets = task.markets
    return collect_trades(ledgers, markets.all_windows, markets.series, task.costs, details)


def test_a_result_is_its_legs_less_what_was_paid(traded_task):
    """Gross of all legs, less fees, funding and borrowing, is r to the last digits.

    Gross is the gain of the mean price at which a unit left, over its legs and the last exit.
    """
    task, _, ledgers = traded_task
    trades = collect(task, ledgers)
    left = trades.exit.copy()
    for leg in ("leg1", "leg2"):
        apart = trades.details[f"{leg}_share"] * (trades.details[f"{leg}_price"] - trades.exit)
        left += np.where(trades.details[f"{leg}_bar"] >= 0, apart, 0.0)
    gross = trades.side * (left - trades.entry) / (trades.side * (trades.entry - trades.stop))
    paid = trades.cost_r + trades.details["funding_r"] + trades.details["borrow_r"]
    assert np.abs(gross - paid - trades.r).max() < 1e-12
    assert (trades.details["leg1_bar"] >= 0).sum() > 5
    assert (trades.details["funding_r"] != 0).any()
    assert (trades.details["borrow_r"][trades.side > 0] == 0).all()
    facts = compute_cost_facts(trades, np.ones(len(trades), bool), task.costs)
    assert facts.gross_r == pytest.approx(gross.sum())
    assert facts.net_r == pytest.approx(trades.r.sum())
    # Costs of a side move the sum along a line, which is 0 at the break-even.
    dearer = replace(task, costs=replace(task.costs, fee_bp=35.0, slippage_bp=0.0))
    (again,) = dearer.build_reference(task.markets.windows).trades(task.spec.layout.defaults)
    slope = facts.cost_r / 10
    assert again.r.sum() == pytest.approx(facts.net_r - 25 * slope)
    assert facts.break_even_bp == pytest.approx(10 + facts.net_r / slope)


def test_sizes_are_those_of_the_account(traded_task):
    """Cash that grows by them ends where the fold does; none passes the leverage allowed."""
    task, reference, ledgers = traded_task
    columns = collect(task, ledgers).details
    (ledger,) = ledgers
    risk = ledger.side * (ledger.entry - ledger.stop)
    order = np.argsort(ledger.exit_bar, kind="stable")
    gains = (columns["size"] * 10 * ledger.r * risk)[order]
    folded = reference.fold(ledger, TWO_TARGETS.layout.defaults)
    end = 10_000 * folded[ACCUMULATOR_INDEX["equity"]]
    assert 10_000 + gains.sum() == pytest.approx(end)
    assert columns["leverage"].max() == pytest.approx(0.3)


def test_a_file_and_a_frame_have_the_legs(traded_task):
    """Read back from CSV they are those of the frame; a leg that was not reached is empty."""
    task, _, ledgers = traded_task
    text = format_csv(*build_ledger_table(task, TWO_TARGETS.layout.defaults, ledgers))
    read = pd.read_csv(io.StringIO(text), parse_dates=["leg1_time"])
    markets = task.markets
    whole = collect(task, ledgers)
    frame = build_trades_frame(whole, markets.symbols, markets.all_windows, markets.series)
    added = ["leg1_bar", "leg1_time", "leg1_price", "leg1_share", "leg1_target", "leg2_bar",
             "leg2_time", "leg2_price", "leg2_share", "leg2_target", "funding_r", "borrow_r",
             "size", "leverage"]  # fmt: skip
    assert list(frame.columns[-len(added) :]) == added
    assert list(read.columns) == [*Trade._fields, *added, "entry_time", "exit_time"]
    for name in ("leg1_price", "leg2_share", "size"):
        np.testing.assert_array_equal(read[name], frame[name])
    reached = frame["leg1_bar"].notna()
    assert (read["leg1_bar"].notna() == reached).all()
    assert (read["leg1_time"] == frame["leg1_time"])[reached].all()
    assert frame["leg1_time"][~reached].isna().all()
    assert (frame["leg1_price"] == frame["leg1_target"])[reached].all()
    assert frame["leg1_target"].notna().all()
    # A short has one target, so that its second has no share.
    assert frame["leg2_share"][frame["side"] < 0].isna().all()
