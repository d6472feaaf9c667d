"""Rows of adaptive trends by definition, on the host and on devices, equal in every bit or named.

    python -m tests.bench.trend_parity FOLDER [--tuples 200] [--devices cpu cuda:0 cuda:1]

For each Parquet file of a folder, and for the classes of 99 x 1,500 and 1,000 x 2,000 bars cut from
them. Ends with code 1 where a bit differs.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from data import LoadOptions, load_bars
from engine.indicators.cpu.trends import TrendForm
from engine.runtime.compiling.forms import CompiledForm
from engine.runtime.cpu.simd4 import LANES
from engine.runtime.lru_cache import ArrayCache
from engine.runtime.machine import available_cores
from engine.trends import rows
from strategy.indicators.adaptive_trend import adaptive_trend
from strategy.rules.adaptive_trend import ADAPTIVE_TREND
from tests.bench.trend import cut
from tests.support.trend import A
from tests.support.worlds import random_genomes


def on_all_cores(work, things):
    """What work makes of each."""
    with ThreadPoolExecutor(available_cores()) as pool:
        return list(pool.map(work, things))


def by_definition(close, asked):
    """Rows by the readable definition, compiled as it reads."""
    run = CompiledForm()(adaptive_trend)
    run(close[:100], *asked[0])
    return on_all_cores(lambda one: run(close, *one), asked)


def on(device, close, asked):
    """Rows of tuples on a device."""
    if device == "cpu":
        form = TrendForm(ArrayCache(2**31))
        fours = [asked[begin : begin + LANES] for begin in range(0, len(asked), LANES)]
        found = on_all_cores(lambda some: form.rows(adaptive_trend, close, some), fours)
        return [row for some in found for row in some]
    import torch

    from engine.indicators.cuda.trends import Trends

    with torch.cuda.device(device):
        kept = Trends(close[None], 2**33, torch.device(device))
        return kept.rows(np.array(asked), is_script=False)[:, 0].cpu().numpy()


def differing(expected, found):
    """How many rows differ in a bit."""
    pairs = zip(expected, found, strict=True)
    return sum(left.tobytes() != np.ascontiguousarray(right).tobytes() for left, right in pairs)


def main():
    """Compare, a line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--tuples", type=int, default=200)
    parser.add_argument("--devices", nargs="+", default=["cpu"])
    given = parser.parse_args()
    paths = sorted(Path(given.folder).glob("*.parquet"))
    closes = {
        path.stem: load_bars(f"parquet:{path}", LoadOptions(dedupe=True)).close for path in paths
    }
    genomes = random_genomes(ADAPTIVE_TREND, given.tuples, seed=11)
    asked = [A, *((*map(int, genome[:9]), *A[9:]) for genome in genomes)]
    wrong = 0
    for name, close in closes.items():
        expected = by_definition(close, asked)
        for device in given.devices:
            count = differing(expected, on(device, close, asked))
            wrong += count
            print(f"{name}, {len(asked)} tuples, {device}: {count} rows differ", flush=True)
    run = CompiledForm()(adaptive_trend)
    for count, bars in ((99, 1500), (1000, 2000)):
        some = cut(list(closes.values()), count, bars)
        expected = on_all_cores(lambda close: run(close, *A), some)
        for device in given.devices:
            found = differing(expected, rows(some, A, device=device))
            wrong += found
            print(f"{count} x {bars}, {device}: {found} rows differ", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
