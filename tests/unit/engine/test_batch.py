"""The engine's front: what it refuses, and what memory decides."""

import numpy as np
import pytest

from data.bars import Window
from engine.batch import Engine
from engine.errors import DeviceError, EngineError, MemoryPlanError
from engine.out_of_core import create_engine
from tests.support.worlds import SHORT_SPECS, make_bars

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(1, 300)
WHOLE = Window.whole(BARS)


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        ({"windows": []}, EngineError, "window"),
        ({"windows": [Window(1, 0, 5)]}, EngineError, "series 1"),
        ({"windows": [Window(0, 0, 301)]}, EngineError, "0 to 301"),
        ({"chunk": 0}, EngineError, "chunk"),
        ({"device": "tpu"}, DeviceError, "tpu.*cuda:0"),
        ({"threads": 10_000}, DeviceError, "threads"),
        ({"threads": 0}, DeviceError, "threads"),
        ({"memory_bytes": 1000}, MemoryPlanError, "2,700"),
    ],
)
def test_engine_refuses_what_it_cannot_do(arguments, error, word):
    """Wrong series, windows, devices and limits are refused with their values."""
    given = {"spec": SPEC, "series": [BARS], "windows": [WHOLE], "device": "cpu", **arguments}
    with pytest.raises(error, match=word):
        Engine(**given)


def test_other_windows_have_limits_too():
    """A window beyond the bars is refused."""
    engine = Engine(SPEC, [BARS], [Window(0, 0, 90)], device="cpu")
    with pytest.raises(EngineError, match="301"):
        engine.on([Window(0, 0, 301)])


def test_memory_decides_on_parts(monkeypatch):
    """All together where what is free holds them; a series alone that does not fit is refused."""
    series = [make_bars(seed, 300 + 40 * seed) for seed in range(5)]
    windows = [Window(s, start, 290) for s in (3, 0, 4, 1, 2) for start in (0, 100)]
    genomes = SPEC.layout.repair(np.stack([SPEC.layout.defaults, SPEC.layout.low]))[0]

    def make_engine(**options):
        return create_engine(SPEC, series, windows, device="cpu", **options)

    whole = make_engine()
    assert type(whole) is Engine
    monkeypatch.setattr("engine.cpu.backend.free_host_bytes", lambda: 350_000)
    parted = make_engine()
    assert parted.n_parts == 4
    assert parted.evaluate(genomes).tobytes() == whole.evaluate(genomes).tobytes()
    assert make_engine(memory_bytes=10**6).n_parts == 1
    assert make_engine(memory_bytes=50_000).n_parts == 5
    with pytest.raises(MemoryPlanError, match="individual"):
        make_engine(memory_bytes=20_000).evaluate(genomes)
