"""Random strategies in words on two engines, which must agree in every bit.

    python -m tests.bench.drawn 0:20000 [--draws orders] [--finer] [--device cuda]
    TRITON_INTERPRET=1 python -m tests.bench.drawn 0:500 --kernels

Each seed draws a strategy, a world and costs. Reference and device are compared on 120 bars, the
kernels under Triton's interpreter and the CPU on 64; with --finer these are made of four each, and
carry them. It ends at the first seed at which a bit differs, and prints it; else it prints what
was compared: trades, and exits by their reasons.
"""

import argparse
import time
from dataclasses import replace

import numpy as np

from data import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS
from engine.batch import Engine
from tests.support.limited import draw_account, draw_finer_account
from tests.support.parity import both
from tests.support.random_strategies import (
    drawn_accounts,
    drawn_exits,
    drawn_orders,
    drawn_strategy,
)
from tests.support.series import make_coarse, open_apart
from tests.support.worlds import make_bars, make_population

SHOWN_EVERY = 100

SHOWN = (
    "exits", "shorts", "orders", "expired", "partials", "unsized", "rejected", "coarse", "skipped",
)  # fmt: skip
"""What names of counts begin with that are shown."""

STRATEGIES = {
    "words": drawn_strategy,
    "orders": drawn_orders,
    "exits": drawn_exits,
    "accounts": drawn_accounts,
}
"""How the strategy of a seed is drawn."""

ACCOUNTS = {
    "limits": draw_account,
    "finer-limits": draw_finer_account,
}
"""How all of a seed is drawn."""


def draw_world(seed, n_bars, kind, *, is_finer=False):
    """What a seed draws: strategy, genomes, series, windows and costs."""
    if kind in ACCOUNTS:
        return ACCOUNTS[kind](seed)
    rng = np.random.Generator(np.random.PCG64(seed))
    flat, gaps, jump = rng.choice([0.0, 0.1]), rng.choice([0.0, 0.03]), rng.choice([0.01, 0.05])
    bars = make_bars(seed, 4 * n_bars if is_finer else n_bars, flat=flat, gaps=gaps, jump=jump)
    if is_finer:
        bars = make_coarse(open_apart(bars, seed) if seed % 2 else bars, seed)
        n_bars = len(bars)
    start = int(rng.integers(0, n_bars // 2))
    windows = [Window.whole(bars), Window(0, start, int(rng.integers(start + 2, n_bars + 1)))]
    delay, least = int(rng.integers(0, 3)), float(rng.choice([0.0, 0.001]))
    charges = Costs(min_risk=least, risk_fraction=0.5, entry_delay=delay)
    strategy = STRATEGIES[kind](seed)
    if kind != "words":
        fee_unit, fee_min = float(rng.choice([0.0, 0.02])), float(rng.choice([0.0, 1.0]))
        charges = replace(charges, fee_unit=fee_unit, fee_min=fee_min if strategy.account else 0.0)
    return strategy, make_population(strategy, 2, seed), [bars], windows, charges


def with_reference(seed, device, **asked):
    """Accumulators, once reference and device agree."""
    strategy, genomes, series, windows, charges = draw_world(seed, 120, **asked)
    problem = both(strategy, series, windows, genomes, charges, device=device)
    assert problem == "", problem
    return Engine(strategy, series, windows, charges, device=device).evaluate(genomes)


def with_kernels(seed, _, **asked):
    """Accumulators, once the interpreted kernels and the CPU agree."""
    # Chooses the interpreter as it is imported.
    from tests.support.interpreted_words import assert_same_everywhere

    return assert_same_everywhere(*draw_world(seed, 64, **asked))


def main():
    """Compare one seed after another."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seeds", metavar="FROM:TO", help="TO is left out")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--draws", choices=[*STRATEGIES, *ACCOUNTS], default="words")
    parser.add_argument("--finer", action="store_true")
    asked = parser.parse_args()
    seeds = range(*map(int, asked.seeds.split(":")))
    compare = with_kernels if asked.kernels else with_reference
    sums, trading, began = np.zeros(len(ACCUMULATORS)), 0, time.perf_counter()
    for done, seed in enumerate(seeds, 1):
        try:
            differences = compare(seed, asked.device, kind=asked.draws, is_finer=asked.finer)
        except AssertionError as error:
            raise SystemExit(f"FAILED at seed {seed}: {error}") from error
        sums += differences.sum(axis=(0, 1))
        trading += differences[:, :, 0].any()
        if done % SHOWN_EVERY == 0:
            print(f"{done:,} of {len(seeds):,}, {time.perf_counter() - began:.0f} s", flush=True)
    counts = dict(zip(ACCUMULATORS, sums, strict=True))
    shown = {name: counts[name] for name in ACCUMULATORS if name.startswith(SHOWN)}
    print(
        f"seeds {asked.seeds}: {len(seeds):,} strategies, {trading:,} of them trade, "
        f"{counts['trades']:,.0f} trades, every bit equal; "
        + ", ".join(f"{name} {count:,.0f}" for name, count in shown.items())
    )


if __name__ == "__main__":
    main()
