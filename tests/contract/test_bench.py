"""Programs that time: what they time is verified first."""

import json
from dataclasses import replace

import pytest

from optimizer.errors import OptimizerError
from tests.bench import calls

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
