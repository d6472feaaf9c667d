"""Compiled loops on disk: an upgrade never runs a loop of the version before."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.accounts.cpu.folding import fold
from optimizer.search.compiled import sorting
from optimizer.search.compiled.sorting import rising_orders, sort_words
from tests.support.commands import printed

CALLER = """
from engine.loops_of_a_test.callee import callee
from engine.runtime.compiling.loops import compiled_loop

@compiled_loop
def caller(x: float) -> float:
    return callee(x)
"""
CALLEE = """
from engine.runtime.compiling.loops import compiled_loop

@compiled_loop
def callee(x: float) -> float:
    return x + {}
"""


def ask(folder):
    """What a fresh process finds when it calls the loop."""
    code = "from engine.loops_of_a_test.caller import caller; print(caller(1.0))"
    # Python's own code of a file is kept by its second and its length, which may be the same here.
    env = {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": "", "PYTHONDONTWRITEBYTECODE": "1"}
    return float(printed(code, cwd=folder, env=env))


@pytest.mark.slow
def test_a_changed_loop_reaches_its_callers(tmp_path):
    """The caller's own file is as it was, and yet its old code is not used."""
    package = tmp_path / "engine" / "loops_of_a_test"
    package.mkdir(parents=True)
    (tmp_path / "engine" / "runtime" / "compiling").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "__init__.py").write_text("")
    (tmp_path / "engine" / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    for name in (
        "data/files.py",
        "data/store.py",
        "engine/runtime/__init__.py",
        "engine/runtime/collector.py",
        "engine/runtime/compiling/__init__.py",
        "engine/runtime/compiling/loops.py",
        "engine/runtime/compiling/cache_dirs.py",
        "engine/runtime/compiling/compile_timer.py",
        "engine/runtime/compiling/reach.py",
        "engine/runtime/compiling/code_digest.py",
        "engine/runtime/compiling/registered.py",
        "engine/errors.py",
    ):
        shutil.copy(Path(engine.__file__).parents[1] / name, tmp_path / name)
    (package / "caller.py").write_text(CALLER)
    for change in (1.0, 2.0):
        (package / "callee.py").write_text(CALLEE.format(change))
        assert [ask(tmp_path), ask(tmp_path)] == [1.0 + change] * 2


@pytest.mark.slow
def test_a_kept_loop_is_loaded_without_what_compiling_needs(tmp_path):
    """A process that only loads imports none of numba's typing, and may compile after that."""
    rising_orders(np.array([[2.0, 1.0]]))
    code = """
import sys, numba, numpy as np
from optimizer.search.compiled.sorting import rising_orders, sort_words
from tests.support.commands import printed
print(rising_orders(np.array([[2.0, 1.0]])).tolist(), "numba.typed.typeddict" in sys.modules)
print(numba.njit(lambda x: np.sort(x))(np.array([2.0, 1.0])).tolist())
"""
    assert printed(code).split("\n")[:2] == ["[[1, 0]] False", "[1.0, 2.0]"]


def test_loops_of_the_engine_are_kept_inside_the_package():
    """An upgrade that removes it removes them too."""
    base = Path(engine.__file__).parent / "__pycache__"
    assert fold._cache.cache_path == os.environ.get("NUMBA_CACHE_DIR", str(base)) + "/loops"


def test_loops_of_the_search_lie_beside_it():
    """They are no part of the engine."""
    base = Path(sorting.__file__).parent / "__pycache__"
    expected = os.environ.get("NUMBA_CACHE_DIR", str(base)) + "/loops"
    assert sort_words._cache.cache_path == expected
