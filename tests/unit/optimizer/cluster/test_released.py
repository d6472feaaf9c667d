"""Another client of the same scheduler that takes back what is not its own."""

import asyncio
from collections import Counter

import pytest
from distributed import Client

from optimizer.cluster import jobs
from optimizer.cluster.dask_client import Link
from optimizer.cluster.jobs import JobRequest, run_jobs
from optimizer.cluster.worker_cache import Parcel
from optimizer.errors import LostError, ReleasedError, SchedulerLostError
from tests.support.clusters import Hung

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


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
    if action == "hang up":
        dask_scheduler.remove_client(client)
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


def make_jobs(count):
    """Jobs that each take a while."""
    parcel = Parcel(Hung())
    return [JobRequest(n, f"job {n}", parcel, ("sleep", 1.0)) for n in range(count)]


@pytest.mark.parametrize(
    ("action", "times", "count"),
    # A scheduler that hung up may never hear of a second job, for which the stranger would wait.
    [("release", jobs.MOST_RELEASES, 2), ("cancel", 1, 2), ("hang up", 1, 1)],
)
def test_a_job_that_another_client_takes_back_is_done(cluster, stranger, action, times, count):
    """Whether the scheduler reports it or not, and as often as three times."""
    other = stranger(action, times)
    assert sorted(job.index for job in run_jobs(cluster, make_jobs(count))) == [*range(count)]
    assert other.met["job 0"] == times


def test_a_client_that_is_closed_is_not_awaited(cluster, stranger):
    """It hears of no call any more, and reports that it runs."""
    stranger("close")
    with pytest.raises(SchedulerLostError):
        list(run_jobs(cluster, make_jobs(1)))


def test_a_job_that_is_always_taken_back_ends_the_batch(cluster, stranger):
    """With its name, and the exit code of what can be resumed."""
    stranger("release", 99)
    with pytest.raises(ReleasedError, match="job 0") as caught:
        list(run_jobs(cluster, make_jobs(1)))
    assert (caught.value.exit_code, isinstance(caught.value, LostError)) == (4, True)
