"""Commands on a cluster: what is found, how they are refused, and how they go on after a loss."""

import json
import re
import shlex
import signal
import subprocess
import sys
import time

import psutil
import pytest

from optimizer.cluster.address import KEY_FILES
from tests.support.clusters import begun, wait_for
from tests.support.commands import SMALL, run, start, write_market

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

NULL = ("--folds", "0", "--blocks", "0", "--null", "40", "--stop-after", "40")


@pytest.fixture
def recorded(command, tmp_path):
    """A run that was not judged."""
    market = write_market(tmp_path / "bars.csv", 3000)
    return command("evolve", "--data", market, *SMALL, "--json").json


def test_parity_is_the_same_on_workers(command, tmp_path):
    """One certificate, replayed where the bars are."""
    markets = [write_market(tmp_path / f"{n}.csv", 1500 + 100 * n, seed=n) for n in range(3)]
    flags = [one for market in markets for one in ("--data", market)]
    expected = command("parity", *flags, "--individuals", "6", "--json").json
    found = command("parity", *flags, "--individuals", "6", "--json", "--cluster", "local:2")
    assert found.json == expected
    assert expected["trades"]


def test_a_small_search_is_refused(command, tmp_path):
    """And said why; where whole searches follow it is made here."""
    market = write_market(tmp_path / "bars.csv", 3000)
    refused = command("evolve", "--data", market, *SMALL, "--cluster", "local:1")
    assert refused.code == 2
    assert "one series is not divided among workers; leave it out" in refused.error
    judged = [one for one in SMALL if one != "--no-judge"]
    flags = ("--data", market, *judged, "--folds", "2", "--resamples", "19")
    told = command("evolve", *flags, "--cluster", "local:1")
    assert told.code == 0
    assert "searching on this machine: one series" in told.err


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
def test_what_is_not_safe_or_not_there_is_refused(command, recorded, flags):
    """In one line, before anything is done."""
    refused = command("judge", "latest", *flags)
    assert refused.code == 2
    assert "--cluster" in refused.error


