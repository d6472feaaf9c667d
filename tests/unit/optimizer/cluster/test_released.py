"""Another client of the same scheduler that takes back, or answers, what is not its own."""

import asyncio
import os
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from distributed import Client

from optimizer.cluster import cluster as cluster_module
from optimizer.cluster import jobs
from optimizer.cluster.address import parse_address
from optimizer.cluster.cluster import Cluster
from optimizer.cluster.dask_client import Link
from optimizer.cluster.jobs import JobRequest, run_jobs
from optimizer.cluster.measuring import measure_workers
from optimizer.cluster.messages import JobResult
from optimizer.cluster.searches import in_order
from optimizer.cluster.sharded import on_workers
from optimizer.cluster.worker_cache import Parcel
from optimizer.errors import LostError, ReleasedError, SchedulerLostError
from tests.support.clusters import Hung, begin_cluster, run_search, search_on_seven

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    """A scheduler with two workers, for all tests."""
    with begin_cluster(tmp_path_factory.mktemp("hosts")) as hosts:
        yield hosts


@pytest.fixture
def cluster(hosts):
    """As a person joins it."""
    with Cluster(parse_address(str(hosts.file))) as cluster:
        yield cluster


def hold_worker(folder):
    """On a worker: be busy until a test ends."""
    (Path(folder) / f"busy-{os.getpid()}").touch()
    while not (Path(folder) / "free").exists():
        time.sleep(0.01)


@pytest.fixture
def busy(hosts, tmp_path):
    """Workers that begin nothing, so that whatever is taken back had not begun."""
    with Client(scheduler_file=str(hosts.file), set_as_default=False) as client:
        workers = client.scheduler_info()["workers"]
        held = [
            client.submit(hold_worker, str(tmp_path), workers=[address], pure=False)
            for address in workers
        ]
        while len(list(tmp_path.glob("busy-*"))) < len(workers):
            time.sleep(0.01)
        yield
        (tmp_path / "free").touch()
        client.gather(held)


class Stranger:
    """A client that does something to the first calls of each name, as soon as they are sent.

    Args:
        hosts: Whose scheduler.
        action: Of the scheduler, with the client and the key.
        times: How many calls of a name.
    """

    def __init__(self, hosts, action, times=1):
        self.client = Client(scheduler_file=str(hosts.file), set_as_default=False)
        self._action, self._times, self.met = action, times, Counter()

    def meet(self, link, ticket):
        """Act on one call."""
        name = str(ticket.key).rpartition("|")[0]
        if self.met[name] < self._times:
            self.met[name] += 1
            given = {"action": self._action, "key": ticket.key, "client": link._client.id}
            self.client.run_on_scheduler(_act, **given)


async def _act(action, key, client, dask_scheduler):
    """On the scheduler: once it has the call, and has confirmed it."""
    while key not in dask_scheduler.tasks or dask_scheduler._active_graph_updates:
        await asyncio.sleep(0.01)
    if action == "release":
        # What a client of another process may send with the name of this one.
        dask_scheduler.client_releases_keys([key], client)
    if action in ("remove", "hang up"):
        dask_scheduler.remove_client(client)
    if action == "hang up":
        dask_scheduler.client_comms.pop(client).abort()
    if action == "close":
        dask_scheduler.client_comms[client].send({"op": "close"})
    if action == "cancel":
        dask_scheduler.stimulus_cancel([key], client, force=True, reason="", msg="")


@pytest.fixture
def stranger(hosts, monkeypatch):
    """Begin with a client that meets all calls from then on."""
    strangers, begin = [], Link.begin

    def begun_and_met(link, *arguments, **options):
        ticket = begin(link, *arguments, **options)
        for stranger in strangers:
            stranger.meet(link, ticket)
        return ticket

    monkeypatch.setattr(Link, "begin", begun_and_met)
    yield lambda *options: strangers.append(Stranger(hosts, *options)) or strangers[-1]
    for stranger in strangers:
        stranger.client.close()


def make_jobs(count, what="sleep"):
    """Jobs that each take a while."""
    parcel = Parcel(Hung())
    return [JobRequest(n, f"job {n}", parcel, (what, 1.5)) for n in range(count)]


@pytest.mark.parametrize("action", ["release", "cancel"])
def test_a_job_that_another_client_takes_back_is_done(cluster, stranger, action):
    """Whether the scheduler reports it or not, and as often as three times."""
    other = stranger(action, jobs.MOST_RELEASES)
    assert sorted(job.index for job in run_jobs(cluster, make_jobs(3))) == [0, 1, 2]
    assert other.met == {f"job {n}": jobs.MOST_RELEASES for n in range(3)}


