"""Hostile clients of the live page: many sockets that say nothing, too little, or too slowly."""

import resource
import select
import socket
import sys
import time
from contextlib import suppress
from typing import NamedTuple

GET = "GET {path} HTTP/1.1\r\nHost: {host}\r\n"
ASKING = GET + "Cookie: {cookie}\r\n\r\n"
POSTING = (
    "POST /run/growing/labels HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
    "X-Optimizer-Token: {token}\r\nContent-Length: 1000\r\n\r\n"
)


class Kind(NamedTuple):
    """A hostile client."""

    first: str = ""  # sent at once
    each_s: bytes = b""  # sent every second
    path: str = "/"
    read: int = 0  # bytes that it reads a second; -1 for all

    def begin(self, host, cookie, token):
        """Bytes that it sends at once."""
        text = self.first.format(host=host, path=self.path, cookie=cookie, token=token)
        return text.encode("latin-1")


STRANGERS = {
    "silent": Kind(),
    "half line": Kind("GET / HT"),
    "half head": Kind(GET),
    "slow head": Kind("GET / HTTP/1.1\r\nX: ", b"x"),
    "TLS": Kind("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "huge head": Kind(GET + "X: " + "x" * 60_000),
    "no token": Kind(GET + "\r\n", read=-1),
}
"""Kinds that do not know the token."""

KINDS = STRANGERS | {
    "half known": Kind(ASKING.removesuffix("\r\n")),
    "no body": Kind(POSTING),
    "slow body": Kind(POSTING, b"x"),
    "kept alive": Kind(ASKING, read=-1),
    "half again": Kind(ASKING + GET, b"x", read=-1),
    "unread page": Kind(ASKING, path="/assets/plotly.js"),
    "slow reader": Kind(ASKING, path="/assets/plotly.js", read=1),
    "unread stream": Kind(ASKING, path="/events"),
}


class Attack:
    """Clients of some kinds, each of which comes again as soon as it is ended.

    Args:
        address: Host and port.
        secrets: Host, cookie and token, as `Kind.begin` takes them.
    """

    def __init__(self, address, secrets):
        self.address, self.secrets = address, secrets
        self.poll, self.clients = select.epoll(), {}

    def connect(self, kind):
        """Open one."""
        client = socket.socket()
        client.setblocking(False)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect_ex(self.address)
        self.clients[client.fileno()] = client, kind
        self.poll.register(client, select.EPOLLOUT | select.EPOLLRDHUP)

    def react(self, handle, events):
        """Begin, read, or come again."""
        client, kind = self.clients[handle]
        try:
            if events & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR):
                raise ConnectionError
            if events & select.EPOLLOUT:
                reads = select.EPOLLIN if kind.read < 0 else 0
                self.poll.modify(handle, select.EPOLLRDHUP | reads)
                client.send(kind.begin(*self.secrets))
            else:
                client.recv(65_536)
        except OSError:
            self.poll.unregister(handle)
            del self.clients[handle]
            client.close()
            self.connect(kind)

    def tick(self):
        """Go on slowly."""
        for client, kind in self.clients.values():
            with suppress(OSError):
                client.send(kind.each_s)
                client.recv(max(kind.read, 0))


def attack(host, cookie, token, kinds, count):
    """Be many clients of some kinds in turn until killed; "mixed" is all."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most), most))
    chosen = [*KINDS] if kinds == "mixed" else kinds.split(",")
    name, port = host.rsplit(":", 1)
    attacking = Attack((name, int(port)), (host, cookie, token))
    for number in range(int(count)):
        attacking.connect(KINDS[chosen[number % len(chosen)]])
    sys.stdout.write(f"{count}\n")
    sys.stdout.flush()
    ticked = time.monotonic()
    while True:
        for handle, events in attacking.poll.poll(0.1):
            attacking.react(handle, events)
        if time.monotonic() - ticked >= 1:
            ticked = time.monotonic()
            attacking.tick()
