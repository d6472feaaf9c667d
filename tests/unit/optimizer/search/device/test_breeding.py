"""Newcomers bred on a device: those of the host, on an interpreter and on a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.backends import why_absent

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

ROOT = Path(__file__).parents[5]


def compared(device, **variables):
    """What the program of comparisons printed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.device_breeding", device],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_interpreted_newcomers_are_those_of_the_host():
    """Whole and frozen genes, pairs in order, repeats until none is left: every bit is equal."""
    assert compared("cpu", TRITON_INTERPRET="1").count("every bit equal") == 8


@pytest.mark.gpu
@pytest.mark.skipif(bool(why_absent("cuda")), reason=f"no cuda device: {why_absent('cuda')}")
def test_newcomers_on_a_gpu_are_those_of_the_host():
    """The same on a GPU, where programs run at the same time, with more individuals."""
    assert compared("cuda").count("every bit equal") == 8
