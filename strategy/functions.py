"""Contents of a plain function: all that it calls by name, and constants that these read."""

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import cast

import numpy as np

from strategy.source_location import INSTALLED

LIBRARIES = {*sys.stdlib_module_names, "numpy", "numba"}

CONSTANTS = (bool, int, float, str, bytes, tuple, np.generic)


def collect_functions(
    function: FunctionType, seen: set[FunctionType] | None = None
) -> list[FunctionType]:
    """A function and all that it calls by name, each once; those of libraries are left out."""
    seen = set() if seen is None else seen
    seen.add(function)
    functions = [function]
    for value in _resolve_names(function).values():
        if isinstance(value, FunctionType) and value not in seen and _is_ours(value, function):
            functions += collect_functions(value, seen)
    return functions


def constants(function: FunctionType) -> dict[str, object]:
    """Plain values and arrays that a function reads from around it, by name in their order."""
    kinds = (*CONSTANTS, np.ndarray)
    return {
        name: value
        for name, value in sorted(_resolve_names(function).items())
        if isinstance(value, kinds)
    }


def encode_constants(functions: Sequence[FunctionType]) -> Iterator[bytes]:
    """Name and value of each constant that functions read from around them, in a fixed order."""
    for function in functions:
        for name, value in constants(function).items():
            if isinstance(value, np.ndarray):
                yield f"{name} {value.dtype} {value.shape}".encode() + value.tobytes()
            else:
                yield f"{name} {value!r}".encode()


def text_digest(*functions: Callable[..., object]) -> str:
    """SHA-256, hexadecimal, of the text of plain functions, of all that they call, of constants."""
    digest = hashlib.sha256()
    for function in functions:
        collected = collect_functions(cast(FunctionType, function))
        for inner in collected:
            digest.update(_read_source(inner).encode())
        for constant in encode_constants(collected):
            digest.update(constant)
    return digest.hexdigest()


def _read_source(function: FunctionType) -> str:
    try:
        return inspect.getsource(function)
    except OSError:
        # Typed in, or made of text: its instructions say the same.
        code = function.__code__
        return f"{code.co_code.hex()} {code.co_names} {code.co_consts}"


def _resolve_names(function: FunctionType) -> dict[str, object]:
    """Values of the names that a function reads, also through a module."""
    # In an order that is the same in every process.
    names = sorted(_names(function.__code__))
    namespace = {**function.__globals__, **_closure(function)}
    named = {name: namespace[name] for name in names if name in namespace}
    for module in list(named.values()):
        if isinstance(module, ModuleType) and _is_ours(module, function):
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


def _is_ours(value: FunctionType | ModuleType, caller: FunctionType) -> bool:
    """True if something is no library's, or of the package that calls it."""
    if isinstance(value, ModuleType):
        name, file = value.__name__, getattr(value, "__file__", None) or ""
    else:
        name, file = value.__module__ or "", value.__code__.co_filename
    package = name.split(".")[0]
    if package == (caller.__module__ or "").split(".")[0]:
        return True
    return package not in LIBRARIES and not INSTALLED.intersection(Path(file).parts)
