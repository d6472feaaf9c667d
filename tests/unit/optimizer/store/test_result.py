"""Results write and read themselves, those of older versions too, and nothing else is taken."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.accounts.metrics import METRICS
from optimizer.errors import StoreError
from optimizer.goals.objectives import is_maximised
from optimizer.search.generation import Population
from optimizer.store import RunStore
from optimizer.store.result import RunResult, load_result
from tests.support.recording import make_generation

OLDER = Path(__file__).parents[3] / "support" / "older"
"""Headers and results as versions before this form recorded them."""


def older(name):
    """Header and result of an older version."""
    return json.loads((OLDER / f"{name}.json").read_text(encoding="utf-8"))


def make_result_generation(header, result):
    """A generation whose front is that of a result."""
    front, names = result["front"], [gene["name"] for gene in header["genes"]]
    signs = [-1.0 if is_maximised(name) else 1.0 for name in header["objectives"]]
    objectives = [[one["objectives"][name] for name in header["objectives"]] for one in front]
    found = Population(
        genomes=np.array([[one["genes"][name] for name in names] for one in front], np.float64),
        objectives=np.array(objectives) * signs,
        violations=np.zeros(len(front)),
        failures=np.zeros(len(front), np.int16),
    )
    return replace(make_generation(0), population=found, archive=found, memory=np.empty(0))


@pytest.fixture(params=["first", "held_out"])
def stored_result(request, tmp_path):
    """What an older version recorded, under the present names of metrics, and its open store."""
    recorded = older(request.param)
    with RunStore.create(tmp_path, "older", recorded["header"]) as store:
        store.record(make_result_generation(**recorded))
        store.finish(recorded["result"])
    with RunStore.open(tmp_path / "older") as store:
        yield store.result, store


def test_a_result_of_an_older_version_is_read(stored_result):
    """Every number is the recorded one; what was not recorded then has a default."""
    recorded, store = stored_result
    result = load_result(store)
    payload = json.loads(json.dumps(result.payload(), allow_nan=False))
    assert (result.run, result.path) == ("older", str(store.path))
    for name in recorded.keys() - {"run", "path", "data", "front", "certificate", "infeasible"}:
        assert payload[name] == recorded[name], name
    # They counted the last generation alone.
    assert payload["infeasible"] == dict(store.generations()[-1].rejected)
    assert payload["certificate"].items() >= recorded["certificate"].items()
    front = sorted(recorded["front"], key=lambda member: -member["objectives"]["sharpe_trade"])
    assert payload["front"] == front
    assert payload["data"]["bars"] == recorded["data"]["bars"]
    assert [w["label"] for w in payload["data"]["windows"]] == [
        w["symbol"] for w in recorded["data"].get("windows", [])
    ]
    # JSON is recorded with sorted names.
    genes = [gene["name"] for gene in store.header["genes"]]
    for member in result.front:
        assert list(member.genes) == genes
        for part in filter(None, (member, member.held_out)):
            assert list(part.objectives) == store.header["objectives"]
            assert list(part.metrics) == [name for name in METRICS if name in part.metrics]


def test_a_result_is_what_is_written_and_no_more():
    """Defaults stand for what was not recorded; what a newer version adds is not read."""
    first = RunResult.read(older("first")["result"])
    assert first.data.spec == ("csv:AAA.csv",)
    assert (first.data.windows, first.data.held_out_bars, first.over_windows) == ((), 0, "mean")
    assert (first.search, first.stopped_by) == ("genetic", "generations")
    assert (first.polished, first.regret, first.resumed) == (0, None, "")
    assert [(one.held_out, one.by_window) for one in first.front] == [(None, {})] * 2
    recorded = older("held_out")["result"]
    content = RunResult.read(recorded)
    payload = content.payload()
    assert RunResult.read(json.loads(json.dumps(payload, allow_nan=False))) == content
    assert ("resumed" in payload, payload["regret"]) == (False, None)
    assert replace(content, resumed="already finished").payload()["resumed"] == "already finished"
    newer = {**recorded, "mood": "good", "data": {**recorded["data"], "weather": "fine"}}
    assert RunResult.read(newer) == content


def change_gene(front):
    """Give the first member another gene."""
    name = next(iter(front[0]["genes"]))
    front[0]["genes"][name] += 1


@pytest.mark.parametrize(
    "change",
    [
        lambda front: front[0]["objectives"].update(sharpe=99.0),
        lambda front: front[0]["objectives"].update(more=1.0),
        lambda front: front.pop(),
        change_gene,
    ],
    ids=["objective", "name", "member", "gene"],
)
def test_members_are_those_of_the_last_generation(tmp_path, change):
    """Though every digest was made anew."""
    recorded = older("first")
    with RunStore.create(tmp_path, "older", recorded["header"]) as store:
        store.record(make_result_generation(**recorded))
        change(recorded["result"]["front"])
        store.finish(recorded["result"])
    with RunStore.open(tmp_path / "older") as store, pytest.raises(StoreError, match="changed"):
        load_result(store)
