"""Series that memory does not hold together give the bits of those that it holds."""

import numpy as np
import pytest

from data.bars import Window
from engine.batch import Engine
from engine.devices import choose_device
from engine.errors import MemoryPlanError
from engine.fast_case import find_fast_case
from engine.out_of_core import PartedEngine, create_engine
from tests.support.worlds import SHORT_SPECS, make_bars

SPEC = SHORT_SPECS["seller_exhaustion"]
CASE = find_fast_case(SPEC)
SERIES = [make_bars(seed, 300 + 40 * seed) for seed in range(5)]
WINDOWS = [Window(s, start, 290) for s in (3, 0, 4, 1, 2) for start in (0, 100)]
GENOMES = np.stack([SPEC.layout.defaults, SPEC.layout.low, SPEC.layout.high])
GENOMES, _ = SPEC.layout.repair(GENOMES)
BORDERS = (0, 2, 3, 5)


def both(windows=WINDOWS, costs=None):
    """An engine of all series, and one of three parts."""
    whole = Engine(SPEC, SERIES, windows, costs, device="cpu")
    return whole, PartedEngine(SPEC, SERIES, windows, costs, choose_device(SPEC, "cpu"), BORDERS)


def list_ledgers(ledgers):
    """Ledgers as what can be compared."""
    return [[repr(ledger) for ledger in of_one] for of_one in ledgers]


@pytest.mark.parametrize("windows", [WINDOWS, WINDOWS[:1]], ids=["all", "one"])
def test_parts_say_what_the_whole_says(windows):
    """Accumulators, ledgers, signals, rows, and whatever was asked before."""
    whole, parted = both(windows)
    for _ in range(2):
        assert parted.evaluate(GENOMES).tobytes() == whole.evaluate(GENOMES).tobytes()
        assert list_ledgers(parted.ledgers(GENOMES)) == list_ledgers(whole.ledgers(GENOMES))
    assert list_ledgers([parted.trades(GENOMES[0])]) == list_ledgers([whole.trades(GENOMES[0])])
    signals = zip(parted.signals(GENOMES[0]), whole.signals(GENOMES[0]), strict=True)
    assert all(np.array_equal(bars, other) for bars, other in signals)
    assert sum(len(bars) for bars in whole.trades(GENOMES[0]))
    row = CASE.rows[0]
    asked = row.form, [10.0] * len(row.genes)
    for series in range(len(SERIES)):
        assert parted.row(*asked, series).tobytes() == whole.row(*asked, series).tobytes()


def test_memory_decides_on_parts(monkeypatch):
    """All together where what is free holds them; a series alone that does not fit is refused."""

    def make_engine(**options):
        return create_engine(SPEC, SERIES, WINDOWS, device="cpu", **options)

    assert type(make_engine()) is Engine
    monkeypatch.setattr("engine.cpu.backend.free_host_bytes", lambda: 500_000)
    parted = make_engine()
    assert parted.n_parts == 4
    assert parted.evaluate(GENOMES).tobytes() == both()[0].evaluate(GENOMES).tobytes()
    assert make_engine(memory_bytes=10**6).n_parts == 1
    assert make_engine(memory_bytes=50_000).n_parts == 5
    with pytest.raises(MemoryPlanError, match="individual"):
        make_engine(memory_bytes=20_000).evaluate(GENOMES)
