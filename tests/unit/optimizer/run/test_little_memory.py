"""Where memory holds neither bars nor rows together, everything is found that is found with it."""

from dataclasses import replace
from mmap import mmap
from pathlib import Path

import numpy as np
import pytest

from optimizer.config.run_config import RunConfig
from optimizer.judging.judge import judge_run
from optimizer.judging.plan import Plan
from optimizer.report import load_run
from optimizer.run.header import recorded_front
from optimizer.run.runner import Observer, start_run
from tests.support.clusters import SERIES
from tests.support.judging import SMALL, write_bars

FREE = 300_000
"""Bytes reported as free: bars take 125,000, engine and rows of an individual 450,000."""


def found(data, runs):
    """All that a run, its judge and its report say, but for names and times."""
    given = {"data": data, "judge": False, "runs": str(runs), "holdout": "10%", "device": "cpu"}
    config = RunConfig(**{**SMALL, **given, "min_trades": 3})
    result = start_run(config, Observer(), lambda: False)
    plan = Plan(folds=2, train=2, purge=8, embargo=8, blocks=4, null=2, resamples=19)
    judged = judge_run(Path(result.path), plan, {}, lambda *progress: None)
    run = load_run(result.path)
    facts = result.front_hash, result.certificate, replace(judged, verdict=None), result.front
    return facts, run.trades(0).to_csv(), run


@pytest.mark.slow
def test_a_run_with_little_memory_finds_the_same(tmp_path, monkeypatch):
    """Search, certificate, all evidence, and trades; bars are mapped and computed in parts."""
    data = [write_bars(tmp_path / f"{bars.symbol}.csv", bars) for bars in SERIES[:4]]
    expected, trades, run = found(data, tmp_path / "runs")
    assert run.engine.n_parts == 1
    assert trades.count("\n") > 5
    assert not (tmp_path / "runs" / ".bars").exists()
    for place in ("engine.cpu.backend", "optimizer.run.markets"):
        monkeypatch.setattr(f"{place}.free_host_bytes", lambda: FREE)
    message, again, run = found(data, tmp_path / "runs")
    assert message == expected
    assert again == trades
    assert run.engine.n_parts > 1
    series = run.task.markets.series
    assert [is_mapped(bars.close) for bars in series] == [False, True, True, True]
    assert list((tmp_path / "runs" / ".bars").iterdir())


def is_mapped(column):
    """Whether a column shows a mapped file."""
    while isinstance(column, np.ndarray | memoryview):
        column = column.obj if isinstance(column, memoryview) else column.base
    return isinstance(column, mmap)


def test_a_run_that_was_moved_maps_its_bars_where_it_is(tmp_path, monkeypatch):
    """And not where the folder of its runs once was."""
    data = [write_bars(tmp_path / f"{bars.symbol}.csv", bars) for bars in SERIES[:2]]
    given = {"data": data, "judge": False, "runs": str(tmp_path / "runs"), "generations": 1}
    result = start_run(RunConfig(**{**SMALL, **given}), Observer(), lambda: False)
    (tmp_path / "runs").rename(tmp_path / "moved")
    monkeypatch.setattr("optimizer.run.markets.free_host_bytes", lambda: 0)
    recorded_front(tmp_path / "moved" / Path(result.path).name, {})
    assert len(list((tmp_path / "moved" / ".bars").iterdir())) == 2
    assert not (tmp_path / "runs").exists()


def test_where_they_cannot_be_written_it_is_refused(tmp_path, monkeypatch):
    """In one line that names the folder."""
    monkeypatch.setattr("optimizer.run.markets.free_host_bytes", lambda: 0)
    (tmp_path / "runs").touch()
    config = RunConfig(runs=str(tmp_path / "runs"))
    with pytest.raises(Exception, match=r"\.bars: bars cannot be written"):
        start_run(config, Observer(), lambda: False)
