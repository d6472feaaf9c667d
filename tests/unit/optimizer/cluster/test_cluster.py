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
    MOST_TRIES,
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


class Dying(Script):
    """Workers some of which end instead of saying what they are.

    Args:
        made: As of `Script`.
        dying: Addresses of those.
        comes: Who comes when all are gone.
    """

    def __init__(self, made, dying, comes=None):
        super().__init__(made)
        self.dying, self.comes = dying, comes or {}

    def answer(self, call, timeout=0):
        """None of them does."""
        if call.worker in self.dying:
            self.made.pop(call.worker, None)
            self.made = self.made or self.comes
            raise TimeoutError
        return super().answer(call, timeout)


class Alternating(Script):
    """Workers each of which gets every second call that is meant for none."""

    def answer(self, call, timeout=0):
        """By whose turn it is."""
        assert len(self.begun) < 99, "it goes back and forth for ever"
        call.worker = call.worker or sorted(self.made)[self.begun.index(call) % len(self.made)]
        return super().answer(call, timeout)


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


def test_what_is_lacking_goes_to_the_worker_that_lacks_it():
    """Of two that have one half each, the other would lack the other half, and so on for ever."""
    script = Alternating({"tcp://10.0.0.2:1": HERE, "tcp://10.0.0.2:2": HERE})
    cluster = Cluster(FAR, link=script)
    one, two = (make_planted_market(seed, 300, 0) for seed in (4, 5))
    halves = [Parcel(Hung(one)), Parcel(Hung(two))]
    list(run_jobs(cluster, [JobRequest(n, "", halves[n], ("echo", n), home=n) for n in (0, 1)]))
    both = Parcel(Hung(one, known={"other": two}))
    list(run_jobs(cluster, [JobRequest(0, "both", both, ("echo", 0))]))
    # Without the setup, with it, and with the half that is lacking.
    assert sum(call.key.startswith("both|") for call in script.begun) == 3


def test_at_most_two_pieces_a_worker_are_under_way():
    """The rest waits here, and is dropped when it is not wanted."""
    cluster, script = join_workers()
    running = run_jobs(cluster, make_jobs(50))
    next(running)
    assert len(list_taken(script)) <= 5
    running.close()
    assert len(list_taken(script)) <= 5
    assert script.cancelled


def test_what_may_be_superfluous_is_begun_slowly():
    """So many at first, then as many again as were done."""
    made = {f"tcp://10.0.0.2:{n}": HERE for n in range(1, 9)}
    cluster, script = join_workers(made)
    running = run_jobs(cluster, make_jobs(64), first=4)
    begun = []
    for _ in range(12):
        next(running)
        begun.append(len(list_taken(script)))
    # Done + under way: 4 until 4 are done, then twice what was done.
    assert begun == [4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 22]


def list_taken(script):
    """Jobs that were begun, each once."""
    return {call.arguments[0].index for call in script.begun if call.arguments}


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


def test_a_lost_scheduler_is_an_error_at_once():
    """Whatever was under way."""
    cluster, script = join_workers()
    running = run_jobs(cluster, make_jobs(8))
    next(running)
    script.is_lost = True
    with pytest.raises(SchedulerLostError):
        list(running)


def test_who_says_nothing_for_long_is_named_once(messages, clock):
    """Until it answers again."""
    cluster, script = join_workers({"tcp://10.0.0.2:1": HERE})
    for _ in range(8):
        clock["now"] += 20
        cluster.look()
    assert messages.text.count("worker 1 at 10.0.0.2 has said nothing for 80 s") == 1
    assert messages.text.count("has said nothing") == 1
    script.seen = 1.0
    for _ in range(8):
        clock["now"] += 20
        cluster.look()
    assert messages.text.count("has said nothing") == 2


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


def test_jobs_of_one_home_stay_together():
    """On the worker that has what they need; where it is gone, on another."""
    cluster, script = join_workers()
    jobs = [JobRequest(n, f"job {n}", PARCEL, ("echo", n), home=n % 2) for n in range(8)]
    list(run_jobs(cluster, jobs))
    homes = {}
    for call in script.begun:
        if call.arguments:
            homes.setdefault(call.arguments[0].index % 2, set()).add(call.worker)
    assert [len(homes[n]) for n in (0, 1)] == [1, 1]
    assert homes[0] != homes[1]
    (gone,) = homes[0]
    del script.made[gone]
    cluster.look()
    script.begun.clear()
    script.ended = _Queue(script)
    assert len(list(run_jobs(cluster, jobs))) == 8
    assert {call.worker for call in script.begun if call.arguments} == homes[1]


