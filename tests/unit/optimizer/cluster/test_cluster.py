"""Workers of a cluster: which is meant, and what is unfit, late, gone, hanging or no scheduler."""

import json
import os
import signal
import socket
import threading
import time
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import psutil
import pytest

from optimizer.cluster import address, dask_client
from optimizer.cluster import cluster as module
from optimizer.cluster.address import KEY_FILES, Address, is_loopback, parse_address
from optimizer.cluster.cluster import Cluster, digest_folder
from optimizer.cluster.dask_client import Calls, Link
from optimizer.cluster.jobs import run_jobs
from optimizer.errors import ConfigError, SchedulerLostError, WorkersLostError
from tests.support.clusters import HERE, begin_cluster, make_jobs, wait_until
from tests.support.hostile import bounded_time

NEAR, FAR = "tcp://127.0.0.1:8786", "tcp://10.0.0.1:8786"


@pytest.fixture
def folder(tmp_path):
    """A folder with keys of the right names."""
    for name in KEY_FILES:
        (tmp_path / name).touch(mode=0o600)
    return tmp_path


@pytest.mark.parametrize("text", ["local:9999", "udp://127.0.0.1:1", "tcp://127.0.0.1:65536"])
def test_what_is_no_address_is_refused(text):
    """By the flag."""
    with pytest.raises(ConfigError, match="--cluster"):
        parse_address(text)


def test_this_machine_needs_no_permission():
    """Its workers are counted; no other host can reach loopback, whatever its name begins with."""
    own = parse_address("local:4")
    assert (own.local, own.scheduler) == (4, "")
    for host in ("127.0.0.1", "localhost", "[::1]", "127.8.8.8"):
        assert parse_address(f"tcp://{host}:8786").scheduler == f"tcp://{host}:8786"
    assert not is_loopback("tcp://127.0.0.1.example.org:1")


@pytest.mark.parametrize("host", ["10.0.0.1", "[fe80::1]", "0.0.0.0", "localhost.x"])
def test_other_hosts_are_refused_without_encryption(host):
    """One flag takes the risk; a worker elsewhere is refused where the scheduler is on loopback."""
    with pytest.raises(ConfigError, match="--cluster-plaintext"):
        parse_address(f"tcp://{host}:8786")
    parse_address(f"tcp://{host}:8786", is_plaintext=True).require_safe(f"tcp://{host}:4", "b")
    own = parse_address(NEAR)
    own.require_safe("tcp://127.0.0.1:40000", "worker a")
    with pytest.raises(ConfigError, match="worker b"):
        own.require_safe(f"tcp://{host}:40000", "worker b")


def test_encryption_needs_keys_that_nobody_else_reads(folder):
    """All of them, and keys need encryption; the certificates beside the key are public."""
    far = FAR.replace("tcp", "tls")
    (folder / "ca.pem").chmod(0o644)
    assert parse_address(far, folder).tls == folder
    for text, keys in ((far, None), (NEAR, folder)):
        with pytest.raises(ConfigError, match="--cluster-tls"):
            parse_address(text, keys)
    for mode in (0o640, 0o604):
        (folder / "key.pem").chmod(mode)
        with pytest.raises(ConfigError, match="chmod 600"):
            parse_address(far, folder)
    (folder / "ca.pem").unlink()
    with pytest.raises(ConfigError, match=r"ca\.pem"):
        parse_address(far, folder)


def test_the_file_of_a_scheduler_is_read_once_it_is_whole(tmp_path):
    """A scheduler opens it before it writes; its address is as safe as any other."""
    path, whole = tmp_path / "scheduler.json", json.dumps({"address": NEAR})
    path.write_text(whole[:20])
    writer = threading.Timer(0.1, path.write_text, (whole,))
    writer.start()
    try:
        assert parse_address(str(path)).scheduler == NEAR
    finally:
        writer.join()
    path.write_text(json.dumps({"address": FAR}))
    with pytest.raises(ConfigError, match="--cluster-plaintext"):
        parse_address(str(path))


@pytest.mark.parametrize(
    "content", ["", "{}", '{"address": 3}', "\x00", "[" * 100_000], ids=range(5)
)
def test_other_files_are_refused(tmp_path, monkeypatch, content):
    """In one line."""
    monkeypatch.setattr(address, "WRITING_S", 0.02)
    (tmp_path / "x").write_text(content)
    with pytest.raises(ConfigError, match="--cluster"):
        parse_address(str(tmp_path / "x"))


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
        calls = Calls(link)
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
