"""The CUDA backend's kernels under Triton's interpreter, against the reference.

    python -m tests.support.interpreted cpu [PART ...]

Run as a program of its own with TRITON_INTERPRET=1, because the interpreter is chosen when Triton
is imported; without parts it compares all. Prints what it compared; ends with an assertion where
bits differ. An interpreted program takes 10 to 20 ms whether or not it has anything to do, so that
individuals, windows and padding are few; markets are as long as their lists need to overflow.
"""

import contextlib
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import torch

import engine.devices
import engine.sending
from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.cuda import CudaBackend, answering, dispatch, ordering, slot_lookup, stages
from engine.cuda.dispatch import Dispatch
from engine.cuda.streams import Lane
from engine.cuda.time_tiles import Stretches
from engine.devices import Device
from engine.groups import Group, evaluate_groups
from engine.indicators.cuda import tables
from engine.memory_plan import GPU_CASE
from engine.reference import Reference
from engine.runtime.machine import available_cores
from optimizer.evidence.splits import combinatorial
from optimizer.judging.folds import FoldSetup
from optimizer.judging.null import NullJob, NullSetup
from optimizer.judging.schedule import NullScheduleSetup
from optimizer.schedule.dates import parse_schedule
from strategy import words as w
from strategy.errors import GeneError
from tests.support.finer import make_coarse, open_apart
from tests.support.interpreted_words import assert_same_ledgers
from tests.support.interpreter import repeat_nothing
from tests.support.judging import make_task
from tests.support.limited import draw_costs, draw_series
from tests.support.markets import (
    PAPER_SPEC,
    RUIN_COSTS,
    RUIN_EQUITY,
    RUIN_GENOME,
    RUIN_SERIES,
    RUIN_WINDOWS,
)
from tests.support.parity import assert_same_accounts, assert_same_bits, assert_same_trades
from tests.support.slot_rows import list_rows
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


NEAR = w.strategy(
    "Stops and targets so near that many trades hang on the order of what happened in a bar.",
    long=w.close > w.sma(w.close, w.length("n", 3, 2, 6)),
    stop=w.beyond_bar(w.gene("far", 0.1, 0.01, 0.5) * w.atr(3)),
    target=w.r_multiple(w.gene("reward", 0.5, 0.1, 2)),
    max_hold=w.length("hold", 4, 1, 8),
    name="near",
)


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


@contextlib.contextmanager
def one_at_a_time():
    """Let there be room for the lists of one individual."""
    share, dispatch.LISTED_SHARE = dispatch.LISTED_SHARE, 2**60
    yield
    dispatch.LISTED_SHARE = share


def compare_stretches(spec):
    """What does not fit memory, evaluated over two stretches of bars, in the same bits.

    Bars of the first series are read by finer ones.
    """
    hours = make_coarse(open_apart(make_bars(5, 4400, jump=0.1, flat=0.02), 5), 5)
    series = [hours, make_bars(6, 131, jump=0.3, tick=0.5)]
    windows = [Window.whole(series[0]), Window(1, 20, 120)]
    # Room for 6 rows of two blocks of bars each: with 7 to 12 a stretch is one block.
    genomes = loosen_genomes(spec, random_genomes(spec, 2, seed=4))
    assert 6 < len(list_rows(spec, genomes)) <= 12
    charged = Costs(risk_fraction=0.9, entry_delay=2)
    host = Engine(spec, series, windows, charged, device="cpu")
    device = Engine(spec, series, windows, charged, device="cuda", memory_bytes=200_000)
    seen, original = [], Stretches._fill_rows

    def filled(self, rows, stretch, plan, state):
        seen.append(stretch.first)
        return original(self, rows, stretch, plan, state)

    Stretches._fill_rows = filled
    expected = host.evaluate(genomes)
    assert_same_bits(expected, device.evaluate(genomes), "a stretch at a time")
    assert len(seen) > 1, f"{seen}: memory held everything"
    assert count_ruined(expected), "no account ended"
    assert_same_bits(expected[:1], device.evaluate(genomes[:1]), "rows whole again")
    Stretches._fill_rows = original
    print(f"{spec.name}: {expected[:, :, 0].sum():.0f} trades in stretches from {seen}")


def count_ruined(accumulators):
    """How many accounts ended."""
    return int((accumulators[:, :, ACCUMULATOR_INDEX["equity"]] == 0.0).sum())


