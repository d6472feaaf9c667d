"""Strategies of the corpus on the CUDA backend under Triton's interpreter.

    python -m tests.support.interpreted_words cpu [NAME ...]

Run as a program of its own with TRITON_INTERPRET=1, because the interpreter is chosen when Triton
is imported; without names it compares all that have few bars. Prints what it compared; ends with
an assertion where bits differ.
"""

import sys

import torch

from data.bars import Window
from engine.batch import Engine
from engine.cuda import accounts, captured, order_accounts
from engine.cuda.language import CudaLanguageBackend, CudaLanguageMaker
from engine.devices import Device
from engine.groups import Group, evaluate_groups
from engine.out_of_core import create_engine
from strategy import words as w
from tests.golden.cases import CASES, TINY, make_world
from tests.golden.results import (
    backtest_by_engine,
    find_difference,
    find_ledger_difference,
    read_results,
)
from tests.support.interpreted_orders import walk_by_one_lane
from tests.support.interpreter import repeat_nothing
from tests.support.limited import draw_finer_account
from tests.support.parity import assert_same_bits, assert_same_engines
from tests.support.worlds import make_bars, random_genomes

walk_by_one_lane()


class InterpretedMaker(CudaLanguageMaker):
    """Makes the backend on tensors in host memory."""

    def __init__(self, devices=(0,), apart=0):
        """There is one device."""
        super().__init__(devices, apart)

    def __call__(self, *arguments, **options):
        """Take what the engine gives, on the host."""
        options |= {"torch_device": "cpu", "apart": self._apart}
        return CudaLanguageBackend(*arguments, **options)

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
    return assert_same_engines(host, device, genomes)


def compare_case(name):
    """An individual with many trades, of some another too, in each window and as one account."""
    listed = read_results()[name].listed
    some = [listed, 1] if name in ("near", "ties") else [listed]
    device = LIMITED if CASES[name].costs.has_limits else INTERPRETED
    actual = backtest_by_engine(name, some, listed, device=device)
    assert not (problem := find_difference(name, some, actual)), problem
    print(f"{name}: {actual.sums[:, :-1, 0].sum():.0f} trades, every bit equal")


def compare_limited_ladder():
    """Room for what a ladder with pauses and money asks, on finer bars."""
    strategy, genomes, series, windows, charges = draw_finer_account(27)
    sums = assert_same_everywhere(strategy, genomes, series, windows, charges)
    print(f"limits of a ladder: {sums[:, :, 0].sum():.0f} trades, every bit equal")


def compare_short_lists(name):
    """Trades that the first lists have no room for."""
    order_accounts.FIRST_CAPACITY, case = 8, CASES[name]
    engine = Engine(case.strategy, *make_world(case.world), case.costs, device=INTERPRETED)
    genome = case.draw_genomes(name)[read_results()[name].listed]
    problem = find_ledger_difference(name, engine.trades(genome), engine.signals(genome))
    assert not problem, problem
    print(f"{name}: lists that grow, every bit equal")


def write_codes():
    """Rows against genes and against each other, now and a bar ago, and stops that move."""
    span, other = w.length("span", 4, 2, 9), w.length("other", 12, 10, 30)
    quick, slow = w.ema(w.close, span), w.sma(w.close, other)
    loud = w.zscore(w.volume, w.length("loud", 9, 5, 20))
    return w.strategy(
        "Compares in every way.",
        long=w.crosses_above(quick, slow)
        | ((loud > w.gene("least", 0.5, 0.2, 2)) & (quick >= slow)),
        short=w.crosses_below(quick, slow) & (w.gene("most", 0.6, 0.3, 0.9) > w.close_location),
        exit_long=loud <= w.gene("quiet", -0.5, -2, 0),
        stop=w.from_entry(w.gene("far", 2, 0.5, 4) * w.rma(w.true_range, 9)),
        trail=w.trail(w.share(0.03)), break_even=0.5, max_hold=20,
    )  # fmt: skip


def compare_codes():
    """Comparisons by codes on two series."""
    strategy = write_codes()
    series = (
        make_bars(3, 333, gaps=0.01, jump=0.1, flat=0.1, tick=0.5),
        make_bars(4, 90, silent=0.1),
    )
    windows = Window.whole(series[0]), Window(1, 5, 80)
    sums = assert_same_everywhere(strategy, random_genomes(strategy, 5, 2), series, windows)
    print(f"codes: {sums[:, :, 0].sum():.0f} trades, every bit equal")


def compare_markets():
    """Populations in three markets of two series with other prices at the same times."""
    fair = w.vwap(0)
    early = w.strategy(
        "Rows of sessions and of higher bars, arithmetic with a gene, and an exit by the clock.",
        long=(w.close < fair - w.gene("far", 0.1, 0, 1) * w.std(w.close, 5))
        & (w.higher(60, w.close) > w.higher(60, w.ema(w.close, 3))),
        short=w.within(w.close > fair, w.length("span", 2, 1, 4)),
        stop=w.share(0.02), target=w.level(fair), session=w.session_exit(),
    )  # fmt: skip
    for strategy in (write_codes(), early):
        series = [bars for seed in range(3) for bars in (make_bars(seed, 150), make_bars(seed, 90))]
        windows = [Window(number, 10 * (number % 2), len(series[number])) for number in range(6)]
        genomes = random_genomes(strategy, 8, 2)
        groups = [
            Group(genomes[:5], (2, 3), is_account=True), Group(genomes[3:], (0, 1)),
            Group(genomes[2:4], (4, 5), is_account=True), Group(genomes[:3], (1,)),
        ]  # fmt: skip
        expected, actual = (
            evaluate_groups(create_engine(strategy, series, windows, device=device, apart=2), groups)
            for device in ("cpu", INTERPRETED)
        )
        for (sums, account), (of_one, account_of_one) in zip(actual, expected, strict=True):
            assert_same_bits(of_one, sums, "markets")
            if account is not None:
                assert_same_bits(account_of_one, account, "markets")
        trades = sum(sums[:, :, 0].sum() for sums, _ in actual)
        print(f"markets: {trades:.0f} trades, every bit equal")


def main():
    """Compare what was asked for, with several programs a list and several blocks of words."""
    repeat_nothing()
    accounts.PROGRAMS, accounts.STRETCH, accounts.LANE_BARS = 16, 1, 1
    # Lists that are too short for some windows and not for others.
    order_accounts.FIRST_CAPACITY = 16
    # What nobody wrote is filled with numbers that lead out of memory.
    torch.use_deterministic_algorithms(True)
    # Room for one individual that is not there.
    captured.bucket = lambda individuals: individuals + 1
    for name in sys.argv[2:] or TINY:
        compare_case(name)
    compare_short_lists("frugal")
    compare_limited_ladder()
    compare_codes()
    compare_markets()


if __name__ == "__main__":
    main()
