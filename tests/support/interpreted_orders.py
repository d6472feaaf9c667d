"""Orders, ladders and money on the CUDA backend under Triton's interpreter, against the reference.

    python -m tests.support.interpreted_orders cpu [SEED ...]

Run as a program of its own with TRITON_INTERPRET=1, because the interpreter is chosen when Triton
is imported; without seeds it compares some that say all that can be said. Prints what it compared;
ends with an assertion where bits differ.
"""

import sys
from dataclasses import replace

import numpy as np

from data.bars import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.cuda import order_accounts
from engine.cuda.language import CudaLanguageBackend, CudaLanguageMaker
from engine.devices import Device
from engine.reference import Reference
from engine.replay.parity import compare_ledgers
from engine.runtime.compiling.forms import CompiledForm
from strategy import words as w
from tests.support.finer import make_coarse, open_apart
from tests.support.interpreter import repeat_nothing
from tests.support.parity import assert_same_accounts, assert_same_bits
from tests.support.random_strategies import drawn_orders
from tests.support.worlds import draw_order_costs, draw_payments, make_bars, random_genomes


class InterpretedMaker(CudaLanguageMaker):
    """Makes the backend on tensors in host memory."""

    def __init__(self):
        """There is one device."""
        super().__init__((0,))

    def __call__(self, *arguments, **options):
        """Take what the engine gives, on the host."""
        return CudaLanguageBackend(*arguments, torch_device="cpu", **options)

    def free_bytes(self):
        """As much as a small world needs."""
        return 2**28


INTERPRETED = Device("interpreted", "a test", InterpretedMaker())

SEEDS = (3,)
"""Of strategies that, with those below, move every accumulator; more are given by number."""

NOT_ON_A_DEVICE = ("skipped", "max_leverage")
"""Counts of what no walk of orders does: limits of an account."""


