"""Archive and survivors on a device, generation after generation, in the bits of the host."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.backends import why_absent

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

ROOT = Path(__file__).parents[5]


def compare(device, **environment):
    """What the comparing program prints; fails where it does."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.device_survival", device],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_interpreted_survivors_equal_those_of_the_host():
    """Who is archived, who survives, where they stand and which operators made them."""
    assert compare("cpu", TRITON_INTERPRET="1").count("every bit equal") == 1


@pytest.mark.gpu
@pytest.mark.skipif(bool(why_absent("cuda")), reason=f"no cuda device: {why_absent('cuda')}")
def test_survivors_of_a_gpu_equal_those_of_the_host():
    """The same on a GPU, for all small populations and for very large ones."""
    assert compare("cuda").count("every bit equal") == 4
