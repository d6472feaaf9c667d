"""A person's compiled code that never returns: the command ends, and names the place."""

import signal

import pytest

from tests.support.commands import start

STUCK = """
import os
from collections import deque
from itertools import chain, repeat

from strategy.words import *


@indicator(warm_up=lambda n: n)
def stuck(bars, n):
    asked = map(os.write, [2], [b"asked\\n"])  # from within the loop: Python hears nothing then
    deque(chain(asked, repeat(0)), maxlen=0)  # a loop in C
    return bars.close


STUCK = strategy("Waits.", long=close > stuck(length("n", 20, 5, 50)), stop=share(0.01))
"""
PLACE = "stuck(20) (stuck.py:9)"
"""How it is called, and where it begins."""

LIMITED = """
import sys
from strategy import limits
from optimizer.__main__ import main
limits.LONGEST_S = limits.GRACE_S = 0.5
sys.exit(main())
"""


@pytest.fixture
def stuck(tmp_path):
    """A folder with such a strategy."""
    (tmp_path / "stuck.py").write_text(STUCK)
    return tmp_path


def test_compiled_code_that_never_returns_is_ended(stuck):
    """With function, place and the seconds that it had."""
    with start("strategies", "check", "stuck.py", cwd=stuck, program=("-c", LIMITED)) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (-signal.SIGKILL, "")
    message = "took longer than 1 seconds: compiled code, which Python cannot interrupt"
    assert err == f"asked\nerror: {PLACE} {message}\n"


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_compiled_code(stuck, stop):
    """Which Python would not hear."""
    with start("evolve", "--strategy", "stuck.py", cwd=stuck) as process:
        assert "asked\n" in iter(process.stderr.readline, "")
        process.send_signal(stop)
        _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert err == f"stopped in {PLACE}: compiled code, which Python cannot interrupt\n"
