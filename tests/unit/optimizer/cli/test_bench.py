"""The bench: what is timed is verified, what disagrees is not timed, longer series carry on."""

import itertools

import numpy as np
import pytest

from engine.errors import EngineError
from optimizer.cli.bench_calls import extend_bars
from tests.bench import calls
from tests.bench.calls import Case, format_line, list_parts, time_engines
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(3, 900, jump=0.1)


def draw_genomes(count):
    """Individuals by number."""
    return random_genomes(SPEC, count, seed=count)


def test_every_engine_at_every_size():
    """Lines come size after size; the reference is timed once a series, with few."""
    cases = [Case(p, t, w) for t in (600, 1500) for w in (1, 3) for p in (5, 20)]
    lines = list(time_engines(SPEC, BARS, draw_genomes, cases, devices=["cpu"], repeats=3))
    on_cpu = [line for line in lines if line.engine.startswith("cpu")]
    assert [line.case for line in on_cpu] == cases
    assert all(0 < line.p20_s <= line.p50_s <= line.p80_s for line in lines)
    assert all(line.stages_s == {} and line.busy_share == 0 for line in on_cpu)
    assert (lines[0].engine, lines[0].case.bars, lines[0].case.windows) == ("reference", 600, 1)
    assert sum(line.engine == "reference" for line in lines) == 4
    assert format_line(on_cpu[0]).startswith("cpu, ")
    assert "P 5, 600 bars, 1 windows" in format_line(on_cpu[0])


def test_engines_that_disagree_are_not_timed(monkeypatch):
    """One bit off between two engines: an error that names them, no figure."""
    made = []

    class Off(calls.Engine):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            made.append(self)

        def evaluate(self, genomes):
            values = super().evaluate(genomes)
            if len(made) == 2 and made[1] is self:
                values[0, 0, 2] = np.nextafter(values[0, 0, 2], np.inf)
            return values

    monkeypatch.setattr(calls, "Engine", Off)
    lines = time_engines(
        SPEC, BARS, draw_genomes, [Case(4, 600, 1)], devices=["cpu", "cpu"], repeats=3
    )
    with pytest.raises(EngineError, match="cpu and reference disagree"):
        list(lines)
    made.clear()
    monkeypatch.setattr(calls, "verify", lambda engine, genomes: None)
    lines = time_engines(
        SPEC, BARS, draw_genomes, [Case(4, 600, 1)], devices=["cpu", "cpu"], repeats=3
    )
    with pytest.raises(EngineError, match="cpu and cpu disagree at Case"):
        list(lines)


@pytest.mark.parametrize("count", [10, 900, 901, 2500])
def test_extended_bars_continue(count):
    """A repetition opens where the last one closed, a bar later; the end is the series' own."""
    longer = extend_bars(BARS, count)
    assert len(longer) == count
    assert (np.diff(longer.timestamp) > 0).all()
    ratio = longer.close / longer.open
    shown = min(count, len(BARS))
    np.testing.assert_allclose(ratio[-shown:], (BARS.close / BARS.open)[-shown:], rtol=1e-12)
    if count > len(BARS):
        seam = count - len(BARS)
        assert longer.open[seam] == pytest.approx(longer.close[seam - 1], rel=1e-12)


def test_parts_cover_the_series_once():
    """Windows touch, and none is missing or double."""
    parts = list_parts(1003, 7)
    assert parts[0].start == 0
    assert parts[-1].end == 1003
    assert all(left.end == right.start for left, right in itertools.pairwise(parts))
