"""Strategies of the corpus on the CUDA backend under Triton's interpreter.

Walks of orders are plain Python there: one lane a warp, one pair after another.

    python -m tests.support.interpreted_words cpu [NAME ...]

Run as a program of its own with TRITON_INTERPRET=1, because the interpreter is chosen when Triton
is imported; without names it compares all that have few bars. Prints what it compared; ends with
an assertion where bits differ.
"""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import torch

from data.bars import Window
from engine.batch import Engine
from engine.cuda import accounts, language, limited_orders, order_accounts
from engine.cuda.captured import CapturedCalls
from engine.cuda.language import CudaLanguageBackend, CudaLanguageMaker
from engine.devices import Device
from engine.positions.cuda.order_forms import list_given
from engine.positions.cuda.order_walk import retarget_loop
from strategy.words import close, ema, gene, length, share, trail, volume, zscore
from strategy.words import strategy as define
from tests.golden.cases import CASES, TINY, make_world
from tests.golden.results import (
    backtest_by_engine,
    find_difference,
    find_ledger_difference,
    read_results,
)
from tests.support.interpreter import repeat_nothing
from tests.support.limited import draw_finer_account
from tests.support.market_waves import compare_markets, write_codes
from tests.support.parity import assert_same_bits, assert_same_engines
from tests.support.worlds import make_bars, random_genomes


def load_value(columns, row, place):
    """As on a device, where nothing is asked; here what lies outside is an error."""
    assert 0 <= row < columns.shape[0]
    assert 0 <= place < columns.shape[1]
    return columns[row, place]


def allocate(count, kind):
    """Room that holds what nobody wrote."""
    return np.full(count, -7, "f8" if "float" in str(kind) else "i8")


WORDS = SimpleNamespace(
    threadIdx=SimpleNamespace(x=0),
    blockIdx=SimpleNamespace(x=0, y=0),
    local=SimpleNamespace(array=allocate),
    ballot_sync=lambda mask, hit: int(bool(hit)),
)
"""The compiler's words."""

PRIMITIVES = {
    "load_value": load_value,
    "lowest_place": lambda bits: (int(bits) & -int(bits)).bit_length() - 1,
    "magnitude": abs,
    "smaller": lambda x, y: x if x < y else y,
    "larger": lambda x, y: x if x > y else y,
    "canonicalize": lambda x: x + 0.0 if abs(x) < np.inf else np.nan,
    "round_up": np.ceil,
    "round_down": np.floor,
    "cuda": WORDS,
}


def launch_in_python(loop, form, grid, *arguments):
    """As `engine.cuda.order_accounts.launch_loop`, on tensors in host memory; a lane a warp."""
    *inputs, results = arguments
    here = [widen(each) for each in inputs]
    written = type(results)(*(tensor.numpy() for tensor in results))
    given = list_given(form, PRIMITIVES, lambda function: function)
    walk = retarget_loop(loop, given, lambda function: function)
    with np.errstate(all="ignore"):
        for WORDS.blockIdx.y in range(grid[1]):
            for WORDS.blockIdx.x in range(grid[0]):
                walk(*here, written)


def walk_by_one_lane():
    """Have walks of orders run in Python."""
    order_accounts.launch_loop = launch_in_python
    limited_orders.LANES = 1
    order_accounts.choose_width = limited_orders.choose_width = lambda pairs: 1


def widen(value):
    """Tensors as arrays of numbers that are as wide as the host's."""
    if isinstance(value, tuple):
        return type(value)(*map(widen, value))
    if not isinstance(value, torch.Tensor):
        return value
    array = value.numpy()
    return array.astype(np.int64) if array.dtype == np.int32 else array


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


def compare_codes():
    """Comparisons by codes on three series, two of them at the same times."""
    strategy, first = write_codes(), make_bars(3, 333, gaps=0.01, jump=0.1, flat=0.1, tick=0.5)
    alike = replace(make_bars(5, 333, jump=0.1, flat=0.1, tick=0.5), timestamp=first.timestamp)
    series = first, make_bars(4, 90, silent=0.1), alike
    assert language.group_by_times(series) == [[0, 2], [1]]
    windows = Window.whole(first), Window(1, 5, 80), Window.whole(alike, 2)
    sums = assert_same_everywhere(strategy, random_genomes(strategy, 5, 2), series, windows)
    print(f"codes: {sums[:, :, 0].sum():.0f} trades, every bit equal")


def compare_one_row():
    """A row that is read with a gene, with another row and in arithmetic, by genes of its own."""
    loud = [zscore(volume, length(name, 6, 5, 9)) for name in ("gene", "row", "other", "sum")]
    strategy = define(
        "Loud bars.", long=(loud[0] > gene("least", 0.2, 0, 1)) & (loud[1] >= loud[2]),
        exit_long=loud[3] + gene("more", 0.5, 0, 1) < 0, stop=share(0.05), name="loud",
    )  # fmt: skip
    bars = make_bars(4, 120, jump=0.01)
    sums = assert_same_everywhere(
        strategy, strategy.layout.defaults[None], [bars], [Window.whole(bars)]
    )
    print(f"one row: {sums[:, :, 0].sum():.0f} trades, every bit equal")


def compare_wide_trail():
    """A stop farther behind than the whole price, which a better price would lower."""
    strategy = define(
        "Above an average.", long=close > ema(close, 5), stop=share(1.6),
        trail=trail(share(1.2), after=0.02), max_hold=150, name="wide",
    )  # fmt: skip
    bars = make_bars(4, 200, jump=0.01, slope=0.003)
    sums = assert_same_everywhere(
        strategy, strategy.layout.defaults[None], [bars], [Window.whole(bars)]
    )
    print(f"wide trail: {sums[:, :, 0].sum():.0f} trades, every bit equal")


def compare_full_memory(name):
    """Individuals that memory has no room for at once."""
    send, failed, case = CapturedCalls._send, [], CASES[name]

    def failing(self, group, ticket, *others):
        if len(failed) < 2:
            failed.append(len(ticket.sent.genomes))
            raise torch.OutOfMemoryError("injected")
        return send(self, group, ticket, *others)

    world = make_world(case.world)
    genomes = case.draw_genomes(name)[:4]
    CapturedCalls._send = failing
    device = Engine(case.strategy, *world, case.costs, device=INTERPRETED)
    sums = device.evaluate(genomes)
    CapturedCalls._send = send
    host = Engine(case.strategy, *world, case.costs, device="cpu")
    assert_same_bits(host.evaluate(genomes), sums, "after running out of memory")
    assert failed == [4, 2], failed
    print(f"{name}: some at a time, every bit equal")


def main():
    """Compare what was asked for, with several programs a list and several blocks of words."""
    repeat_nothing()
    accounts.PROGRAMS, accounts.STRETCH, accounts.LANE_BARS = 16, 1, 1
    # Lists that are too short for some windows and not for others.
    order_accounts.FIRST_CAPACITY = 16
    # What nobody wrote is filled with numbers that lead out of memory.
    torch.use_deterministic_algorithms(True)
    # Room for one individual that is not there.
    language.bucket = lambda individuals: individuals + 1
    for name in sys.argv[2:] or TINY:
        compare_case(name)
    compare_short_lists("frugal")
    compare_limited_ladder()
    compare_codes()
    compare_one_row()
    compare_wide_trail()
    compare_full_memory("near")
    print(f"markets: {compare_markets(INTERPRETED)} trades, every bit equal")


if __name__ == "__main__":
    main()
