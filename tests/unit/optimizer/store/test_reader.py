"""Runs of older engines are read under the present names of metrics."""

import json
import re

import pytest

from optimizer import load_run
from optimizer.run.tables import build_run_table
from optimizer.store import RunStore
from optimizer.store.reader import list_renames, rename_metrics
from optimizer.store.result import load_result
from tests.support.runs import record_run

FORMER = {"sharpe": "sharpe_annual", "sharpe_trade": "sharpe"}


def formerly(value):
    """The same with the names that metrics had before engine version 3."""
    if isinstance(value, str):
        return re.sub(r"\b(sharpe_trade|sharpe)\b", lambda found: FORMER[found[1]], value)
    if isinstance(value, dict):
        return {formerly(key): formerly(inner) for key, inner in value.items()}
    return [formerly(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with a run, and the same run as an engine of version 2 would have recorded it."""
    folder = tmp_path_factory.mktemp("runs")
    path = record_run(folder, objectives="sharpe_trade,sharpe,max_drawdown", polish=0)
    with RunStore.open(path) as present:
        header, result = json.loads(json.dumps([present.header, present.result]))
        header["versions"]["engine"] = 2
        with RunStore.create(folder, "older", formerly(header)) as older:
            for summary in present.generations():
                older.record(present.generation(summary.number))
            older.finish(formerly(result))
    return folder, path.name


def test_older_runs_bear_the_present_names(runs):
    """Header, objectives, metrics and exports of both are the same, and the record is whole."""
    folder, name = runs
    with RunStore.open(folder / name) as present, RunStore.open(folder / "older") as older:
        for field in ("objectives", "failure_names", "command"):
            assert older.header[field] == present.header[field]
        assert older.header["objectives"] == ["sharpe_trade", "sharpe", "max_drawdown"]
        assert load_result(older).front == load_result(present).front
        assert build_run_table(older, "front") == build_run_table(present, "front")
        assert build_run_table(older, "generations") == build_run_table(present, "generations")
        assert older.verify() == []
    older, present = load_run("older", folder), load_run(name, folder)
    assert older.objectives == present.objectives
    assert older.front.equals(present.front)
    assert older.task.goals == present.task.goals


def test_only_names_of_metrics_are_renamed():
    """Genes, folders and symbols may be called as they like; windows and bounds may follow."""
    recorded = {
        "data": "sharpe 1h",
        "genes": [{"name": "sharpe"}],
        "command": {"data": ["csv:/sharpe/bars.csv"], "bounds": {"sharpe": [1, 2]}},
        "front": [{"genes": {"sharpe": 3}}],
    }
    renames = list_renames({"versions": {"engine": 2}})
    assert rename_metrics(recorded, renames) == recorded
    fields = {
        "objectives": "sharpe@worst,sharpe_annual:min",
        "constraints": ["sharpe>-9.0 soft", "sharpe_annual@q25<=2.0"],
        "rejected": {"undefined:sharpe": 3, "broken:sharpe_annual@worst>=1.0": 1},
    }
    assert rename_metrics({"command": fields}, renames) == {
        "command": {
            "objectives": "sharpe_trade@worst,sharpe:min",
            "constraints": ["sharpe_trade>-9.0 soft", "sharpe@q25<=2.0"],
            "rejected": {"undefined:sharpe_trade": 3, "broken:sharpe@worst>=1.0": 1},
        }
    }


def test_calmar_of_older_searches_is_the_simple_one():
    """Before search version 4 calmar was not compounded; a run of today keeps the name."""
    fields = {"objectives": ["calmar@worst"], "metrics": {"calmar": 2.0, "sharpe": 1.0}}
    older = list_renames({"versions": {"engine": 4, "search": 3}})
    assert rename_metrics(fields, older) == {
        "objectives": ["calmar_simple@worst"],
        "metrics": {"calmar_simple": 2.0, "sharpe": 1.0},
    }
    assert list_renames({"versions": {"engine": 4, "search": 4}}) == {}
