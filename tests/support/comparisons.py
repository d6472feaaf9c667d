"""Programs that compare a device with the host, run under Triton's interpreter or on a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.devices import why_absent

ROOT = Path(__file__).parents[2]

INTERPRETED = {"TRITON_INTERPRET": "1"}
"""Chosen when Triton is imported, which is why these are programs."""

WHY = why_absent("cuda")


def needs_gpu(test):
    """Mark a test that runs on a GPU, and skip it where there is none."""
    return pytest.mark.gpu(pytest.mark.skipif(bool(WHY), reason=f"no cuda device: {WHY}")(test))


def run_interpreted(name, *arguments):
    """What ``tests.support.name`` prints, interpreted; fails where it does."""
    return _run_module(name, "cpu", INTERPRETED, *arguments)


def on_gpu(name):
    """What ``tests.support.name`` prints on a GPU; fails where it does."""
    return _run_module(name, "cuda", {})


def _run_module(name, device, variables, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", f"tests.support.{name}", device, *arguments],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
