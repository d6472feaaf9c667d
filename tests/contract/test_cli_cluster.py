"""Commands on a cluster: what is found, how they are refused, and how they go on after a loss."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from optimizer.cluster.address import KEY_FILES
from tests.support.clusters import begin_cluster, wait_until
from tests.support.commands import SMALL, run, start, write_market
from tests.support.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(480)]

BASH = re.compile(r"```bash\n(.*?)```", re.DOTALL)

NULL = ("--folds", "0", "--blocks", "0", "--null", "12", "--stop-after", "12")

ENDLESS = ("--folds", "0", "--blocks", "0", "--null", "9999", "--stop-after", "9999")

GATED = """
import time
from pathlib import Path
from optimizer.judging.null import NullSetup

# A program may be read more than once in one process.
def gated(self, job, honest=NullSetup.run):
    if job[1] > 2 and Path({gate!r}).exists():
        # Progress is printed once a second.
        time.sleep(1.2)
    while job[1] > 4 and Path({gate!r}).exists():
        time.sleep(0.02)
    return honest(self, job)

NullSetup.run = gated
"""
"""On a worker: null searches after the fourth wait as long as there is a file."""


SOON_S = 25.0
"""Sooner than anything that waits for a call, which takes 30 s; a busy machine needs some."""


class Gate:
    """A file for which workers wait, so that a command that uses them cannot end."""

    def __init__(self, folder):
        self.file, self._program = folder / "gate", folder / "gated.py"
        self._program.write_text(GATED.format(gate=str(self.file)))
        self.flags = ("--preload", self._program)


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    """The gate of `hosts`."""
    return Gate(tmp_path_factory.mktemp("gate"))


@pytest.fixture(scope="module")
def hosts(tmp_path_factory, gate):
    """A scheduler and two workers, which no test may harm."""
    with begin_cluster(tmp_path_factory.mktemp("hosts"), flags=gate.flags) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The null of the run that `recorded` gives, without workers."""
    place = tmp_path_factory.mktemp("alone")
    market = write_market(place / "bars.csv", 3000)
    for words in (("evolve", "--data", market, *SMALL), ("judge", "latest", *NULL, "--json")):
        process = run(*words, cwd=place)
        assert process.code == 0, process.err
    return process.json["judgement"]["null"]


@pytest.fixture
def run_path(command, tmp_path):
    """A run that was not judged."""
    market = write_market(tmp_path / "bars.csv", 3000)
    return command("evolve", "--data", market, *SMALL, "--json").json


def test_parity_is_the_same_on_workers(command, hosts, tmp_path):
    """One certificate, replayed where the bars are."""
    markets = [write_market(tmp_path / f"{n}.csv", 1500 + 100 * n, seed=n) for n in range(3)]
    flags = [part for market in markets for part in ("--data", market)]
    expected = command("parity", *flags, "--individuals", "6", "--json").json
    outcome = command("parity", *flags, "--individuals", "6", "--json", "--cluster", hosts.file)
    assert outcome.json == expected
    assert expected["trades"]


def test_a_small_search_is_refused(command, hosts, tmp_path):
    """With the reason; where whole searches follow it is made here."""
    market = write_market(tmp_path / "bars.csv", 3000)
    refused = command("evolve", "--data", market, *SMALL, "--cluster", hosts.file)
    assert refused.code == 2
    assert "one series is not divided among workers; leave it out" in refused.error
    judged = [flag for flag in SMALL if flag != "--no-judge"]
    flags = ("--data", market, *judged, "--folds", "2", "--resamples", "19")
    outcome = command("evolve", *flags, "--cluster", hosts.file)
    assert outcome.code == 0
    assert "searching on this machine: one series" in outcome.err


@pytest.mark.parametrize(
    "flags",
    [
        ("--cluster", "tcp://10.0.0.1:8786"),
        ("--cluster", "tls://10.0.0.1:8786"),
        ("--cluster", "nothing.json"),
        ("--cluster", "local:0"),
        ("--cluster-plaintext",),
    ],
)
def test_what_is_not_safe_or_not_there_is_refused(command, run_path, flags):
    """In one line, before anything is done."""
    refused = command("judge", "latest", *flags)
    assert refused.code == 2
    assert "--cluster" in refused.error


