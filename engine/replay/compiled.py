"""The reference compiled from its one source: the same functions, nothing written twice."""

import logging
from collections.abc import Callable
from typing import cast

from engine.compiling.definitions import NotCompiledError, compiled_definition
from engine.reference import Loop, as_it_reads

LOG = logging.getLogger(__name__)


class CompiledForm:
    """Runs the reference's loops compiled; one that numba cannot compile runs as it reads.

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
        LOG.warning("%s is replayed in plain Python, numba cannot compile it: %s", name, error)
        return as_it_reads(loop)
