"""How long calls take with and without an account of all windows.

    python -m tests.bench.accounts [--device cuda] [--symbols 20] [--bars 35040] [--individuals 512]
        [--strategy seller_exhaustion]

Random individuals of seller exhaustion, or of an example in words, on drawn symbols, rows there.
The account of a few must be the reference's, and that of all the CPU's, in every bit, before
anything is timed. Call: from genomes to accumulators in host memory; median, 20th and 80th
percentile, in turns.
"""

import argparse

import numpy as np

from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.replay.certificate import certify
from optimizer.cli.bench_calls import time_calls
from optimizer.store.result import refuse_red
from strategy import find_strategy
from tests.bench.language_cuda import EXAMPLE
from tests.support.parity import assert_same_bits
from tests.support.worlds import make_bars, random_genomes

VERIFIED_INDIVIDUALS = 4


def print_kernels(name, call):
    """What each kernel of a call took."""
    import torch

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call()
    events = sorted(profile.key_averages(), key=lambda event: -event.device_time_total)
    for event in events:
        if event.device_time_total >= 1.0:
            print(
                f"{name:>8} {event.key[:48]:>48} {event.count:>5} {event.device_time_total:9.1f} us"
            )


def main():
    """Print a line for each kind of call."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--symbols", type=int, default=20)
    parser.add_argument("--bars", type=int, default=35_040)
    parser.add_argument("--individuals", type=int, default=512)
    parser.add_argument("--strategy", default="seller_exhaustion")
    parser.add_argument("--max-positions", type=int, default=5)
    parser.add_argument("--max-leverage", type=float)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--kernels", action="store_true")
    asked = parser.parse_args()
    spec = EXAMPLE.get(asked.strategy) or find_strategy(asked.strategy)
    series = [make_bars(seed, asked.bars) for seed in range(asked.symbols)]
    windows = [Window.whole(bars, number) for number, bars in enumerate(series)]
    genomes = random_genomes(spec, asked.individuals, seed=1)
    limits = Costs(max_positions=asked.max_positions, max_leverage=asked.max_leverage)
    engines = {}
    for name, costs in (("account", None), ("limits", limits)):
        host, engine = (
            Engine(spec, series, windows, costs, device=device, threads=asked.threads)
            for device in ("cpu", asked.device)
        )
        refuse_red(certify(engine, genomes[:VERIFIED_INDIVIDUALS]))
        expected = host.evaluate_account(genomes)
        for values, other in zip(expected, engine.evaluate_account(genomes), strict=True):
            assert_same_bits(values, other, name)
        trades, skipped = (
            expected[1][:, ACCUMULATOR_INDEX[column]].mean() for column in ("trades", "skipped")
        )
        print(
            f"{engine.device}, {name}: {trades:.0f} trades and {skipped:.0f} skipped of an "
            "individual, every bit equal",
            flush=True,
        )
        engines[name] = engine
    calls = {
        "without": engines["account"].evaluate,
        "account": engines["account"].evaluate_account,
        "limits": engines["limits"].evaluate_account,
    }
    seconds = {name: [] for name in calls}
    for _ in range(asked.repeats):
        for name, call in calls.items():
            seconds[name] += time_calls(lambda call=call: call(genomes), 1)
    for name, times in seconds.items():
        p20, p50, p80 = np.percentile(times, (20, 50, 80)) * 1e3
        print(f"{name:>8}: {p50:8.3f} ms ({p20:.3f} to {p80:.3f})", flush=True)
    if asked.kernels:
        for name, call in calls.items():
            print_kernels(name, lambda call=call: call(genomes))


if __name__ == "__main__":
    main()
