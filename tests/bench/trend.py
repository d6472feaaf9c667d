"""How long adaptive trends take, after they equal their definition in every bit.

    python -m tests.bench.trend [--device cpu|cuda] [--folder FOLDER] [--repeats 7]

Prices come from the sample, or from the Parquet files of a folder. First a sample of rows of each
workload is compared with the definition; nothing is timed where a bit differs. Then the least and
the median of wall and of processor time, in milliseconds: many symbols with one tuple, from prices
to rows in the host's memory, and many tuples on one series, with the sides of their averages kept
and with everything new.
"""

import argparse
import sys
import time
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from data import LoadOptions, load_bars
from engine.indicators.cpu.trends import TrendForm
from engine.runtime.compiling.forms import CompiledForm
from engine.runtime.cpu.simd4 import LANES
from engine.runtime.cpu.threads import Threads
from engine.runtime.lru_cache import ArrayCache
from engine.runtime.machine import available_cores, versions
from engine.trends import rows as rows_of
from strategy.indicators.adaptive_trend import adaptive_trend
from strategy.rules.adaptive_trend import ADAPTIVE_TREND
from tests.support.trend import A
from tests.support.worlds import random_genomes

SYMBOLS = ((99, 1500), (20, 500), (1000, 2000))
POPULATION, BARS = 512, 35_040
COMPARED = 9

RUN = CompiledForm()


def read_closes(folder):
    """Prices of all series."""
    if folder is None:
        return [load_bars("sample").close]
    paths = sorted(Path(folder).glob("*.parquet"))
    return [load_bars(f"parquet:{path}", LoadOptions(dedupe=True)).close for path in paths]


def cut(closes, count, bars):
    """So many pieces of so many bars, from one series after another."""
    pieces = ((k, close) for k in range(10**6) for close in closes)
    return [
        np.ascontiguousarray(np.roll(close, -k * bars // 2)[:bars])
        for k, close in islice(pieces, count)
    ]


def verify(what, rows, asked):
    """End the program where a row differs from its definition."""
    for row, (close, parameters) in islice(zip(rows, asked, strict=True), COMPARED):
        if row.tobytes() != RUN(adaptive_trend)(close, *parameters).tobytes():
            sys.exit(f"FAILED: {what}: a row differs from its definition")


def time_work(what, work, repeats):
    """A line."""
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(1e3 * (time.perf_counter() - wall))
        cpus.append(1e3 * (time.process_time() - cpu))
    print(
        f"{what:36s} wall {min(walls):9.1f} {np.median(walls):9.1f}   "
        f"processor {min(cpus):9.1f} {np.median(cpus):9.1f}",
        flush=True,
    )


def population(close, device):
    """What makes rows of tuples on a series, anew each time it is called."""
    if device == "cpu":
        workers = Threads(available_cores())

        def make():
            form = TrendForm(ArrayCache(2**32))

            def rows(asked):
                fours = range(0, len(asked), LANES)
                found = {}

                def work(thread):
                    for begin in fours[thread :: workers.count]:
                        some = asked[begin : begin + LANES]
                        found[begin] = form.rows(adaptive_trend, close, some)

                workers.run(work, len(fours))
                return [row for begin in fours for row in found[begin]]

            return rows

        return make
    import torch

    from engine.indicators.cuda.trends import Trends

    def on_device():
        kept = Trends(close[None], 2**34, torch.device(device))

        def rows(asked):
            found = kept.rows(np.array(asked), is_script=False)[:, 0]
            torch.cuda.synchronize()
            return found

        return rows

    return on_device


def main():
    """Verify, then time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--folder")
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    closes = read_closes(given.folder)
    print(f"{versions()}, {available_cores()} cores, {given.device}")
    for count, bars in SYMBOLS:
        some = cut(closes, count, bars)
        work = partial(rows_of, some, A, device=given.device)
        verify("symbols", work(), [(case, A) for case in some])
        time_work(f"{count} x {bars}, one tuple", work, given.repeats)
    (close,) = cut(closes, 1, BARS)
    genomes = random_genomes(ADAPTIVE_TREND, POPULATION, seed=1)
    asked = [(*map(int, genome[:9]), *A[9:]) for genome in genomes]
    make = population(close, given.device)
    rows = make()
    first = rows(asked)
    compared = first if given.device == "cpu" else first[:COMPARED].cpu().numpy()
    verify("population", compared, [(close, case) for case in asked[: len(compared)]])
    size = f"{POPULATION} tuples x {BARS:,}"
    time_work(f"{size}, sides kept", lambda: rows(asked), given.repeats)
    time_work(f"{size}, everything new", lambda: make()(asked), given.repeats)


if __name__ == "__main__":
    main()
