"""Address of a cluster, and its permission."""

import ipaddress
import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

from data.files import others_reach
from data.shell import quote_word
from optimizer.errors import ConfigError

FORMS = "local:N, tcp://HOST:PORT, tls://HOST:PORT, or the file that a scheduler wrote"

MOST_LOCAL = 1024

LAST_PORT = 65_535

WRITING_S = 5.0
"""Seconds in which a scheduler has written its file; Dask's own workers wait as well."""

KEY_FILES = ("ca.pem", "cert.pem", "key.pem")
"""In the folder of `--cluster-tls`: who signs, who this is, and the key to it."""


@dataclass(frozen=True)
class Address:
    """A cluster that was named on the command line.

    ConfigError when a line to another host would be in the clear without `--cluster-plaintext`.
    """

    text: str  # as it was named
    local: int = 0  # workers to begin on this machine; 0 where others began them
    scheduler: str = ""  # its address; empty for one to be started here
    tls: Path | None = None  # folder of `KEY_FILES`; None without encryption
    # True if hosts are allowed that anybody between can read and command.
    is_plaintext: bool = False

    def __post_init__(self) -> None:
        if self.scheduler:
            self.require_safe(self.scheduler, "the scheduler")

    def require_safe(self, address: str, whose: str) -> None:
        """Refuse an unencrypted address beyond this machine, unless a flag allows it."""
        if address.startswith("tls://") or self.is_plaintext or is_loopback(address):
            return
        raise ConfigError(
            f"--cluster {self.text}: {whose} is at {address}, beyond this machine and not "
            "encrypted: whoever reaches it can run any program as you and read all bars; use "
            "tls:// with --cluster-tls FOLDER, or --cluster-plaintext on a network of your own"
        )


def parse_address(text: str, tls: Path | None = None, *, is_plaintext: bool = False) -> Address:
    """Read `--cluster`, `--cluster-tls` and `--cluster-plaintext`.

    ConfigError when it is none of `FORMS`, keys are missing, or it is not safe.

    >>> parse_address("local:4").local
    4
    """
    if match := re.fullmatch(r"local:([0-9]{1,4})", text):
        count = int(match[1])
        if not 1 <= count <= MOST_LOCAL or tls or is_plaintext:
            raise ConfigError(
                f"--cluster {text}: name 1 to {MOST_LOCAL:,} workers, and neither --cluster-tls "
                "nor --cluster-plaintext: they never leave this machine"
            )
        return Address(text, local=count)
    scheduler = text if "://" in text else _read_scheduler_file(Path(text))
    match = re.fullmatch(r"(tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):([0-9]{1,5})", scheduler)
    if not match or not 1 <= int(match[3]) <= LAST_PORT:
        raise ConfigError(f"--cluster '{text}' must be {FORMS}, got address {scheduler!r}")
    if scheduler.startswith("tls://") != (tls is not None):
        raise ConfigError(f"--cluster {text}: tls:// and --cluster-tls FOLDER need each other")
    if tls is not None:
        _check_keys(tls)
    return Address(text, scheduler=scheduler, tls=tls, is_plaintext=is_plaintext)


def parse_host(address: str) -> str:
    """The host of an address.

    >>> parse_host("tcp://10.0.0.1:8786"), parse_host("tls://[::1]:8786")
    ('10.0.0.1', '::1')
    """
    return address.partition("://")[2].rpartition(":")[0].strip("[]")


def is_loopback(address: str) -> bool:
    """Test for an address that never leaves this machine."""
    host = parse_host(address)
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_keys(folder: Path) -> None:
    """Refuse a folder of keys that lacks a file, or holds a key that others can read."""
    for name in KEY_FILES:
        if not (folder / name).is_file():
            raise ConfigError(
                f"--cluster-tls {folder}: needs {', '.join(KEY_FILES)}; no {name} there"
            )
    key = folder / KEY_FILES[-1]
    if others_reach(key.stat().st_mode):
        raise ConfigError(f"--cluster-tls: others can read the key; chmod 600 {quote_word(key)}")


def _read_scheduler_file(path: Path) -> str:
    """The address in a file that a scheduler wrote, or is about to have written."""
    # Only here: another form need not wait for it.
    from optimizer.config.run_config import read_page

    if not path.is_file():
        raise ConfigError(f"--cluster '{path}' must be {FORMS}; there is no such file")
    until = time.monotonic() + WRITING_S
    try:
        while True:
            text = read_page(path, "no file of a scheduler").strip()
            # A scheduler opens its file before it writes it: who comes just then finds a part.
            is_part = not text or (text.startswith("{") and not text.endswith("}"))
            if not is_part or time.monotonic() > until:
                return str(json.loads(text)["address"])
            time.sleep(0.02)
    except OSError as error:
        raise ConfigError(f"--cluster {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ConfigError(f"--cluster {path}: is no file that a scheduler wrote") from None
