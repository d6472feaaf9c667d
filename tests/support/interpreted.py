"""The CUDA backend's kernels under Triton's interpreter, against the reference.

Run as a program of its own with TRITON_INTERPRET=1, because the interpreter is chosen when Triton
is imported. Prints what it compared; ends with an assertion where bits differ.
"""

import contextlib

import torch

import engine.batch
import engine.devices
from data.bars import Window
from engine.batch import Engine
from engine.costs import Costs
from engine.cuda import CudaBackend, places
from engine.cuda.dispatch import Dispatch
from engine.cuda.lanes import Lane
from engine.cuda.stretches import Stretches
from engine.ledger import ACCUMULATOR_INDEX
from engine.reference import Reference
from engine.rows.plan import plan_rows
from strategy.errors import GeneError
from tests.support.markets import (
    PAPER_SPEC,
    RUIN_COSTS,
    RUIN_EQUITY,
    RUIN_GENOME,
    RUIN_SERIES,
    RUIN_WINDOWS,
)
from tests.support.own import LISTED, MIXED
from tests.support.parity import assert_same_bits, assert_same_trades
from tests.support.worlds import SHORT_SPECS, loosened, make_bars, random_genomes


class Interpreted(CudaBackend):
    """The CUDA backend on tensors in host memory."""

    @staticmethod
    def free_bytes():
        """As much as a small world needs."""
        return 2**29

    @staticmethod
    def room(memory_bytes, series_bytes):
        """As on a device beside the series."""
        return CudaBackend.room(memory_bytes, 0)

    def __init__(self, *arguments, **options):
        """Take what the engine gives, on the host."""
        super().__init__(*arguments, torch_device="cpu", **options)


@contextlib.contextmanager
def out_of_memory(times):
    """Let the first chunks fail as a full device would; gives their sizes."""
    original, seen = Dispatch._send, []

    def failing(self, ticket):
        if len(seen) < times:
            seen.append(len(ticket.genomes))
            raise torch.OutOfMemoryError("injected")
        return original(self, ticket)

    Dispatch._send = failing
    yield seen
    Dispatch._send = original


@contextlib.contextmanager
def watched():
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


def compare_stretches(spec):
    """What does not fit memory, evaluated over two stretches of bars, in the same bits."""
    series = [make_bars(5, 1100, jump=0.1, flat=0.02), make_bars(6, 131, jump=0.3, tick=0.5)]
    windows = [Window.whole(series[0]), Window(1, 20, 120), Window(0, 900, 1060)]
    # Room for 6 rows of two blocks of bars each: with 7 to 12 a stretch is one block.
    genomes = loosened(spec, random_genomes(spec, 2, seed=4))
    assert 6 < plan_rows(spec, genomes).n_rows <= 12
    charged = Costs(risk_fraction=0.9, entry_delay=2)
    host = Engine(spec, series, windows, charged, device="cpu")
    device = Engine(spec, series, windows, charged, device="cuda", memory_bytes=200_000)
    seen, original = [], Stretches._filled

    def filled(self, rows, stretch, plan, state):
        seen.append(stretch.first)
        return original(self, rows, stretch, plan, state)

    Stretches._filled = filled
    expected = host.evaluate(genomes)
    assert_same_bits(expected, device.evaluate(genomes), "a stretch at a time")
    assert len(seen) > 1, f"{seen}: memory held everything"
    assert ruined(expected), "no account ended"
    assert_same_bits(expected[:1], device.evaluate(genomes[:1]), "rows whole again")
    Stretches._filled = original
    print(f"{spec.name}: {expected[:, :, 0].sum():.0f} trades in stretches from {seen}")


def ruined(accumulators):
    """How many accounts ended."""
    return int((accumulators[:, :, ACCUMULATOR_INDEX["equity"]] == 0.0).sum())


def compare_ruin(spec, series, windows, genomes):
    """All of equity at risk: some accounts end, in the same bits."""
    charged = Costs(fee_bp=5.0, slippage_bp=0.0, risk_fraction=1.0)
    expected = Engine(spec, series, windows, charged, device="cpu").evaluate(genomes)
    device = Engine(spec, series, windows, charged, device="cuda")
    assert_same_bits(expected, device.evaluate(genomes), "ruin")
    assert 0 < ruined(expected) < expected[:, :, 0].size, f"{ruined(expected)} accounts ended"


def compare_ruin_on_paper():
    """Infinity times 0 is ruin, and no loss of an account that is ruined brings it back."""
    account = PAPER_SPEC, RUIN_SERIES, RUIN_WINDOWS, RUIN_COSTS
    expected = Reference(*account).accumulators(RUIN_GENOME)
    found = Engine(*account, device="cuda").evaluate(RUIN_GENOME[None])[0]
    assert_same_bits(expected, found, "ruin on paper")
    assert found[:, ACCUMULATOR_INDEX["equity"]].tolist() == RUIN_EQUITY


