"""Workers and schedulers that end, hang or change: the same result, or an error with the reason."""

import os
import signal
import threading
import time
from pathlib import Path

import dask
import psutil
import pytest

from optimizer.cluster.address import parse_address
from optimizer.cluster.cluster import Cluster
from optimizer.cluster.jobs import JobRequest, run_jobs
from optimizer.cluster.sharded import on_shards, on_workers
from optimizer.cluster.worker_cache import Parcel
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError, SchedulerLostError, WorkersLostError
from optimizer.run.runner import Observer, resume_run, start_run
from tests.support.clusters import (
    SERIES,
    Hung,
    begin_cluster,
    own_workers,
    run_search,
    search_on_seven,
    wait_until,
)
from tests.support.evidence import make_planted_market
from tests.support.judging import SMALL, write_bars

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

BARS = make_planted_market(3, 300, 0)

ANOTHER = """
from optimizer.cluster import fingerprint
honest = fingerprint.versions()
fingerprint.versions = lambda: {**honest, "numpy": "0.1"}
fingerprint._bits = lambda device: ("f" * 64, "cpu")
"""
ODD_WORKER = (
    r"worker odd at 127\.0\.0\.1: numpy 0\.1, here .*, bits of the sample ffffffffffff, here"
)


def join_cluster(begun, **options):
    """A cluster as a person would join it."""
    return Cluster(parse_address(str(begun.file)), **options)


def make_jobs(count, job, folder=""):
    """Jobs of a kind, each with its own number."""
    parcel = Parcel(Hung(BARS, str(folder)))
    return [JobRequest(n, f"job {n}", parcel, (job, n)) for n in range(count)]


def processes(cluster):
    """Of each worker."""
    parcel = Parcel(Hung(BARS))
    homes = [
        JobRequest(n, f"who {n}", parcel, ("who", n), home=n) for n in range(len(cluster.workers))
    ]
    return [job.result[0] for job in run_jobs(cluster, homes)]


def kill_workers(seconds):
    """Kill each worker that is there, one after the other, while something else is done."""
    workers = own_workers()

    def kill():
        for worker in workers:
            time.sleep(seconds)
            worker.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.mark.timeout(1200)
def test_workers_killed_in_the_middle_change_nothing(kills):
    """Of a piece of work, and of a generation; two in a row."""
    task = search_on_seven(over_windows="worst", generations=20)
    expected = run_search(task)
    with Cluster(parse_address("local:2")) as cluster:
        for seconds in [0.1 + 1.2 * number / kills for number in range(1, kills)]:
            thread = kill_workers(seconds)
            assert run_search(task, on_workers(cluster, task, 3)) == expected
            thread.join()


class KillsAt(Observer):
    """Kills a process after a generation."""

    def __init__(self, process, generation):
        self._process, self._generation = process, generation

    def is_due(self, generation):
        """Always."""
        if generation == self._generation:
            self._process.kill()
        return False


def test_a_search_whose_scheduler_is_lost_goes_on_to_the_same_front(tmp_path):
    """On this machine or on another cluster; what was recorded is kept."""
    data = [write_bars(tmp_path / f"{bars.symbol}.csv", bars) for bars in SERIES[:3]]
    given = {"data": data, "judge": False, "generations": 6, "runs": str(tmp_path / "runs")}
    config = RunConfig(**{"device": "cpu", **SMALL, **given, "min_trades": 3})
    expected = start_run(config, Observer(), lambda: False)
    with begin_cluster(tmp_path) as hosts, join_cluster(hosts) as cluster:
        place = on_shards(cluster, is_judged=False, least_s=0.0)
        whole = start_run(config, Observer(), lambda: False, place)
        assert (whole.front_hash, whole.certificate) == (
            expected.front_hash,
            expected.certificate,
        )
        with pytest.raises(SchedulerLostError, match=r"evolve --resume \S+$") as caught:
            start_run(config, KillsAt(hosts.scheduler, 2), lambda: False, place)
    path = Path(str(caught.value).rpartition(" ")[2])
    result = resume_run(path, {}, Observer(), lambda: False)
    assert (result.front_hash, result.certificate) == (expected.front_hash, expected.certificate)
    assert result.certificate.trades


def test_a_job_that_kills_workers_is_named(tmp_path):
    """It is given up after a while, and the others are not lost with it."""
    never_again = {"distributed.scheduler.allowed-failures": 0}
    with dask.config.set(never_again), Cluster(parse_address("local:2")) as cluster:
        list(run_jobs(cluster, make_jobs(2, "echo")))
        with pytest.raises(WorkersLostError, match="job 3 ended 1 workers one after the other"):
            list(run_jobs(cluster, make_jobs(4, "kill", tmp_path)[3:]))
        assert len(list(run_jobs(cluster, make_jobs(6, "echo")))) == 6


