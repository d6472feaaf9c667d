"""Workers of a cluster: unfit ones are refused by name, late ones sent away, gone ones awaited."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from optimizer.cluster import cluster as module
from optimizer.cluster import dask_client
from optimizer.cluster.address import Address
from optimizer.cluster.cluster import Cluster, digest_folder
from optimizer.cluster.jobs import run_jobs
from optimizer.errors import ConfigError, SchedulerLostError, WorkersLostError
from tests.support.clusters import HERE, make_jobs, wait_until

OLD = replace(HERE, versions={"engine": "2"})


def test_other_versions_and_other_bits_are_refused_by_name(played):
    """All of them at once, before anything is done; on request they are only looked at."""
    played.made |= {"1": OLD, "2": replace(HERE, bits="other")}
    for name in "012":
        played.add(name)
    with pytest.raises(ConfigError) as refused:
        played.join()
    assert sorted(str(refused.value).split("; ")) == [
        "worker 1 at 127.0.0.1: engine 2, here 4",
        "worker 2 at 127.0.0.1: bits of the sample other, here bits",
    ]
    with played.join(may_differ=True) as cluster:
        assert sorted(made.digest for made in cluster.made.values()) == sorted(
            made.digest for made in (HERE, *played.made.values())
        )


def test_every_difference_is_named():
    """Versions here and there; device, host and cores need not be equal."""
    other = replace(HERE, versions={"engine": "2", "numpy": "1"}, bits="others")
    differences = ("engine 2, here 4", "numpy 1, here none", "bits of the sample others, here bits")
    assert other.differences(HERE) == differences
    same = replace(HERE, device="cuda", host="b", cores=9)
    assert (same.digest, same.differences(HERE)) == (HERE.digest, ())


def test_a_digest_is_that_of_names_and_contents(tmp_path):
    """Whatever differs in a file or in its name is another digest; other files do not count."""
    (tmp_path / "a.py").write_text("x = 1\n")
    first = digest_folder(tmp_path)
    (tmp_path / "notes.txt").write_text("nothing")
    assert digest_folder(tmp_path) == first
    (tmp_path / "a.py").write_text("x = 2\n")
    second = digest_folder(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({first, second, digest_folder(tmp_path)}) == 3


def test_late_workers_that_are_not_fit_are_sent_away(played, messages):
    """One of another version once it has a job, one of many threads at once; others do the work."""
    played.add("0")
    with played.join() as cluster:
        played.made["1"] = OLD
        played.add("1")
        played.add("2", threads=2)
        cluster.look()
        jobs = make_jobs(cluster, 12, "sleep", 0.05)
        assert sorted(index for index, _ in run_jobs(cluster, jobs)) == list(range(12))
        wait_until(lambda: len(cluster.link.workers()) == 1, limit_s=30)
    for why in ("1 at 127.0.0.1 is refused and sent away: engine 2, here 4", "2 at 127.0.0.1 is"):
        assert f"worker {why}" in messages.text
    assert "does 2 pieces" in messages.text


def test_a_worker_of_many_threads_or_elsewhere_is_refused(played, monkeypatch):
    """By name, whatever it is made by."""
    played.add("0", threads=4)
    with pytest.raises(ConfigError, match=r"worker 0 at 127\.0\.0\.1: .*--nthreads 1"):
        played.join()
    far = dask_client.Worker("tcp://10.0.0.2:1", "1", 1, 0.0)
    monkeypatch.setattr(dask_client.Link, "workers", lambda _: (far,))
    with pytest.raises(ConfigError, match=r"worker 1 at 10\.0\.0\.2"):
        played.join()


def test_nobody_there_is_an_error_after_a_while(played, monkeypatch):
    """At the beginning, and in the middle; workers may come back until then."""
    with pytest.raises(WorkersLostError, match="no worker for 0 s"):
        played.join(patience_s=0.1)
    played.add("0")
    now = [1e9]
    with played.join() as cluster:
        there = cluster.link.workers()
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
        # Nobody looked for an hour, such as while this process was stopped or busy.
        for workers, seconds in (((), 5), ((), 50), (there, 50), ((), 3600), ((), 59)):
            monkeypatch.setattr(cluster.link, "workers", lambda workers=workers: workers)
            now[0] += seconds
            cluster.look()
        now[0] += 2
        with pytest.raises(WorkersLostError, match="no worker for 60 s"):
            cluster.look()
    assert (WorkersLostError("").exit_code, SchedulerLostError("").exit_code) == (5, 4)


def test_a_worker_that_says_nothing_is_named_once(played, messages, monkeypatch):
    """After a minute in which the scheduler did not hear of it."""
    played.add("0")
    now = [1e9]
    with played.join() as cluster:
        (there,) = cluster.link.workers()
        monkeypatch.setattr(cluster.link, "workers", lambda: (there,))
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
        for seconds in (0, 59, 2, 2):
            now[0] += seconds
            cluster.look()
    assert messages.text.count("worker 0 at 127.0.0.1 has said nothing for 61 s") == 1


def test_no_scheduler_is_an_error(played, monkeypatch):
    """Whether nobody listens, or a worker does."""
    monkeypatch.setattr(dask_client, "CALL_S", 1.0)
    address = played.add("0")
    for where, words in ((address, "a worker listens"), ("tcp://127.0.0.1:1", "no scheduler")):
        with pytest.raises(SchedulerLostError, match=words):
            Cluster(Address(where, scheduler=where))
