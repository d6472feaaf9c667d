"""A server of one folder of runs, in this process or beside a notebook, and its connections."""

import asyncio
import contextlib
import errno
import logging
import math
import os
import re
import resource
import secrets
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import NamedTuple

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from optimizer.errors import ConfigError
from optimizer.viewing.access import HEADERS, NO_TOKEN, OWN_NAMES, PIECE, TOKEN, is_wildcard
from optimizer.viewing.server import Viewer

logger = logging.getLogger(__name__)

PATIENCE_S = 10.0
"""How long a client is waited for: until it has asked, has sent all, or has read something."""

LEAST_READ = 4096
"""Bytes that a slow reader has to take in that time."""

MOST_CONNECTIONS, LEAST_CONNECTIONS = 2500, 8
"""That are open at a time, with many handles and with few."""

SPARE = 32
"""Handles that are left for runs and reports, and for whatever else this process does."""

MOST_HEAD, MOST_ASKED = 16_384, 40_000
"""Bytes of a request, without and with what it posts."""

RATE, BATCH = 2400, 96
"""Connections taken a second, and in one go: 2,000 clients that came again whenever they were ended
took an eighth to a fifth of a core, and a page waited for 0.9 s at most."""

HEARING_S, AT_WORK_S, CROWDED_S, SCARCE_S = 0.02, 0.01, 0.03, 0.1
"""Pauses: between two looks at strangers, while no one can leave, after some had to, without
handles."""

MINUTE_S = 60.0
"""Between two messages of a kind."""

SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

END_OF_HEAD = re.compile(rb"\n\r?\n")

LENGTH = re.compile(rb"\ncontent-length:\s*(\d{1,9})", re.IGNORECASE)

WORD = re.compile(rb"[\w-]+")

REFUSAL = "\r\n".join(
    [
        "HTTP/1.1 403 Forbidden",
        *(f"{name}: {value}" for name, value in HEADERS.items()),
        "content-type: text/plain; charset=utf-8",
        f"content-length: {len(NO_TOKEN)}",
        "connection: close",
        "",
        NO_TOKEN,
    ]
).encode()


class Connection(H11Protocol):
    """A connection that showed the token in its first request, with the bytes of that."""

    def __init__(self, server: uvicorn.Server, served: "set[Connection]", sent: bytearray) -> None:
        super().__init__(server.config, server.server_state, {})
        self._served, self._sent, self._unread = served, sent, 0
        self.since = time.monotonic()  # when the client was last seen to act
        self.entering: asyncio.Task[object] | None = None
        served.add(self)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin with the bytes that are read already."""
        super().connection_made(transport)
        self.data_received(bytes(self._sent))

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.since = time.monotonic()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room."""
        self._served.discard(self)
        super().connection_lost(exc)

    def is_waiting(self) -> bool:
        """True if it is the client's turn: to ask, to send the rest, or to read."""
        asked = self.cycle
        if self.transport is None:
            return False  # it has only just been let in
        is_asked = asked is not None and not asked.response_complete and not asked.more_body
        return not is_asked or self.transport.get_write_buffer_size() > 0

    def look(self, now: float) -> None:
        """End it where its client was waited for too long."""
        if not self.is_waiting():
            self.since = now
            return
        unread = self.transport.get_write_buffer_size()
        if unread < self._unread and unread <= max(self._unread - LEAST_READ, 0):
            self.since, self._unread = now, unread
        elif now - self.since > PATIENCE_S:
            self.end(is_late=True)
        self._unread = max(self._unread, unread)

    def end(self, *, is_late: bool = False) -> None:
        """End it at once; for a client that does not read, the system forgets unsent bytes too."""
        if is_late or self.transport.get_write_buffer_size():
            client = self.transport.get_extra_info("socket")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


class Stranger(NamedTuple):
    """A connection that has yet to show the token."""

    client: socket.socket
    since: float
    sent: bytearray


def count_missing(sent: bytearray) -> int | None:
    """Bytes, at least, that a request lacks with all that it posts; None if it is no request."""
    end = END_OF_HEAD.search(sent)
    if end is None:
        return 1 if sent[:1].isalpha() and len(sent) < MOST_HEAD else None
    length = LENGTH.search(sent, 0, end.end())
    whole = end.end() + int(length[1] if length else 0)
    return max(min(whole, MOST_ASKED) - len(sent), 0)


