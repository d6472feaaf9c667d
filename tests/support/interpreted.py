"""The CUDA backend's kernels under Triton's interpreter, against the CPU.

    python -m tests.support.interpreted cpu [PART ...]

Run as a program of its own with TRITON_INTERPRET=1, because the interpreter is chosen when Triton
is imported; without parts it compares all. Prints what it compared; ends with an assertion where
bits differ. An interpreted program takes 10 to 20 ms whether or not it has anything to do, so that
individuals, windows and padding are few; markets are as long as their lists need to overflow.
"""

import contextlib
import sys
from dataclasses import replace

import numpy as np
import torch

import engine.batch
import engine.devices
from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.cuda import CudaBackend, answering, dispatch, ordering, slot_lookup, stages
from engine.cuda.dispatch import Dispatch
from engine.cuda.streams import Lane
from engine.indicators.cuda import row_launches
from engine.memory_plan import GPU_CASE
from engine.out_of_core import Group, evaluate_groups
from engine.runtime.machine import available_cores
from strategy.errors import GeneError
from tests.support.interpreter import repeat_nothing
from tests.support.parity import assert_same_accounts, assert_same_bits, assert_same_engines
from tests.support.worlds import SHORT_SPECS, loosen_genomes, make_bars, random_genomes


class Interpreted(CudaBackend):
    """The CUDA backend on tensors in host memory."""

    # As on a device beside the series.
    shares = GPU_CASE._replace(of_free=0.5, holds_series=False)

    @staticmethod
    def free_bytes():
        """As much as a small world needs."""
        return 2**29

    def __init__(self, *arguments, **options):
        """Take what the engine gives, on the host."""
        super().__init__(*arguments, torch_device="cpu", **options)


@contextlib.contextmanager
def out_of_memory(times):
    """Let the first chunks fail as a full device would; gives their sizes."""
    original, seen = Dispatch._send, []

    def failing(self, ticket):
        if len(seen) < times:
            seen.append(len(ticket.sent.genomes))
            raise torch.OutOfMemoryError("injected")
        return original(self, ticket)

    Dispatch._send = failing
    yield seen
    Dispatch._send = original


@contextlib.contextmanager
def watch_launches():
    """Whether each launch that the device looked up itself was refused."""
    original, seen = Lane.finish, []

    def finish(self):
        ticket = self._ticket
        original(self)
        if ticket is not None and ticket.slots is None:
            seen.append(ticket.is_refused)

    Lane.finish = finish
    yield seen
    Lane.finish = original


def count_ruined(accumulators):
    """How many accounts ended."""
    return int((accumulators[:, :, ACCUMULATOR_INDEX["equity"]] == 0.0).sum())


def compare_looked_up(device, genomes, expected):
    """The device finds rows itself, and refuses a genome that is not legal."""
    with watch_launches() as launches:
        reversed_ = device.evaluate(genomes[::-1])[::-1]
        assert_same_bits(expected, reversed_, "looked up on the device")
        assert launches == [False], launches
        wrong = genomes.copy()
        wrong[2, 0] = float("nan")
        with contextlib.suppress(GeneError):
            device.evaluate(wrong)
            raise AssertionError("a genome that is not a number was evaluated")
        assert launches == [False, True], launches


def compare_ways(device, genomes, expected):
    """One population after another, and chunks that memory has no room for."""
    for some in (slice(2), slice(2, None), slice(1)):
        actual = device.evaluate(genomes[some])
        assert_same_bits(expected[some], actual, "one population after another")
    with out_of_memory(times=2) as seen:
        assert_same_bits(expected, device.evaluate(genomes), "after running out of memory")
    assert seen == [4, 2], seen


def compare_pairs(host, device, genomes, expected):
    """Individuals that meet windows of their own: all at once, in chunks, and in other numbers."""
    pairs = np.array([(3, 1), (0, 0), (2, 1), (0, 1), (1, 0), (0, 0)])
    of_pairs = expected[pairs[:, 0], pairs[:, 1]]
    device.evaluate(genomes)
    with watch_launches() as launches:
        assert_same_bits(of_pairs, device.evaluate_pairs(genomes, pairs), "pairs")
        assert launches == [False], launches
    with out_of_memory(times=2) as seen:
        assert_same_bits(of_pairs, device.evaluate_pairs(genomes, pairs), "pairs in parts")
    assert seen == [6, 3], seen
    both = [(genomes[:3], (1, 0)), (genomes[2:], (0, 1))]
    groups = [Group(some, windows, is_account) for some, windows in both for is_account in (0, 1)]
    answers = evaluate_groups(device, groups)
    accounts = host.evaluate_account(genomes)[1]
    parts = slice(3), slice(2, None)
    for plain, account, part in zip(answers[::2], answers[1::2], parts, strict=True):
        product = expected[part, ::-1] if part.stop else expected[part]
        assert_same_bits(product, plain[0], "windows in any order")
        assert plain[1] is None
        assert_same_bits(product, account[0], "windows in any order, as one account")
        assert_same_bits(accounts[part], account[1], "one account")
    assert_same_bits(expected, device.evaluate(genomes), "all windows again")


