"""The CUDA kernels without a GPU: interpreted on the host, on small worlds.

The interpreter rounds each operation as NumPy does; what it cannot show is what a compiler fuses,
and that a number passed to a kernel arrives as float32. `test_cuda_code.py` reads the machine code
for both.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from data.bars import Window
from engine.backends.chosen import Device
from engine.backends.isolated import IsolatedMaker
from engine.batch import Engine
from engine.parity import certify
from tests.support.parity import assert_same_bits
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_interpreted_kernels_equal_the_reference():
    """Rows, signals, trades and accumulators of both strategies are equal in every bit."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.interpreted"],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("every bit equal") == 2


@pytest.mark.slow
def test_interpreted_kernels_in_a_process_of_their_own(monkeypatch):
    """Looked up by the device or not, two under way, in stretches, for a second engine: one law."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    spec = SHORT_SPECS["seller_exhaustion"]
    series = [make_bars(5, 2100, jump=0.1, flat=0.02), make_bars(6, 131, jump=0.3, tick=0.5)]
    windows = [Window.whole(series[0]), Window(1, 20, 120), Window(0, 900, 1500)]
    command = [sys.executable, "-m", "tests.support.interpreted_child"]
    device = Device("cuda", "a test", IsolatedMaker("cuda", (0,), command=command))
    alone = Engine(spec, series, windows, device="cpu")
    engine = Engine(spec, series, windows, device=device)
    asked_for = [random_genomes(spec, size, seed) for seed, size in enumerate((3, 2, 1, 3))]
    for time in ("first", "second"):
        for genomes, found in zip(asked_for, engine.evaluate_each(asked_for), strict=True):
            assert_same_bits(alone.evaluate(genomes), found, time)
    few_rows = Engine(spec, series, windows, device=device, memory_bytes=300_000)
    drawn = (random_genomes(spec, count, seed=4) for count in range(2, 9))
    genomes = next(some for some in drawn if 12 < alone.distinct_rows(some) <= 18)
    assert_same_bits(alone.evaluate(genomes), few_rows.evaluate(genomes), "in stretches")
    assert not few_rows.rows_computed
    assert certify(few_rows, genomes[:1]).is_green
