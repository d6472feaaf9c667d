"""Work goes out in time, comes back once, and unfit workers are refused by name."""

import itertools
import logging
import queue
from dataclasses import dataclass, replace

import pytest

from optimizer.cluster import cluster as module
from optimizer.cluster.address import Address
from optimizer.cluster.cluster import Cluster
from optimizer.cluster.dask_client import Worker
from optimizer.cluster.jobs import (
    MOST_MOVES,
    MOST_RELEASES,
    FailedError,
    JobRequest,
    run_jobs,
)
from optimizer.cluster.messages import JobResult, Made, Work
from optimizer.cluster.searches import in_order
from optimizer.cluster.worker_cache import Keep, Parcel, solve
from optimizer.errors import ConfigError, ReleasedError, SchedulerLostError, WorkersLostError
from tests.support.clusters import Hung
from tests.support.evidence import make_planted_market

HERE = Made({"engine": "4"}, "bits", device="cpu")
PARCEL = Parcel(Hung(make_planted_market(3, 300, 0)))
FAR = Address("tcp://10.0.0.1:1", scheduler="tcp://10.0.0.1:1", is_plaintext=True)


@dataclass(eq=False)
class Call:
    """A call that was begun."""

    key: str
    function: object
    arguments: tuple
    worker: str


class Script:
    """A connection whose workers are played: each does its work when a client waits.

    Args:
        made: Address to what that worker is.
    """

    def __init__(self, made):
        self.made, self.keeps = dict(made), {}
        self.ended, self.begun, self.cancelled, self.away = _Queue(self), [], [], []
        self.seen, self.numbers, self.is_lost = 0.0, itertools.count(), False

    def workers(self):
        """Those that are played."""
        self.require()
        return tuple(Worker(address, address[-1], 1, self.seen) for address in sorted(self.made))

    def require(self):
        """As if the scheduler were there."""
        if self.is_lost:
            raise SchedulerLostError("lost")

    def begin(self, function, *arguments, name="call", worker="", may_move=False):
        """Note a call."""
        self.begun.append(Call(f"{name}|{next(self.numbers)}", function, arguments, worker))
        return self.begun[-1]

    def answer(self, call, timeout=0):
        """Play it."""
        self.require()
        address = call.worker if call.worker in self.made else sorted(self.made)[0]
        if call.arguments and isinstance(call.arguments[0], Work):
            keep = self.keeps.setdefault(address, Keep())
            module_made = self.made[address]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("optimizer.cluster.worker_cache.made_here", lambda: module_made)
                return address, solve(call.arguments[0], address, keep)
        return self.made[address]

    def end_unknown(self, calls):
        """All are known."""

    def cancel(self, calls):
        """Note what was taken back."""
        self.cancelled += [call.key for call in calls]

    def send_away(self, worker):
        """It goes."""
        self.away.append(worker)
        del self.made[worker]

    def list_calls(self):
        """Nothing."""
        return {}

    def leave(self, function, workers):
        """Without a wait."""

    def close(self):
        """Nothing was opened."""


