"""A server of one folder of runs: in this process until it is stopped, or beside a notebook."""

import asyncio
import contextlib
import secrets
import socket
import threading
from collections.abc import Iterator
from html import escape
from pathlib import Path

import uvicorn

from optimizer.errors import ConfigError
from optimizer.viewing.access import OWN_NAMES, PIECE, TOKEN, is_wildcard
from optimizer.viewing.connections import PATIENCE_S, Door
from optimizer.viewing.server import Viewer

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
    """A server that listens already; `run` answers.

    Args:
        runs: Folder of runs.
        port: To listen at; any that is free if 0.
        host: To listen on.
        forecasts: Folder of forecasts.

    Attributes:
        address: To open, token included.
        viewer: What answers.
        bound: Number of the host at which it listens.

    Raises:
        ConfigError: When it cannot listen there.
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
