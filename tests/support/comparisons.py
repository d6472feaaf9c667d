"""Programs that compare a device with the host, run under Triton's interpreter or on a GPU."""

import atexit
import os
from functools import cache

import pytest

from engine.devices import why_absent
from tests.support.commands import start
from tests.support.forking import Forking
from tests.support.paths import ROOT

INTERPRETED = {"TRITON_INTERPRET": "1"}
"""Chosen when Triton is imported, which is why these are processes."""

IMPORTED = (
    "import engine.cuda.language, optimizer.evidence.schedule_searches\n"
    "import tests.support.interpreter, tests.support.random_strategies"
)
"""What interpreted programs share."""

WHY = why_absent("cuda")


def needs_gpu(test):
    """Mark a test that runs on a GPU, and skip it where there is none."""
    return pytest.mark.gpu(pytest.mark.skipif(bool(WHY), reason=f"no cuda device: {WHY}")(test))


def run_interpreted(name, *arguments):
    """What ``tests.support.name`` prints, interpreted; fails where it does."""
    code = f"import runpy; runpy.run_module('tests.support.{name}', run_name='__main__')"
    return _interpreter().run(ROOT, code, "cpu", *arguments)


@cache
def _interpreter():
    """One process of this one that imports what all of these programs need."""
    interpreter = Forking(IMPORTED, {**os.environ, **INTERPRETED})
    atexit.register(interpreter.close)
    return interpreter


def on_gpu(name):
    """What ``tests.support.name`` prints on a GPU; fails where it does."""
    with start("cuda", cwd=ROOT, program=("-m", f"tests.support.{name}")) as process:
        out, err = process.communicate()
    assert process.returncode == 0, err[-3000:]
    return out
