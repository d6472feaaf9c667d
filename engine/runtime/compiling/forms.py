"""Readable loops run compiled where numba can, else as they read: the same functions either way.

A definition, with every function that it calls, lies at its readers' place, and knows nothing of a
compiler. Its compiled form is kept as every loop is.
"""

import logging
import re
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numba.core.errors import NumbaError
from numba.extending import register_jitable

from engine.runtime.compiling.cache_dirs import loops_folder
from engine.runtime.compiling.loops import keep_loop
from strategy.functions import collect_functions

LOG = logging.getLogger(__name__)

Loop = TypeVar("Loop", bound=Callable[..., object])

FLAGS: Any = {"error_model": "numpy", "no_cfunc_wrapper": True}
"""No fast-math, so nothing is fused or reordered; x / 0 follows IEEE. C never calls a loop."""

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


MAKES_NOTHING: Any = {"_nrt": False}
"""Flags of a loop that returns nothing, because it writes into arrays, and of its callees:
references to arrays are not counted, two atomic operations each. The caller holds them."""


class NotCompiledError(Exception):
    """A definition uses something that numba cannot compile; the message names it."""


class CompiledForm:
    """Runs loops compiled; a loop that numba cannot compile runs as it reads.

    `uncompiled` has their names, and why.
    """

    def __init__(self) -> None:
        self.uncompiled: dict[str, str] = {}
        self._runs: dict[Callable[..., object], Callable[..., object]] = {}

    def __call__(self, loop: Loop) -> Loop:
        """The loop as it is run."""
        if loop not in self._runs:
            self._runs[loop] = self._compile_with_fallback(loop)
        return cast(Loop, self._runs[loop])

    def _compile_with_fallback(self, loop: Loop) -> Callable[..., object]:
        try:
            compiled = compiled_definition(loop)
        except NotCompiledError as error:
            return self._as_it_reads(loop, error)

        def run(*arguments: object) -> object:
            try:
                return compiled(*arguments)
            except NotCompiledError as error:
                self._runs[loop] = plain = self._as_it_reads(loop, error)
                return plain(*arguments)

        return run

    def _as_it_reads(self, loop: Loop, error: Exception) -> Loop:
        name = getattr(loop, "__name__", repr(loop))
        self.uncompiled[name] = str(error)
        _say_so(loop, f"{name} runs in plain Python, numba cannot compile it: {error}")
        return np.errstate(all="ignore")(loop)


@cache
def compiled_definition(definition: Loop) -> Loop:
    """A function of arrays and numbers compiled with its callees, for threads side by side.

    Equal in every bit where Python's floats follow IEEE 754.

    Raises:
        NotCompiledError: When it is no plain function; from a call, when numba refuses it.
    """
    if not isinstance(definition, FunctionType):
        raise NotCompiledError(f"{definition!r} is no plain function")
    flags = FLAGS | (MAKES_NOTHING if _returns_nothing(definition) else {})
    for function in collect_functions(definition)[1:]:
        _make_callable(function, flags)
    loop = njit(**flags, nogil=True)(definition)
    if (base := loops_folder()) is not None:
        keep_loop(loop, base)

    def call(*arguments: object) -> object:
        try:
            return loop(*arguments)
        except NumbaError as error:
            raise NotCompiledError(_reason(error)) from error

    return cast(Loop, call)


@cache
def _say_so(loop: Callable[..., object], words: str) -> None:
    """Once a process, also where several threads run the loop."""
    LOG.warning(words)


_CALLABLE: set[FunctionType] = set()


def _make_callable(function: FunctionType, flags: dict[str, object]) -> None:
    """Let compiled code call a plain function; the flags of its first caller stay."""
    if function not in _CALLABLE:
        _CALLABLE.add(function)
        register_jitable(**flags)(function)


def _returns_nothing(definition: FunctionType) -> bool:
    return definition.__annotations__.get("return", "") in (None, "None")


def _reason(error: Exception) -> str:
    """The line of numba's message that names the obstacle to compiling."""
    lines = [line.strip() for line in COLOURS.sub("", str(error)).splitlines()]
    reasons = [line for line in lines if line and not line.startswith("Failed in nopython mode")]
    return reasons[0] if reasons else type(error).__name__
