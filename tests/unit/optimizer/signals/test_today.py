"""Today's genes of a schedule: searched when due, and one chain of trades over all steps."""

import numpy as np
import pytest

from data import load_bars
from data.checks import format_time
from optimizer import judge, load_run
from optimizer.evidence.schedule_searches import StepSetup
from optimizer.signals import unrecorded
from optimizer.signals.drift import END, watch_run
from optimizer.store import RunStore
from optimizer.viewing.today import read_today
from tests.support.judging import trade_recorded_steps
from tests.support.signals import GrowingMarket

SEARCHED, LENGTH = 2612, 2900


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """A run judged by a schedule, and bars that come later."""
    market = GrowingMarket(tmp_path_factory.mktemp("today"), LENGTH, SEARCHED, min_trades=3)
    judge(str(market.path), blocks=0, resamples=19, every="2d", train="5d", purge=0)
    return market


@pytest.fixture(scope="module")
def schedule(market):
    """The schedule as it was judged."""
    market.write(SEARCHED)
    return load_run(str(market.path)).judgement.schedule


def list_step_rows(path):
    """Numbers of the rows of steps, in the order in which they were recorded."""
    with RunStore.open(path) as store:
        return [row["number"] for name, row in store.evidence if name == "schedule"]


def test_genes_are_those_of_the_last_step(market, schedule):
    """With its date and the next; the way of finding them was tested, not they."""
    signal = market.source().read(market.write(SEARCHED))
    assert signal.member is None
    assert signal.genes == schedule.rows[-1].genes
    assert (signal.step.date, signal.step.next_date) == (schedule.rows[-1].date, schedule.next_date)
    assert signal.step.due is None
    assert market.source(0).read(market.find_close(SEARCHED)).step is None


def test_a_search_that_is_due_is_made_once(market, schedule, monkeypatch):
    """Without it the pick before goes on, with a note; with it the new one is recorded.

    Where it cannot be recorded, the source has it.
    """
    rows = list_step_rows(market.path)
    assert len(rows) == len(schedule.rows)
    due_ns = int(np.datetime64(schedule.next_date, "ns").astype(np.int64))
    first = int(np.searchsorted(market.columns["timestamp"], due_ns))
    before = market.source().read(market.write(first))
    assert before.step.date == schedule.rows[-1].date
    (row,) = read_today(market.path, lambda: due_ns + 400 * market.step_ns)["rows"]
    assert row["cells"][-1] == (f"once bars reach {schedule.next_date[:10]}", "")
    now = market.write(first + 1)
    lazy = market.source(may_search=False).read(now)
    assert (lazy.step.due, lazy.genes) == (schedule.next_date, before.genes)
    (row,) = read_today(market.path, lambda: now)["rows"]
    assert row["cells"][-1] == (f"due since {schedule.next_date[:10]}", "due")
    with monkeypatch.context() as reading:
        reading.setattr(unrecorded, "may_record", lambda path: False)
        source = market.source()
        told = source.read(now)
        reading.setattr(StepSetup, "run_in_step", None)
        assert source.read(now) == told
    assert len(told.notes) == 1
    assert str(market.path) in told.notes[0]
    assert list_step_rows(market.path) == rows
    signal = market.source().read(now)
    assert (signal.step.date, signal.step.due) == (schedule.next_date, None)
    assert (told.genes, told.step) == (signal.genes, signal.step)
    assert list_step_rows(market.path) == [*rows, len(rows)]
    monkeypatch.setattr(StepSetup, "run_in_step", None)
    assert market.source().read(market.write(first + 2)).genes == signal.genes


def test_positions_run_on_under_the_genes_that_entered_them(market, schedule):
    """Cut anywhere, the state is that of one ledger over all steps; its new trades are watched."""
    market.write(SEARCHED)
    task = load_run(str(market.path)).task
    record = watch_run(market.path, {}, market.write(LENGTH))
    bars = load_bars(f"csv:{market.file}")
    ledger, borders = trade_recorded_steps(market.path, task, bars, "2d", "5d")
    new = ledger.r[(ledger.entry_bar >= SEARCHED) & (ledger.reason != END)]
    assert (record.source, record.reference_trades) == ("schedule", schedule.trades)
    assert (record.trades, record.mean_r) == (len(new), new.mean())
    crossed = [
        cut for cut in borders if ((ledger.entry_bar < cut) & (ledger.exit_bar >= cut)).any()
    ]
    seen, over, cut = set(), 0, crossed[-1]
    for count in range(cut - 8, min(cut + 28, LENGTH), 2):
        (state,) = market.source().read(market.write(count)).symbols
        is_open = (ledger.entry_bar < count) & (ledger.exit_bar >= count)
        seen.add(state.state)
        assert (state.state == "in a trade") == is_open.any()
        if is_open.any():
            trade = ledger.trade(int(np.argmax(is_open)))
            assert state.trade.since == format_time(bars.timestamp[trade.entry_bar])
            assert (state.trade.entry, state.trade.target) == (trade.entry, trade.target)
            over += trade.signal_bar < cut <= count
        entered = ledger.signal_bar == count - 1
        if entered.any():
            assert state.state == "enter"
            assert state.entry.stop.value == ledger.trade(int(np.argmax(entered))).stop
    assert {"flat", "in a trade"} <= seen
    assert over > 0
