"""Whose fault it is when the result of a call does not come: the call's or the connection's."""

import asyncio
import os
import signal
import socket
import threading
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError, listen

from optimizer.cluster import dask_client
from optimizer.cluster.address import Address, parse_address
from optimizer.cluster.dask_client import Link
from optimizer.errors import ReleasedError, SchedulerLostError
from tests.support.clusters import begin_cluster, own_workers, wait_until
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


def answer(call, status="connecting"):
    """Of an unopened connection, whose client has a status."""
    link = Link.__new__(Link)
    link._address, link._client = Address("tcp://10.0.0.1:1"), SimpleNamespace(status=status)
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
    """However the connection ended, the words are the same."""
    with pytest.raises(SchedulerLostError, match=r"tcp://10\.0\.0\.1:1 does not answer any more"):
        answer(Ended(status, error))


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("pending", FutureCancelledError("job 3", "unknown")),
        ("cancelled", ValueError("never asked for")),
    ],
)
def test_a_call_that_somebody_took_back_is_no_lost_scheduler(status, error):
    """While the scheduler answers it was another client, which the error names, with the call."""
    with pytest.raises(ReleasedError, match=r"tcp://10\.0\.0\.1:1 took back job 3: end that"):
        answer(Ended(status, error), "running")


@pytest.mark.parametrize("error", [CLOSED, FileNotFoundError("bars"), TimeoutError("vendor")])
def test_an_error_of_the_call_itself_stays_what_it_is(error):
    """A worker may find no file, and may be refused by another."""
    with pytest.raises(type(error)) as caught:
        answer(Ended("error", error))
    assert caught.value is error


def test_a_result_that_is_late_is_no_lost_scheduler():
    """The client may ask again."""
    with pytest.raises(TimeoutError):
        answer(Ended("pending", TimeoutError()))


@pytest.mark.slow
def test_a_result_that_its_worker_took_with_it_is_made_again():
    """While no worker is there the call is "lost", which is no sign of the scheduler."""
    with closing(Link(parse_address("local:1"))) as link:
        call = link.begin(os.getpid)
        link.ended.get(timeout=60)
        (worker,) = own_workers()
        worker.kill()
        wait_until(lambda: call.status == "lost")
        with pytest.raises(TimeoutError):
            link.answer(call, timeout=0.1)
        link.mend()
        wait_until(lambda: call.status == "finished")
        assert link.answer(call) != worker.pid


def test_a_port_that_says_nothing_is_no_scheduler(monkeypatch):
    """Who takes a connection and never answers is refused in time, in one line."""
    monkeypatch.setattr(dask_client, "CALL_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = parse_address(f"tcp://127.0.0.1:{silent.getsockname()[1]}")
        with bounded_time(60), pytest.raises(SchedulerLostError, match="silent for 1 s"):
            dask_client.Link(address)


@contextmanager
def listening(greetings):
    """A port that speaks as a scheduler does for so many messages, and then is silent."""
    loop, begun, address = asyncio.new_event_loop(), threading.Event(), []

    async def serve():
        heard = 0
        over = asyncio.Event()

        async def handle(comm):
            nonlocal heard
            with suppress(CommClosedError):
                while True:
                    await comm.read()
                    heard += 1
                    if heard <= greetings:
                        await comm.write({"type": "Scheduler", "workers": {}})

        async with listen("tcp://127.0.0.1:0", handle) as listener:
            address.extend([listener.contact_address, lambda: loop.call_soon_threadsafe(over.set)])
            begun.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert begun.wait(60)
    try:
        yield address[0]
    finally:
        address[1]()
        thread.join()
        loop.close()


@pytest.mark.parametrize("greetings", [0, 1, 2])
def test_a_scheduler_that_falls_silent_after_its_greeting_is_lost(monkeypatch, greetings):
    """Whether it answers no question at all, the first one, or all but taking us in."""
    monkeypatch.setattr(dask_client, "CALL_S", 1.0)
    refused = pytest.raises(SchedulerLostError, match=r"silent for 1 s|Timed out")
    with listening(greetings) as address, bounded_time(60), refused:
        dask_client.Link(parse_address(address))


@pytest.mark.slow
def test_a_worker_is_no_scheduler():
    """Its address is refused at once, and what listens there is named."""
    with closing(Link(parse_address("local:1"))) as link:
        wait_until(link.workers)
        (worker,) = link.workers()
        with pytest.raises(SchedulerLostError, match="a worker listens there"):
            Link(parse_address(worker.address))


@pytest.mark.slow
@pytest.mark.parametrize("question", ["workers", "list_calls", "send_away", "cancel", "close"])
def test_a_scheduler_that_falls_silent_later_holds_up_no_question(tmp_path, monkeypatch, question):
    """Each has an end; only who needs the answer fails."""
    with begin_cluster(tmp_path, workers=0) as others:
        link = Link(parse_address(str(others.file)))
        call = link.begin(os.getpid)
        questions = {
            "workers": link.workers,
            "list_calls": link.list_calls,
            "send_away": lambda: link.send_away("tcp://127.0.0.1:1"),
            "cancel": lambda: link.cancel([call]),
            "close": lambda: None,
        }
        monkeypatch.setattr(dask_client, "CALL_S", 1.0)
        others.scheduler.send_signal(signal.SIGSTOP)
        with bounded_time(60), closing(link):
            if question == "workers":
                with pytest.raises(SchedulerLostError):
                    link.workers()
            else:
                questions[question]()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_workers_on_this_machine_leave_its_environment_as_it_was(monkeypatch):
    """While they work and afterwards: what is begun beside them computes as without them."""
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    before = dict(os.environ)
    link = Link(parse_address("local:1"))
    try:
        wait_until(own_workers, 60)
        assert dict(os.environ) == before
        (worker,) = own_workers()
        worker.kill()
        wait_until(lambda: any(other.pid != worker.pid for other in own_workers()), 60)
    finally:
        link.close()
    assert dict(os.environ) == before