def compare_shipped(spec, entry_delay):
    """Rows, signals, trades and accumulators; some accounts end, as all of equity is at risk."""
    series = [
        make_bars(3, 240, jump=0.1, flat=0.05, gaps=0.05),
        make_bars(4, 131, jump=0.3, silent=0.05, tick=0.5),
    ]
    windows = [Window.whole(series[0]), Window(1, 20, 120)]
    charged = Costs(7.0, 3.0, min_risk=0.003, risk_fraction=1.0, entry_delay=entry_delay)
    host = Engine(spec, series, windows, charged, device="cpu")
    device = Engine(spec, series, windows, charged, device="cuda")
    assert device.threads == available_cores()
    genomes = random_genomes(spec, 4, seed=1)
    genomes[:2] = loosen_genomes(spec, genomes[:2])
    expected = assert_same_engines(host, device, genomes)
    assert 0 < count_ruined(expected) < expected[:, :, 0].size, (
        f"{count_ruined(expected)} accounts ended"
    )
    compare_looked_up(device, genomes, expected)
    compare_ways(device, genomes, expected)
    fresh = Engine(spec, series, windows, charged, device="cuda")
    compare_pairs(host, fresh, genomes, expected)
    assert_same_accounts(host, device, genomes)
    trades = expected[:, :, 0].sum()
    assert trades > 20, f"{spec.name}: {trades} trades compare little"
    print(f"{spec.name}: {trades:.0f} trades, every bit equal")


def compare_accounts(spec):
    """Several windows as one account, folded by the device, whatever is evaluated together."""
    bars = make_bars(5, 420, jump=0.1)
    # Nearly the same bars twice: trades of different strands end together, and not alike.
    series = [bars, make_bars(6, 300, flat=0.1), replace(bars, low=bars.low * 0.999)]
    windows = [
        Window(2, 200, 420), Window(0, 0, 200), Window(1, 50, 300), Window(0, 200, 201),
        Window(0, 201, 420), Window(2, 0, 200),
    ]  # fmt: skip
    charged = Costs(risk_fraction=0.9)
    genomes = random_genomes(spec, 4, seed=1)
    genomes[:3] = loosen_genomes(spec, genomes[:3])
    host = Engine(spec, series, windows, charged, device="cpu")
    device = Engine(spec, series, windows, charged, device="cuda")
    expected = host.evaluate_account(genomes)
    equity = expected[1][:, ACCUMULATOR_INDEX["equity"]]
    assert (equity == 0.0).any(), equity
    assert (equity > 0.0).any(), equity

    def compare(engine, what):
        for sums, other in zip(expected, engine.evaluate_account(genomes), strict=True):
            assert_same_bits(sums, other, what)

    first = dispatch.first_capacity(max(window.end - window.start for window in windows))
    compare(device, "one account")
    assert device._backend._dispatch._capacity > first, "no list was too short"
    with watch_launches() as launches:
        compare(device, "one account, looked up on the device")
    assert launches == [False], launches
    own = np.array([(4, 1, 2), (0, 5, 5), (3, 2, 0), (2, 4, 0)], np.int32)
    accumulators, account = device.evaluate_account(genomes, own)
    for p, numbers in enumerate(own.tolist()):
        alone = host.on([windows[number] for number in numbers])
        product, joint = alone.evaluate_account(genomes[p : p + 1])
        assert_same_bits(product[0], accumulators[p], "windows of their own")
        assert_same_bits(joint[0], account[p], "windows of their own, as one account")
    trades = expected[1][:, ACCUMULATOR_INDEX["trades"]]
    print(f"{spec.name}: accounts of {trades.tolist()} trades, every bit equal")


def interpret():
    """Have the engine's cuda device be the interpreter, which looks up rows for few as well.

    Two parts of a population are already evaluated a stretch of bars at a time, launches are made
    for whole fours of individuals, accounts are put in order in short stretches, and blocks of
    rolling rows are finished by one program each: `device_rows` has several of them share one.
    """
    slot_lookup.FEWEST_ADMITTED = 1
    ordering.STRETCH, ordering.SIDE, ordering.MERGED_WINDOWS = 16, 8, 4
    ordering.ORDERING = answering.ORDERING = stages.ORDERING = 2
    row_launches.BUSY = 0
    engine.batch.PARTS_THAT_PAY = 1
    dispatch.bucket = dispatch.bucket_coarsely = lambda individuals: -(-individuals // 4) * 4
    load_backend = engine.devices.load_backend
    engine.devices.why_absent = lambda name: ""
    engine.devices.count_gpus = lambda: 1
    engine.devices.load_backend = lambda name, *others: (
        Interpreted if name == "cuda" else load_backend(name, *others)
    )


PARTS = {
    "seller_exhaustion": lambda: compare_shipped(SHORT_SPECS["seller_exhaustion"], 0),
    "accounts": lambda: compare_accounts(SHORT_SPECS["seller_exhaustion"]),
}
"""What is compared."""


def main():
    """Compare what was asked for."""
    repeat_nothing()
    interpret()
    for name in sys.argv[2:] or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
