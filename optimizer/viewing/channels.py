"""Work done once for many browsers: channels that all of them watch, and computed pages.

A channel is read once for all and holds its newest state alone. A viewer who reads slowly misses
states; one who never reads is left after a while.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Hashable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import NamedTuple

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from optimizer.errors import OptimizerError

SOONEST_S, LATEST_S = 1.0, 30.0
"""Between two looks."""

SHARE = 0.003
"""Of a core that looking may take: a look that takes longer is followed by a longer pause."""

HEARTBEAT_S = 15.0
"""After so long without news a comment is sent, which finds out who has gone."""


class ChannelState(NamedTuple):
    """State of a run or an index."""

    message: bytes  # JSON in one line
    is_over: bool = False  # whether nothing will change any more


class Channel:
    """Looks at something in a thread of the readers, for as long as it has viewers."""

    def __init__(self, look: Callable[[], ChannelState], readers: Executor) -> None:
        self._look, self._readers = look, readers
        self._state, self._version, self.is_over = b"", 0, False
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.viewers = 0

    async def follow(self) -> AsyncGenerator[bytes, None]:
        """States as server-sent events, from the present one on."""
        if self._task is None:
            # What was seen when the last one left is old.
            self._state, self._version = b"", 0
            self._task = asyncio.create_task(self._keep_looking())
        seen = 0
        while True:
            if self._version > seen:
                seen = self._version
                yield b"data: " + self._state + b"\n\n"
            elif self.is_over:
                return
            else:
                yield await self._wait_for_news()

    def close(self) -> None:
        """End all streams."""
        self.is_over = True
        self._announce()

    async def _wait_for_news(self) -> bytes:
        try:
            await asyncio.wait_for(self._changed.wait(), HEARTBEAT_S)
        except TimeoutError:
            return b": still watching\n\n"
        return b""

    async def _keep_looking(self) -> None:
        try:
            while self.viewers and not self.is_over:
                pause_s = await self._look_once()
                if not self.is_over:
                    await asyncio.sleep(pause_s)
        except Exception:
            # A defect ends the streams; who asks again gets another channel.
            self.close()
            raise
        finally:
            self._task = None

    async def _look_once(self) -> float:
        """Look, send news, and return the seconds until the next look."""
        loop = asyncio.get_running_loop()
        look, cost_s = await loop.run_in_executor(self._readers, self._look_timed)
        self.is_over = self.is_over or look.is_over
        if look.message != self._state or look.is_over:
            self._state, self._version = look.message, self._version + 1
            self._announce()
        return min(max(cost_s / SHARE, SOONEST_S), LATEST_S)

    def _look_timed(self) -> tuple[ChannelState, float]:
        began = time.thread_time()
        look = self._look()
        return look, time.thread_time() - began

    def _announce(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class EventStream(StreamingResponse):
    """Server-sent events, which end where their viewer does."""

    media_type = "text/event-stream"

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel.follow())
        self._channel = channel

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the states of a channel until it is closed or its viewer is gone."""
        self._channel.viewers += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._channel.viewers -= 1


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
        """Result of `make`, kept by a key of all that it depends on; refused if too many wait."""
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
