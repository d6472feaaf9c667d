"""Who leaves a front on a device, as on the host."""

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
        [sys.executable, "-m", "tests.support.device_thinning", device],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_interpreted_thinning_keeps_whom_the_host_keeps():
    """Ties, copies, crowds and dominated members, with room for few and for many."""
    assert compare("cpu", TRITON_INTERPRET="1").count("every member equal") == 2


@pytest.mark.gpu
@pytest.mark.skipif(bool(why_absent("cuda")), reason=f"no cuda device: {why_absent('cuda')}")
def test_thinning_on_a_gpu_keeps_whom_the_host_keeps():
    """The same on a GPU, with up to 100,000 members of every kind of front."""
    assert compare("cuda").count("every member equal") == 28
