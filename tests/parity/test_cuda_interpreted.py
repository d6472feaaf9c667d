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

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_interpreted_kernels_equal_the_reference():
    """Rows, signals, trades and accumulators are equal in every bit, own indicators' too."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.interpreted"],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("every bit equal") == 4
