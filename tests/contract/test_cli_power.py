"""The power of a search, recorded or planned: said once, recorded, shown with the verdict."""

import pytest

from optimizer import load_run
from optimizer.evidence import power_searches
from tests.support.commands import SMALL, write_market

pytestmark = pytest.mark.slow

PLANNED = [flag for flag in SMALL if not flag.startswith("--no-")]
RUN = (*PLANNED, "--no-report", "--null", "1", "--folds", "0", "--blocks", "0", "--quiet")
BEGIN = "With these bars, this strategy and 8 x 2 "


@pytest.fixture
def bars(monkeypatch, tmp_path):
    """Bars on which a random candidate trades thirty times; two edges, 20 null searches."""
    monkeypatch.setattr(power_searches, "EDGES", (0.2, 0.4))
    monkeypatch.setattr(power_searches, "MARKETS", 2)
    monkeypatch.setattr(power_searches, "DEFAULT_SEARCHES", 20)
    return write_market(tmp_path / "bars.csv", 9000)


def test_power_is_measured_once_and_shown(command, bars):
    """An estimate first; what is recorded is not searched again; the verdict's evidence has it."""
    assert command("evolve", "--data", bars, *RUN).code == 0
    first = command("power", "latest")
    assert first.code == 0, first.err
    note, *_ = first.err.splitlines()
    assert note.startswith("19 searches without an edge and at most 4 with a planted one, ")
    assert "power: edges of 0.2 R" in first.err
    *rows, sentence = first.out.splitlines()
    assert sentence.startswith(BEGIN)
    again = command("power", "latest", "--json", "--quiet")
    assert again.err == ""
    power = again.json["power"]
    assert power.pop("sentence") == sentence
    said = [f"edge of {row['edge']:g} R: {row['found']} of 2 found" for row in power["rows"]]
    assert rows == said
    assert load_run().power().describe() == sentence
    assert load_run().plot.power().layout.title.text == "planted edges that are found"
    shown = command("runs", "show", "latest", "--json").json["result"]["judgement"]
    assert shown["power"] == power
    # The next judge keeps it.
    judged = command("judge", "latest", "--null", 0, "--folds", 0)
    assert sentence in " ".join(judged.out.split())
    other = command("power", "latest", "--generations", 3)
    assert other.code == 2
    assert "--generations: run " in other.err


def test_power_is_measured_before_a_search(command, bars, monkeypatch):
    """What was stopped is gone on with; the folder of runs counts no search for it."""
    asked = ("power", "--data", bars, *PLANNED)
    with monkeypatch.context() as patched:
        patched.setattr(power_searches, "fit_curve", _stop)
        stopped = command(*asked)
    assert stopped.code != 0
    assert "stopped; searches are recorded, the same command goes on" in stopped.err
    again = command(*asked)
    note, *_ = again.err.splitlines()
    assert note.startswith("0 searches without an edge and at most 0 with a planted one, ")
    *rows, sentence = again.out.splitlines()
    assert len(rows) == 2
    assert sentence.startswith(BEGIN)
    told = command(*asked, "--json").json
    assert (told["run"], told["power"]["sentence"]) == (None, sentence)
    assert command("runs", "list", "--json").json == []
    # A longer search is measured anew.
    other = command(*asked, "--generations", 3)
    assert other.err.startswith("20 searches without an edge")


def _stop(*arguments):
    raise KeyboardInterrupt
