"""bench --whole: whole runs from command to end, verified first, beside those of last time."""

import json
from dataclasses import replace

import pytest

from data import load_bars
from optimizer.cli import bench_whole
from optimizer.cli.bench_whole import Case

pytestmark = pytest.mark.slow


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Two cases that take seconds, and a cache of this test's own."""
    cases = (Case("tiny", 8, 1, null=2), Case("two", 8, 1, bars=3000, symbols=2))
    monkeypatch.setattr(bench_whole, "CASES", cases)
    monkeypatch.setattr(bench_whole, "user_cache_path", lambda app: tmp_path / "cache")


def test_whole_runs_are_timed_beside_the_last_table(command, small):
    """The second table shows the first one's seconds; several symbols are one case."""
    outcome = command("bench", "--whole", "tiny,two", "--device", "cpu", "--json")
    assert outcome.code == 0
    first = {run["case"]: run for run in outcome.json["runs"]}
    assert set(first) == {"tiny", "two"}
    assert all(0 < run["search_s"] < run["wall_s"] for run in first.values())
    assert all(0 < run["judgement_s"] < run["wall_s"] for run in first.values())
    assert {name: run["null_searches"] for name, run in first.items()} == {"tiny": 2, "two": 0}
    again = command("bench", "--whole", "tiny", "--device", "cpu")
    row = next(line.split() for line in again.out.splitlines() if line.strip().startswith("tiny"))
    assert row[2] == f"{first['tiny']['wall_s']:.1f}"
    assert row[-1] == first["tiny"]["front_hash"][:12]


@pytest.mark.parametrize("case", [case for case in bench_whole.CASES if case.bars])
def test_long_series_are_read_as_they_are_written(case, tmp_path):
    """No bar lies so far ahead of the clock that it is refused, and work is that of the sample."""
    sample = load_bars("sample")
    _, folder = bench_whole._write_case_bars(replace(case, symbols=1), sample, tmp_path)
    bars = load_bars(f"{folder}/S00.parquet")
    assert (len(bars), bars.timeframe) == (case.bars, sample.timeframe)


def test_nothing_is_timed_on_a_red_comparison(command, small, monkeypatch):
    """Engine and reference are compared first; where they differ no run is started."""
    honest = bench_whole.certify

    def red(engine, genomes):
        return replace(honest(engine, genomes), mismatches=1, first_mismatch="trade 0: r differs")

    monkeypatch.setattr(bench_whole, "certify", red)
    monkeypatch.setattr(bench_whole, "begin", None)
    outcome = command("bench", "--whole", "tiny", "--device", "cpu")
    assert (outcome.code, outcome.out) == (1, "")
    assert "trade 0: r differs" in outcome.err


def test_an_unknown_case_is_refused_with_the_known_ones(command):
    """The name is not guessed."""
    outcome = command("bench", "--whole", "512x10")
    assert outcome.code == 2
    assert "--whole '512x10' is unknown; known: all, 64x3, 512x100" in outcome.error


def test_a_damaged_table_of_last_time_is_skipped(small, tmp_path):
    """It is only for comparison."""
    kept = tmp_path / "cache" / bench_whole.LAST_TABLE
    kept.parent.mkdir()
    kept.write_text(json.dumps([1, 2]))
    assert bench_whole._read_last() == {}
    kept.write_text("{")
    assert bench_whole._read_last() == {}
