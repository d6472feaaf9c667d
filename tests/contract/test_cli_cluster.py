"""Commands on a cluster: what is found, how they are refused, and how they go on after a loss."""

import json
import os
import re
import signal
import subprocess
import time
from dataclasses import replace

import psutil
import pytest

from optimizer.cluster.address import KEY_FILES
from tests.support.clusters import HERE, begin_cluster, play_cluster, wait_until
from tests.support.commands import SMALL, start
from tests.support.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(480)]

BASH = re.compile(r"```bash\n(.*?)```", re.DOTALL)


ENDLESS = ("--folds", "0", "--blocks", "0", "--null", "9999")


def make_certificates(home):
    """Keys, made in a home by the lines of the page; their folder, and flags of Dask."""
    home.mkdir()
    page = (ROOT / "docs" / "howto" / "cluster.md").read_text(encoding="utf-8")
    (block,) = (example for example in BASH.findall(page) if "openssl" in example)
    lines = [line for line in block.splitlines() if not line.startswith("ssh")]
    environment = {**os.environ, "HOME": str(home)}
    subprocess.run(
        ["bash", "-ec", "\n".join(lines)], env=environment, check=True, capture_output=True
    )
    folder = home / "keys"
    names = ("--tls-ca-file", "--tls-cert", "--tls-key")
    pairs = zip(names, (folder / name for name in KEY_FILES), strict=True)
    return folder, ("--protocol", "tls", *(word for pair in pairs for word in pair))


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    """A scheduler and a worker, which no test may harm, and the folder of their keys."""
    folder = tmp_path_factory.mktemp("hosts")
    keys, flags = make_certificates(folder / "ours")
    with begin_cluster(folder, 1, tls=flags) as cluster:
        yield cluster, keys


def test_a_small_search_is_refused(command, hosts, held_out):
    """Where whole searches follow it is made here, and these there."""
    cluster, keys = hosts
    flags = ("--data", "csv:bars.csv", "--cluster", cluster.file, "--cluster-tls", keys)
    assert "one series" in command.refuse(2, "evolve", *flags, *SMALL)
    judged = [flag for flag in SMALL if flag != "--no-judge"]
    outcome = command("evolve", *flags, *judged, "--folds", "2", "--resamples", "19")
    assert (outcome.code, "on this machine" in outcome.err) == (0, True)


def test_doctor_names_every_worker_and_judge_refuses_other_versions(command, held_out):
    """What it is, how fast it is reached, and whether it is fit."""
    with play_cluster() as played:
        played.made["hostB"] = replace(HERE, versions={"engine": "2"})
        played.add("hostB")
        for words in (("judge", "latest"), ("doctor",)):
            refused = command(*words, "--cluster", played.address)
            assert refused.code == 2
            message = "error: worker hostB at 127.0.0.1: engine 2, here 4"
            assert refused.err.splitlines()[-1] == message
        (worker,) = command("doctor", "--cluster", played.address, "--json").json["workers"]
    assert worker["latency_s"] > 0
    assert worker["bytes_per_s"] > 0
    assert (worker["fit"], worker["made"]["versions"]["engine"]) == (False, "2")


def wait_for(process, text):
    """Read a command's output until a text comes."""
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError("the command ended before that")


def test_ctrl_c_ends_the_command_and_its_workers(held_out, tmp_path):
    """Exit 130 and no process is left, also where it is pressed again."""
    flags = ("judge", "latest", *ENDLESS, "--cluster", "local:1")
    with start(*flags, cwd=tmp_path, start_new_session=True) as process:
        wait_for(process, "did as well so far")
        family = psutil.Process(process.pid).children(recursive=True)
        assert family
        for _ in range(2):
            # As a terminal does: the whole process group gets it.
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.3)
        _, err = process.communicate(timeout=200)
    assert process.returncode == 130
    assert "go on with: python -m optimizer judge" in err.splitlines()[-1]
    assert "Traceback" not in err
    wait_until(lambda: not any(member.is_running() for member in family))


def test_encrypted_hosts_refuse_all_others(command, held_out, hosts, tmp_path, monkeypatch):
    """Our certificate opens, as above; none does not, nor one of another authority.

    Certificates of the page are good by the letter of RFC 5280, as Python 3.13 holds them to it.
    """
    cluster, own = hosts
    given = ("-x509_strict", "-CAfile", own / "ca.pem", own / "cert.pem")
    subprocess.run(["openssl", "verify", *given], check=True, capture_output=True)
    assert not [f for f in own.iterdir() if f.suffix != ".srl" and f.stat().st_mode & 63]
    others, _ = make_certificates(tmp_path / "theirs")
    address = json.loads(cluster.file.read_text())["address"]
    assert address.startswith("tls://")
    monkeypatch.setattr("optimizer.cluster.dask_client.CALL_S", 2.0)
    theirs = ("--cluster", address, "--cluster-tls", others)
    for flags in (theirs, ("--cluster", address.replace("tls", "tcp"))):
        assert "no scheduler answers" in command.refuse(4, "judge", "latest", *flags)
