"""Readable loops run compiled where numba can, else as they read: the same functions either way."""

import logging
from collections.abc import Callable
from functools import cache
from typing import TypeVar, cast

import numpy as np

from engine.compiling.definitions import NotCompiledError, compiled_definition

LOG = logging.getLogger(__name__)

Loop = TypeVar("Loop", bound=Callable[..., object])


class CompiledForm:
    """Runs loops compiled; one that numba cannot compile runs as it reads.

    `uncompiled` says which those are, by name, and why.
    """

    def __init__(self) -> None:
        self.uncompiled: dict[str, str] = {}
        self._runs: dict[Callable[..., object], Callable[..., object]] = {}

    def __call__(self, loop: Loop) -> Loop:
        """The loop as it is run."""
        if loop not in self._runs:
            self._runs[loop] = self._guarded(loop)
        return cast(Loop, self._runs[loop])

    def _guarded(self, loop: Loop) -> Callable[..., object]:
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
def _say_so(loop: Callable[..., object], words: str) -> None:
    """Once a process, whoever else runs the loop."""
    LOG.warning(words)
