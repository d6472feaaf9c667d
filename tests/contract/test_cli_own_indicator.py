"""A strategy with indicators of its own goes the whole way of any other."""

import dataclasses

import pytest

from engine.compiling import forms
from engine.ledger import Trade
from strategy import STRATEGIES
from tests.support.commands import SMALL
from tests.support.own import DRIFT, MIXED

pytestmark = pytest.mark.slow

SEARCH = ("--population", "8", "--min-trades", "3", "--no-report", "--no-judge", "--json")
SETTINGS = ("--strategy", "mixed", "--device", "cpu", *SEARCH)


@pytest.fixture
def mixed(monkeypatch):
    """The strategy, known by its name in this process for as long as a test runs."""
    monkeypatch.setitem(STRATEGIES, "mixed", MIXED)
    # Said once a process, and other tests may have heard it.
    forms._say_so.cache_clear()


def other_text(values, bars, weight):
    """Another definition of the same name."""
    return values * weight


def test_it_is_searched_certified_resumed_and_traded(command, market, mixed, tmp_path):
    """Reference and engine agree; what was stopped ends as what was not; ledgers are equal."""
    whole = command("evolve", "--data", market, *SETTINGS, "--generations", 4)
    assert whole.code == 0, whole.err
    assert whole.err.count("note: middle runs in plain Python, numba cannot compile it: ") == 1
    assert whole.json["certificate"]["mismatches"] == 0
    assert list(whole.json["certificate"]["uncompiled"]) == ["middle"]
    assert command("evolve", "--data", market, *SETTINGS, "--generations", 2).code == 0
    again = command("evolve", "--resume", "latest", "--generations", 4, "--json")
    assert again.code == 0, again.err
    assert again.json["front_hash"] == whole.json["front_hash"]
    for engine in ("reference", "cpu"):
        arguments = ("--engine", engine, "--trades", f"{engine}.csv", "--set", "weight=0.5")
        assert command("backtest", "--data", market, "--strategy", "mixed", *arguments).code == 0
    ledgers = [(tmp_path / f"{engine}.csv").read_text() for engine in ("reference", "cpu")]
    assert ledgers[0] == ledgers[1]
    assert ledgers[0].startswith(",".join(Trade._fields))
    assert ledgers[0].count("\n") > 10


def test_another_definition_is_another_strategy(command, market, mixed, monkeypatch):
    """A run is not gone on with by a definition of another text."""
    assert command("evolve", "--data", market, *SETTINGS, "--generations", 2).code == 0
    changed = dataclasses.replace(DRIFT, loop=other_text)
    rows = tuple(
        dataclasses.replace(row, indicator=changed) if row.indicator == DRIFT else row
        for row in MIXED.rows
    )
    monkeypatch.setitem(STRATEGIES, "mixed", dataclasses.replace(MIXED, rows=rows))
    refused = command("evolve", "--resume", "latest", "--generations", "4")
    assert refused.code == 4
    assert "strategy.rows.calm.definition: recorded" in refused.error


OWN = """from strategy.words import *


@indicator(warm_up=lambda n: n)
def moved(bars, n):
    return bars.close / sma_of(bars.close, n) - 1


def sma_of(values, n):
    import numpy as np

    sums = np.cumsum(np.concatenate([[0.0], values]))
    return np.concatenate([np.full(n, np.nan), (sums[n + 1 :] - sums[1:-n]) / n])


MOMENTUM = strategy(
    "Goes with the move.",
    long=moved(length("n", 5, 2, 20)) > 0.002,
    stop=share(gene("stop", 0.01, 0.002, 0.05)),
    max_hold=12,
)
"""

ON_WORKERS = ("--cluster", "local:1")


@pytest.fixture(params=["of a file", "of a library"])
def own(request, mixed, tmp_path):
    """A strategy with an indicator of a person's own, and that indicator's name."""
    (tmp_path / "own.py").write_text(OWN)
    return {"of a file": ("own.py", "moved"), "of a library": ("mixed", "drift")}[request.param]


@pytest.mark.timeout(240)
def test_it_is_refused_on_a_cluster_before_the_search(command, market, own, tmp_path):
    """By name, in one line, and nothing is recorded; here it goes its whole way."""
    name, indicator = own
    search = ("evolve", "--data", market, "--strategy", name, "--device", "cpu", *SMALL)
    checked = ("parity", "--data", market, "--strategy", name, "--individuals", "2")
    null = ("--null", "2", "--folds", "0", "--blocks", "0")
    judged = ("judge", "latest", *null)
    expected = f"own indicator '{indicator}': its code is yours, and other hosts do not have it"
    for words in ((*search, "--null", "2"), search, checked):
        refused = command(*words, *ON_WORKERS)
        assert (refused.code, refused.out) == (2, ""), refused.err
        assert expected in refused.error
        assert "leave --cluster out" in refused.error
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())
    assert command(*search).code == 0
    refused = command(*judged, *ON_WORKERS)
    assert refused.code == 2
    assert expected in refused.error
    assert "searches" not in refused.err
    assert command(*judged).code == 0