def test_without_the_extra_it_is_said_what_to_install(command, recorded, monkeypatch):
    """In one line."""
    monkeypatch.delitem(sys.modules, "optimizer.cluster.cluster", raising=False)
    monkeypatch.delitem(sys.modules, "optimizer.cluster.hosts", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused = command("judge", "latest", "--cluster", "local:1")
    assert refused.code == 2
    assert "pip install 'exhaustion-optimizer[cluster]', on every host" in refused.error


def test_doctor_names_every_worker(command):
    """What it is, how fast it is reached, and whether it is fit."""
    found = command("doctor", "--cluster", "local:1", "--json").json["workers"]
    assert [one["fit"] for one in found] == [True]
    assert all(one["latency_s"] > 0 and one["bytes_per_s"] > 0 for one in found)
    assert found[0]["made"]["versions"]["engine"]


def test_a_worker_of_another_version_is_named(command, recorded, tmp_path):
    """By judge, which refuses it, and by doctor, which shows it."""
    (tmp_path / "old.py").write_text(
        "import optimizer.cluster.made as made\n"
        "honest = made.versions()\n"
        "made.versions = lambda: {**honest, 'engine': '2'}\n"
    )
    with begun(tmp_path, workers=0) as hosts:
        hosts.worker("--preload", tmp_path / "old.py", "--name", "hostB")
        for words in (("judge", "latest"), ("doctor",)):
            refused = command(*words, "--cluster", hosts.file)
            assert refused.code == 2
            told = r"error: worker hostB at 127\.0\.0\.1: engine 2, here \d+"
            assert re.fullmatch(told, refused.err.splitlines()[-1])
            assert ("latency ms" in refused.out) == (words == ("doctor",))


def waiting(process, text):
    """Read what a command says until a text comes."""
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError("the command ended before that")


def test_a_lost_scheduler_says_how_to_go_on(command, recorded, tmp_path):
    """Exit 4 within seconds; the command that is printed ends in the same bits."""
    with begun(tmp_path) as hosts:
        flags = ("judge", "latest", *NULL, "--cluster", hosts.file)
        with start(*flags, cwd=tmp_path) as process:
            waiting(process, "did as well so far")
            hosts.scheduler.kill()
            began = time.monotonic()
            _, err = process.communicate(timeout=60)
            assert time.monotonic() - began < 10
    assert process.returncode == 4, err
    told = err.splitlines()[-1]
    assert told.startswith("error: the scheduler of --cluster")
    again = shlex.split(told.partition("go on with: python -m optimizer ")[2])
    assert again[0] == "judge"
    found = command(*again, "--json").json["judgement"]["null"]
    command("evolve", "--data", "csv:bars.csv", *SMALL)
    alone = command("judge", "latest", *NULL, "--json").json["judgement"]["null"]
    assert found == alone


def test_a_client_that_is_killed_goes_on(command, recorded, tmp_path):
    """Workers stay, and serve the next one."""
    with begun(tmp_path) as hosts:
        flags = ("judge", "latest", *NULL, "--cluster", hosts.file)
        with start(*flags, cwd=tmp_path) as process:
            waiting(process, "did as well so far")
            process.send_signal(signal.SIGKILL)
            process.communicate()
        found = run(*flags, "--json", cwd=tmp_path)
        assert found.code == 0, found.err
    command("evolve", "--data", "csv:bars.csv", *SMALL)
    alone = command("judge", "latest", *NULL, "--json").json["judgement"]["null"]
    assert found.json["judgement"]["null"] == alone


def test_ctrl_c_ends_the_command_and_its_workers(recorded, tmp_path):
    """Exit 130 and no process is left."""
    flags = ("judge", "latest", *NULL, "--cluster", "local:2")
    with start(*flags, cwd=tmp_path, start_new_session=True) as process:
        waiting(process, "did as well so far")
        family = psutil.Process(process.pid).children(recursive=True)
        assert len(family) >= 2
        # As a terminal does: everybody of the group hears it.
        for one in [psutil.Process(process.pid), *family]:
            one.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "go on with: python -m optimizer judge" in err.splitlines()[-1]
    assert "Traceback" not in err
    wait_for(lambda: not any(one.is_running() for one in family), 10)


def certificates(folder):
    """An authority of its own, and a certificate that it signed; flags of Dask."""
    folder.mkdir()
    ca, cert, key = (folder / name for name in KEY_FILES)
    made = folder / "request.pem"
    for words in (
        f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout {folder}/ca.key -out {ca}",
        f"req -newkey rsa:2048 -nodes -subj /CN=host -keyout {key} -out {made}",
        f"x509 -req -days 2 -in {made} -CA {ca} -CAkey {folder}/ca.key -CAcreateserial -out {cert}",
    ):
        subprocess.run(["openssl", *words.split()], check=True, capture_output=True)
    pairs = zip(("--tls-ca-file", "--tls-cert", "--tls-key"), (ca, cert, key), strict=True)
    return ("--protocol", "tls", *(word for pair in pairs for word in pair))


def test_encrypted_hosts_let_nobody_else_in(command, recorded, tmp_path):
    """Our certificate opens; none does not, nor one of another authority."""
    flags = certificates(tmp_path / "ours")
    certificates(tmp_path / "theirs")
    with begun(tmp_path, tls=flags) as hosts, pytest.MonkeyPatch.context() as patch:
        address = json.loads(hosts.file.read_text())["address"]
        assert address.startswith("tls://")
        ours = ("--cluster", address, "--cluster-tls", tmp_path / "ours")
        told = command("judge", "latest", "--folds", "0", "--blocks", "0", "--null", "2", *ours)
        assert told.code == 0, told.err
        patch.setattr("optimizer.cluster.hosts.CALL_S", 2.0)
        theirs = ("--cluster", address, "--cluster-tls", tmp_path / "theirs")
        plain = ("--cluster", address.replace("tls", "tcp"))
        for flags in (theirs, plain):
            refused = command("judge", "latest", *flags)
            assert refused.code == 4
            assert "no scheduler answers" in refused.error
