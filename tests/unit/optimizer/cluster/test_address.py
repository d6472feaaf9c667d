"""Which cluster is meant, and whether it may be spoken to."""

import json
import threading

import pytest

from optimizer.cluster import address
from optimizer.cluster.address import KEY_FILES, is_loopback, parse_address
from optimizer.errors import ConfigError

NEAR, FAR = "tcp://127.0.0.1:8786", "tcp://10.0.0.1:8786"


@pytest.fixture
def folder(tmp_path):
    """A folder with keys of the right names."""
    for name in KEY_FILES:
        (tmp_path / name).touch(mode=0o600)
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        *("local:0", "local:9999", "local:x", "", "x", "udp://127.0.0.1:1"),
        *("tcp://127.0.0.1", "tcp://a b:1", "tcp://127.0.0.1:65536"),
    ],
)
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
