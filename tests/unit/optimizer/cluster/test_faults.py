"""Workers and schedulers that end, hang or change: the same result, or an error with the reason."""

import os
import threading
import time
from pathlib import Path

import psutil
import pytest

from optimizer.cluster.address import parse_address
from optimizer.cluster.cluster import Cluster
from optimizer.cluster.sharded import Shards, on_workers
from optimizer.config.run_config import RunConfig
from optimizer.errors import SchedulerLostError
from optimizer.run.runner import Observer, resume_run, start_run
from tests.support.clusters import (
    SERIES,
    begin_cluster,
    own_workers,
    run_search,
    search_on_seven,
    wait_until,
)
from tests.support.judging import SMALL, write_bars

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def join_cluster(begun):
    """A cluster as a person would join it."""
    return Cluster(parse_address(str(begun.file)))


@pytest.fixture
def list_own():
    """A function that lists workers that a test began here, and no others of the session."""
    others = own_workers()
    return lambda: [worker for worker in own_workers() if worker not in others]


def kill_worker(list_own, seconds):
    """Kill the only worker after a while, while something else is done."""
    (worker,) = list_own()

    def kill():
        time.sleep(seconds)
        worker.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def list_listening():
    """Addresses at which this process and those that it began listen, each as often."""
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return [
        connection.laddr.ip
        for process in family
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]


@pytest.mark.timeout(1200)
def test_workers_of_this_machine_are_its_own_and_may_be_killed(kills, list_own, monkeypatch):
    """They listen on loopback alone and leave the environment as it was.

    One that is killed in the middle of a generation begins anew and changes nothing.
    """
    task = search_on_seven(over_windows="worst", generations=20)
    expected = run_search(task)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    before = dict(os.environ)
    with Cluster(parse_address("local:1")) as cluster:
        assert dict(os.environ) == before
        heard = list_listening()
        assert len(heard) >= 2
        assert set(heard) == {"127.0.0.1"}
        for seconds in [0.1 + 1.2 * number / kills for number in range(1, max(kills, 3), 2)]:
            thread = kill_worker(list_own, seconds)
            assert run_search(task, on_workers(cluster, task, 3)) == expected
            thread.join()
            # A library that is closed while a worker begins anew raises an assertion of its own.
            wait_until(cluster.link.workers)
    assert dict(os.environ) == before
    assert not list_own()


def test_a_search_whose_scheduler_is_lost_goes_on_to_the_same_front(tmp_path, monkeypatch):
    """It ends within seconds. On this machine or on another cluster; what was recorded is kept."""
    data = [write_bars(tmp_path / f"{bars.symbol}.csv", bars) for bars in SERIES[:3]]
    given = {"data": data, "judge": False, "generations": 6, "runs": str(tmp_path / "runs")}
    config = RunConfig(**{"device": "cpu", **SMALL, **given, "min_trades": 3})
    expected = start_run(config, Observer())
    with begin_cluster(tmp_path, 1) as hosts, join_cluster(hosts) as cluster:
        place = Shards(cluster, is_judged=False, least_s=0.0)
        killed = []

        def kill(progress):
            if progress.done == 2:
                hosts.scheduler.kill()
                killed.append(time.monotonic())

        with pytest.raises(SchedulerLostError, match=r"evolve --resume \S+$") as caught:
            start_run(config, Observer(kill, place))
        assert time.monotonic() - killed[0] < 25
        monkeypatch.setattr("optimizer.cluster.dask_client.CALL_S", 1.0)
        with pytest.raises(SchedulerLostError, match="dask scheduler"):
            join_cluster(hosts)
    path = Path(str(caught.value).rpartition(" ")[2])
    result = resume_run(path, {}, Observer())
    assert (result.front_hash, result.certificate) == (expected.front_hash, expected.certificate)
    assert result.certificate.trades
