"""Network file systems: found among the mounts, refused for write-ahead logs."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from optimizer.errors import StoreError
from optimizer.store import space
from optimizer.store.space import find_network_kind, refuse_network

MOUNTS = (
    ("/", "ext4"),
    ("/srv", "nfs4"),
    ("/srv/local", "xfs"),
    ("/my share", "cifs"),
    ("/over", "nfs"),
    ("/over", "tmpfs"),
)


@pytest.fixture(autouse=True)
def mount_points(monkeypatch):
    """A system with these mounts; later ones lie over earlier ones."""
    mounts = [SimpleNamespace(mountpoint=point, fstype=kind) for point, kind in MOUNTS]
    monkeypatch.setattr(space.psutil, "disk_partitions", lambda *, all: mounts if all else [])


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/runs", "nfs4"),
        ("/srv", "nfs4"),
        ("/srv/local/runs", None),
        ("/srvx", None),
        ("/my share/runs", "cifs"),
        ("/over/runs", None),
        ("/home/somebody", None),
    ],
)
def test_deepest_and_latest_mount_decides(path, kind):
    """A path belongs to the deepest mount above it, the later one of two at the same place."""
    assert find_network_kind(Path(path)) == kind


def test_write_ahead_log_on_a_network_mount_is_refused():
    """The message names the file system and both ways out."""
    with pytest.raises(StoreError, match=r"\(nfs4\).*local disk.*--journal delete"):
        refuse_network(Path("/srv/runs"), "wal")


def test_rollback_journal_is_allowed_anywhere():
    """With the other journal a network mount is accepted."""
    refuse_network(Path("/srv/runs"), "delete")


def test_systems_without_a_table_are_local(monkeypatch):
    """Where the system shows no mounts, nothing is refused."""

    def hide_file(*, all):
        raise FileNotFoundError("/proc/self/mounts")

    monkeypatch.setattr(space.psutil, "disk_partitions", hide_file)
    assert find_network_kind(Path("/srv/runs")) is None


def test_the_mounts_of_this_machine_are_read(monkeypatch, tmp_path):
    """A folder for temporary files is local."""
    monkeypatch.undo()
    assert find_network_kind(tmp_path) is None
