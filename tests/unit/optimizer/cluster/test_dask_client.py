"""Connections: ports that are no scheduler's, workers that hang, calls that end workers."""

import os
import signal
import socket
import threading
import time
from contextlib import closing

import psutil
import pytest

from optimizer.cluster import dask_client
from optimizer.cluster.address import parse_address
from optimizer.cluster.dask_client import Link
from optimizer.errors import SchedulerLostError, WorkersLostError
from tests.support.clusters import begin_cluster, wait_until
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
def test_a_worker_that_hangs_with_its_result_holds_up_no_other(hosts, tmp_path):
    """Results of others come meanwhile, and its own when it goes on."""
    with closing(Link(parse_address(str(hosts.file)))) as link:
        hanging, other = (worker.address for worker in link.workers())
        calls = link.calls()
        calls.begin("stops", StopsOnce, tmp_path / "seen", worker=hanging)
        wait_until((tmp_path / "seen").exists)
        calls.begin("other", os.getpid, worker=other)
        ((purpose, _),) = calls.collect(200)
        assert (purpose, calls.purposes) == ("other", ["stops"])
        os.kill(int((tmp_path / "seen").read_text()), signal.SIGCONT)
        assert calls.collect(200) == [("stops", "sent")]


@pytest.mark.slow
def test_a_call_that_ends_workers_is_given_up(tmp_path):
    """As often as the scheduler says; one that hangs is replaced once it is not heard of for long.

    Five minutes by default.
    """
    settings = {
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10s",
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2",
    }
    with (
        begin_cluster(tmp_path, 1, environment=settings) as hosts,
        closing(Link(parse_address(str(hosts.file)))) as link,
    ):
        calls = link.calls()
        calls.begin("stopped", os.getpid)
        ((_, stopped),) = calls.collect(200)
        calls.begin("hangs", time.sleep, 0.5)
        os.kill(stopped, signal.SIGSTOP)
        assert calls.collect(200) == [("hangs", None)]
        assert not psutil.pid_exists(stopped)
        calls.begin("ends", os.abort)
        ((_, error),) = calls.collect(200)
    assert isinstance(error, WorkersLostError)
    assert "ended 3 workers one after the other" in str(error)


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
