"""Keys of compiled loops: what is reached changes them, and nothing else does."""

import ast
import dis
import importlib
import inspect
import os
import pkgutil
import sys
from enum import Enum
from functools import cache
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest
from llvmlite import ir
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

import engine
from engine.positions.cpu import bracket_exits
from engine.runtime.compiling import loops
from engine.runtime.compiling.code_digest import digest_code
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


def plain_function(value):
    """The function that was written, of a loop or of an operation; None of anything else."""
    if isinstance(value, Dispatcher):
        return value.py_func
    if isinstance(value, _Intrinsic):
        return inspect.unwrap(value._defn)
    return value if isinstance(value, FunctionType) else None


def names_read(function):
    """Functions that one reads, by the names in its text."""
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(function)))
    nodes = [node for part in tree.body[0].body for node in ast.walk(part)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    called = [plain_function(function.__globals__.get(name)) for name in sorted(names)]
    return [
        each for each in called if each and each.__module__.split(".")[0] in ("engine", "optimizer")
    ]


def all_reached(function):
    """A function and all that it reads, by their texts."""
    functions = [function]
    for each in functions:
        functions += [other for other in names_read(each) if other not in functions]
    return set(functions)


def find_line(function):
    """Where a function stands."""
    return function.__module__, function.__code__.co_firstlineno


class Swap(ast.NodeTransformer):
    """Another operator in the first place that has one, of a function that begins at a line."""

    def __init__(self, line):
        self.line, self.is_done, self.is_within = line, False, False

    def visit_FunctionDef(self, node):
        """Look at one."""
        begins = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        before, self.is_within = self.is_within, self.is_within or begins == self.line
        node.body = [self.visit(each) for each in node.body]
        self.is_within = before
        return node

    def visit_BinOp(self, node):
        """Look at one."""
        if self.is_within and not self.is_done:
            self.is_done = True
            node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        return node

    def visit_Compare(self, node):
        """Look at one."""
        if self.is_within and not self.is_done:
            self.is_done = True
            node.ops = [ast.GtE() if isinstance(node.ops[0], ast.Lt) else ast.Lt(), *node.ops[1:]]
        return node


def mutate_code(function):
    """Its code with another operator; None where it has none."""
    line = function.__code__.co_firstlineno
    swap = Swap(line)
    tree = swap.visit(ast.parse(Path(inspect.getsourcefile(function)).read_text()))
    if not swap.is_done:
        return None
    codes = [compile(tree, function.__code__.co_filename, "exec")]
    for code in codes:
        codes += [each for each in code.co_consts if inspect.iscode(each)]
    return next(code for code in codes
                if (code.co_name, code.co_firstlineno) == (function.__name__, line))  # fmt: skip


def test_another_operator_is_another_key_of_all_that_reach_it(monkeypatch):
    """Every twelfth function of the engine's loops; the text of all names who reaches it."""
    loops = all_loops()
    reached = {name: all_reached(loop.py_func) for name, loop in loops.items()}
    functions = sorted(set().union(*reached.values()), key=find_line)
    keys = {name: digest_reach(loop) for name, loop in loops.items()}
    count = 0
    for function in functions[::12]:
        if (code := mutate_code(function)) is None:
            continue
        with monkeypatch.context() as patch:
            patch.setattr(function, "__code__", code)
            changed = {name for name, loop in loops.items() if digest_reach(loop) != keys[name]}
        assert changed == {name for name, within in reached.items() if function in within}, function
        count += 1
    assert count > 10
    assert keys == {name: digest_reach(loop) for name, loop in loops.items()}


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


def test_code_reads_what_the_disassembler_says():
    """Names of the module, of every function that the engine's loops reach."""
    functions = set().union(*(all_reached(loop.py_func) for loop in all_loops().values()))
    assert len(functions) > 100, len(all_loops())
    for function in functions:
        codes = [function.__code__]
        for code in codes:
            codes += [each for each in code.co_consts if inspect.iscode(each)]
        names = {
            each.argval
            for code in codes
            for each in dis.get_instructions(code)
            if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        }
        assert set(digest_code(function.__code__).names) == names, function


def test_a_docstring_that_comes_or_goes_is_no_other_code():
    """Though it moves constants; a text that is returned is one."""

    def compile_code(text):
        names = {}
        exec(text, names)
        return digest_code(names["f"].__code__)

    plain = compile_code("def f(x):\n  if x: return 'a', 1.5\n")
    assert plain == compile_code("def f(x):\n  'Said.'\n  # More.\n\n  if x: return 'a', 1.5\n")
    assert plain == compile_code("def f(x):\n  'a'\n  if x: return 'a', 1.5\n")
    assert plain != compile_code("def f(x):\n  'a'\n  if x: return 'b', 1.5\n")
    assert plain != compile_code("def f(x):\n  if x: return 'a', 1.25\n")
