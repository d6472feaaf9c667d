"""Held-out bars of a schedule: it goes on over them, in one look."""

import numpy as np
import pytest

from data.bars import Window
from optimizer.evidence.out_of_sample import measure_out_of_sample
from optimizer.evidence.statistic import Around
from optimizer.judging.judgement import read_judgement
from optimizer.judging.schedule import StepSetup
from optimizer.run.header import recorded_task
from optimizer.schedule.dates import parse_schedule, plan_steps
from optimizer.schedule.stitched import stitch
from optimizer.store import RunStore
from optimizer.verifying.check import check_run
from tests.support.evidence import make_planted_market
from tests.support.judging import judge_briefly, recorded_run
from tests.support.references import compiled_reference

BARS = make_planted_market(7, 2400, 8)
PLAN = {"every": "10d", "train": "30d", "purge": 0, "resamples": 19}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that held out a part, judged by a schedule, then opened."""
    folder = tmp_path_factory.mktemp("held")
    path = recorded_run(folder, BARS, polish=8, holdout="30%")
    before = judge_briefly(path, causal=False, **PLAN)
    assert before.held_out is None
    opened = judge_briefly(path, causal=False, is_open=True, **PLAN)
    return path, before, opened


def read_steps(path):
    """Genomes of all recorded steps, by number."""
    with RunStore.open(path) as store:
        rows = {name: row for name, row in store.evidence if name.startswith("schedule/")}
        task = recorded_task(store, {})
    return task, {int(name.rpartition("/")[2]): row["genome"] for name, row in rows.items()}


def test_the_schedule_goes_on_over_held_out_bars(run):
    """The trades there are those of one ledger over all steps, old and new ones."""
    path, before, opened = run
    task, genomes = read_steps(path)
    windows = [Window.whole(task.markets.series[0])]
    series = list(task.markets.series)
    steps = plan_steps(series, windows, parse_schedule("10d", "30d", 0))
    assert len(genomes) == len(steps) > len(before.schedule.rows)
    picks = [None if genomes[k] is None else np.array(genomes[k]) for k in range(len(steps))]
    reference = compiled_reference(task.spec, series, windows, task.costs)
    stitched = stitch(reference, windows, steps, picks)
    (held_out,) = task.markets.held_out
    (ledger,) = stitched.ledgers
    inside = ledger.keep(ledger.signal_bar >= held_out.start)
    expected = measure_out_of_sample([inside], series, [held_out])
    record = opened.held_out
    assert record.by_steps
    assert (record.trades, record.mean_r) == (expected.trades, expected.mean_r.value)
    assert record.trades > 3
    assert opened.schedule == before.schedule


def test_it_is_one_look_and_is_verified(run):
    """A second opening searches nothing, and the record follows from its rows."""
    path, _, opened = run
    with RunStore.open(path) as store:
        assert read_judgement(store).held_out == opened.held_out
        checked = check_run(store, {}, 2)
        assert checked.problems == ()
    assert opened.held_out.looks == 1


def test_a_second_opening_searches_nothing(run, monkeypatch):
    """All steps are recorded."""
    path, _, opened = run
    monkeypatch.setattr(StepSetup, "run_in_step", None)
    again = judge_briefly(path, causal=False, is_open=True, **PLAN)
    assert again.held_out == opened.held_out
    (row,) = opened.held_out.list_rows(Around())
    assert row.sentence.startswith("The schedule goes on: ")
