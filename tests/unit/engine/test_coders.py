"""Maps of codes: the loop that needs no compiler says what the compiled one says."""

import subprocess
import sys

import numpy as np
import pytest

from engine.backends.coders import FixedCoder, WanderingCoder, coder_maps
from tests.support.parity import assert_same_bits
from tests.support.worlds import make_bars

SOURCES = {"close": make_bars(3, 500, jump=0.1).close, "gaps": np.array([np.nan, 1.0, np.nan, 2.0])}


@pytest.mark.parametrize(
    "coder",
    [FixedCoder(-3.0, 20.0), WanderingCoder("close", 40), WanderingCoder("gaps", 2)],
    ids=["fixed", "wandering", "gaps"],
)
def test_both_loops_make_the_same_map(coder):
    """To the last bit, NaN in the source included."""
    plain = coder_maps(coder, SOURCES, 126, is_compiled=False)
    for expected, actual in zip(coder_maps(coder, SOURCES, 126), plain, strict=True):
        assert_same_bits(expected, actual, "map")


def test_the_plain_loop_loads_no_compiler():
    """What it is there for: a device's process that starts sooner."""
    program = (
        "import sys, numpy\n"
        "from engine.backends.coders import WanderingCoder, coder_maps\n"
        "import engine.backends.isolated.child\n"
        "sources = {'close': numpy.ones(9)}\n"
        "coder_maps(WanderingCoder('close', 3), sources, 126, is_compiled=False)\n"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
