"""bench: calls and whole runs, verified before they are timed, beside the seconds of last time."""

import json
from dataclasses import replace

import pytest

from optimizer.cli import bench_calls, bench_whole
from optimizer.cli.bench_whole import Case

pytestmark = pytest.mark.slow


def disagree(monkeypatch, module):
    """Have a comparison that found a difference."""
    honest = module.certify

    def certify(engine, genomes):
        return replace(honest(engine, genomes), mismatches=1, first_mismatch="trade 0: r differs")

    monkeypatch.setattr(module, "certify", certify)


def test_calls_are_verified_before_they_are_timed(command, market, monkeypatch):
    """Green: a table of times. Red: an error, and not one figure."""
    small = ("--data", market, "--bars", "3000", "--population", "8", "--repeats", "3")
    outcome = command("bench", *small)
    assert outcome.code == 0
    assert outcome.out.index("0 mismatches") < outcome.out.index("individual-bars/s")
    result = command("bench", *small, "--json").json
    assert {timing["what"] for timing in result["timings"]} == {"rows cached", "rows new"}
    disagree(monkeypatch, bench_calls)
    outcome = command("bench", *small)
    assert (outcome.code, outcome.out) == (1, "")
    assert "trade 0: r differs" in outcome.err


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A case that takes seconds, and a cache of this test's own."""
    monkeypatch.setattr(bench_whole, "CASES", (Case("tiny", 8, 1, null=2),))
    monkeypatch.setattr(bench_whole, "user_cache_path", lambda app: tmp_path / "cache")


def test_whole_runs_are_timed_beside_the_last_table(command, small):
    """The row shows the seconds of last time, and the next one will show these."""
    bench_whole._last_file().parent.mkdir()
    bench_whole._last_file().write_text(json.dumps({"cpu": {"tiny": 77.25, "other": 1.5}}))
    outcome = command("bench", "--whole", "tiny", "--device", "cpu")
    assert outcome.code == 0
    row = next(line.split() for line in outcome.out.splitlines() if line.split()[:1] == ["tiny"])
    assert row[2] in ("77.2", "77.3")
    kept = bench_whole._read_last()["cpu"]
    assert (f"{kept['tiny']:.1f}", kept["other"]) == (row[1], 1.5)
    whole, search, judgement = (float(row[place]) for place in (1, 3, 5))
    assert 0 < search < whole
    assert 0 < judgement < whole
    assert row[6] == "2"
