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


def test_workers_of_this_machine_are_counted():
    """And need neither keys nor permission."""
    address = parse_address("local:4")
    assert (address.local, address.scheduler) == (4, "")
    for text in ("local:0", "local:9999", "local:x", "local:"):
        with pytest.raises(ConfigError, match="--cluster"):
            parse_address(text)
    with pytest.raises(ConfigError, match="never leave this machine"):
        parse_address("local:2", is_plaintext=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.8.8.8"])
def test_loopback_needs_no_encryption(host):
    """No other host can reach it."""
    assert parse_address(f"tcp://{host}:8786").scheduler == f"tcp://{host}:8786"


@pytest.mark.parametrize("host", ["10.0.0.1", "example.org", "[fe80::1]", "0.0.0.0", "localhost.x"])
def test_other_hosts_are_refused_without_encryption(host):
    """The message names the risk and the remedy; one flag takes the risk."""
    with pytest.raises(ConfigError, match=r"any program as you.*--cluster-plaintext"):
        parse_address(f"tcp://{host}:8786")
    address = parse_address(f"tcp://{host}:8786", is_plaintext=True)
    address.require_safe("tcp://10.0.0.2:40000", "worker b")


def test_a_worker_elsewhere_is_refused_by_name():
    """Also where the scheduler is on loopback."""
    address = parse_address("tcp://127.0.0.1:8786")
    address.require_safe("tcp://127.0.0.1:40000", "worker a")
    with pytest.raises(ConfigError, match=r"worker b is at tcp://10\.0\.0\.2:40000"):
        address.require_safe("tcp://10.0.0.2:40000", "worker b")


def test_encryption_needs_all_keys(tmp_path):
    """And keys need encryption."""
    with pytest.raises(ConfigError, match=r"no ca\.pem there"):
        parse_address("tls://10.0.0.1:8786", tmp_path)
    assert parse_address("tls://10.0.0.1:8786", keys(tmp_path)).tls == tmp_path
    for text, folder in (("tls://10.0.0.1:8786", None), ("tcp://127.0.0.1:8786", tmp_path)):
        with pytest.raises(ConfigError, match="need each other"):
            parse_address(text, folder)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_key_that_others_read_is_refused(tmp_path, mode):
    """As the file of the vendor's key is; the certificates beside it are public."""
    folder = keys(tmp_path)
    (folder / "ca.pem").chmod(0o644)
    (folder / "key.pem").chmod(mode)
    with pytest.raises(ConfigError, match="others can read the key; chmod 600"):
        parse_address("tls://10.0.0.1:8786", folder)


def test_the_file_of_a_scheduler_is_read(tmp_path):
    """Its address is as safe as any other."""
    path = tmp_path / "scheduler.json"
    path.write_text(json.dumps({"address": "tcp://127.0.0.1:8786", "workers": {}}))
    assert parse_address(str(path)).scheduler == "tcp://127.0.0.1:8786"
    path.write_text(json.dumps({"address": "tcp://10.0.0.1:8786"}))
    with pytest.raises(ConfigError, match="not encrypted"):
        parse_address(str(path))


@pytest.mark.parametrize("part", [0, 1, 20])
def test_a_file_that_is_being_written_is_awaited(tmp_path, part):
    """A scheduler opens its file before it writes it."""
    path, whole = tmp_path / "scheduler.json", json.dumps({"address": "tcp://127.0.0.1:8786"})
    path.write_text(whole[:part])
    writer = threading.Timer(0.2, path.write_text, (whole,))
    writer.start()
    try:
        assert parse_address(str(path)).scheduler == "tcp://127.0.0.1:8786"
    finally:
        writer.join()


OTHERS = ["", "{", "{}", "[]", '"x"', '{"address": 3}', "\x00", "[" * 100_000]


@pytest.mark.parametrize("content", OTHERS, ids=range(len(OTHERS)))
def test_other_files_are_refused(tmp_path, monkeypatch, content):
    """In one line."""
    monkeypatch.setattr(address, "WRITING_S", 0.1)
    path = tmp_path / "x"
    path.write_text(content)
    with pytest.raises(ConfigError, match="--cluster"):
        parse_address(str(path))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "udp://127.0.0.1:1",
        "tcp://127.0.0.1",
        "tcp://a b:1",
        "tcp://127.0.0.1:0",
        "tcp://127.0.0.1:65536",
    ],
)
def test_what_is_no_address_is_refused(text):
    """With the forms that there are."""
    with pytest.raises(ConfigError, match="local:N, tcp://HOST:PORT"):
        parse_address(text)


def test_hosts_of_addresses():
    """With and without brackets; a name that only begins like one of ours is another machine."""
    assert parse_host("tls://[fe80::1]:8786") == "fe80::1"
    assert not is_loopback("tcp://127.0.0.1.example.org:1")
