"""Readable definitions compiled in their own words: a plain function and every one that it calls.

A definition lies where it is read, and knows nothing of a compiler. What was compiled of it is kept
under a name made of the files of all its functions and of the constants that they read, because a
compiler looks only at the file of the function itself.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numba.core.errors import NumbaError
from numba.extending import register_jitable

from engine.compiling.kept_code import loops_folder
from engine.compiling.loops import keep_loop

Definition = TypeVar("Definition", bound=Callable[..., object])

FLAGS: Any = {"error_model": "numpy"}
"""No fast-math, so nothing is fused or reordered; x / 0 follows IEEE."""

CALLED_FROM_PYTHON: Any = {"nogil": True, "no_cfunc_wrapper": True}
"""By threads side by side, and never from C."""

KNOWN = ("numpy", "numba", "math")
"""Modules whose functions numba knows by itself."""

COLOURS = re.compile(r"\x1b\[[0-9;]*m")

CONSTANTS = (bool, int, float, str, bytes, tuple, np.generic)


class NotCompiledError(Exception):
    """A definition uses what numba cannot compile; the message says what."""


@cache
def compiled_definition(definition: Definition) -> Definition:
    """A definition compiled, to be called by threads side by side.

    Args:
        definition: A function of arrays and numbers; what it calls by name is compiled with it.

    Returns:
        What is called in its place; equal in every bit where Python's floats follow IEEE 754.

    Raises:
        NotCompiledError: When it is no plain function; from a call, when numba refuses it.
    """
    if not isinstance(definition, FunctionType):
        raise NotCompiledError(f"{definition!r} is no plain function")
    functions = list(_reached(definition, set()))
    for function in functions[1:]:
        _make_callable(function)
    loop = njit(**FLAGS, **CALLED_FROM_PYTHON)(definition)
    version = _version(functions)
    base = loops_folder()
    if base is not None and version:
        keep_loop(loop, base / f"definition-{version}")

    def call(*arguments: object) -> object:
        try:
            return loop(*arguments)
        except NumbaError as error:
            raise NotCompiledError(_reason(error)) from error

    return cast(Definition, call)


@cache
def _make_callable(function: FunctionType) -> None:
    """Let compiled code call a plain function."""
    register_jitable(**FLAGS)(function)


def _reached(function: FunctionType, seen: set[FunctionType]) -> Iterator[FunctionType]:
    """A function and all that it calls by name, each once."""
    seen.add(function)
    yield function
    for value in _named(function).values():
        if isinstance(value, FunctionType) and _is_ours(value) and value not in seen:
            yield from _reached(value, seen)


def _named(function: FunctionType) -> dict[str, object]:
    """What the names that a function reads stand for, also those that it reads from a module."""
    names = _names(function.__code__)
    found = {**function.__globals__, **_closure(function)}
    named = {name: found[name] for name in names if name in found}
    for module in list(named.values()):
        if isinstance(module, ModuleType) and _is_ours(module):
            named |= {name: getattr(module, name) for name in names if hasattr(module, name)}
    return named


def _names(code: CodeType) -> set[str]:
    """Names that code reads from around it, also inside of functions that it makes."""
    inner = [_names(value) for value in code.co_consts if isinstance(value, CodeType)]
    return {*code.co_names, *code.co_freevars}.union(*inner)


def _closure(function: FunctionType) -> dict[str, object]:
    cells = function.__closure__ or ()
    return dict(
        zip(function.__code__.co_freevars, (cell.cell_contents for cell in cells), strict=True)
    )


def _is_ours(value: FunctionType | ModuleType) -> bool:
    name = value.__name__ if isinstance(value, ModuleType) else value.__module__
    return name.split(".")[0] not in KNOWN


def _version(functions: list[FunctionType]) -> str:
    """Digest of all that was compiled, twelve digits; empty where a function has no file."""
    digest = hashlib.sha256()
    for file in sorted({function.__code__.co_filename for function in functions}):
        if not Path(file).is_file():
            return ""
        digest.update(Path(file).read_bytes())
    for function in functions:
        for name, value in sorted(_named(function).items()):
            if isinstance(value, np.ndarray):
                digest.update(f"{name} {value.dtype} {value.shape}".encode() + value.tobytes())
            elif isinstance(value, CONSTANTS):
                digest.update(f"{name} {value!r}".encode())
    return digest.hexdigest()[:12]


def _reason(error: Exception) -> str:
    """The line of numba's message that says what it cannot compile."""
    lines = [line.strip() for line in COLOURS.sub("", str(error)).splitlines()]
    said = [line for line in lines if line and not line.startswith("Failed in nopython mode")]
    return said[0] if said else type(error).__name__
