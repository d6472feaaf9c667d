"""An account with limits: each reading is the whole backtest of both symbols, cut there."""

from itertools import pairwise

import pytest

from data.bars import Window
from data.checks import format_time
from engine.accounts.ledger import REASONS
from engine.batch import Engine
from optimizer import load_run
from tests.support.signals import GrowingMarket

SEARCHED, LENGTH = 1000, 1160
CUTS = range(1110, 1130)
"""Bars among which the account is full six times."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A run on two symbols with room for one position, and files that grow."""
    folder = tmp_path_factory.mktemp("pair")
    return GrowingMarket(folder, LENGTH, SEARCHED, ("first", "second"), max_positions=1)


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
