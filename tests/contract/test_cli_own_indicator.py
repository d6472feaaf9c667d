"""A strategy with indicators of its own goes the whole way of any other."""

import dataclasses

import pytest

from engine.compiling import forms
from engine.ledger import Trade
from strategy import STRATEGIES
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