def test_without_the_extra_it_is_said_what_to_install(command, run_path, monkeypatch):
    """In one line."""
    monkeypatch.delitem(sys.modules, "optimizer.cluster.cluster", raising=False)
    monkeypatch.delitem(sys.modules, "optimizer.cluster.dask_client", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused = command("judge", "latest", "--cluster", "local:1")
    assert refused.code == 2
    assert "pip install 'exhaustion-optimizer[cluster]', on every host" in refused.error


def test_doctor_names_every_worker(command):
    """What it is, how fast it is reached, and whether it is fit."""
    workers = command("doctor", "--cluster", "local:1", "--json").json["workers"]
    assert [worker["fit"] for worker in workers] == [True]
    assert all(worker["latency_s"] > 0 and worker["bytes_per_s"] > 0 for worker in workers)
    assert workers[0]["made"]["versions"]["engine"]


def test_a_worker_of_another_version_is_named(command, run_path, tmp_path):
    """By judge, which refuses it, and by doctor, which shows it."""
    (tmp_path / "old.py").write_text(
        "from optimizer.cluster import fingerprint\n"
        "honest = fingerprint.versions()\n"
        "fingerprint.versions = lambda: {**honest, 'engine': '2'}\n"
    )
    with begin_cluster(tmp_path, workers=0) as hosts:
        hosts.worker("--preload", tmp_path / "old.py", "--name", "hostB")
        hosts.wait(1)
        for words in (("judge", "latest"), ("doctor",)):
            refused = command(*words, "--cluster", hosts.file)
            assert refused.code == 2
            message = r"error: worker hostB at 127\.0\.0\.1: engine 2, here \d+"
            assert re.fullmatch(message, refused.err.splitlines()[-1])
            assert ("latency ms" in refused.out) == (words == ("doctor",))


def waiting(process, text):
    """Read a command's output until a text comes."""
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError("the command ended before that")


def test_a_lost_scheduler_names_the_way_to_resume(command, run_path, alone, tmp_path):
    """Exit 4 within seconds; the command that is printed ends in the same bits."""
    gate = Gate(tmp_path)
    gate.file.touch()
    with begin_cluster(tmp_path, 1, gate.flags) as hosts:
        flags = ("judge", "latest", *NULL, "--cluster", hosts.file)
        with start(*flags, cwd=tmp_path) as process:
            waiting(process, "did as well so far")
            hosts.scheduler.kill()
            began = time.monotonic()
            _, err = process.communicate(timeout=200)
            assert time.monotonic() - began < SOON_S
    assert process.returncode == 4, err
    line = err.splitlines()[-1]
    assert line.startswith("error: the scheduler of --cluster")
    again = shlex.split(line.partition("go on with: python -m optimizer ")[2])
    assert again[0] == "judge"
    assert command(*again, "--json").json["judgement"]["null"] == alone


def test_a_client_that_is_killed_resumes(hosts, gate, run_path, alone, tmp_path):
    """Workers stay, and serve the next one."""
    flags = ("judge", "latest", *NULL, "--cluster", hosts.file)
    gate.file.touch()
    with start(*flags, cwd=tmp_path) as process:
        waiting(process, "did as well so far")
        process.send_signal(signal.SIGKILL)
        process.communicate()
    gate.file.unlink()
    resumed = run(*flags, "--json", cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    assert resumed.json["judgement"]["null"] == alone


def test_a_command_that_asks_a_silent_port_can_be_stopped(tmp_path):
    """At once, as one without workers to wait for."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with start("doctor", "--cluster", address, cwd=tmp_path) as process:
            connection, _ = silent.accept()
            with connection:
                began = time.monotonic()
                process.send_signal(signal.SIGTERM)
                process.wait()
                assert time.monotonic() - began < SOON_S
    assert process.returncode == 130


def test_ctrl_c_ends_the_command_and_its_workers(run_path, tmp_path):
    """Exit 130 and no process is left, also where it is pressed again."""
    flags = ("judge", "latest", *ENDLESS, "--cluster", "local:2")
    with start(*flags, cwd=tmp_path, start_new_session=True) as process:
        waiting(process, "did as well so far")
        family = psutil.Process(process.pid).children(recursive=True)
        assert len(family) >= 2
        for _ in range(2):
            # As a terminal does: the whole process group gets it.
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.3)
        _, err = process.communicate(timeout=200)
    assert process.returncode == 130
    assert "go on with: python -m optimizer judge" in err.splitlines()[-1]
    assert "Traceback" not in err
    wait_until(lambda: not any(member.is_running() for member in family))


def certificates(home):
    """Keys, made in a home by the lines of the page; their folder, and flags of Dask."""
    home.mkdir()
    page = (ROOT / "docs" / "howto" / "cluster.md").read_text(encoding="utf-8")
    (block,) = (example for example in BASH.findall(page) if "openssl" in example)
    lines = [line for line in block.splitlines() if not line.startswith("ssh")]
    assert len(lines) == 5
    subprocess.run(
        ["bash", "-ec", "\n".join(lines)],
        env={**os.environ, "HOME": str(home)},
        check=True,
        capture_output=True,
    )
    folder = home / "keys"
    names = ("--tls-ca-file", "--tls-cert", "--tls-key")
    pairs = zip(names, (folder / name for name in KEY_FILES), strict=True)
    return folder, ("--protocol", "tls", *(word for pair in pairs for word in pair))


def test_certificates_of_the_page_are_good_in_every_python(tmp_path):
    """From 3.13 on certificates are held to the letter of RFC 5280."""
    folder, _ = certificates(tmp_path / "home")
    given = ("-x509_strict", "-CAfile", folder / "ca.pem", folder / "cert.pem")
    completed = subprocess.run(["openssl", "verify", *given], capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
    assert not [
        file for file in folder.iterdir() if file.suffix != ".srl" and file.stat().st_mode & 63
    ]


def test_encrypted_hosts_refuse_all_others(command, run_path, tmp_path):
    """Our certificate opens; none does not, nor one of another authority."""
    own, flags = certificates(tmp_path / "ours")
    others, _ = certificates(tmp_path / "theirs")
    with begin_cluster(tmp_path, 1, tls=flags) as hosts, pytest.MonkeyPatch.context() as patch:
        address = json.loads(hosts.file.read_text())["address"]
        assert address.startswith("tls://")
        ours = ("--cluster", address, "--cluster-tls", own)
        outcome = command("judge", "latest", "--folds", "0", "--blocks", "0", "--null", "2", *ours)
        assert outcome.code == 0, outcome.err
        patch.setattr("optimizer.cluster.dask_client.CALL_S", 2.0)
        theirs = ("--cluster", address, "--cluster-tls", others)
        plain = ("--cluster", address.replace("tls", "tcp"))
        for flags in (theirs, plain):
            refused = command("judge", "latest", *flags)
            assert refused.code == 4
            assert "no scheduler answers" in refused.error
