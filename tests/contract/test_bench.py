"""Programs that time: what they time is verified first."""

import json
from dataclasses import replace

import pytest

from optimizer.errors import OptimizerError
from tests.bench import calls, whole

pytestmark = pytest.mark.slow


def test_calls_are_verified_before_they_are_timed(market, monkeypatch, capsys):
    """Green: times. Red: an error, and not one figure."""
    small = ("--data", market, "--bars", "3000", "--population", "8", "--repeats", "3")
    calls.main(small)
    timings = json.loads(capsys.readouterr().out)["timings"]
    assert {timing["what"] for timing in timings} == {"rows cached", "rows new"}
    honest = calls.certify

    def disagree(engine, genomes):
        return replace(honest(engine, genomes), mismatches=1, first_mismatch="trade 0: r differs")

    monkeypatch.setattr(calls, "certify", disagree)
    with pytest.raises(OptimizerError, match="trade 0: r differs"):
        calls.main(small)
    assert capsys.readouterr().out == ""


def test_whole_runs_say_what_their_parts_took(monkeypatch, capsys):
    """Search and judgement are parts of the whole, and every null search is made."""
    monkeypatch.setattr(whole, "CASES", (whole.Case("tiny", 8, 1, null=2),))
    whole.main(("tiny", "--device", "cpu"))
    timed = json.loads(capsys.readouterr().out)
    assert timed["null_searches"] == 2
    assert 0 < timed["search_s"] < timed["wall_s"]
    assert 0 < timed["judgement_s"] < timed["wall_s"]
