"""Keys of compiled loops: what is reached changes them, and nothing else does."""

import importlib
import os
import pkgutil
import sys
from enum import Enum
from functools import cache
from types import FunctionType

import numpy as np
import pytest
from llvmlite import ir
from numba import types
from numba.core.dispatcher import Dispatcher

import engine
from engine.positions.cpu import bracket_exits
from engine.runtime.compiling import loops
from engine.runtime.compiling.reach import UnknownReachError, digest_reach
from engine.runtime.compiling.registered import LANGUAGE
from engine.runtime.cpu.simd_types import Vector
from optimizer.search import compiled


@cache
def all_loops():
    """Loops of the engine and of the search, by module and name."""
    for package in (engine, compiled):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".cpu." in module.name or package is compiled:
                importlib.import_module(module.name)
    modules = [module for name, module in sorted(sys.modules.items())
               if name.split(".")[0] in ("engine", "optimizer")]  # fmt: skip
    values = [value for module in modules for value in vars(module).values()]
    loops = [value for value in values if isinstance(value, Dispatcher)]
    return {f"{loop.py_func.__module__}.{loop.py_func.__qualname__}": loop for loop in loops}


def test_what_is_registered_with_the_compiler_is_reached_by_its_types():
    """No loop names how vectors are added: those change that have vectors."""
    keys = {name: digest_reach(loop) for name, loop in all_loops().items()}
    parts = [part.value[0] for part in LANGUAGE.of(Vector) if isinstance(part.value, tuple)]
    functions = walk_closures([part for part in parts if isinstance(part, FunctionType)])
    cells = [cell for function in functions for cell in function.__closure__ or ()]
    (adds,) = (cell for cell in cells if cell.cell_contents is ir.IRBuilder.fadd)
    adds.cell_contents = ir.IRBuilder.fmul
    try:
        changed = {name for name, loop in all_loops().items() if digest_reach(loop) != keys[name]}
    finally:
        adds.cell_contents = ir.IRBuilder.fadd
    names = {name.rsplit(".")[-1] for name in changed}
    assert names >= {"fill_parts", "_rolling", "_advance", "chain"}
    assert names.isdisjoint({"fold", "find_bracket_exit", "signals", "shift_words"})


def walk_closures(functions):
    """Functions and those that they took along, each once."""
    for function in functions:
        inner = [cell.cell_contents for cell in function.__closure__ or ()]
        functions += [each for each in inner
                      if isinstance(each, FunctionType) and each not in functions]  # fmt: skip
    return functions


class Choice(Enum):
    """Plain ones."""

    ONE = 1
    TWO = 2


class Opaque:
    """An object of no kind that can be followed."""


STRANGE = Opaque()


def reads_strange():
    """Reads it."""
    return STRANGE


def reads_by_name(name):
    """Reads what only a running program knows."""
    return globals()[name]


def reads_of_a_module(name):
    """Likewise."""
    return getattr(loops, name)


def reads_of_a_name(x):
    """Reads by a name that is written down, which stands for any other one."""
    return getattr(bracket_exits, "STOP") + x  # noqa: B009


def imports(x):
    """Reads what it imports only then."""
    from tests.support import doubling

    return doubling.double_values(x)


@pytest.mark.parametrize("function", [reads_strange, reads_by_name, reads_of_a_module, imports])
def test_what_cannot_be_followed_has_no_key(function):
    """Rather than one that leaves something out."""
    with pytest.raises(UnknownReachError, match="test_reach"):
        digest_reach(function)


def test_a_loop_that_cannot_be_followed_runs_all_the_same(caplog):
    """Each process compiles it, and the log has the reason."""
    loop = loops.compiled_loop(lambda x: x + Choice.ONE.value)
    assert digest_reach(loop) != digest_reach(loops.compiled_loop(lambda x: x - Choice.ONE.value))
    strange = loops.compiled_loop(reads_of_a_name)
    assert strange(1.0) == 2.0
    assert "is compiled by each process" in caplog.text
    assert not strange.stats.cache_hits


VALUES = (
    0, 0.0, -0.0, float("nan"), np.float64(0), np.float32(0), True, 1, "1", b"1", (1,), [1],
    {1: 2}, {1: 3}, np.zeros(2), np.zeros(2, np.float32), np.zeros((2, 1)), np.zeros((1, 2)),
    np.zeros((2, 2)), np.zeros((2, 2), order="F"), np.dtype("<i4"),
    np.dtype("<i8"), len, max, np.add, np.sqrt, {1}, frozenset({1}), None, ..., slice(1), range(2),
    1j, -1j, (0, (1, 2)), ((0, 1), 2), float, int, np, os, ir.DoubleType(), types.int64,
    types.Array(types.int64, 1, "C"), types.Array(types.int64, 1, "A"), types.Omitted(1.0),
    types.Omitted(2.0),
)  # fmt: skip


def test_values_that_differ_have_different_keys():
    """Also where Python calls them equal."""
    keys = [digest_reach(value) for value in VALUES]
    assert keys == [digest_reach(value) for value in VALUES]
    assert len({*keys}) == len(VALUES)
