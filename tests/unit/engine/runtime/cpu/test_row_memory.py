"""Memory that engines leave to each other: no rows in use are written over, no bit changes."""

import pytest

from data import Window
from engine.batch import Engine
from engine.runtime.cpu import row_memory
from tests.support.parity import assert_same_bits
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]


@pytest.fixture(autouse=True)
def kept_memory(monkeypatch):
    """Memory that this process keeps, for one test."""
    memories = []
    monkeypatch.setattr(row_memory, "_KEPT", memories)
    monkeypatch.setattr(row_memory, "_KEEPERS", 0)
    return memories


@row_memory.keeping_row_memory()
def test_an_engine_on_old_memory_finds_the_same(kept_memory):
    """On two series, whatever stands there."""
    series = [make_bars(3, 500), make_bars(4, 300)]
    windows = [Window.whole(series[0]), Window.whole(series[1], 1)]
    genomes = random_genomes(SPEC, 20, seed=1)

    def evaluate():
        engine = Engine(SPEC, series, windows, device="cpu", memory_bytes=2**24)
        return engine.evaluate(genomes)

    expected = evaluate()
    kept_memory.clear()
    for _ in range(3):
        assert_same_bits(expected, evaluate(), "accumulators")
        # Rows and codes of each series.
        assert len(kept_memory) == 4
        for number in range(4):
            kept_memory[number][:] = 255
