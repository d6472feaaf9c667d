"""The oracle: what it keeps changes no answer."""

import numpy as np
import pytest

from data.bars import Window
from engine import reference
from engine.reference import Reference
from tests.support.parity import assert_same_bits
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
SERIES = [make_bars(5, 400, jump=0.1), make_bars(6, 300)]
WINDOWS = [Window.whole(SERIES[0]), Window(0, 50, 200), Window(1, 0, 280)]


def neighbours():
    """Genomes that differ from one another in one gene each, and some that differ in all."""
    near = np.repeat(random_genomes(SPEC, 1, seed=1), len(SPEC.layout) + 1, axis=0)
    for column, gene in enumerate(SPEC.layout.genes):
        near[column, column] = gene.low
    return np.vstack([near, random_genomes(SPEC, 3, seed=2)])


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0, 5_000, 2**30], ids=["nothing", "little", "all"])
def test_what_is_kept_changes_no_answer(monkeypatch, kept):
    """Signals and ledgers are those of a reference that never saw anybody else."""
    monkeypatch.setattr(reference, "KEPT_BYTES", kept)
    genomes = neighbours()
    one = Reference(SPEC, SERIES, WINDOWS)
    for genome in (*genomes, *genomes[::-1]):
        fresh = Reference(SPEC, SERIES, WINDOWS)
        assert fresh.signals(genome) == one.signals(genome)
        assert_same_bits(fresh.accumulators(genome), one.accumulators(genome), "accumulators")