class _Queue:
    """Ends calls in the order in which they were begun, when asked for one."""

    def __init__(self, script):
        self._script, self._taken = script, 0

    def get(self, timeout):
        """The next that was begun."""
        calls = [call for call in self._script.begun if call.arguments]
        if self._taken == len(calls):
            module.time.sleep(timeout)
            raise queue.Empty
        self._taken += 1
        return calls[self._taken - 1]


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that a test moves on, and nothing compiled."""
    time = {"now": 100.0}
    monkeypatch.setattr(module.time, "monotonic", lambda: time["now"])
    monkeypatch.setattr(module.time, "sleep", lambda s: time.__setitem__("now", time["now"] + s))
    monkeypatch.setattr(module, "made_here", lambda device: HERE)
    return time


@pytest.fixture
def messages(caplog):
    """Messages of the log."""
    caplog.set_level(logging.INFO, "optimizer.cluster.cluster")
    return caplog


def make_jobs(count, job="echo"):
    """So many jobs."""
    return [JobRequest(n, f"job {n}", PARCEL, (job, n)) for n in range(count)]


def join_workers(made=None, **options):
    """A cluster of two workers, or those that are named."""
    script = Script(made or {"tcp://10.0.0.2:1": HERE, "tcp://10.0.0.2:2": HERE})
    return Cluster(FAR, link=script, **options), script


def test_every_job_is_done_once():
    """A worker that lacks the setup is sent it, and nothing is lost on the way."""
    cluster, script = join_workers()
    jobs = list(run_jobs(cluster, make_jobs(9)))
    assert sorted((job.index, job.result) for job in jobs) == [(n, n) for n in range(9)]
    assert list(run_jobs(cluster, [])) == []
    assert script.cancelled == []


def test_other_versions_and_other_bits_are_refused_by_name():
    """All of them at once, before anything is done."""
    old, odd = replace(HERE, versions={"engine": "2"}), replace(HERE, bits="other")
    with pytest.raises(ConfigError) as refused:
        join_workers({"tcp://10.0.0.2:1": HERE, "tcp://10.0.0.2:2": old, "tcp://10.0.0.2:3": odd})
    for words in ("worker 2 at 10.0.0.2: engine 2, here 4", "worker 3 at 10.0.0.2: bits "):
        assert words in str(refused.value)
    assert "worker 1" not in str(refused.value)
    cluster, _ = join_workers({"tcp://10.0.0.2:2": old}, may_differ=True)
    assert old.differences(cluster.here) == ("engine 2, here 4",)


def test_a_late_worker_that_is_not_fit_is_sent_away(messages, clock, monkeypatch):
    """One of another version once it is asked, one of many threads at once; others do the work."""
    cluster, script = join_workers({"tcp://10.0.0.2:1": HERE})
    script.made["tcp://10.0.0.2:0"] = replace(HERE, versions={"engine": "2"})
    script.made["tcp://10.0.0.2:2"] = HERE
    honest = script.workers
    monkeypatch.setattr(
        script, "workers", lambda: tuple(replace(w, threads=max(int(w.name), 1)) for w in honest())
    )
    clock["now"] += 10
    assert sorted(job.index for job in run_jobs(cluster, make_jobs(6))) == list(range(6))
    assert sorted(script.away) == ["tcp://10.0.0.2:0", "tcp://10.0.0.2:2"]
    assert "worker 0 at 10.0.0.2 is refused and sent away: engine 2, here 4" in messages.text
    assert "worker 2 at 10.0.0.2 is refused and sent away: does 2 pieces" in messages.text


def test_a_worker_elsewhere_or_of_many_threads_is_refused(monkeypatch):
    """By name, whatever it is made by."""
    script = Script({"tcp://10.0.0.2:1": HERE})
    here = Address("tcp://127.0.0.1:1", scheduler="tcp://127.0.0.1:1")
    with pytest.raises(ConfigError, match=r"worker 1 at 10\.0\.0\.2"):
        Cluster(here, link=script)
    many = Worker("tcp://10.0.0.2:1", "1", 4, 0.0)
    monkeypatch.setattr(script, "workers", lambda: (many,))
    with pytest.raises(ConfigError, match="--nthreads 1"):
        Cluster(FAR, link=script)


def test_nobody_there_is_an_error_after_a_while(clock):
    """At the beginning, and in the middle; workers may come back until then."""
    with pytest.raises(WorkersLostError, match="no worker for 60 s"):
        Cluster(FAR, link=Script({}))
    cluster, script = join_workers()
    there = script.made
    # Nobody looked for an hour, such as while this process was stopped or busy.
    for made, seconds in (({}, 5), ({}, 50), (there, 50), ({}, 3600), ({}, 59)):
        script.made = made
        clock["now"] += seconds
        cluster.look()
    clock["now"] += 2
    with pytest.raises(WorkersLostError, match="no worker for 60 s"):
        cluster.look()
    assert (WorkersLostError("").exit_code, SchedulerLostError("").exit_code) == (5, 4)


def test_an_error_of_a_job_names_it_and_is_not_tried_again():
    """And what else was begun is taken back."""
    cluster, script = join_workers()
    with pytest.raises(FailedError, match="job 3") as caught:
        list(run_jobs(cluster, [*make_jobs(3), *make_jobs(9, "raise")[3:]]))
    assert [caught.value.exit_code, FailedError("x", ConfigError("x")).exit_code] == [1, 2]
    assert sum(call.key.startswith("job 3|") for call in script.begun) <= 3
    assert script.cancelled


@pytest.mark.parametrize("error", [WorkersLostError("gone"), KeyboardInterrupt()])
def test_what_came_early_is_told_before_what_went_wrong(error):
    """One job that never ends must not cost what the others found."""

    def ending(order):
        yield from (JobResult(index, "", None, 0.0) for index in order)
        raise error

    jobs = in_order(ending([1, 0, 5, 3, 4]))
    assert [next(jobs).index for _ in range(5)] == [0, 1, 3, 4, 5]
    with pytest.raises(type(error)):
        next(jobs)


def test_a_job_that_ends_its_workers_is_named(monkeypatch):
    """It is handed out anew so often, and the last time is an error."""
    cluster, script = join_workers()
    begin = script.begin

    def die(function, *arguments, worker="", **options):
        """Each worker that is given it ends, and another comes."""
        del script.made[worker]
        assert len(script.begun) < 99, "it is handed out for ever"
        script.made[f"tcp://10.0.0.2:{len(script.begun) + 10}"] = HERE
        return begin(function, worker=worker, **options)

    monkeypatch.setattr(script, "begin", die)
    with pytest.raises(WorkersLostError, match="job 0"):
        list(run_jobs(cluster, [JobRequest(0, "job 0", PARCEL, ("echo", 0), home=0)]))
    assert len(script.cancelled) >= MOST_MOVES


OTHERS = {
    "text": "a text",
    "number": 3,
    "job": ("tcp://10.0.0.2:1", JobResult(7, PARCEL.digest, 1, 0.0)),
    "setup": ("tcp://10.0.0.2:1", JobResult(0, "0" * 64, 1, 0.0)),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_an_answer_of_another_client_is_never_a_result(monkeypatch, other):
    """The job is begun anew; who answers it so again and again ends the batch."""
    cluster, script = join_workers()
    answer, times = script.answer, itertools.count()

    def answer_strangely(call, timeout=0):
        return other if next(times) < most else answer(call)

    monkeypatch.setattr(script, "answer", answer_strangely)
    most = MOST_RELEASES
    assert [job.result for job in run_jobs(cluster, make_jobs(1))] == [0]
    most = 99
    times = itertools.count()
    with pytest.raises(ReleasedError, match="job 0"):
        list(run_jobs(cluster, make_jobs(1)))
