"""Clients that would shut the live page: how long they are waited for, and that it is served."""

import resource
import select
import shutil
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from tempfile import TemporaryFile
from types import SimpleNamespace

import psutil
import pytest

from optimizer.viewing import connections
from optimizer.viewing.access import is_loopback
from optimizer.viewing.channels import Channel
from tests.support.hostile_clients import KINDS, attack
from tests.support.kill import child
from tests.support.viewing import Asker, GrowingRun, serving


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


def connect(asker, timeout=60):
    """A socket to the server."""
    name, port = asker.host.split(":")
    return socket.create_connection((name, int(port)), timeout=timeout)


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


@contextmanager
def serving_with(handles, folder):
    """The command `ui` as a process that may have so many handles, an asker, and its messages."""
    limits = (handles, handles)
    with TemporaryFile() as messages, subprocess.Popen(
        [sys.executable, "-m", "optimizer", "ui", "--runs", folder],
        stdout=subprocess.PIPE, stderr=messages, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits),
    ) as process:  # fmt: skip
        try:
            address = process.stdout.readline().strip()
            yield process, Asker(SimpleNamespace(address=address)), messages
        finally:
            process.kill()


@contextmanager
def attacked(asker, kinds):
    """Hundreds of clients of some kinds, each of which comes again as soon as it is ended."""
    with child(attack, asker.host, asker.cookie, asker.token, kinds, 400) as clients:
        assert clients.stdout.readline()
        yield


def watch(asker, path, growing, seconds):
    """States of a run that come in some seconds, while pages are there and it grows."""
    connection = HTTPConnection(asker.host, timeout=60)
    connection.request("GET", path, headers={"Cookie": asker.cookie})
    answer, until, states = connection.getresponse(), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        growing.grow(len(growing.store.generations()))
        assert asker.ask("/", timeout=20).code == 200
        # A heartbeat or a state.
        states += answer.readline().startswith(b"data: ")
    connection.close()
    return states


@pytest.mark.slow
def test_the_page_cannot_be_shut(run_path):
    """With few handles all is served, and none is lost; SIGTERM ends it without a word more."""
    with (
        serving_with(64, run_path.parent) as (process, asker, messages),
        closing(GrowingRun(run_path, run_path.parent, "growing")) as growing,
    ):
        growing.grow(0)
        assert asker.ask("/").code == 200
        handles = psutil.Process(process.pid).num_fds()
        with attacked(asker, "silent,half head,huge head,no token"):
            assert watch(asker, "/run/growing/events", growing, 2) > 0
        until = time.monotonic() + 20
        while psutil.Process(process.pid).num_fds() > handles:
            assert time.monotonic() < until
            time.sleep(0.1)
        with attacked(asker, "mixed"):
            process.terminate()
            process.wait(30)
        assert process.returncode == 0
        messages.seek(0)
        said = messages.read()
        assert len(said) < 1000
        assert b"Traceback" not in said


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
