"""Strategies in words on the CUDA backend under Triton's interpreter, against the CPU.

    python -m tests.support.interpreted_words cpu [PART ...]

Run as a program of its own with TRITON_INTERPRET=1, because the interpreter is chosen when Triton
is imported; without parts it compares all. Prints what it compared; ends with an assertion where
bits differ.
"""

import sys
from dataclasses import replace

import numpy as np

from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.conditions.cuda import specialization
from engine.cuda import accounts, captured, order_accounts
from engine.cuda.language import CudaLanguageBackend, CudaLanguageMaker
from engine.devices import Device
from engine.replay.parity import compare_ledgers
from strategy import words
from tests.support.finer import make_coarse, open_apart
from tests.support.interpreter import repeat_nothing
from tests.support.limited import draw_plain_account
from tests.support.parity import assert_same_accounts, assert_same_bits
from tests.support.random_strategies import drawn_strategy
from tests.support.worlds import draw_order_costs, draw_payments, make_bars, random_genomes

DRAWN = (8, 21)
"""Seeds of strategies that end positions in every way, some of them with stops that move."""


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


class LimitedMaker(InterpretedMaker):
    """The same of accounts with limits."""

    keeps_limits = True


INTERPRETED = Device("interpreted", "a test", InterpretedMaker())

LIMITED = Device("interpreted", "a test", LimitedMaker())


def assert_same_everywhere(strategy, genomes, series, windows, charges=None, **options):
    """Accumulators, ledgers and signals in every bit; gives the accumulators."""
    host = Engine(strategy, series, windows, charges, device="cpu")
    chosen = LIMITED if charges is not None and charges.has_limits else INTERPRETED
    device = Engine(strategy, series, windows, charges, device=chosen, **options)
    expected = host.evaluate(genomes)
    assert_same_bits(expected, device.evaluate(genomes), strategy.name)
    for genome, left, right in zip(
        genomes, host.ledgers(genomes), device.ledgers(genomes), strict=True
    ):
        assert_same_ledgers(left, right, strategy.name)
        for bars, actual in zip(host.signals(genome), device.signals(genome), strict=True):
            assert_same_bits(bars, actual, "signals")
    return expected


def assert_same_ledgers(expected, actual, what):
    """All columns in every bit."""
    for left, right in zip(expected, actual, strict=True):
        problem = compare_ledgers(left, right)
        assert not problem, f"{what}: {problem}"
        for name, column in left.columns().items():
            assert_same_bits(column, right.columns()[name], f"{what}: {name}")


def population(strategy, count, seed):
    """The default genes, then random ones."""
    defaults = strategy.layout.defaults[None]
    if not len(strategy.layout):
        return defaults
    return np.concatenate([defaults, random_genomes(strategy, count - 1, seed)])


NEAR = {
    "long": words.close > words.open,
    "short": words.close < words.open,
    "stop": words.from_entry(words.gene("far", 0.5, 0.2, 1.5) * words.rma(words.true_range, 3)),
}
"""Stops so near that many trades hang on the order of what happened in a bar."""

RESTING = {
    "exit_long": words.held(words.close < words.open - 0.1 * (words.high - words.low), 2)
    | (words.close < words.lag(words.low, 1)),
    "exit_short": words.within(words.close > words.lag(words.high, 1), 2),
    "target": words.r_multiple(1.2),
    "max_hold": 3,
}

MOVING = {
    "target": words.r_multiple(2),
    "trail": words.trail(words.from_entry(2 * words.rma(words.true_range, 3)), 1),
    "break_even": 0.7,
}
"""Held so long that some lanes wait for an exit while others end."""


def compare_finer():
    """Bars that are read by finer ones, where stops rest and where they move."""
    quarters = open_apart(make_bars(2, 200, gaps=0.02, flat=0.05, jump=0.05), 2)
    series = [make_coarse(quarters, 2), make_bars(4, 40, tick=0.25)]
    windows, trades = [Window.whole(series[0]), Window.whole(series[1], 1)], 0
    whole = [replace(series[0], finer=None), series[1]]
    for delay, moves in enumerate((RESTING, MOVING)):
        strategy = words.strategy("Near.", name="near", **NEAR, **moves)
        genomes, charges = population(strategy, 3, seed=2), Costs(entry_delay=delay)
        sums = assert_same_everywhere(strategy, genomes, series, windows, charges)
        coarse = Engine(strategy, whole, windows, charges, device="cpu").evaluate(genomes)
        for name in ("exits_stop_gap", "exits_stop", "coarse"):
            place = ACCUMULATOR_INDEX[name]
            assert sums[:, 0, place].sum() != coarse[:, 0, place].sum(), f"{name} is the same"
        trades += sums[:, :, 0].sum()
    print(f"finer: {trades:.0f} trades, every bit equal")


def compare_ties():
    """Trades of one window that end in one bar, as an account of several windows has them."""
    up, down = words.close > words.open, words.close < words.open
    strategy = words.strategy(
        "Turns at each bar, with stops that are near.", long=up, short=down, exit_long=down,
        exit_short=up, stop=words.from_entry(0.3 * words.rma(words.true_range, 3)), name="ties",
    )  # fmt: skip
    series = [make_bars(3, 90, jump=0.02), make_bars(4, 80, jump=0.02)]
    windows = [Window.whole(series[0]), Window(1, 0, 40), Window(1, 40, 80)]
    host, device = (Engine(strategy, series, windows, device=one) for one in ("cpu", INTERPRETED))
    genomes = strategy.layout.defaults[None]
    assert_same_accounts(host, device, genomes)
    ties = [int((np.diff(ledger.exit_bar) == 0).sum()) for ledger in host.trades(genomes[0])]
    assert min(ties) > 0, "nothing was compared"
    print(f"ties: {ties}, every bit equal")


