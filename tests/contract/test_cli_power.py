"""The power of a recorded search: said once, recorded, shown with the verdict."""

import pytest

from optimizer import load_run
from optimizer.evidence import power as power_file
from tests.support.commands import SMALL, write_market

pytestmark = pytest.mark.slow

SEARCH = [flag for flag in SMALL if flag != "--no-judge"]
RUN = (*SEARCH, "--null", "1", "--folds", "0", "--blocks", "0", "--quiet")


def test_power_is_measured_once_and_shown(command, monkeypatch, tmp_path):
    """An estimate first; what is recorded is not searched again; the verdict's evidence has it."""
    monkeypatch.setattr(power_file, "EDGES", (0.2, 0.4))
    monkeypatch.setattr(power_file, "MARKETS", 2)
    # Long enough for a random candidate to trade thirty times.
    bars = write_market(tmp_path / "bars.csv", 9000)
    assert command("evolve", "--data", bars, *RUN).code == 0
    first = command("power", "latest")
    assert first.code == 0, first.err
    note, *_ = first.err.splitlines()
    assert note.startswith("note: 298 searches without an edge and at most 4 with a planted one, ")
    assert "power: edges of 0.2 R" in first.err
    *rows, sentence = first.out.splitlines()
    assert sentence.startswith("With these bars, this strategy and 8 x 2 ")
    again = command("power", "latest", "--json", "--quiet")
    assert again.err == ""
    power = again.json["power"]
    assert power.pop("sentence") == sentence
    said = [f"edge of {row['edge']:g} R: {row['found']} of 2 found" for row in power["rows"]]
    assert rows == said
    assert load_run().power().describe() == sentence
    shown = command("runs", "show", "latest", "--json").json["result"]["judgement"]
    assert shown["power"] == power
    # The next judge keeps it.
    judged = command("judge", "latest", "--null", 0, "--folds", 0)
    assert sentence in " ".join(judged.out.split())
