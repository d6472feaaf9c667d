"""Random strategies in words on two engines, which must agree in every bit.

    python -m tests.bench.drawn 0:20000 [--device cuda]
    TRITON_INTERPRET=1 python -m tests.bench.drawn 0:500 --kernels

Each seed draws a strategy, a world and costs. Reference and device are compared on 120 bars, the
kernels under Triton's interpreter and the CPU on 64. It ends at the first seed at which a bit
differs, and says which; else it prints what was compared: trades, and exits by their reasons.
"""

import argparse
import time
from dataclasses import replace

import numpy as np

from data import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS
from engine.batch import Engine
from tests.parity.test_language import both, population
from tests.support.random_strategies import drawn_orders, drawn_strategy
from tests.support.worlds import make_bars

SAID_EVERY = 100

SHOWN = ("exits", "shorts", "orders", "expired", "partials", "unsized", "rejected")
"""Counts that are told."""


def drawn(seed, n_bars, with_orders):
    """What a seed draws: strategy, genomes, bars, windows and costs."""
    rng = np.random.Generator(np.random.PCG64(seed))
    flat, gaps, jump = rng.choice([0.0, 0.1]), rng.choice([0.0, 0.03]), rng.choice([0.01, 0.05])
    bars = make_bars(seed, n_bars, flat=flat, gaps=gaps, jump=jump)
    start = int(rng.integers(0, n_bars // 2))
    windows = [Window.whole(bars), Window(0, start, int(rng.integers(start + 2, n_bars + 1)))]
    delay, least = int(rng.integers(0, 3)), float(rng.choice([0.0, 0.001]))
    charges = Costs(min_risk=least, risk_fraction=0.5, entry_delay=delay)
    if with_orders:
        fees = {
            "fee_unit": float(rng.choice([0.0, 0.02])),
            "fee_min": float(rng.choice([0.0, 1.0])),
        }
        charges = replace(charges, **fees)
    strategy = (drawn_orders if with_orders else drawn_strategy)(seed)
    if strategy.account is None:
        charges = replace(charges, fee_min=0.0)
    return strategy, population(strategy, 2, seed), [bars], windows, charges


def with_reference(seed, device, with_orders=False):
    """Accumulators, once reference and device agree."""
    strategy, genomes, series, windows, charges = drawn(seed, 120, with_orders)
    problem = both(strategy, series, windows, genomes, charges, device=device)
    assert problem == "", problem
    return Engine(strategy, series, windows, charges, device=device).evaluate(genomes)


def with_kernels(seed, _, with_orders=False):
    """Accumulators, once the interpreted kernels and the CPU agree."""
    # Chooses the interpreter as it is imported.
    from tests.support.interpreted_words import assert_same_everywhere

    return assert_same_everywhere(*drawn(seed, 64, with_orders))


def main():
    """Compare one seed after another."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seeds", metavar="FROM:TO", help="TO is left out")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--orders", action="store_true", help="strategies with orders and money")
    asked = parser.parse_args()
    seeds = range(*map(int, asked.seeds.split(":")))
    compare = with_kernels if asked.kernels else with_reference
    sums, trading, began = np.zeros(len(ACCUMULATORS)), 0, time.perf_counter()
    for done, seed in enumerate(seeds, 1):
        try:
            found = compare(seed, asked.device, asked.orders)
        except AssertionError as error:
            raise SystemExit(f"FAILED at seed {seed}: {error}") from error
        sums += found.sum(axis=(0, 1))
        trading += found[:, :, 0].any()
        if done % SAID_EVERY == 0:
            print(f"{done:,} of {len(seeds):,}, {time.perf_counter() - began:.0f} s", flush=True)
    counts = dict(zip(ACCUMULATORS, sums, strict=True))
    shown = {
        name: counts[name]
        for name in ACCUMULATORS
        if name.startswith(
            ("exits", "shorts", "orders", "expired", "partials", "unsized", "rejected")
        )
    }
    print(
        f"seeds {asked.seeds}: {len(seeds):,} strategies, {trading:,} of them trade, "
        f"{counts['trades']:,.0f} trades, every bit equal; "
        + ", ".join(f"{name} {count:,.0f}" for name, count in shown.items())
    )


if __name__ == "__main__":
    main()