def test_a_client_that_is_closed_is_not_awaited(cluster, stranger):
    """It hears of no call any more, and reports that it runs."""
    stranger("close")
    with pytest.raises(SchedulerLostError, match="does not answer any more"):
        list(run_jobs(cluster, make_jobs(1)))


@pytest.mark.parametrize("action", ["remove", "hang up"])
def test_jobs_of_a_client_that_another_removes_are_done(cluster, stranger, action):
    """The scheduler is there still, and takes this client in again."""
    other = stranger(action)
    (job,) = run_jobs(cluster, make_jobs(1))
    assert (job.index, other.met["job 0"]) == (0, 1)


@pytest.mark.parametrize("action", ["release", "cancel"])
def test_a_job_that_is_always_taken_back_ends_the_batch(cluster, stranger, action):
    """With its name, the cause and what to do, in one line."""
    stranger(action, 99)
    expected = r"another client of the scheduler of --cluster \S+ took back job 0: end that client"
    with pytest.raises(ReleasedError, match=expected) as caught:
        list(run_jobs(cluster, make_jobs(1)))
    assert caught.value.exit_code == 4
    assert isinstance(caught.value, LostError)


def test_a_search_whose_calls_are_taken_back_finds_the_same(cluster, stranger):
    """To the last bit, wherever in it that was."""
    task = search_on_seven(over_windows="worst")
    expected = run_search(task)
    other = stranger("release")
    assert run_search(task, on_workers(cluster, task, 3)) == expected
    assert {"evaluate shard 0", "replay shard 2"} <= set(other.met)


def test_a_restart_of_the_cluster_by_another_client_changes_nothing(tmp_path):
    """It has the scheduler forget all calls, and begins all workers anew."""
    with begin_cluster(tmp_path) as hosts, Cluster(parse_address(str(hosts.file))) as cluster:
        expected = [job.result for job in in_order(run_jobs(cluster, make_jobs(6, "echo")))]
        running = run_jobs(cluster, make_jobs(6))
        next(running)
        with Client(scheduler_file=str(hosts.file), set_as_default=False) as other:
            other.restart(timeout=120)
        assert len(list(running)) == 5
        assert [job.result for job in in_order(run_jobs(cluster, make_jobs(6, "echo")))] == expected


def test_a_first_question_that_is_taken_back_is_no_silent_worker(
    hosts, busy, stranger, monkeypatch
):
    """A joining client gets the error soon, instead of waiting for the end of its patience."""
    monkeypatch.setattr(cluster_module, "LISTEN_S", 0.2)
    stranger("release", 99)
    with pytest.raises(ReleasedError, match="took back call"):
        Cluster(parse_address(str(hosts.file)))


def test_a_measurement_that_is_taken_back_is_no_lost_scheduler(
    cluster, busy, stranger, monkeypatch
):
    """`doctor` names what happened."""
    monkeypatch.setattr(cluster_module, "LISTEN_S", 0.2)
    stranger("release", 99)
    with pytest.raises(ReleasedError, match="took back measure"):
        measure_workers(cluster)


def test_an_answer_to_another_question_is_not_taken(cluster, monkeypatch):
    """Of another job, of another setup, or none of ours; the job is begun anew."""
    answer, strange = Link.answer, iter(["a text", None, 3])
    messages = []

    def answer_strangely(link, ticket, timeout=0):
        honest = answer(link, ticket, timeout)
        messages.append(next(strange, honest))
        return messages[-1]

    monkeypatch.setattr(Link, "answer", answer_strangely)
    (result,) = run_jobs(cluster, make_jobs(1, "echo"))
    assert result.result == 1.5
    assert messages[:3] == ["a text", None, 3]


@pytest.mark.parametrize("field", ["index", "setup"])
def test_an_answer_of_another_job_is_never_a_result(cluster, monkeypatch, field):
    """Who answers it so again and again ends the batch."""
    answer = Link.answer

    def answer_another(link, ticket, timeout=0):
        address, reply = answer(link, ticket, timeout)
        other = {"index": 7, "setup": "0" * 64}
        return address, replace(reply, **{field: other[field]}) if _is_result(reply) else reply

    monkeypatch.setattr(Link, "answer", answer_another)
    with pytest.raises(ReleasedError, match="answered job 0 with something else"):
        list(run_jobs(cluster, make_jobs(1, "echo")))


def _is_result(answer):
    return isinstance(answer, JobResult)
