"""Drift of a run: new trades are those that began after its bars, held against unseen ones."""

import numpy as np
import pytest

from data import load_bars
from data.bars import Window, parse_time
from engine.accounts.ledger import REASONS
from engine.reference import Reference
from optimizer import judge, load_run
from optimizer.errors import ConfigError
from optimizer.evidence.drift import DRIFT, build_drift_reference, compute_drift_evidence
from optimizer.report.evidence import build_answer
from optimizer.signals.drift import read_drift, watch_run
from optimizer.store import RunStore
from optimizer.store.listing import summarise
from tests.support.signals import GrowingMarket

LENGTH = 4000


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """A run judged by folds, and bars that came since."""
    market = GrowingMarket(tmp_path_factory.mktemp("drift"), LENGTH, 2600, min_trades=3)
    judge(str(market.path), folds=4, blocks=0)
    return market


def replay_folds(spec, costs, folds, bars):
    """R of the picks of folds in their tests, by hand."""
    listed = []
    for row in folds.rows:
        (tested,) = row.test
        window = Window.between(bars, tested.first)
        end = int(np.searchsorted(bars.timestamp, parse_time(tested.last))) + 1
        one = Reference(spec, [bars], [Window(0, window.start, end)], costs)
        listed.append(one.trades(spec.layout.encode(row.genes))[0].r)
    return np.concatenate(listed)


def test_new_trades_are_held_against_folds(market):
    """Reference, new trades and evidence by hand, and the row that is recorded."""
    market.write(2600)
    run = load_run(str(market.path))
    folds, pick = run.judgement.folds, run.judgement.pick
    assert folds.trades >= 30
    spec, costs = run.task.spec, run.task.costs
    record = watch_run(market.path, {}, market.write(LENGTH))
    bars, known = load_bars(f"csv:{market.file}"), market.columns["timestamp"][2599]
    genome = spec.layout.encode(pick.genes)
    (ledger,) = Reference(spec, [bars], [Window.whole(bars)], costs).trades(genome)
    is_new = (bars.timestamp[ledger.entry_bar] > known) & (ledger.reason != REASONS.index("end"))
    new = ledger.r[is_new]
    assert record.trades == len(new) > 10
    assert record.mean_r == new.mean()
    assert (record.source, record.reference_trades) == ("folds", folds.trades)
    reference = build_drift_reference(replay_folds(spec, costs, folds, bars))
    assert (reference.top, reference.least_mean) == (record.top, record.least_mean)
    assert record.evidence == compute_drift_evidence(reference, new)[-1]
    with RunStore.open(market.path) as store:
        assert read_drift(store) == record
    assert summarise(market.path).drift == record.sentence
    messages = [row.sentence for row in build_answer(load_run(str(market.path))).evidence]
    assert record.sentence in messages


def test_looking_again_records_what_changed_alone(market):
    """As many rows as there were numbers of trades."""
    lengths = (2601, 2601, LENGTH, LENGTH)
    counts = [watch_run(market.path, {}, market.write(length)).trades for length in lengths]
    assert counts[0] == counts[1] < counts[2] == counts[3]
    with RunStore.open(market.path) as store:
        rows = [row["trades"] for name, row in store.evidence if name == DRIFT]
    assert rows[-2:] == [counts[0], counts[2]]


def test_what_there_is_nothing_to_hold_against_is_refused(market, tmp_path):
    """No judgement, and bars that are others now."""
    unjudged = GrowingMarket(tmp_path)
    with pytest.raises(ConfigError, match="too few trades on bars that no search saw"):
        watch_run(unjudged.path, {}, unjudged.write(1300))
    changed = {name: column[2000:] for name, column in market.columns.items()}
    now = market.write(LENGTH, **changed)
    with pytest.raises(ConfigError, match="are not among these: name them too"):
        watch_run(market.path, {}, now)
    market.write(LENGTH)