def compare_looked_up(device, genomes, expected):
    """The device finds rows itself, and refuses a genome that is not legal."""
    with watched() as launches:
        reversed_ = device.evaluate(genomes[::-1])[::-1]
        assert_same_bits(expected, reversed_, "looked up on the device")
        assert launches == [False], launches
        wrong = genomes.copy()
        wrong[2, 0] = float("nan")
        with contextlib.suppress(GeneError):
            device.evaluate(wrong)
            raise AssertionError("a genome that is not a number was evaluated")
        assert launches == [False, True], launches


def compare_own(spec, *, is_listed):
    """Rows that the host computes by their definitions, in all slots at once and in few."""
    series = [make_bars(3, 170, jump=0.1, flat=0.05, gaps=0.05), make_bars(4, 75, tick=0.5)]
    windows = [Window.whole(series[0]), Window(1, 5, 70)]
    genomes = random_genomes(spec, 6, seed=1)
    device = Engine(spec, series, windows, device="cuda")
    assert_same_trades(Reference(spec, series, windows), device, genomes)
    with watched() as launches:
        expected = device.evaluate(genomes)
    assert launches == [False] * is_listed, launches
    # Room for hardly more than one individual; such rows are not made in stretches of bars.
    room = 4 * (len(spec.rows) + 1) * CudaBackend.slot_bytes(series) // 3
    crowded = Engine(spec, series, windows, device="cuda", memory_bytes=room)
    assert_same_bits(expected, crowded.evaluate(genomes), "few rows at a time")
    counts = crowded.rows_computed, device.rows_computed, crowded._bank.capacity
    assert counts[0] >= counts[1] > counts[2], counts
    trades = expected[:, :, 0].sum()
    assert trades > 20, f"{spec.name}: {trades} trades compare little"
    print(f"{spec.name}: {trades:.0f} trades, every bit equal")


def interpret():
    """Have the engine's cuda device be the interpreter, which looks up rows for few as well.

    Two parts of a population are already evaluated a stretch of bars at a time.
    """
    places.FEWEST_ADMITTED = 1
    engine.batch.PARTS_THAT_PAY = 1
    load_backend = engine.devices.load_backend
    engine.devices.why_absent = lambda name: ""
    engine.devices.count_gpus = lambda: 1
    engine.devices.load_backend = lambda name, devices: (
        Interpreted if name == "cuda" else load_backend(name, devices)
    )


def main():
    """Compare rows, signals, trades and accumulators of strategies on small worlds."""
    interpret()
    compare_ruin_on_paper()
    compare_own(LISTED, is_listed=True)
    compare_own(MIXED, is_listed=False)
    for delay, (name, spec) in enumerate(SHORT_SPECS.items()):
        series = [
            make_bars(3, 240, jump=0.1, flat=0.05, gaps=0.05),
            make_bars(4, 131, jump=0.3, silent=0.05, tick=0.5),
        ]
        windows = [Window.whole(series[0]), Window(1, 20, 120), Window(0, 60, 200)]
        charged = Costs(7.0, 3.0, min_risk=0.003, risk_fraction=0.3, entry_delay=delay)
        host = Engine(spec, series, windows, charged, device="cpu")
        device = Engine(spec, series, windows, charged, device="cuda")
        genomes = random_genomes(spec, 4, seed=1)
        genomes[:2] = loosened(spec, genomes[:2])
        for group in plan_rows(spec, genomes).groups:
            for lengths in group.parameters.tolist():
                for number in range(len(series)):
                    expected = host.row(group.form, lengths, number)
                    actual = device.row(group.form, lengths, number)
                    assert_same_bits(expected, actual, f"{group.form} {lengths}")
        reference = Reference(spec, series, windows, charged)
        assert_same_trades(reference, device, genomes)
        for genome in genomes:
            expected = reference.signals(genome)
            assert expected == tuple(bars.tolist() for bars in device.signals(genome))
        expected = device.evaluate(genomes)
        compare_looked_up(device, genomes, expected)
        halves = list(device.evaluate_each([genomes[:2], genomes[2:], genomes[:1]]))
        together = [expected[:2], expected[2:], expected[:1]]
        for whole, half in zip(together, halves, strict=True):
            assert_same_bits(whole, half, "one population after another")
        with out_of_memory(times=2) as seen:
            assert_same_bits(expected, device.evaluate(genomes), "after running out of memory")
        assert seen == [4, 2], seen
        compare_ruin(spec, series, windows, genomes)
        trades = expected[:, :, 0].sum()
        assert trades > 20, f"{name}: {trades} trades compare little"
        print(f"{name}: {trades:.0f} trades, every bit equal")
    compare_stretches(SHORT_SPECS["seller_exhaustion"])


if __name__ == "__main__":
    main()
