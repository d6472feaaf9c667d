"""Clients that would shut the live page: how long they are waited for, and that it is served."""

import select
import shutil
import socket
import time
from contextlib import suppress
from typing import NamedTuple

import pytest

from optimizer.viewing import connections
from optimizer.viewing.access import is_loopback
from optimizer.viewing.channels import Channel
from tests.support.viewing import serving

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

    def begin(self, host, cookie, token):
        """Bytes that it sends at once."""
        text = self.first.format(host=host, path=self.path, cookie=cookie, token=token)
        return text.encode("latin-1")


KINDS = {
    "silent": Kind(),
    "half line": Kind("GET / HT"),
    "half head": Kind(GET),
    "slow head": Kind("GET / HTTP/1.1\r\nX: ", b"x"),
    "TLS": Kind("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "huge head": Kind(GET + "X: " + "x" * 60_000),
    "no token": Kind(GET + "\r\n"),
    "half known": Kind(ASKING.removesuffix("\r\n")),
    "no body": Kind(POSTING),
    "slow body": Kind(POSTING, b"x"),
    "kept alive": Kind(ASKING),
    "half again": Kind(ASKING + GET, b"x"),
    "unread page": Kind(ASKING, path="/assets/plotly.js"),
    "unread stream": Kind(ASKING, path="/events"),
}


@pytest.fixture(scope="module")
def run_path(recordings, tmp_path_factory):
    """A copy of a small run in a folder of runs."""
    folder, result = recordings.record("held out")
    return shutil.copytree(folder / result["path"], tmp_path_factory.mktemp("runs") / "first")


@pytest.fixture(scope="module")
def asker(run_path):
    """A server of its folder."""
    with serving(run_path.parent) as asking:
        yield asking


async def make_much(_):
    """News that fills every buffer."""
    return b":" + b"x" * 1_000_000 + b"\n\n"


@pytest.mark.parametrize("kind", KINDS)
def test_no_client_is_waited_for_long(asker, monkeypatch, kind):
    """Whoever says too little, or leaves a page or a stream unread, is ended."""
    monkeypatch.setattr(connections, "PATIENCE_S", 0.3)
    monkeypatch.setattr(Channel, "_wait_for_news", make_much)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        name, port = asker.host.split(":")
        client.connect((name, int(port)))
        client.send(KINDS[kind].begin(asker.host, asker.cookie, asker.token))
        until = time.monotonic() + 20
        poll = select.poll()
        poll.register(client, select.POLLRDHUP)
        while not poll.poll(50):
            assert time.monotonic() < until
            with suppress(ConnectionError):
                client.send(KINDS[kind].each_s)
    assert asker.ask("/").code == 200


@pytest.mark.parametrize(
    ("host", "is_everywhere"),
    [
        ("0", True), ("0x0", True), ("0.0", True), ("::", True), ("0::0", True), ("\uff10", True),
        ("::ffff:0.0.0.0", True), ("127.1", False), ("::ffff:127.0.0.1", False),
    ],
)  # fmt: skip
def test_a_host_is_known_by_its_number(run_path, host, is_everywhere):
    """However it is written: who listens on all addresses is open, and shown at its own."""
    with serving(run_path.parent, host=host) as asking:
        assert ("//127.0.0.1:" in asking.address) == is_everywhere
        assert asking.ask("/", Host="192.0.2.7").code == (200 if is_everywhere else 403)
        assert is_loopback(asking.server.bound) != is_everywhere
