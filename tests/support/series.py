"""Small series for the tests of data: columns, bars, and files that hold them."""

import gzip
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from data import Bars, resample
from data.bars import FinerBars
from strategy.rows import Rows, as_it_reads, truth
from strategy.series import Series

START_NS = 1_704_067_200 * 10**9
"""2024-01-01T00:00 UTC, a Monday."""
MINUTE_NS = 60 * 10**9
NAMES = ("open", "high", "low", "close", "volume")


def make_columns(count, step_ns=15 * MINUTE_NS, start_ns=START_NS):
    """Legal columns of `count` bars, all values different from bar to bar."""
    close = 100.0 + 0.25 * np.arange(count)
    return {
        "timestamp": start_ns + step_ns * np.arange(count, dtype=np.int64),
        "open": close - 0.125,
        "high": close + 0.5,
        "low": close - 0.5,
        "close": close,
        "volume": 10.0 + np.arange(count),
    }


def make_bars(count, step_ns=15 * MINUTE_NS, start_ns=START_NS, **changes):
    """Legal bars, columns or fields replaced by `changes`."""
    fields = {"symbol": "TEST", "timeframe_ns": step_ns, **make_columns(count, step_ns, start_ns)}
    return Bars(**{**fields, **changes})


def join_closes(close, **changes):
    """Columns of hours, each of which opens at the close before; some replaced by `changes`."""
    close = np.array(close, np.float64)
    opened = np.append(close[:1], close[:-1])
    return make_columns(len(close), 60 * MINUTE_NS) | {
        "open": opened, "high": np.maximum(opened, close), "low": np.minimum(opened, close),
        "close": close, "volume": np.ones(len(close)), **changes,
    }  # fmt: skip


def draw_waves(count):
    """Columns of hours in waves, which do not stay below where a dip was bought for long."""
    t = np.arange(count)
    return join_closes(100 + 12 * np.sin(t / 9) + 4 * np.sin(t / 2.3))


def hand_bars(closes, volumes=(1,), *, high=0.0, low=np.inf):
    """Bars of hours from 1970 on, each from the close before to its own.

    The last one reaches `high` and `low` too; volumes that are not named are 0.
    """
    times, volume = np.arange(len(closes)) * 60 * MINUTE_NS, np.zeros(len(closes))
    volume[: len(volumes)] = volumes
    columns = join_closes(closes, timestamp=times, volume=volume)
    columns["high"][-1] = max(columns["high"][-1], high)
    columns["low"][-1] = min(columns["low"][-1], low)
    return Bars(**columns, symbol="H", timeframe_ns=60 * MINUTE_NS)


def iso(time_ns):
    """ISO 8601 text in UTC, exact to the nanosecond."""
    return [f"{np.datetime64(int(t), 'ns')}Z" for t in time_ns]


def csv_text(columns, times=None, header="timestamp,open,high,low,close,volume"):
    """A CSV file: times as ISO text unless given, numbers so that they read back exactly."""
    stamps = iso(columns["timestamp"]) if times is None else times
    numbers = zip(*(columns[name] for name in NAMES), strict=True)
    rows = (
        ",".join([str(stamp), *(repr(float(number)) for number in row)])
        for stamp, row in zip(stamps, numbers, strict=True)
    )
    return "\n".join([header, *rows, ""])


def write_csv(folder, text, name="series.csv"):
    """Write text as CSV, gzip by its name, and give its spec."""
    path = folder / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return f"csv:{path}"


def write_parquet(folder, columns, name="series.parquet"):
    """Write columns as Parquet, times in UTC, and give the spec."""
    typed = dict(columns)
    if isinstance(typed.get("timestamp"), np.ndarray):
        typed["timestamp"] = pa.array(typed["timestamp"], type=pa.timestamp("ns", tz="UTC"))
    path = folder / name
    pq.write_table(pa.table(typed), path, compression="zstd")
    return f"parquet:{path}"


def holds(condition, bars, genes=None, run=as_it_reads):
    """Whether a condition is true, at every bar [T], those before its warm-up too."""
    return truth(condition, Rows(Series.of(bars), run), genes or {})


HOUR_NS = 3600 * 10**9


def make_coarse(bars, seed=None, timeframe_ns=HOUR_NS):
    """Hours, or longer bars, made of shorter ones, which they carry.

    With a seed the first of these are missing, and some hours are not made up of theirs.
    """
    hours, finer = resample(bars, timeframe_ns), bars.as_finer()
    if seed is None:
        return replace(hours, finer=finer)
    rng = np.random.Generator(np.random.PCG64(seed))
    changed = finer.prices.copy()
    changed[1] *= np.where(rng.random(len(finer)) < 0.03, 1.001, 1.0)
    some = len(finer) // 10
    kept = FinerBars(finer.timestamp[some:], changed[:, some:], finer.timeframe_ns)
    return replace(hours, finer=kept)


def open_apart(bars, seed):
    """Bars of which every third opens at its low or high, apart from the close before."""
    drawn = np.random.Generator(np.random.PCG64(seed)).integers(6, size=len(bars))
    return replace(bars, open=np.choose(np.minimum(drawn, 2), [bars.low, bars.high, bars.open]))
