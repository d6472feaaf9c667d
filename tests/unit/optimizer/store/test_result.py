"""Results write and read themselves, and nothing else is taken."""

import json
from dataclasses import replace

import numpy as np
import pytest

from engine.accounts.metrics import METRICS
from optimizer.errors import StoreError
from optimizer.store import RunStore
from optimizer.store.listing import list_run_folders
from optimizer.store.result import find_strongest, load_result
from tests.support.forging import forge


@pytest.fixture
def run(recordings, tmp_path, monkeypatch):
    """A copy of a run of three symbols."""
    monkeypatch.chdir(tmp_path)
    recordings.copy("symbols")
    (run,) = list_run_folders(tmp_path / "runs")
    return run


def test_a_result_is_read_as_it_was_recorded(run):
    """Members by their numbers, and names in order: JSON is recorded with sorted names."""
    with RunStore.open(run) as store:
        recorded, result, header = store.result, load_result(store), store.header
    payload = json.loads(json.dumps(result.payload(), allow_nan=False))
    assert (result.run, result.path) == (run.name, str(run))
    for name in recorded.keys() - {"path", "front"}:
        assert payload[name] == recorded[name], name
    best = [member.objectives["sum_r"] for member in result.front]
    assert best == sorted(best, reverse=True)
    assert len(payload["front"]) == len(recorded["front"])
    assert all(member in recorded["front"] for member in payload["front"])
    genes = [gene["name"] for gene in header["genes"]]
    for member in result.front:
        assert list(member.genes) == genes
        assert list(member.objectives) == header["objectives"]
        assert [name for name in member.metrics if name in METRICS] == [
            name for name in METRICS if name in member.metrics
        ]


def change_gene(front):
    """Give the first member another gene."""
    name = next(name for name, value in front[0]["genes"].items() if not isinstance(value, str))
    front[0]["genes"][name] += 1


@pytest.mark.parametrize(
    "change",
    [
        lambda front: front[0]["objectives"].update(sum_r=99.0),
        lambda front: front[0]["objectives"].update(more=1.0),
        lambda front: front.pop(),
        change_gene,
    ],
    ids=["objective", "name", "member", "gene"],
)
def test_members_are_those_of_the_last_generation(run, change):
    """Though every digest was made anew."""

    def edit(result):
        result["polished"] = 0
        change(result["front"])

    forge(run, "result", edit)
    with RunStore.open(run) as store, pytest.raises(StoreError, match="changed"):
        load_result(store)


def test_the_pick_is_the_strongest_and_then_the_first_by_genome():
    """In whatever order members stand; what is undefined never wins."""
    genomes = np.array([[2.0, 1.0], [1.0, 9.0], [1.0, 2.0], [0.0, 0.0]])
    assert find_strongest(np.array([3.0, 3.0, 3.0, 1.0]), genomes) == 2
    assert find_strongest(np.array([np.nan, -1.0, np.nan, -2.0]), genomes) == 1
    assert find_strongest(np.full(4, np.nan), genomes) is None
    gone = {1, 2}
    assert find_strongest(np.array([1.0, 3.0, 4.0, 2.0]), genomes, gone.__contains__) == 3
    assert find_strongest(np.array([np.nan, 3.0, 4.0, np.nan]), genomes, gone.__contains__) is None
    assert find_strongest(np.empty(0), np.empty((0, 2))) is None


def test_trades_of_a_member_are_those_of_all_windows(run):
    """Its metric may be their mean."""
    with RunStore.open(run) as store:
        result = load_result(store)
    member = replace(
        result.front[0],
        by_window={"trades": (3, 4)},
        metrics=result.front[0].metrics | {"trades": 3.5},
    )
    assert replace(result, front=(member,)).count_trades(0) == 7
