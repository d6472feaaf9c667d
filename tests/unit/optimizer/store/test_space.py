"""Room that a run takes, reasons of a failed write, and network file systems."""

import errno
import re
import resource
import sqlite3
from functools import partial
from pathlib import Path

import pytest

from optimizer.errors import StoreError
from optimizer.store import RunStore, estimate_bytes, require_space
from optimizer.store.log_file import LOG_BYTES, build_write_error, find_network_kind
from tests.support.recording import HEADER, assert_sound, fill, make_generation, mount


@pytest.mark.parametrize(("individuals", "options"), [(1, {}), (512, {}), (37, {"keep": "last"})])
def test_an_estimate_is_a_bound_that_is_not_far_off(tmp_path, individuals, options):
    """A run takes no more than was estimated, and no less than half of it, the log apart."""
    count = 40
    with RunStore.create(tmp_path, "run", HEADER, **options) as store:
        for number in range(count + 1):
            store.record(make_generation(number, individuals=individuals))
    taken = sum(file.stat().st_size for file in store.path.iterdir())
    archive = individuals // 2
    estimate = estimate_bytes(individuals, 2, 2, count, archive=archive, **options)
    # Nothing is left of the log.
    assert taken <= estimate - LOG_BYTES
    assert estimate <= estimate_bytes(individuals, 2, 2, count, archive=archive)
    assert estimate - LOG_BYTES <= 2 * taken + 2**18


def test_too_little_space_is_refused_with_both_numbers(tmp_path):
    """Before anything starts, where the directory need not exist yet."""
    require_space(tmp_path / "not" / "yet", 1)
    with pytest.raises(StoreError, match=r"1,000,000,000,000,000,000 bytes and [\d,]+ are free"):
        require_space(tmp_path / "not" / "yet", 10**18)


@pytest.mark.parametrize(
    ("error", "limit", "words"),
    [
        (OSError(errno.ENOSPC, "full"), None, r"needed 9 bytes, [\d,]+ are free there"),
        (OSError(errno.EFBIG, "large"), 4096, "4,096 bytes at most: raise ulimit -f"),
        (sqlite3.OperationalError("disk I/O error"), 4096, "4,096 bytes at most: raise ulimit -f"),
        (sqlite3.OperationalError("disk I/O error"), None, "space is not the reason"),
        (OSError(errno.EROFS, "read-only"), None, r"\(read-only\): let --runs name"),
    ],
)
def test_a_write_that_failed_says_what_stood_in_the_way(tmp_path, monkeypatch, error, limit, words):
    """Free bytes are the reason only where they are too few; of a place they are no matter."""
    most = resource.RLIM_INFINITY if limit is None else limit
    monkeypatch.setattr("resource.getrlimit", lambda kind: (most, most))
    message = str(build_write_error(error, tmp_path / "run.sqlite", 9))
    assert re.search(words, message), message
    assert ("free there" in message) == ("needed" in words or "space" in words)


MOUNTS = (
    ("/", "ext4"), ("/srv", "nfs4"), ("/srv/local", "xfs"), ("/over", "nfs"), ("/over", "tmpfs"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/runs", "nfs4"),
        ("/srv/local/runs", None),
        ("/srvx", None),
        ("/over/runs", None),
        ("/home/somebody", None),
    ],
)
def test_the_deepest_and_latest_mount_says_the_file_system(monkeypatch, path, kind):
    """Of network file systems alone: a local one has no kind."""
    mount(monkeypatch, *MOUNTS)
    assert find_network_kind(Path(path)) == kind


def test_only_on_a_local_disk_a_run_has_a_write_ahead_log(tmp_path, monkeypatch):
    """The place decides each time that a run is opened for writing."""
    for start, (kind, has_log) in enumerate([("nfs4", False), ("ext4", True), ("nfs4", False)]):
        mount(monkeypatch, ("/", kind))
        begin = partial(RunStore.create, tmp_path, "run", HEADER)
        go_on = partial(RunStore.open, tmp_path / "run", writable=True)
        with go_on() if start else begin() as store:
            fill(store, 1, start)
            assert (store.path / "run.sqlite-wal").exists() == has_log
    with RunStore.open(tmp_path / "run") as store:
        assert_sound(store, 2)
