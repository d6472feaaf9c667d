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
from tests.support.clusters import begin_cluster
from tests.support.hostile import bounded_time


@pytest.mark.slow
def test_a_call_that_ends_workers_is_given_up(tmp_path):
    """As often as the scheduler says; one that hangs is replaced once it is not heard of for long.

    Five minutes by default.
    """
    settings = {
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10s",
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
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
    assert "ended 2 workers one after the other" in str(error)


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