def test_a_worker_that_ends_before_its_first_word_is_replaced():
    """It would wait for ever; no other worker has to be there."""
    with Cluster(parse_address("local:1")) as cluster:
        (first,) = own_workers()
        first.kill()
        wait_until(lambda: [worker for worker in own_workers() if worker != first])
        for worker in own_workers():
            worker.kill()
        assert len(list(run_jobs(cluster, make_jobs(4, "echo")))) == 4


def test_a_worker_that_hangs_is_replaced(tmp_path):
    """Once the scheduler has not heard of it for long; five minutes by default.

    On a busy machine five seconds may also pass before a sound worker is heard of.
    """
    ttl = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "5s"}
    with begin_cluster(tmp_path, environment=ttl) as hosts, join_cluster(hosts) as cluster:
        seen = tmp_path / "seen"
        seen.mkdir()
        assert len(list(run_jobs(cluster, make_jobs(1, "stop once", seen)))) == 1
        assert len(list(seen.iterdir())) > 1


def test_nobody_left_is_an_error_after_a_while(tmp_path):
    """Dask would wait for ever."""
    with begin_cluster(tmp_path, workers=0) as hosts:
        workers = hosts.worker()
        # Once it has come, no patience is needed.
        assert len(joined_workers(hosts)) == 1
        with join_cluster(hosts, patience_s=3.0) as cluster:
            running = run_jobs(cluster, make_jobs(50, "sleep"))
            next(running)
            for process in [*psutil.Process(workers.pid).children(recursive=True), workers]:
                process.kill()
            began = time.monotonic()
            with pytest.raises(WorkersLostError, match="no worker for 3 s"):
                list(running)
            assert time.monotonic() - began < 30
        with pytest.raises(WorkersLostError, match="no worker for 1 s"):
            join_cluster(hosts, patience_s=1.0)


def test_a_lost_scheduler_is_an_error_within_seconds(tmp_path):
    """In the middle, and when nothing answers to begin with."""
    with begin_cluster(tmp_path, 1) as hosts:
        with join_cluster(hosts) as cluster:
            running = run_jobs(cluster, make_jobs(100, "sleep"))
            next(running)
            hosts.scheduler.kill()
            began = time.monotonic()
            with pytest.raises(SchedulerLostError, match="does not answer any more"):
                list(running)
            assert time.monotonic() - began < 25
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("optimizer.cluster.dask_client.CALL_S", 1.0)
            with pytest.raises(SchedulerLostError, match="begin one with dask scheduler"):
                join_cluster(hosts)


def test_a_worker_that_is_another_is_refused(tmp_path):
    """By name on joining, and sent away where it comes later; the work is done by the fit one."""
    (tmp_path / "other.py").write_text(ANOTHER)
    flags = ("--preload", tmp_path / "other.py", "--name", "odd")
    with begin_cluster(tmp_path, workers=0) as hosts:
        hosts.worker("--name", "fit", "--no-nanny")
        with join_cluster(hosts) as cluster:
            odd = hosts.worker(*flags, "--no-nanny")
            wait_until(lambda: len(cluster.link.workers()) == 2)
            cluster.look()
            assert len(list(run_jobs(cluster, make_jobs(12, "sleep")[:1] * 6))) == 6
            wait_until(lambda: len(cluster.link.workers()) == 1)
            wait_until(lambda: odd.poll() is not None)
        hosts.worker(*flags, "--no-nanny")
        wait_until(lambda: len(joined_workers(hosts)) == 2)
        with pytest.raises(ConfigError, match=ODD_WORKER):
            join_cluster(hosts)


def joined_workers(hosts):
    """Names of all workers, whatever they are."""
    with join_cluster(hosts, may_differ=True) as cluster:
        return [worker.name for worker in cluster.workers.values()]


def test_ctrl_c_reaches_whoever_waits_and_nobody_else(tmp_path):
    """Workers of this machine leave it to the process that began them, which ends them."""
    with Cluster(parse_address("local:2")) as cluster:
        pids = processes(cluster)
        for pid in pids:
            os.kill(pid, signal.SIGINT)
        assert sorted(processes(cluster)) == sorted(pids)
    assert not any(psutil.pid_exists(pid) for pid in pids)
