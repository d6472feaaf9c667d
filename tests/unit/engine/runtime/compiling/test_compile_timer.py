"""Seconds of compiling are counted once, whatever compiles within or beside what."""

from time import perf_counter
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit

import engine.runtime.compiling.loops  # noqa: F401 - it begins to listen
from engine.runtime.compiling import compile_timer
from engine.runtime.compiling.compile_timer import compile_seconds, kernel_compiled


def test_a_loop_that_calls_another_is_counted_once():
    """No more than the clock showed, and nothing where it was compiled already."""
    inner = njit(lambda values: values.sum())
    outer = njit(lambda values: inner(values) + inner(values + 1))
    before, began = compile_seconds(), perf_counter()
    assert outer(np.arange(3.0)) == 9
    seconds = compile_seconds() - before
    assert 0 < seconds <= perf_counter() - began
    again = compile_seconds()
    outer(np.arange(3.0))
    assert compile_seconds() == again


def test_kernels_that_compile_side_by_side_are_counted_once(monkeypatch):
    """Two of a second each, the second one ending half a second after the first."""
    now = [100.0]
    monkeypatch.setattr(compile_timer, "perf_counter", lambda: now[0])
    monkeypatch.setattr(compile_timer, "_SPENT", {"seconds": 0.0, "until": 0.0})
    for now[0] in (100.0, 100.5, 103.0):
        kernel_compiled(src=None, times=SimpleNamespace(total=1_000_000), cache_hit=False)
    assert compile_seconds() == pytest.approx(2.5)
