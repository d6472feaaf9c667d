"""An account with limits: each reading is the whole backtest of both symbols, cut there."""

from itertools import pairwise

import numpy as np
import pytest

from data.bars import Window
from data.checks import format_time
from engine.accounts.ledger import REASONS
from engine.batch import Engine
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from optimizer import judge, load_run
from optimizer.schedule.dates import parse_schedule, plan_steps
from optimizer.schedule.stitched import stitch
from optimizer.store import RunStore
from tests.support.signals import GrowingPair

SEARCHED, LENGTH = 1000, 1160
CUTS = range(1110, 1146)
"""Bars among which the account is full six times."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A run on two symbols with room for one position, and files that grow."""
    return GrowingPair(tmp_path_factory.mktemp("pair"), LENGTH, SEARCHED, max_positions=1)


@pytest.fixture(scope="module")
def readings(pair):
    """Readings of each cut, and the backtest's ledgers there, of both symbols."""
    pair.write(SEARCHED)
    run = load_run(str(pair.path))
    pair.write(LENGTH)
    series, source = pair.load(), pair.source()
    member = source.read(pair.write(SEARCHED)).member
    listed = []
    for count in CUTS:
        windows = [Window(0, 0, count), Window(1, 0, count)]
        engine = Engine(run.task.spec, series, windows, run.task.costs, device="cpu")
        ledgers = engine.trades(run.genomes[member])
        listed.append((count, source.read(pair.write(count)), ledgers))
    return series, listed


def require_states(signal, ledgers):
    """Who is in a trade is who is so in the account that ends there; names of all states."""
    for state, ledger in zip(signal.symbols, ledgers, strict=True):
        is_open = len(ledger) > 0 and REASONS[ledger.reason[-1]] == "end"
        assert (state.state == "in a trade") == is_open
    return {state.state for state in signal.symbols}


def test_files_that_grow_by_a_bar_many_times(readings):
    """Who is in a trade, since when, with which stop: as in the account that ends there."""
    series, listed = readings
    for count, signal, ledgers in listed:
        require_states(signal, ledgers)
        for bars, state, ledger in zip(series, signal.symbols, ledgers, strict=True):
            assert state.bar == format_time(bars.timestamp[count - 1])
            if state.trade is not None:
                trade = ledger.trade(len(ledger) - 1)
                expected = (format_time(bars.timestamp[trade.entry_bar]), trade.entry, trade.r)
                assert (state.trade.since, state.trade.entry, state.trade.r) == expected
        assert sum(state.trade is not None for state in signal.symbols) <= 1


def test_who_is_full_is_skipped_at_the_next_open(readings):
    """And who is about to enter is taken there, or void."""
    _, listed = readings
    seen = {"enter": 0, "full": 0, "in a trade": 0, "flat": 0}
    for (count, signal, before), (_, _, after) in pairwise(listed):
        for state, ledger, following in zip(signal.symbols, before, after, strict=True):
            seen[state.state] += 1
            skipped = following.skipped - ledger.skipped
            is_taken = bool((following.entry_bar == count).any())
            rejected = following.rejected - ledger.rejected
            assert skipped == (state.held_by is not None)
            assert (is_taken + rejected == 1) == (state.entry is not None and state.held_by is None)
            if state.state == "full":
                (holder,) = state.held_by
                assert holder != state.symbol
    assert min(seen.values()) >= 2, seen


def test_full_is_told_and_is_nothing_due(readings):
    """JSON says who holds the room."""
    _, listed = readings
    signal, state = next(
        (signal, state)
        for _, signal, _ in listed
        for state in signal.symbols
        if state.state == "full" and not any(other.is_due for other in signal.symbols)
    )
    (holder,) = state.held_by
    assert (signal.is_due, signal.is_in_trade) == (False, True)
    named = {row["symbol"]: row for row in signal.payload()["symbols"]}
    assert list(named[state.symbol]["held_by"]) == [holder]
    assert named[holder]["state"] == "in a trade"


def test_parts_before_a_long_gap_hold_room_too(tmp_path):
    """An account goes on over a gap that no trade of its symbol reaches over."""
    gap, settings = (700, 800), {"max_positions": 1, "max_gap": "10h"}
    pair = GrowingPair(tmp_path, 1300, 1200, gap, **settings)
    pair.write(1200)
    run, source = load_run(str(pair.path)), pair.source()
    member = source.read(pair.write(1200)).member
    pair.write(1300)
    first, second = pair.load()
    seen, moved = set(), 0
    for count in range(1200, 1280, 5):
        signal = source.read(pair.write(count))
        pieces = [first.until(count), second.until(700), second.cut(700, count - 100)]
        windows = [Window.whole(piece, number) for number, piece in enumerate(pieces)]
        engine = Engine(run.task.spec, pieces, windows, run.task.costs, device="cpu")
        ledgers = engine.trades(run.genomes[member])
        seen |= require_states(signal, ledgers[::2])
        moved += ledgers[1].skipped + ledgers[0].skipped
    assert {"in a trade", "flat"} <= seen
    assert moved > 0


def test_a_schedule_of_a_limited_account(tmp_path):
    """Judged, recorded and shown: all steps are one account, cut anywhere."""
    pair = GrowingPair(tmp_path, 1000, 900, max_positions=1, min_trades=3)
    run = judge(str(pair.path), blocks=0, resamples=19, every="2d", train="5d", purge=0)
    made = run.judgement.schedule
    costs, spec = run.task.costs, run.task.spec
    pair.source().read(pair.write(1000))
    with RunStore.open(pair.path) as store:
        rows = {row["number"]: row for name, row in store.evidence if name == "schedule"}
    series = pair.load()
    windows = [Window.whole(bars, number) for number, bars in enumerate(series)]
    schedule = parse_schedule("2d", "5d", 0)
    steps = plan_steps(series, windows, schedule)
    genomes = [rows[k]["genome"] for k in range(len(steps))]
    picks = [None if genome is None else np.array(genome) for genome in genomes]
    seen = set()
    for count in range(900, 1000, 9):
        signal = pair.source().read(pair.write(count))
        cut = [Window(0, 0, count), Window(1, 0, count)]
        planned = plan_steps(series, cut, schedule)
        reference = Reference(spec, series, cut, costs, form=CompiledForm())
        stitched = stitch(reference, cut, planned, picks[: len(planned)])
        seen |= require_states(signal, stitched.ledgers)
        if count == 900:
            assert made.trades == sum(map(len, stitched.ledgers))
            assert made.skipped == sum(ledger.skipped for ledger in stitched.ledgers) > 0
    assert {"in a trade", "flat"} <= seen
