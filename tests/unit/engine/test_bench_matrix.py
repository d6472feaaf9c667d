"""The bench's table: what is timed is verified, and what disagrees is not timed."""

import itertools

import numpy as np
import pytest

import engine.bench.matrix as matrix
from data import load_bars
from data.bars import Window
from engine.bench import Case, run_matrix
from engine.bench.baseline import Baseline
from engine.bench.matrix import extended, parts_of
from engine.costs import Costs
from engine.errors import EngineError
from engine.reference import Reference
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(3, 900, jump=0.1)


def drawn(count):
    """Individuals by number."""
    return random_genomes(SPEC, count, seed=count)


def test_every_engine_at_every_size():
    """Lines come size after size; the slow engines are timed once a series, with few."""
    cases = [Case(p, t, w) for t in (600, 1500) for w in (1, 3) for p in (5, 20)]
    told = []
    found = run_matrix(SPEC, BARS, drawn, cases, devices=["cpu"], repeats=3, told=told.append)
    assert list(found.lines) == told
    on_cpu = [line for line in found.lines if line.engine.startswith("cpu")]
    assert [line.case for line in on_cpu] == cases
    assert all(0 < line.p20_s <= line.p50_s <= line.p80_s for line in found.lines)
    assert all(line.stages_s == {} and line.busy_share == 0 for line in on_cpu)
    assert all(line.loop_s > 0 for line in on_cpu)
    slow = [(line.engine, line.case.bars, line.case.windows) for line in found.lines][:2]
    assert slow == [("reference", 600, 1), ("tensors and a loop, CPU", 600, 1)]
    assert sum(line.engine == "reference" for line in found.lines) == 4
    assert all(certificate.is_green for certificate in found.certificates)
    assert found.as_dict()["machine"]["processor"]


def test_engines_that_disagree_are_not_timed(monkeypatch):
    """One bit off between two engines: an error that names them, no table."""
    made = []

    class Off(matrix.Engine):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            made.append(self)

        def evaluate(self, genomes):
            found = super().evaluate(genomes)
            if len(made) == 2 and made[1] is self:
                found[0, 0, 2] = np.nextafter(found[0, 0, 2], np.inf)
            return found

    monkeypatch.setattr(matrix, "Engine", Off)
    monkeypatch.setattr(matrix, "_verified", lambda engine, genomes: None)
    with pytest.raises(EngineError, match="cpu and cpu disagree at Case"):
        run_matrix(SPEC, BARS, drawn, [Case(4, 600, 1)], devices=["cpu", "cpu"], repeats=3)


@pytest.mark.parametrize("count", [10, 900, 901, 2500])
def test_extended_bars_carry_on(count):
    """A repetition opens where the last one closed, a bar later; the end is the series' own."""
    longer = extended(BARS, count)
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
    parts = parts_of(1003, 7)
    assert parts[0].start == 0
    assert parts[-1].end == 1003
    assert all(left.end == right.start for left, right in itertools.pairwise(parts))


def test_baseline_trades_like_the_reference():
    """It is slower, not another strategy: sums of R agree to rounding on the sample."""
    from strategy import find_strategy

    spec, bars = find_strategy("seller_exhaustion"), extended(load_bars("sample"), 6000)
    genomes = np.stack([spec.layout.defaults, spec.layout.low])
    genomes = spec.layout.repair(genomes)[0]
    reference = Reference(spec, [bars], [Window.whole(bars)])
    expected = [sum(reference.trades(genome)[0].r.tolist()) for genome in genomes]
    found = Baseline(spec, bars, Costs(), "cpu").evaluate(genomes)
    assert min(map(abs, expected)) > 0.1
    np.testing.assert_allclose(found, expected, rtol=1e-6)