def compare_drawn():
    """Any strategy of the language, on short bars."""
    series = [make_bars(11, 120, gaps=0.01, flat=0.02), make_bars(12, 64, tick=0.5)]
    windows = [Window.whole(series[0]), Window(0, 50, 110), Window.whole(series[1], 1)]
    trades = 0
    for seed in DRAWN:
        strategy = drawn_strategy(seed)
        charges = Costs(min_risk=0.001, risk_fraction=0.9, entry_delay=seed % 3)
        genomes = population(strategy, 2, seed)
        trades += assert_same_everywhere(strategy, genomes, series, windows, charges)[:, :, 0].sum()
    print(f"drawn: {trades:.0f} trades, every bit equal")


def compare_limits():
    """An account with limits that was drawn, as a whole."""
    strategy, genomes, *world = draw_plain_account(3, is_finer=True)
    sums = assert_same_everywhere(strategy, genomes[:2], *world).sum((0, 1))
    engines = [Engine(strategy, *world, device=one) for one in ("cpu", LIMITED)]
    assert_same_accounts(*engines, genomes[:2])
    for name in ("trades", "skipped", "max_leverage", "coarse"):
        assert sums[ACCUMULATOR_INDEX[name]] > 0, f"{name} was not compared"
    print(f"limits: {sums[0]:.0f} trades, every bit equal")


FRUGAL = words.strategy(
    "An account that often has no cash for a lot.",
    long=words.close > words.open,
    short=words.close < words.lag(words.open, 2),
    reverse=True,
    entry=words.by_side(words.stop_at(words.high, 3), None),
    stop=words.from_entry(words.rma(words.true_range, 3)),
    targets=[(words.r_multiple(1), 0.5)],
    market=words.market(tick="0.05", lot="1"),
    slippage=words.ticks(1),
    funding=words.funding(words.payments("fund")),
    account=words.account(300, words.risk(0.005), 1),
    name="frugal",
)


NARROW = words.strategy(
    "Stops and targets so near that most trades hang on the order of what happened in a bar.",
    long=words.close > 0,
    short=words.close > 0,
    entry=words.by_side(
        words.stop_at(words.close + 0.2 * words.rma(words.true_range, 3), 2),
        words.limit_at(words.close + 0.3 * words.rma(words.true_range, 3), 3),
    ),
    reverse=True,
    stop=words.from_entry(words.gene("far", 0.5, 0.2, 1.5) * words.rma(words.true_range, 3)),
    targets=[(words.r_multiple(0.5), 0.5), (words.r_multiple(1.5), 0.5)],
    break_even=words.after_leg(1),
    trail=words.trail(words.from_entry(words.rma(words.true_range, 3))),
    exit_long=words.close < words.open,
    cancel=words.by_side(
        words.close < words.lag(words.low, 1), words.close > words.lag(words.high, 1)
    ),
    session=words.session_exit(590, begins=1080),
    name="narrow",
)


def compare_orders():
    """Orders, ladders and money, with lists that are too short at first."""
    for strategy, seed, bars, is_finer, names in (
        (FRUGAL, 1, 30, False, ("trades", "orders", "expired", "unsized", "shorts")),
        (NARROW, 2, 28, True, ("trades", "partials", "coarse", "exits_stop_gap", "exits_stop")),
    ):
        length, jump = (4 * bars, 0.05) if is_finer else (bars, 0.02)
        first = make_bars(seed, length, gaps=0.02, flat=0.05, jump=jump, tick=0.01)
        first = make_coarse(open_apart(first, seed), seed) if is_finer else first
        series = [first, make_bars(seed + 1, 16, tick=0.25)]
        series = [replace(some, payments={"fund": draw_payments(some, seed)}) for some in series]
        windows = [Window.whole(series[0]), Window.whole(series[1], 1)]
        genomes, charges = population(strategy, 2, seed), draw_order_costs(seed, strategy)
        sums = assert_same_everywhere(strategy, genomes, series, windows, charges).sum((0, 1))
        for name in names:
            assert sums[ACCUMULATOR_INDEX[name]] > 0, f"{name} was not compared"
        print(f"{strategy.name}: {sums[0]:.0f} trades, every bit equal")


PARTS = {
    "ties": compare_ties,
    "finer": compare_finer,
    "drawn": compare_drawn,
    "limits": compare_limits,
    "orders": compare_orders,
}
"""What is compared."""


def refuse(message, *_):
    """A kernel of a form may have no other words."""
    raise AssertionError(message)


def main():
    """Compare what was asked for, with several programs a list and several blocks of words."""
    repeat_nothing()
    accounts.PROGRAMS, accounts.STRETCH, accounts.LANE_BARS = 16, 1, 1
    order_accounts.LANES, order_accounts.FIRST_CAPACITY = 4, 16
    # Comparisons get kernels of their own, whose words are held against those of the first.
    specialization.PAYS_AFTER, specialization.LOG.warning = 0, refuse
    # Room for one individual that is not there.
    captured.bucket = lambda individuals: individuals + 1
    for name in sys.argv[2:] or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