def draw_world(seed, bars=110, *, is_finer=False):
    """Two series of a seed and windows of them; every fourth seed has one that begins late.

    Bars of the first are hours made of quarters that they carry, where `is_finer`.
    """
    length, jump = (4 * bars, 0.05) if is_finer else (bars, 0.02)
    first = make_bars(seed, length, gaps=0.02, flat=0.05, jump=jump, tick=(0.01, 0.5)[seed % 2])
    series = [make_coarse(open_apart(first, seed), seed) if is_finer else first,
              make_bars(seed + 1, 6 * bars // 11, tick=0.25)]  # fmt: skip
    series = [replace(bars, payments={"fund": draw_payments(bars, seed)}) for bars in series]
    late = [] if seed % 4 else [Window(0, 50, 105)]
    return series, [Window.whole(series[0]), *late, Window.whole(series[1], 1)]


FRUGAL = w.strategy(
    "An account that often has no cash for a lot.",
    long=w.close > w.open,
    short=w.close < w.lag(w.open, 2),
    reverse=True,
    entry=w.by_side(w.stop_at(w.high, 3), None),
    stop=w.from_entry(w.rma(w.true_range, 3)),
    targets=[(w.r_multiple(1), 0.5)],
    market=w.market(tick="0.05", lot="1"),
    slippage=w.ticks(1),
    funding=w.funding(w.payments("fund")),
    account=w.account(300, w.risk(0.005), 1),
    name="frugal",
)


LATER = w.strategy(
    "Stops that follow a row or go beyond the entry, and pauses behind them.",
    long=w.close > w.open,
    short=w.close < w.lag(w.open, 2),
    stop=w.from_entry(2 * w.rma(w.true_range, 3)),
    trail=w.by_side(
        w.trail(w.level(w.sma(w.close, 3)), 0.5), w.trail(w.level(w.highest(w.high, 4)))
    ),
    break_even=w.break_even(0.3, w.r_multiple(0.05)),
    exit_long=w.in_trade(w.close < w.open, bars_from=3),
    cooldown=2,
    named_stops=True,
    name="later",
)


LOST = w.strategy(
    "Large shares of an account, which are lost before the stop, or have no size.",
    long=w.close > w.open,
    short=w.close < w.lag(w.open, 2),
    reverse=True,
    entry=w.by_side(w.limit_at(w.close - 0.2 * w.rma(w.true_range, 3), 3), None),
    stop=w.share(0.2),
    target=w.share(0.02),
    trail=w.trail(w.from_entry(2 * w.rma(w.true_range, 3)), 0.05),
    market=w.market(tick="0.05", lot="1"),
    slippage=w.ticks(1),
    account=w.account(
        1000, w.volatility(w.gene("part", 1.0, 0.5, 2), w.close - w.lag(w.close, 3)), 90
    ),
    cooldown=2,
    name="lost",
)


NARROW = w.strategy(
    "Stops and targets so near that most trades hang on the order of what happened in a bar.",
    long=w.close > 0,
    short=w.close > 0,
    entry=w.by_side(
        w.stop_at(w.close + 0.2 * w.rma(w.true_range, 3), 2),
        w.limit_at(w.close + 0.3 * w.rma(w.true_range, 3), 3),
    ),
    reverse=True,
    stop=w.from_entry(w.gene("far", 0.5, 0.2, 1.5) * w.rma(w.true_range, 3)),
    targets=[(w.r_multiple(0.5), 0.5), (w.r_multiple(1.5), 0.5)],
    break_even=w.after_leg(1),
    trail=w.trail(w.from_entry(w.rma(w.true_range, 3))),
    exit_long=w.close < w.open,
    cancel=w.by_side(w.close < w.lag(w.low, 1), w.close > w.lag(w.high, 1)),
    session=w.session_exit(590, begins=1080),
    name="narrow",
)


def compare(strategy, seed, count=4, bars=110, *, is_finer=False):
    """A strategy for a few individuals of a seed; gives the sums of all accumulators."""
    series, windows = draw_world(seed, bars, is_finer=is_finer)
    charges = draw_order_costs(seed, strategy)
    genomes = strategy.layout.defaults[None]
    if len(strategy.layout):
        genomes = np.concatenate([genomes, random_genomes(strategy, count - 1, seed)])
    reference = Reference(strategy, series, windows, charges, form=CompiledForm())
    engine = Engine(strategy, series, windows, charges, device=INTERPRETED)
    expected = np.array([reference.accumulators(genome) for genome in genomes])
    ledgers = [reference.trades(genome) for genome in genomes]
    accumulators, results = engine.list_results(genomes)
    assert_same_bits(expected, accumulators, f"seed {seed}: sums")
    assert_same_bits(list_r(results), np.concatenate(
        [ledger.r for of_one in ledgers for ledger in of_one]
    ), f"seed {seed}: results")  # fmt: skip
    for left, right in zip(ledgers, engine.ledgers(genomes), strict=True):
        for mine, theirs in zip(left, right, strict=True):
            problem = compare_ledgers(mine, theirs)
            assert not problem, f"seed {seed}: {problem}"
    for genome in genomes:
        for bars, actual in zip(reference.signals(genome), engine.signals(genome), strict=True):
            assert bars == actual.tolist(), f"seed {seed}: signals"
    if seed % 4 == 0:
        assert_same_bits(expected, engine.evaluate(genomes), f"seed {seed}")
    else:
        host = Engine(strategy, series, windows, charges, device="cpu")
        assert_same_accounts(host, engine, genomes)
    if strategy is NARROW:
        series[0] = replace(series[0], finer=None)
        coarse = Reference(strategy, series, windows, charges, form=CompiledForm())
        assert coarse.trades(genomes[0])[0].r.sum() != ledgers[0][0].r.sum(), (
            "finer bars do nothing"
        )
    return expected.sum(axis=(0, 1))


def list_r(results):
    """R of all trades, individual after individual and window after window."""
    ranges = zip(results.firsts.flat, results.counts.flat, strict=True)
    return np.concatenate([results.r[first : first + count] for first, count in ranges])


def main():
    """Compare the strategies of seeds, with lists that are too short at first."""
    repeat_nothing()
    order_accounts.LANES, order_accounts.FIRST_CAPACITY = 4, 16
    seeds = tuple(map(int, sys.argv[2:])) or SEEDS
    sums = np.zeros(len(ACCUMULATOR_INDEX))
    for seed in seeds:
        sums += compare(drawn_orders(seed), seed, 3)
        if sys.argv[2:]:
            compare(drawn_orders(seed), seed, 3, is_finer=True)
        print(f"seed {seed}: every bit equal", flush=True)
    if not sys.argv[2:]:
        sums += compare(FRUGAL, 1) + compare(LATER, 1, bars=50) + compare(LOST, 1)
        sums += compare(NARROW, 2, 2, bars=40, is_finer=True)
        for name, index in ACCUMULATOR_INDEX.items():
            assert sums[index] != 0 or name in NOT_ON_A_DEVICE, f"{name} was not compared"
    print(f"orders: {sums[0]:.0f} trades, every bit equal")


if __name__ == "__main__":
    main()
