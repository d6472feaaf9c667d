"""Pages that take a while are computed one at a time, and the newest few are kept."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor

from optimizer.errors import OptimizerError

MOST_WAITING = 16
"""Computations that may wait for the one that is made."""

MOST_KEPT_BYTES = 64_000_000


class BusyError(OptimizerError):
    """Too many requests for a reasonable time."""


class Computer:
    """Computes in a thread of its own, each thing once for all requests."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "computing")
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._pending: dict[Hashable, asyncio.Task[bytes]] = {}

    async def get(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """Result of `make`, kept by a key of all that it depends on.

        Raises:
            BusyError: When too many wait already.
        """
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if key not in self._pending:
            if len(self._pending) >= MOST_WAITING:
                raise BusyError("Too much is being computed: try again in a minute.")
            self._pending[key] = asyncio.create_task(self._compute(key, make))
        # Who leaves does not take it from those that still wait.
        return await asyncio.shield(self._pending[key])

    async def _compute(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        try:
            content = await asyncio.get_running_loop().run_in_executor(self._thread, make)
        finally:
            del self._pending[key]
        self._kept[key] = content
        while sum(map(len, self._kept.values())) > MOST_KEPT_BYTES and len(self._kept) > 1:
            self._kept.popitem(last=False)
        return content