def test_a_worker_that_ends_before_its_first_word_is_left_out(messages):
    """The others go on at once; its replacement is asked with its first piece of work."""
    script = Dying({"tcp://10.0.0.2:1": HERE, "tcp://10.0.0.2:2": HERE}, ["tcp://10.0.0.2:1"])
    cluster = Cluster(FAR, link=script)
    assert list(cluster.workers) == list(cluster.made) == ["tcp://10.0.0.2:2"]
    assert "worker 1 at 10.0.0.2 ended before it said what it is" in messages.text
    script.made["tcp://10.0.0.2:3"] = replace(HERE, bits="other")
    cluster.look()
    assert len(list(run_jobs(cluster, make_jobs(6)))) == 6


def test_where_all_end_before_their_first_answer_the_next_are_awaited(clock):
    """And asked; where none comes, that is the error."""
    first = {"tcp://10.0.0.2:1": HERE}
    script = Dying(first, list(first), comes={"tcp://10.0.0.2:2": HERE})
    assert list(Cluster(FAR, link=script).made) == ["tcp://10.0.0.2:2"]
    with pytest.raises(WorkersLostError, match="no worker for 60 s"):
        Cluster(FAR, link=Dying(first, list(first)))


def test_workers_that_begin_anew_for_ever_are_an_error(clock):
    """Where each that comes ends before its first answer, an error follows some of them."""

    class Restarting(Dying):
        """A worker that is begun anew at once, in the same place."""

        asked = 0

        def answer(self, call, timeout=0):
            """The same each time; a search that goes on asking fails."""
            self.asked += 1
            assert self.asked < 100
            self.comes = {call.worker: HERE}
            address = next(reversed(self.made))
            self.made = {f"{address}0": HERE}
            self.dying = [call.worker, f"{address}0"]
            raise TimeoutError

    with pytest.raises(WorkersLostError, match="5 times all workers ended before they said"):
        Cluster(FAR, link=Restarting({"tcp://10.0.0.2:1": HERE}, []))


def test_a_worker_that_hangs_before_its_first_word_is_named(clock):
    """It is there and silent."""
    script = Script({"tcp://10.0.0.2:1": HERE})

    def hang(call, timeout):
        clock["now"] += timeout
        raise TimeoutError

    script.answer = hang
    with pytest.raises(WorkersLostError, match=r"worker 1 at 10\.0\.0\.2"):
        Cluster(FAR, link=script)


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


def test_a_worker_that_is_another_and_goes_late_is_asked_no_more(messages):
    """It cannot go while its answer is on its way; its replacement does the work."""
    cluster, script = join_workers({"tcp://10.0.0.2:1": HERE})
    script.made = {"tcp://10.0.0.2:2": replace(HERE, versions={"engine": "2"})}

    def leaves(worker):
        script.away.append(worker)
        if len(script.away) > 2 * MOST_TRIES:
            script.made = {"tcp://10.0.0.2:3": HERE}

    script.send_away = leaves
    assert len(list(run_jobs(cluster, make_jobs(4)))) == 4
    assert messages.text.count("is refused and sent away") == 1
    # Once before it is refused; its replacement lacks the setup, then its bars.
    assert sum(call.key.startswith("job 0|") for call in script.begun) == 1 + 3


def test_a_worker_that_is_another_and_does_not_go_is_named(messages):
    """Not asked for ever."""
    cluster, script = join_workers({"tcp://10.0.0.2:1": HERE})
    script.made["tcp://10.0.0.2:1"] = replace(HERE, versions={"engine": "2"})
    script.send_away = script.away.append
    with pytest.raises(ConfigError, match="is not fit and does not go: engine 2, here 4; end it"):
        list(run_jobs(cluster, make_jobs(3)))
    assert messages.text.count("is refused and sent away") == 1
    assert script.cancelled
