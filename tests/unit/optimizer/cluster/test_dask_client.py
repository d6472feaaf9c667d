"""Connections: ports that are no scheduler's, and workers that end with a result."""

import os
import signal
import socket
import threading
from contextlib import closing

import pytest

from optimizer.cluster import dask_client
from optimizer.cluster.address import parse_address
from optimizer.cluster.dask_client import Link
from optimizer.errors import SchedulerLostError
from tests.support.clusters import wait_until
from tests.support.hostile import bounded_time


class StopsOnce:
    """Result that stops the worker that sends it, once.

    Args:
        seen: File that is there from then on, with the number of the process.
    """

    def __init__(self, seen):
        self.seen = seen

    def __reduce__(self):
        if not self.seen.exists():
            self.seen.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGSTOP)
        return str, ("sent",)


@pytest.mark.slow
def test_a_worker_that_hangs_or_ends_with_its_result_holds_up_no_other(tmp_path):
    """Results of others come meanwhile; its own when it goes on, or by its replacement."""
    with closing(Link(parse_address("local:2"))) as link:
        wait_until(lambda: len(link.workers()) == 2)
        hanging, other = (worker.address for worker in link.workers())
        calls = link.calls()
        calls.begin("stops", StopsOnce, tmp_path / "seen", worker=hanging)
        wait_until((tmp_path / "seen").exists)
        calls.begin("other", os.getpid, worker=other)
        ((purpose, _),) = calls.collect(200)
        assert (purpose, calls.purposes) == ("other", ["stops"])
        os.kill(int((tmp_path / "seen").read_text()), signal.SIGCONT)
        assert calls.collect(200) == [("stops", "sent")]
        calls.begin("ends", StopsOnce, tmp_path / "again")
        wait_until((tmp_path / "again").exists)
        os.kill(int((tmp_path / "again").read_text()), signal.SIGKILL)
        assert calls.collect(200) == [("ends", "sent")]


def test_a_port_that_says_nothing_is_no_scheduler(monkeypatch):
    """Who takes a connection and never answers is refused in time, in one line."""
    monkeypatch.setattr(dask_client, "CALL_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = parse_address(f"tcp://127.0.0.1:{silent.getsockname()[1]}")
        with bounded_time(60), pytest.raises(SchedulerLostError, match="silent for 1 s"):
            dask_client.Link(address)


@pytest.mark.parametrize("words", [b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.0 400\r\n\r\n", b"\0" * 64])
def test_a_port_that_speaks_first_is_no_scheduler(words):
    """Its words are no lengths of messages, and ask for no memory."""
    with socket.create_server(("127.0.0.1", 0)) as other:

        def speak():
            with other.accept()[0] as connection:
                connection.sendall(words)
                # Until the client leaves.
                while connection.recv(1024):
                    pass

        speaker = threading.Thread(target=speak)
        speaker.start()
        address = parse_address(f"tcp://127.0.0.1:{other.getsockname()[1]}")
        with bounded_time(60), pytest.raises(SchedulerLostError, match="another program listens"):
            Link(address)
        speaker.join(60)
