"""Ranks, crowding and the order of standing on a device, in the bits of the host."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.backends import why_absent
from optimizer.errors import OptimizerError

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

ROOT = Path(__file__).parents[5]


def compare(device, **environment):
    """What the comparing program prints; fails where it does."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.device_ranking", device],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_interpreted_ranks_equal_those_of_the_host():
    """Ties, copies, chains and the infeasible, counted and sorted, in one block and in five."""
    assert compare("cpu", TRITON_INTERPRET="1").count("every bit equal") == 2


@pytest.mark.gpu
@pytest.mark.skipif(bool(why_absent("cuda")), reason=f"no cuda device: {why_absent('cuda')}")
def test_ranks_of_a_gpu_equal_those_of_the_host():
    """The same on a GPU, for all small populations and for very large ones."""
    assert compare("cuda").count("every bit equal") == 10


def test_too_many_for_a_key_are_refused():
    """A slot must fit the twenty bits that a key has for it."""
    from optimizer.search.device.ranking import Pool

    with pytest.raises(OptimizerError, match="below 524288, got 524288"):
        Pool(2**19, 8, torch.device("cpu"))