class Door:
    """Takes the connections of a listener, and lets in clients with the token.

    Until then a connection is a stranger's. It costs a handle and some bytes, the web server never
    hears of it, and where there are many the oldest makes room for a new one.
    """

    def __init__(self, listener: socket.socket, token: str, server: uvicorn.Server) -> None:
        self._listener, self._token, self._server = listener, token.encode(), server
        self._served: set[Connection] = set()
        self._strangers: dict[int, Stranger] = {}  # by handle, oldest first
        self._hearing, self._is_hearing = select.poll(), False
        self._said: dict[str, float] = {}
        self._is_open = True
        self._due = 0.0
        self.room = LEAST_CONNECTIONS

    def open(self) -> None:
        """Take connections from now on."""
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._report)
        self._listener.setblocking(False)
        self.look()
        self._listen()

    def close(self) -> None:
        """Take no more, and end strangers."""
        self._is_open = False
        self._loop.remove_reader(self._listener)
        for stranger in [*self._strangers.values()]:
            self._end(stranger)

    async def empty(self) -> None:
        """End connections, each as soon as the client is waited for."""
        while self._served:
            self._end_waiting(MOST_CONNECTIONS)
            await asyncio.sleep(AT_WORK_S)

    def look(self) -> None:
        """End who was waited for too long, and more where handles have become few."""
        self.room = self._count_room()
        now = time.monotonic()
        for stranger in [*self._strangers.values()]:
            if now - stranger.since > PATIENCE_S:
                self._end(stranger)
        for connection in self._served:
            connection.look(now)
        while self._strangers and self._count() > self.room:
            self._end(next(iter(self._strangers.values())))
        self._end_waiting(self._count() - self.room)

    def _listen(self) -> None:
        if self._is_open:
            self._loop.add_reader(self._listener, self._take)

    def _take(self) -> None:
        """Take some that wait, then pause: without it an attack would take the whole core."""
        self._loop.remove_reader(self._listener)
        pause_s = SCARCE_S
        try:
            pause_s = self._take_some()
        finally:
            self._loop.call_later(pause_s, self._listen)
        if self._strangers and not self._is_hearing:
            self._hear()

    def _take_some(self) -> float:
        """Take connections that wait; others leave for them where there is no room."""
        now, least_s = time.monotonic(), 0.0
        self._due = max(self._due, now - BATCH / RATE)
        for _ in range(BATCH):
            is_full = self._count() >= self.room
            if is_full and not self._strangers:
                if self._end_waiting(max(self.room // 2, 1)):
                    return 0.0  # they leave in a moment
                self._say("all %d connections are at work: a new one waits", self.room)
                return AT_WORK_S
            try:
                client, _ = self._listener.accept()
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno not in SCARCE:
                    continue  # it left before it was taken
                self._say("no connection can be taken for now: %s", os.strerror(error.errno))
                self.look()
                return SCARCE_S
            if is_full:
                self._end(next(iter(self._strangers.values())))
                self._say("%d connections are open: silent ones make room for new ones", self.room)
                least_s = CROWDED_S
            self._due += 1 / RATE
            stranger = self._strangers[client.fileno()] = Stranger(client, now, bytearray())
            self._hearing.register(client, select.POLLIN)
            self._read(stranger)
        return max(self._due - time.monotonic(), least_s)

    def _hear(self) -> None:
        """Read what strangers sent, for as long as there are some."""
        for handle, _ in self._hearing.poll(0):
            self._read(self._strangers[handle])
        self._is_hearing = bool(self._strangers)
        if self._is_hearing:
            self._loop.call_later(HEARING_S, self._hear)

    def _read(self, stranger: Stranger) -> None:
        """Read the bytes of a stranger, and answer its request once it is whole."""
        client, _, sent = stranger
        try:
            data = client.recv(MOST_HEAD, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        sent += data
        missing = count_missing(sent) if data else None
        if missing is None:
            self._end(stranger)
        elif not missing and self._knows_token(sent):
            self._admit(stranger)
        elif not missing:
            with suppress(OSError):
                client.send(REFUSAL, socket.MSG_DONTWAIT)
            self._end(stranger)

    def _knows_token(self, sent: bytearray) -> bool:
        return any(secrets.compare_digest(word, self._token) for word in WORD.findall(sent))

    def _admit(self, stranger: Stranger) -> None:
        self._forget(stranger)
        connection = Connection(self._server, self._served, stranger.sent)
        connection.entering = self._loop.create_task(
            self._loop.connect_accepted_socket(lambda: connection, stranger.client)
        )

    def _end_waiting(self, count: int) -> int:
        """End some connections that wait for their clients longest; how many."""
        waiting = [connection for connection in self._served if connection.is_waiting()]
        waiting.sort(key=lambda connection: connection.since)
        for connection in waiting[: max(count, 0)]:
            connection.end()
        return len(waiting)

    def _end(self, stranger: Stranger) -> None:
        self._forget(stranger)
        stranger.client.close()

    def _forget(self, stranger: Stranger) -> None:
        self._hearing.unregister(stranger.client)
        del self._strangers[stranger.client.fileno()]

    def _count(self) -> int:
        return len(self._strangers) + len(self._served)

    def _count_room(self) -> int:
        """Connections that may be open, by the handles that nothing else in this process has."""
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if most == resource.RLIM_INFINITY:
            return MOST_CONNECTIONS
        try:
            taken = len(os.listdir("/dev/fd"))
        except OSError:
            taken = most
        others = taken - self._count()
        return min(max(most - others - SPARE, LEAST_CONNECTIONS), MOST_CONNECTIONS)

    def _report(self, _: asyncio.AbstractEventLoop, context: Mapping[str, object]) -> None:
        """Say in a line that something failed which no one waits for."""
        error = context.get("exception")
        self._say("a connection ended: %s", type(error).__name__ if error else context["message"])
        logger.debug(context["message"], exc_info=error)  # type: ignore[arg-type]

    def _say(self, text: str, value: object) -> None:
        now = time.monotonic()
        if now - self._said.get(text, -math.inf) >= MINUTE_S:
            self._said[text] = now
            logger.warning(text, value)


TOKEN_BYTES = 24

BACKLOG = 2048
"""Connections that wait to be taken."""

LEAVING_S = 2
"""How long answers may still take when the server ends."""


class _Quiet(uvicorn.Server):
    """Leaves signals to its process and connections to a door, and ends its streams at its end."""

    def __init__(
        self, config: uvicorn.Config, viewer: Viewer, listener: socket.socket, token: str
    ) -> None:
        super().__init__(config)
        self._viewer = viewer
        self._door = Door(listener, token, self)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the door, in place of servers of the event loop."""
        await self.lifespan.startup()
        self.servers = []
        self._door.open()
        self._viewer.begin()
        self.started = True

    async def on_tick(self, counter: int) -> bool:
        """Look at connections twice a second."""
        if counter % 5 == 0:
            self._door.look()
            self._viewer.most_viewers = self._door.room // 2
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all streams, then all else."""
        self._viewer.close()
        self._door.close()
        emptying = asyncio.create_task(self._door.empty())
        await super().shutdown(sockets)
        emptying.cancel()


class RunServer:
    """A server of a folder of runs and one of forecasts that listens already; `run` answers.

    At a port, any that is free if 0, or else it is refused.

    Attributes:
        address: To open, token included.
        bound: Number of the host at which it listens.
    """

    def __init__(
        self,
        runs: Path,
        port: int = 0,
        host: str = OWN_NAMES[0],
        forecasts: Path = Path("forecasts"),
    ) -> None:
        self._socket = _listen(host, port)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        bound, port = self._socket.getsockname()[:2]
        self.bound = bound
        shown = OWN_NAMES[0] if is_wildcard(bound) else f"[{host}]" if ":" in host else host
        self.address = f"http://{shown}:{port}/?{TOKEN}={token}"
        self.viewer = viewer = Viewer(runs, token, (host, bound), forecasts)
        config = uvicorn.Config(
            viewer.app,
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=int(2 * PATIENCE_S),  # by then it has ended
            timeout_graceful_shutdown=LEAVING_S,
        )
        self._server = _Quiet(config, viewer, self._socket, token)
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return f"RunServer({self.address!r})"

    def _repr_html_(self) -> str:
        address = escape(self.address)
        return f'<a href="{address}" target="_blank" rel="noopener">Runs in a browser</a>'

    def run(self) -> None:
        """Answer until `stop`."""
        self._server.run(sockets=[self._socket])

    def start(self) -> "RunServer":
        """Answer in a thread, for as long as this process lives."""
        self._thread = threading.Thread(target=self.run, name="viewing", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End it; a second call does nothing."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(2 * LEAVING_S)


def _listen(host: str, port: int) -> socket.socket:
    if host.split() != [host]:
        # The system takes an empty host for all of its addresses.
        raise ConfigError(f"--host {host!r} is empty or holds blanks; an address is 127.0.0.1")
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Of each connection: what the system keeps for a client who does not read.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError, TypeError, ValueError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"--host {host} --port {port} cannot be listened at: {why}") from None
    return listener
