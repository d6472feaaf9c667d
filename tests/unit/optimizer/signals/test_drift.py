"""Drift of a run: new trades are those that began after its bars, held against unseen ones."""

import numpy as np
import pytest

from data import load_bars
from data.bars import Window, parse_time
from engine.accounts.ledger import REASONS
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from optimizer import judge, load_run
from optimizer.evidence.drift import build_drift_reference, compute_drift_evidence
from optimizer.report.facts import summarize
from optimizer.signals.drift import read_drift, watch_run
from optimizer.store import RunStore
from optimizer.store.caveats import DRIFT
from optimizer.store.listing import summarise
from optimizer.viewing.today import read_today
from tests.support.signals import GrowingMarket

SEARCHED, LENGTH = 2612, 3400


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """A run judged by folds, and bars that came since."""
    market = GrowingMarket(tmp_path_factory.mktemp("drift"), LENGTH, SEARCHED, min_trades=3)
    judge(str(market.path), folds=4, blocks=0)
    return market


def trade(task, bars, window, genes):
    """The ledger of some genes in a window."""
    reference = Reference(task.spec, [bars], [window], task.costs, form=CompiledForm())
    return reference.trades(task.spec.layout.encode(genes))[0]


def test_new_trades_are_held_against_folds(market):
    """Reference, new trades and evidence by hand, and the row that is recorded.

    A trade that is open when the run's bars end began before and is none of the new ones.
    """
    market.write(SEARCHED)
    run = load_run(str(market.path))
    folds, pick, task = run.judgement.folds, run.judgement.pick, run.task
    record = watch_run(market.path, {}, market.write(LENGTH))
    bars = load_bars(f"csv:{market.file}")
    ledger = trade(task, bars, Window.whole(bars), pick.genes)
    is_new = (ledger.entry_bar >= SEARCHED) & (ledger.reason != REASONS.index("end"))
    assert ((ledger.entry_bar < SEARCHED) & (ledger.exit_bar >= SEARCHED)).any()
    new = ledger.r[is_new]
    assert record.trades == len(new) > 10
    assert record.mean_r == new.mean()
    assert (record.source, record.reference_trades) == ("folds", folds.trades)
    unseen = []
    for row in folds.rows:
        (tested,) = row.test
        start = Window.between(bars, tested.first).start
        end = int(np.searchsorted(bars.timestamp, parse_time(tested.last))) + 1
        unseen.append(trade(task, bars, Window(0, start, end), row.genes).r)
    reference = build_drift_reference(np.concatenate(unseen))
    assert (reference.top, reference.least_mean) == (record.top, record.least_mean)
    assert record.evidence == compute_drift_evidence(reference, new)[-1]
    with RunStore.open(market.path) as store:
        assert read_drift(store) == record
    assert summarise(market.path).drift == record.sentence
    (row,) = read_today(market.path, lambda: market.find_close(LENGTH))["rows"]
    assert row["cells"][-2][0].endswith(f", {len(new)} trades")
    facts = summarize(load_run(str(market.path)))
    assert record.sentence in [fact.value for fact in facts]


def test_looking_again_records_what_changed_alone(market):
    """As many rows as there were numbers of trades."""
    lengths = (SEARCHED + 1, SEARCHED + 1, LENGTH, LENGTH)
    counts = [watch_run(market.path, {}, market.write(length)).trades for length in lengths]
    assert counts[0] == counts[1] < counts[2] == counts[3]
    with RunStore.open(market.path) as store:
        rows = [row["trades"] for name, row in store.evidence if name == DRIFT]
    assert rows[-2:] == [counts[0], counts[2]]
