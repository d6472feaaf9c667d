"""How long calls take with and without an account of all windows.

    python -m tests.bench.accounts [--device cuda] [--symbols 20] [--bars 35040] [--individuals 512]

Random individuals of seller exhaustion on drawn symbols, rows there. The account of a few must be
the reference's, and that of all the CPU's, in every bit, before anything is timed. Call: from
genomes to accumulators in host memory; median, 20th and 80th percentile, in turns.
"""

import argparse

import numpy as np

from data.bars import Window
from engine.batch import Engine
from engine.replay.certificate import certify
from optimizer.cli.bench_calls import time_calls
from optimizer.store.result import refuse_red
from strategy import find_strategy
from tests.support.parity import assert_same_bits
from tests.support.worlds import make_bars, random_genomes

VERIFIED_INDIVIDUALS = 4


def main():
    """Print a line for each kind of call."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--symbols", type=int, default=20)
    parser.add_argument("--bars", type=int, default=35_040)
    parser.add_argument("--individuals", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=20)
    asked = parser.parse_args()
    spec = find_strategy("seller_exhaustion")
    series = [make_bars(seed, asked.bars) for seed in range(asked.symbols)]
    windows = [Window.whole(bars, number) for number, bars in enumerate(series)]
    genomes = random_genomes(spec, asked.individuals, seed=1)
    engine = Engine(spec, series, windows, device=asked.device)
    refuse_red(certify(engine, genomes[:VERIFIED_INDIVIDUALS]))
    expected = Engine(spec, series, windows, device="cpu").evaluate_account(genomes)
    for one, other in zip(expected, engine.evaluate_account(genomes), strict=True):
        assert_same_bits(one, other, "one account")
    print(f"{engine.device}: {expected[1][:, 0].mean():.0f} trades of an account, every bit equal")
    calls = {"without": engine.evaluate, "with": engine.evaluate_account}
    seconds = {name: [] for name in calls}
    for _ in range(asked.repeats):
        for name, call in calls.items():
            seconds[name] += time_calls(lambda call=call: call(genomes), 1)
    for name, times in seconds.items():
        p20, p50, p80 = np.percentile(times, (20, 50, 80)) * 1e3
        print(f"{name:>8} an account: {p50:8.3f} ms ({p20:.3f} to {p80:.3f})")


if __name__ == "__main__":
    main()
