"""Bars of three files read by ours, pandas, polars, duckdb and pyarrow, in one run.

    python -m tests.bench.readers [ROWS] [--rounds N] [--only READER ...]

10,000,000 one-minute bars when no number is given: as CSV with written times
(``2024-01-31 09:30:00``), as CSV with times in milliseconds, and as Parquet. Each reader reads in a
process of its own, in turns, into numpy columns: whole numbers of time, and float64. Ours checks
the bars and finds gaps and notes beside. Processor time is that of the whole process, user and
system, imports included, and so is its peak memory; shown is the least of all rounds.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

ROWS, ROUNDS = 10_000_000, 3
STEP_NS, FIRST = 60 * 10**9, np.datetime64("2004-01-01T00:00", "ns")
LOST_MINUTES = 997
"""One minute in so many has no trade, and no bar."""

MB = 1 << 20
NAMES = ("open", "high", "low", "close", "volume")

READERS = {
    "ours": """
from data import LoadOptions, load_bars
bars = load_bars(path, LoadOptions(max_bytes=2**40))
columns = [bars.timestamp, bars.open, bars.high, bars.low, bars.close, bars.volume]
""",
    "pandas": """
import pandas as pd
if form == "parquet":
    frame = pd.read_parquet(path)
else:
    frame = pd.read_csv(path, parse_dates=["time"] if form == "written" else None)
columns = [frame[name].to_numpy() for name in frame.columns]
""",
    "polars": """
import polars as pl
if form == "parquet":
    frame = pl.read_parquet(path)
else:
    frame = pl.read_csv(path, try_parse_dates=form == "written")
columns = [frame[name].to_numpy() for name in frame.columns]
""",
    "duckdb": """
import duckdb
read = "read_parquet" if form == "parquet" else "read_csv"
columns = list(duckdb.sql(f"select * from {read}('{path}')").fetchnumpy().values())
""",
    "pyarrow": """
import pyarrow.csv, pyarrow.parquet
if form == "parquet":
    table = pyarrow.parquet.read_table(path)
else:
    table = pyarrow.csv.read_csv(path)
columns = [column.to_numpy() for column in table.columns]
""",
}
"""Programs that leave `columns` behind, of a file at `path` whose kind is `form`."""

CHECK = """
assert len(columns) == 6 and {len(column) for column in columns} == {rows}
assert str(columns[4].dtype) == "float64" and float(columns[4][-1]) == last
"""


def write_files(folder, rows):
    """Write the same bars three times, and return the files by their kind."""
    rng = np.random.default_rng(60)
    minutes = np.arange(rows + rows // (LOST_MINUTES - 1) + 1)
    minutes = minutes[minutes % LOST_MINUTES != LOST_MINUTES - 1][:rows]
    close = np.exp(rng.normal(0, 4e-4, rows).cumsum() / 4 + np.log(1800))
    opens = np.concatenate(([1800.0], close[:-1]))
    up, down = (1 + np.abs(rng.normal(0, 2e-4, rows)) for _ in range(2))
    prices = (opens, np.maximum(opens, close) * up, np.minimum(opens, close) / down, close)
    times = pa.array(FIRST.astype(np.int64) + minutes * STEP_NS, pa.timestamp("ns"))
    values = [np.round(column, 2) for column in prices] + [np.round(rng.gamma(1, 50, rows), 3)]
    table = pa.table({"time": times, **dict(zip(NAMES, values, strict=True))})
    ms = pc.divide(times.cast(pa.int64()), 10**6)
    files = {
        "written": (
            folder / "written.csv",
            table.set_column(0, "time", times.cast("timestamp[s]")),
        ),
        "ms": (folder / "ms.csv", table.set_column(0, "time", ms)),
        "parquet": (folder / "bars.parquet", table),
    }
    for path, columns in files.values():
        if path.suffix == ".csv":
            pa_csv.write_csv(columns, path)
        else:
            pq.write_table(columns, path)
    return {form: path for form, (path, _) in files.items()}, float(values[3][-1])


def read_once(reader, form, path, rows, last):
    """Processor seconds, wall seconds and peak megabytes of a process that reads a file."""
    given = f"path, form, rows, last = {str(path)!r}, {form!r}, {rows}, {last!r}"
    began = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", f"{given}\n{READERS[reader]}{CHECK}"])
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{reader} could not read {path.name}")
    wall = time.perf_counter() - began
    return used.ru_utime + used.ru_stime, wall, used.ru_maxrss * 1024 / MB


def main():
    """Write the files, read them in turns and print one table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.readers")
    parser.add_argument("rows", nargs="?", type=int, default=ROWS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", nargs="*", default=list(READERS), choices=list(READERS))
    options = parser.parse_args()
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        # The peak of a process counts that of the one which started it: this one stays small.
        with ProcessPoolExecutor(1, get_context("spawn")) as writer:
            files, last = writer.submit(write_files, Path(folder), options.rows).result()
        for _ in range(options.rounds):
            for form, path in files.items():
                for reader in options.only:
                    now = read_once(reader, form, path, options.rows, last)
                    best[reader, form] = min(best.get((reader, form), now), now)
        sizes = {form: path.stat().st_size / MB for form, path in files.items()}
    print(f"{options.rows:,} bars; processor s, wall s, peak MB; least of {options.rounds} rounds")
    heads = [f"{form} ({size:,.0f} MB)" for form, size in sizes.items()]
    print("| reader | " + " | ".join(heads) + " |")
    print("| --- |" + " --- |" * len(heads))
    for reader in options.only:
        cells = ("{:.2f}, {:.2f}, {:,.0f}".format(*best[reader, form]) for form in files)
        print(f"| {reader} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