def compare_ruin_on_paper():
    """Infinity times 0 is ruin, and no loss of an account that is ruined brings it back."""
    account = PAPER_SPEC, RUIN_SERIES, RUIN_WINDOWS, RUIN_COSTS
    expected = Reference(*account).accumulators(RUIN_GENOME)
    actual = Engine(*account, device="cuda").evaluate(RUIN_GENOME[None])[0]
    assert_same_bits(expected, actual, "ruin on paper")
    assert actual[:, ACCUMULATOR_INDEX["equity"]].tolist() == RUIN_EQUITY


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


def compare_rows(spec, host, device, genome):
    """Every row that a genome asks for, on each series."""
    for form, lengths in list_rows(spec, genome[None]):
        for number in range(2):
            expected = host.row(form, lengths, number)
            actual = device.row(form, lengths, number)
            assert_same_bits(expected, actual, f"{form} {lengths}")


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
    compare_rows(spec, host, device, genomes[0])
    reference = Reference(spec, series, windows, charged)
    assert_same_trades(reference, device, genomes)
    for genome in genomes[1:3]:
        expected = reference.signals(genome)
        assert expected == tuple(bars.tolist() for bars in device.signals(genome))
    expected = device.evaluate(genomes)
    assert 0 < count_ruined(expected) < expected[:, :, 0].size, (
        f"{count_ruined(expected)} accounts ended"
    )
    compare_looked_up(device, genomes, expected)
    if spec.name == "seller_exhaustion":
        compare_ways(device, genomes, expected)
        fresh = Engine(spec, series, windows, charged, device="cuda")
        compare_pairs(host, fresh, genomes, expected)
        assert_same_accounts(host, device, genomes)
        with one_at_a_time():
            assert_same_accounts(host, device, genomes)
    trades = expected[:, :, 0].sum()
    assert trades > 20, f"{spec.name}: {trades} trades compare little"
    print(f"{spec.name}: {trades:.0f} trades, every bit equal")


def compare_finer():
    """Bars that are read by finer ones, beside a series that has none, also of pairs."""
    quarters = make_bars(4, 400, jump=0.1, flat=0.05, gaps=0.05, tick=0.5)
    series = [make_bars(6, 60, jump=0.1), make_coarse(open_apart(quarters, 4), 4)]
    windows = [Window.whole(series[0]), Window.whole(series[1], 1), Window(1, 20, 90)]
    charged = Costs(7.0, 3.0, min_risk=0.003, entry_delay=1)
    genomes = random_genomes(NEAR, 4, seed=1)
    reference = Reference(NEAR, series, windows, charged)
    device = Engine(NEAR, series, windows, charged, device="cuda")
    assert_same_trades(reference, device, genomes)
    sums = device.evaluate(genomes)
    coarse = [series[0], replace(series[1], finer=None)]
    whole = Engine(NEAR, coarse, windows, charged, device="cpu").evaluate(genomes)
    for name in ("exits_stop_gap", "exits_stop", "exits_target", "coarse"):
        on_finer, other = (of[:, :, ACCUMULATOR_INDEX[name]].sum() for of in (sums, whole))
        assert on_finer != other, f"finer bars change nothing of {name}"
    pairs = np.array([(3, 1), (0, 2), (2, 0)])
    assert_same_bits(sums[pairs[:, 0], pairs[:, 1]], device.evaluate_pairs(genomes, pairs), "pairs")
    print(f"finer: {sums[:, :, 0].sum():.0f} trades, every bit equal")


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
    with out_of_memory(times=1) as seen:
        compare(device, "one account, in parts")
    assert seen == [4], seen
    small = Engine(spec, series, windows, charged, device="cuda", memory_bytes=200_000)
    assert small._bank.bring(genomes) is None, "memory holds everything"
    compare(small, "one account, some rows at a time")
    own = np.array([(4, 1, 2), (0, 5, 5), (3, 2, 0), (2, 4, 0)], np.int32)
    accumulators, account = device.evaluate_account(genomes, own)
    for p, numbers in enumerate(own.tolist()):
        alone = host.on([windows[number] for number in numbers])
        product, joint = alone.evaluate_account(genomes[p : p + 1])
        assert_same_bits(product[0], accumulators[p], "windows of their own")
        assert_same_bits(joint[0], account[p], "windows of their own, as one account")
    trades = expected[1][:, ACCUMULATOR_INDEX["trades"]]
    print(f"{spec.name}: accounts of {trades.tolist()} trades")


class InterpretedAccounts(Interpreted):
    """The same of accounts with limits."""

    keeps_limits = True


