"""An own indicator that never returns: the command ends in one line, by itself or by a signal."""

import signal

import pytest

from tests.support.commands import start

STUCK = """
import os

from strategy.words import *


@indicator(warm_up=lambda n: n)
def stuck(bars, n):
    os.write(2, b"began\\n")
    while True: pass


STUCK = strategy("Waits.", long=close > stuck(length("n", 20, 5, 50)), stop=share(0.01))
"""

LIMITED = """
import sys
from strategy import limits
from optimizer.__main__ import main
limits.LONGEST_S = {}
sys.exit(main())
"""

TOO_LONG = "error: stuck(20) took longer than 2 seconds on 21 bars (stuck.py:10)\n"

ENDS = {
    "the limit": (2.0, None, 2, TOO_LONG),
    "Ctrl-C": (120.0, signal.SIGINT, 130, "stopped\n"),
    "a signal": (120.0, signal.SIGTERM, 130, "stopped\n"),
}
"""Limit in seconds, signal, exit code, and the line."""


@pytest.mark.parametrize("end", ENDS)
def test_an_endless_loop_ends_in_one_line(tmp_path, end):
    """With function, place and the seconds that it had, or as stopped."""
    limit, stop, code, line = ENDS[end]
    (tmp_path / "stuck.py").write_text(STUCK)
    words, program = ("evolve", "--strategy", "stuck.py"), ("-c", LIMITED.format(limit))
    with start(*words, cwd=tmp_path, program=program) as process:
        assert "began\n" in iter(process.stderr.readline, "")
        if stop:
            process.send_signal(stop)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, "", line)
