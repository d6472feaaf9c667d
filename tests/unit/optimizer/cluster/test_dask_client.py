"""Whose fault it is when the result of a call does not come: the call's or the connection's."""

import os
import signal
import socket
import threading
from concurrent.futures import Future
from contextlib import closing
from types import SimpleNamespace

import pytest
from distributed.comm import CommClosedError

from optimizer.cluster import dask_client
from optimizer.cluster.address import Address, parse_address
from optimizer.cluster.dask_client import CallTicket, Link
from optimizer.errors import ReleasedError, SchedulerLostError
from tests.support.clusters import wait_until
from tests.support.hostile import bounded_time

CLOSED = CommClosedError("in <TCP (closed) ConnectionPool.gather>: Connection reset by peer")


def answer(status, error=None, client="connecting"):
    """Of an unopened connection, to a call that is over, or whose result has not come."""
    link, fetched = Link.__new__(Link), Future()
    link._address = Address("tcp://10.0.0.1:1")
    link._client = SimpleNamespace(status=client)
    if status == "cancelled":
        fetched.cancel()
    elif error is not None:
        fetched.set_exception(error)
    return link.answer(CallTicket(SimpleNamespace(status=status, key="job 3|0"), fetched), 0)


@pytest.mark.parametrize(
    ("status", "error", "client", "expected", "words"),
    [
        # However the connection ended, the words are the same.
        ("finished", CLOSED, "connecting", SchedulerLostError, "does not answer any more"),
        ("cancelled", None, "connecting", SchedulerLostError, "does not answer any more"),
        # While the scheduler answers it was another client, which the error names, with the call.
        ("cancelled", None, "running", ReleasedError, "took back job 3: end that"),
        # A worker may find no file, and may be refused by another; a late result is asked again.
        ("error", FileNotFoundError("bars"), "connecting", FileNotFoundError, "bars"),
        ("error", CLOSED, "connecting", CommClosedError, "reset by peer"),
        ("finished", None, "connecting", TimeoutError, None),
    ],
)
def test_whose_fault_it_is_that_no_result_comes(status, error, client, expected, words):
    """The scheduler's, another client's, or the call's own."""
    with pytest.raises(expected, match=words):
        answer(status, error, client)


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
        stops = link.begin(StopsOnce, tmp_path / "seen", worker=hanging)
        wait_until((tmp_path / "seen").exists)
        told = link.begin(os.getpid, worker=other)
        assert link.ended.get(timeout=200) is told
        assert link.ended.empty()
        os.kill(int((tmp_path / "seen").read_text()), signal.SIGCONT)
        assert link.ended.get(timeout=200) is stops
        assert link.answer(stops) == "sent"
        # Its address is no scheduler's.
        with pytest.raises(SchedulerLostError, match="a worker listens"):
            Link(parse_address(other))
        call = link.begin(StopsOnce, tmp_path / "again")
        wait_until((tmp_path / "again").exists)
        os.kill(int((tmp_path / "again").read_text()), signal.SIGKILL)
        assert link.ended.get(timeout=200) is call
        assert link.answer(call) == "sent"


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
