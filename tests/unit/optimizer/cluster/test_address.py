"""Which cluster is meant, and whether it may be spoken to."""

import json
import threading

import pytest

from optimizer.cluster import address
from optimizer.cluster.address import KEY_FILES, is_loopback, parse_address, parse_host
from optimizer.errors import ConfigError


def keys(folder):
    """A folder with files of the right names."""
    for name in KEY_FILES:
        (folder / name).touch(mode=0o600)
    return folder


@pytest.mark.parametrize(
    "text",
    [
        *("local:0", "local:9999", "local:x", "local:", "", "x", "udp://127.0.0.1:1"),
        *("tcp://127.0.0.1", "tcp://a b:1", "tcp://127.0.0.1:0", "tcp://127.0.0.1:65536"),
    ],
)
def test_what_is_no_address_is_refused(text):
    """By the flag."""
    with pytest.raises(ConfigError, match="--cluster"):
        parse_address(text)


def test_workers_of_this_machine_need_no_permission():
    """They are counted, and never leave this machine."""
    address = parse_address("local:4")
    assert (address.local, address.scheduler) == (4, "")
    with pytest.raises(ConfigError, match="--cluster-plaintext"):
        parse_address("local:2", is_plaintext=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.8.8.8"])
def test_loopback_needs_no_encryption(host):
    """No other host can reach it."""
    assert parse_address(f"tcp://{host}:8786").scheduler == f"tcp://{host}:8786"


@pytest.mark.parametrize("host", ["10.0.0.1", "[fe80::1]", "0.0.0.0", "localhost.x"])
def test_other_hosts_are_refused_without_encryption(host):
    """One flag takes the risk; a worker elsewhere is refused where the scheduler is on loopback."""
    with pytest.raises(ConfigError, match="--cluster-plaintext"):
        parse_address(f"tcp://{host}:8786")
    parse_address(f"tcp://{host}:8786", is_plaintext=True).require_safe(f"tcp://{host}:4", "b")
    own = parse_address("tcp://127.0.0.1:8786")
    own.require_safe("tcp://127.0.0.1:40000", "worker a")
    with pytest.raises(ConfigError, match="worker b"):
        own.require_safe(f"tcp://{host}:40000", "worker b")


def test_encryption_needs_all_keys(tmp_path):
    """And keys need encryption."""
    with pytest.raises(ConfigError, match=r"ca\.pem"):
        parse_address("tls://10.0.0.1:8786", tmp_path)
    assert parse_address("tls://10.0.0.1:8786", keys(tmp_path)).tls == tmp_path
    for text, folder in (("tls://10.0.0.1:8786", None), ("tcp://127.0.0.1:8786", tmp_path)):
        with pytest.raises(ConfigError, match="--cluster-tls"):
            parse_address(text, folder)


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_key_that_others_read_is_refused(tmp_path, mode):
    """The certificates beside it are public."""
    folder = keys(tmp_path)
    (folder / "ca.pem").chmod(0o644)
    (folder / "key.pem").chmod(mode)
    with pytest.raises(ConfigError, match="chmod 600"):
        parse_address("tls://10.0.0.1:8786", folder)


@pytest.mark.parametrize("part", [0, 1, 20])
def test_the_file_of_a_scheduler_is_read_once_it_is_whole(tmp_path, part):
    """A scheduler opens it before it writes; its address is as safe as any other."""
    path, whole = tmp_path / "scheduler.json", json.dumps({"address": "tcp://127.0.0.1:8786"})
    path.write_text(whole[:part])
    writer = threading.Timer(0.1, path.write_text, (whole,))
    writer.start()
    try:
        assert parse_address(str(path)).scheduler == "tcp://127.0.0.1:8786"
    finally:
        writer.join()
    path.write_text(json.dumps({"address": "tcp://10.0.0.1:8786"}))
    with pytest.raises(ConfigError, match="--cluster-plaintext"):
        parse_address(str(path))


OTHERS = ["", "{", "{}", "[]", '"x"', '{"address": 3}', "\x00", "[" * 100_000]


@pytest.mark.parametrize("content", OTHERS, ids=range(len(OTHERS)))
def test_other_files_are_refused(tmp_path, monkeypatch, content):
    """In one line."""
    monkeypatch.setattr(address, "WRITING_S", 0.02)
    (tmp_path / "x").write_text(content)
    with pytest.raises(ConfigError, match="--cluster"):
        parse_address(str(tmp_path / "x"))


def test_hosts_of_addresses():
    """With and without brackets; a name that only begins like one of ours is another machine."""
    assert parse_host("tls://[fe80::1]:8786") == "fe80::1"
    assert not is_loopback("tcp://127.0.0.1.example.org:1")
