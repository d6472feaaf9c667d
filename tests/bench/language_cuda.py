"""How long a GPU takes for strategies in words, after it equals the CPU in every bit.

    python -m tests.bench.language_cuda [--populations 512 32768] [--lengths 35040 350400]
        [--strategies NAME ...] [--repeats 10] [--verified 512] [--device cuda] [--kernels]

First `--verified` random individuals of each of the nine strategies of the examples are evaluated
on the sample by both devices, by the GPU four times, because a shape that has come before is a
graph; nothing is timed where a bit differs. Comparisons have kernels of their own from the first
call on, which otherwise come in later. Then one line each: strategy,
individuals, bars, trades of all and of the longest individual, milliseconds of a call (p20, median
and p80, rows there), how many times what seller exhaustion takes of the same size, and what the
law's targets allow beside its signals for that many trades. `--kernels` adds what each kernel took.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import torch

from data import Window, load_bars
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.conditions.cuda import specialization
from engine.runtime.machine import versions
from optimizer.cli.bench_calls import extend_bars, time_calls
from strategy import find_strategy
from strategy.files import build_strategies
from tests.support.worlds import random_genomes

EXAMPLES = Path(__file__).parents[1] / "support" / "examples.py"

EXAMPLE = {one.name: one for one in build_strategies(EXAMPLES.read_text(), str(EXAMPLES)).values()}
"""The strategies of the examples by name."""

BESIDE = "seller_exhaustion"
"""What everything is compared with."""

TRADE_NS, CHAIN_NS = 0.2, 120.0
"""What the law's targets allow for a trade of all, and for one of the longest individual."""


CALLS = 4
"""In the first forms get kernels of their own, the third is captured, the fourth replayed."""


def population(strategy, count):
    """Random individuals; of a strategy without genes so many times the same one."""
    if not len(strategy.layout):
        return np.zeros((count, 0))
    return random_genomes(strategy, count, seed=1)


def verify(name, bars, count, device):
    """End the program where the device and the CPU differ in a bit."""
    strategy, windows = EXAMPLE[name], [Window.whole(bars), Window(0, 5000, 20_000)]
    genomes = population(strategy, count)
    host, other = (Engine(strategy, [bars], windows, device=sums) for sums in ("cpu", device))
    expected, actual = host.evaluate(genomes), [other.evaluate(genomes) for _ in range(CALLS)]
    different = sum(int((expected.view(np.int64) != sums.view(np.int64)).sum()) for sums in actual)
    if different:
        sys.exit(f"FAILED: {name}: {different} of {CALLS * expected.size:,} numbers differ")
    trades = expected[..., 0].sum()
    print(f"{name}: {expected.size:,} numbers of {trades:,.0f} trades, equal {CALLS} times")


def allowed_ms(strategy, trades):
    """What the law's targets allow for trades [P], milliseconds."""
    moves = getattr(strategy, "trail", None) or getattr(strategy, "break_even", None)
    nanoseconds = max(TRADE_NS * trades.sum(), CHAIN_NS * trades.max())
    return nanoseconds * (2 if moves else 1) / 1e6


def profile_kernels(engine, genomes):
    """A table of what each kernel of a call took."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        engine.evaluate(genomes)
    return profile.key_averages().table(sort_by="cuda_time_total", row_limit=14)


def time_strategy(strategy, bars, count, asked):
    """Median milliseconds of a call, and its line."""
    engine = Engine(strategy, [bars], [Window.whole(bars)], device=asked.device)
    genomes = population(strategy, count)
    began = time.perf_counter()
    trades = engine.evaluate(genomes)[:, 0, ACCUMULATOR_INDEX["trades"]]
    first_s = time.perf_counter() - began
    seconds = time_calls(lambda: engine.evaluate(genomes), asked.repeats)
    p20, p50, p80 = 1e3 * np.percentile(seconds, [20, 50, 80])
    line = (
        f"{strategy.name:>20} {count:>7,} {len(bars):>8,} {trades.sum():>13,.0f} "
        f"{trades.max():>7,.0f} {first_s:>8.2f} {p20:>9.2f} {p50:>9.2f} {p80:>9.2f}"
    )
    return p50, f"{line} {allowed_ms(strategy, trades):>9.2f}", engine, genomes


def main():
    """Verify, then time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--populations", nargs="+", type=int, default=[512, 32_768])
    parser.add_argument("--lengths", nargs="+", type=int, default=[35_040, 350_400])
    parser.add_argument("--strategies", nargs="+", choices=sorted(EXAMPLE), default=sorted(EXAMPLE))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--verified", type=int, default=512)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--kernels", action="store_true")
    asked = parser.parse_args()
    specialization.PAYS_AFTER = 0
    sample = load_bars("sample")
    for name in asked.strategies:
        verify(name, sample, asked.verified, asked.device)
    machine = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    print(f"\n{machine}, {versions()}")
    print(
        f"{'strategy':>20} {'P':>7} {'bars':>8} {'trades':>13} {'longest':>7} {'first, s':>8} "
        f"{'p20, ms':>9} {'median':>9} {'p80':>9} {'trades':>9} {'times':>6}"
    )
    for length in asked.lengths:
        bars = extend_bars(sample, length)
        for count in asked.populations:
            beside, line, *_ = time_strategy(find_strategy(BESIDE), bars, count, asked)
            print(f"{line} {1:>6.2f}", flush=True)
            for name in asked.strategies:
                p50, line, engine, genomes = time_strategy(EXAMPLE[name], bars, count, asked)
                print(f"{line} {p50 / beside:>6.2f}", flush=True)
                if asked.kernels:
                    print(profile_kernels(engine, genomes), flush=True)
                del engine


if __name__ == "__main__":
    main()
