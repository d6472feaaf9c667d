"""Whose fault it is when the result of a call does not come: the call's or the connection's."""

import os
import socket
from contextlib import closing
from dataclasses import dataclass

import pytest
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError

from optimizer.cluster import hosts
from optimizer.cluster.address import Address, parse_address
from optimizer.cluster.hosts import Link
from optimizer.errors import SchedulerLostError
from tests.support.clusters import own_workers, wait_for
from tests.support.hostile import bounded_time

CLOSED = CommClosedError("in <TCP (closed) ConnectionPool.gather>: Connection reset by peer")


@dataclass
class Ended:
    """A call that is over, whose result raises an error when it is fetched."""

    status: str
    error: Exception
    key: str = "job 3|0"

    def result(self, timeout):
        """As of a future."""
        raise self.error


def answer(call):
    """Of a connection that nobody opened."""
    link = Link.__new__(Link)
    link._address = Address("tcp://10.0.0.1:1")
    return link.answer(call)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("finished", CLOSED),
        ("finished", ConnectionResetError(104, "Connection reset by peer")),
        ("pending", FutureCancelledError("job 3", "scheduler-connection-lost")),
        ("cancelled", ValueError("never asked for")),
    ],
)
def test_a_result_that_cannot_be_fetched_is_a_lost_scheduler(status, error):
    """However the connection ended, it is said in the same words."""
    with pytest.raises(SchedulerLostError, match=r"tcp://10\.0\.0\.1:1 does not answer any more"):
        answer(Ended(status, error))


@pytest.mark.parametrize("error", [CLOSED, FileNotFoundError("bars"), TimeoutError("vendor")])
def test_an_error_of_the_call_itself_stays_what_it_is(error):
    """A worker may find no file, and may be refused by somebody else."""
    with pytest.raises(type(error)) as caught:
        answer(Ended("error", error))
    assert caught.value is error


def test_a_result_that_is_late_is_no_lost_scheduler():
    """Whoever asked may ask again."""
    with pytest.raises(TimeoutError):
        answer(Ended("pending", TimeoutError()))


@pytest.mark.slow
def test_a_result_that_its_worker_took_with_it_is_made_again():
    """While no worker is there the call is "lost", which says nothing of the scheduler."""
    with closing(Link(parse_address("local:1"))) as link:
        call = link.begin(os.getpid)
        link.ended.get(timeout=60)
        (worker,) = own_workers()
        worker.kill()
        wait_for(lambda: call.status == "lost")
        with pytest.raises(TimeoutError):
            link.answer(call, timeout=0.1)
        link.mend()
        wait_for(lambda: call.status == "finished")
        assert link.answer(call) != worker.pid


def test_a_port_that_says_nothing_is_no_scheduler(monkeypatch):
    """Who takes a connection and never answers is refused in time, in one line."""
    monkeypatch.setattr(hosts, "CALL_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = parse_address(f"tcp://127.0.0.1:{silent.getsockname()[1]}")
        with bounded_time(60), pytest.raises(SchedulerLostError, match="silent for 1 s"):
            hosts.Link(address)