def compare_limits(seeds=(3, 7)):
    """Accounts with limits of drawn worlds: sums, ledgers, results; and of windows of their own."""
    spec, sums = SHORT_SPECS["seller_exhaustion"], 0
    for seed in seeds:
        rng = np.random.Generator(np.random.PCG64(seed))
        series, windows = draw_series(rng, seed, is_finer=seed % 4 == 3)
        if seed % 3 == 1:
            windows[0] = replace(windows[0], role="held_out")
        costs = replace(draw_costs(rng, seed, spec, len(series)), fee_unit=0.0, fee_min=0.0)
        genomes = random_genomes(spec, 4, seed=seed)
        genomes[:3] = loosen_genomes(spec, genomes[:3])
        host = Engine(spec, series, windows, costs, device="cpu")
        chosen = Device("cuda", "a test", InterpretedAccounts)
        device = Engine(spec, series, windows, costs, device=chosen)
        assert_same_accounts(host, device, genomes)
        for left, right in zip(host.ledgers(genomes), device.ledgers(genomes), strict=True):
            assert_same_ledgers(left, right, f"seed {seed}")
        if len({window.role for window in windows}) == 1:
            own = np.array([rng.permutation(len(windows)) for _ in genomes], np.int32)
            _, account = device.evaluate_account(genomes, own)
            assert_same_bits(host.evaluate_account(genomes)[1], account, "windows of their own")
        sums = sums + host.evaluate(genomes).sum((0, 1))
    for name in ("trades", "skipped", "max_leverage", "coarse", "rejected"):
        assert sums[ACCUMULATOR_INDEX[name]] > 0, name
    trades, skipped = (sums[ACCUMULATOR_INDEX[name]] for name in ("trades", "skipped"))
    print(f"limits: {trades:.0f} trades and {skipped:.0f} skipped, every bit equal")


def compare_waves():
    """Searches in step, of one window and of several as one account."""
    spec = SHORT_SPECS["seller_exhaustion"]
    bars = [make_bars(seed, 260 + 40 * seed) for seed in range(2)]
    several = (Window(0, 0, 150), Window(0, 150, 260), Window(1, 20, 300))
    few = {"population": 6, "generations": 1, "polish": 3, "min_trades": 0}
    for task in (
        make_task(bars[1], spec=spec, **few),
        make_task(*bars, windows=several, spec=spec, over_windows="pooled", **few),
    ):
        jobs = [NullJob("shuffled", number) for number in range(1, 3)]
        on_device = replace(task, config=task.config.model_copy(update={"device": "cuda"}))
        results = dict(NullSetup(on_device, "none").run_in_step(jobs))
        assert results == {job: NullSetup(task, "none").run(job) for job in jobs}
        assert len({search.strength for search in results.values()}) > 1
    splits = combinatorial(bars, several, count=2, tests=1)
    folds = FoldSetup(task, splits)
    results = dict(replace(folds, engine=on_device.engine()).run_in_step(range(2)))
    assert results == {number: folds.run(number) for number in range(2)}
    assert results[0].genome != results[1].genome
    schedules = NullScheduleSetup(task, parse_schedule("1d", "1d", 0), "keep", "none")
    results = dict(replace(schedules, task=on_device).run_in_step(jobs[:2]))
    assert results == {job: schedules.run(job) for job in jobs[:2]}
    print("null searches in waves, folds and schedules: every figure equal")


def interpret():
    """Have the engine's cuda device be the interpreter, which looks up rows for few as well.

    Two parts of a population are already evaluated a stretch of bars at a time, launches are made
    for whole fours of individuals, accounts are put in order in short stretches, and blocks of
    rolling rows are finished by one program each: `device_rows` has several of them share one.
    """
    slot_lookup.FEWEST_ADMITTED = 1
    ordering.STRETCH, ordering.SIDE, ordering.MERGED_WINDOWS = 16, 8, 4
    ordering.ORDERING = answering.ORDERING = stages.ORDERING = 2
    tables.BUSY = 0
    engine.sending.PARTS_THAT_PAY = 1
    dispatch.bucket = dispatch.bucket_coarsely = lambda individuals: -(-individuals // 4) * 4
    load_backend = engine.devices.load_backend
    engine.devices.why_absent = lambda name: ""
    engine.devices.count_gpus = lambda: 1
    engine.devices.load_backend = lambda name, devices: (
        Interpreted if name == "cuda" else load_backend(name, devices)
    )


PARTS = {
    "paper": compare_ruin_on_paper,
    "finer": compare_finer,
    "accounts": lambda: compare_accounts(SHORT_SPECS["seller_exhaustion"]),
    "limits": compare_limits,
    "waves": compare_waves,
    "stretches": lambda: compare_stretches(SHORT_SPECS["seller_exhaustion"]),
    **{
        name: partial(compare_shipped, spec, entry_delay)
        for entry_delay, (name, spec) in enumerate(SHORT_SPECS.items())
    },
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
